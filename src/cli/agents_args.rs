//! The arguments of `murmur agent`.

use super::host_args::{HostAttach, HostChat, HostInterrupt, HostSend, HostSpawn, HostStop};
use clap::{Args as ClapArgs, Subcommand};

/// Show what every agent is doing
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Lists agents, whoever started them. Those that need you come first.

Examples:
  murmur agent list           show agents
  murmur agent list --watch   show changes as they happen
  murmur agent list --json | jq '.agents[] | select(.health == \"stuck\")'")]
pub(crate) struct Agents {
    /// Agent ID, to show one agent and its latest actions
    #[arg(hide = true)]
    pub(crate) agent: Option<String>,
    /// Include agents that have ended (--json always does)
    #[arg(long, short = 'a')]
    pub(crate) all: bool,
    /// Print output as JSON, one object per change with --watch
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep running and show changes, in place on a terminal
    #[arg(long, short = 'w')]
    pub(crate) watch: bool,
    /// Maximum number of actions to show for AGENT
    #[arg(short = 'n', value_name = "N", default_value_t = 10, conflicts_with = "watch", hide = true)]
    pub(crate) count: usize,
}

/// Show one agent and its latest actions
#[derive(Debug, ClapArgs)]
pub(crate) struct AgentShow {
    /// Agent ID or ID prefix, project, heartbeat, folder, or last (most recently started)
    pub(crate) agent: String,
    /// Print output as JSON, one object per change with --watch
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep running and show changes, in place on a terminal
    #[arg(long, short = 'w')]
    pub(crate) watch: bool,
    /// Maximum number of actions to show
    #[arg(short = 'n', value_name = "N", default_value_t = 10, conflicts_with = "watch")]
    pub(crate) count: usize,
}

/// Start, list, message and stop agents
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Hosted agents outlive the daemon. Without a daemon, calls that need your approval are denied.

Examples:
  murmur agent start \"Fix the build\" --attach   start one in this folder
  murmur agent list                             list agents
  murmur agent send last \"And the docs\"         send another message
  murmur agent chat site-1f2e3d4c               chat with it
  murmur agent attach site-1f2e3d4c --from 0    show all its output
  murmur agent stop site-1f2e3d4c               stop it")]
pub(crate) struct Agent {
    #[command(subcommand)]
    pub(crate) command: AgentCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    Start(HostSpawn),
    List(Agents),
    Show(AgentShow),
    Chat(HostChat),
    Attach(HostAttach),
    Send(HostSend),
    Interrupt(HostInterrupt),
    Stop(HostStop),
    /// Show or set an agent's task
    #[command(after_help = "\
Without an ID, shows or sets the task of the agent that runs the command. A single argument that is \
a running agent's ID, or last, shows that agent's task.

Examples:
  murmur agent task \"Fix the build\"                set this agent's task
  murmur agent task site-1f2e3d4c \"Fix the build\"  set another agent's task
  murmur agent task                                show this agent's task
  murmur agent task site-1f2e3d4c                  show another agent's task
  murmur agent task \"\"                             clear this agent's task")]
    Task {
        /// Agent ID [default: the agent that runs this command]
        agent: Option<String>,
        /// Description of the task
        task: Option<String>,
        /// Print output as JSON
        #[arg(long)]
        json: bool,
    },
}
