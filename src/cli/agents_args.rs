//! The arguments of `murmur agents` and `murmur agent`.

use clap::{Args as ClapArgs, Subcommand};

/// Show what every agent is doing
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Lists all agents, whoever started them. Those that need you come first.

Examples:
  murmur agents                 show every agent
  murmur agents --watch         show changes as they happen
  murmur agents site-1f2e3d4c   show one agent and its latest actions
  murmur agents site-1f2e3d4c --watch
  murmur agents --json | jq '.agents[] | select(.health == \"stuck\")'")]
pub(crate) struct Agents {
    /// Agent ID, to show one agent and its latest actions
    pub(crate) agent: Option<String>,
    /// Print output as JSON, one object per change with --watch
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep running and show changes, in place on a terminal
    #[arg(long, short = 'w')]
    pub(crate) watch: bool,
    /// Maximum number of actions to show for AGENT
    #[arg(short = 'n', value_name = "N", default_value_t = 10, conflicts_with = "watch")]
    pub(crate) count: usize,
}

/// Show or set the task of an agent
#[derive(Debug, ClapArgs)]
pub(crate) struct Agent {
    #[command(subcommand)]
    pub(crate) command: AgentCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Show or set an agent's task
    #[command(after_help = "\
A single argument is the task of the agent that runs this command.

Examples:
  murmur agent task \"Fix the build\"                set your own task
  murmur agent task site-1f2e3d4c \"Fix the build\"  set the task of another agent
  murmur agent task                                show your own task
  murmur agent task \"\"                             clear your own task")]
    Task {
        /// Agent ID [default: the agent that runs this command]
        agent: Option<String>,
        /// Description of the task
        task: Option<String>,
    },
}
