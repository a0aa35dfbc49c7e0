//! The arguments of `murmur host` and of the program `murmur-host`.

use super::lacks;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueHint};
use murmur_core::config::backend::Backend;
use murmur_core::id::AgentId;
use std::path::PathBuf;
use std::time::Duration;

/// Start, list, message and stop hosted agents
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Hosted agents outlive the daemon. Without a daemon, calls that need your approval are denied.

Examples:
  murmur host list                    list agents that have a host
  murmur host status site-1f2e3d4c    show the host of one agent
  murmur host discover                find all hosts")]
pub(crate) struct Host {
    #[command(subcommand)]
    pub(crate) command: HostCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HostCommand {
    /// List agents that have a host
    List {
        /// Include agents that have ended
        #[arg(long)]
        all: bool,
        /// Print output as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the status of an agent
    Status {
        /// Agent ID
        agent: String,
        /// Print output as JSON
        #[arg(long)]
        json: bool,
    },
    /// Find hosts and clean up after those that were killed
    Discover {
        /// Print output as JSON
        #[arg(long)]
        json: bool,
    },
    Spawn(HostSpawn),
    Attach(HostAttach),
    Send(HostSend),
    Interrupt(HostInterrupt),
    Stop(HostStop),
    #[command(hide = true)]
    Serve(HostServe),
}

/// Start a hosted agent
#[derive(Debug, ClapArgs)]
#[command(after_help = lacks::help())]
pub(crate) struct HostSpawn {
    /// First message, or - to read it from stdin
    pub(crate) message: Option<String>,
    /// Agent ID [default: the project and eight random hex digits]
    #[arg(long, value_name = "ID")]
    pub(crate) agent_id: Option<AgentId>,
    /// Project whose rules apply [default: the name of the folder]
    #[arg(long)]
    pub(crate) project: Option<String>,
    /// Role, such as manager (may start agents)
    #[arg(long, default_value = "agent")]
    pub(crate) role: String,
    /// Folder to work in
    #[arg(long, value_name = "PATH", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) worktree: PathBuf,
    /// Backend of the agent: claude, codex or acp:NAME [default: from config.toml, else claude]
    #[arg(long, alias = "agent", value_name = "BACKEND")]
    pub(crate) backend: Option<Backend>,
    /// Session ID of the conversation to resume
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// Issue to work on, such as 42
    #[arg(long)]
    pub(crate) issue: Option<String>,
    /// Model to use instead of your default
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Follow the agent's output
    #[arg(long)]
    pub(crate) attach: bool,
    /// Print output as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Additional arguments for the agent's program
    #[arg(last = true)]
    pub(crate) args: Vec<String>,
}

/// Follow an agent's output
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "On a terminal, also asks you about the agent's requests. Exits when the agent ends. Ctrl-C leaves the agent running."
)]
pub(crate) struct HostAttach {
    /// Agent ID or ID prefix, project, heartbeat, folder, or last (most recently started)
    pub(crate) agent: String,
    /// First event to show, counted from 0 [default: the next event]
    #[arg(long, value_name = "N")]
    pub(crate) from: Option<u64>,
    /// Print events as JSON, one per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Chat with a hosted agent in a terminal
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Enter sends a message. A line that ends with \\ continues on the next one. The chat also \
asks you about the agent's requests.
Ctrl-C interrupts the agent's turn. Ctrl-D leaves the agent running.")]
pub(crate) struct HostChat {
    /// Agent ID or ID prefix, project, heartbeat, folder, or last (most recently started)
    pub(crate) agent: String,
    /// First event to show, counted from 0 [default: the next event]
    #[arg(long, value_name = "N")]
    pub(crate) from: Option<u64>,
}

/// Interrupt an agent's current turn without stopping the agent
#[derive(Debug, ClapArgs)]
pub(crate) struct HostInterrupt {
    /// Agent ID or ID prefix, project, heartbeat, folder, or last (most recently started)
    pub(crate) agent: String,
    /// Print output as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Send a message to a hosted agent
#[derive(Debug, ClapArgs)]
#[command(after_help = "A busy agent gets the message after its current turn.")]
pub(crate) struct HostSend {
    /// Agent ID or ID prefix, project, heartbeat, folder, or last (most recently started)
    pub(crate) agent: String,
    /// Message, or - to read it from stdin
    pub(crate) message: String,
    /// Print output as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Stop an agent
#[derive(Debug, ClapArgs)]
#[command(after_help = "Returns once all the agent's processes have ended.")]
pub(crate) struct HostStop {
    /// Agent ID or ID prefix, project, heartbeat, folder, or last (most recently started)
    #[arg(required_unless_present = "all")]
    pub(crate) agent: Option<String>,
    /// Stop every hosted agent
    #[arg(long, conflicts_with = "agent")]
    pub(crate) all: bool,
    /// Kill the agent at once, and its host if the host does not answer
    #[arg(long)]
    pub(crate) force: bool,
    /// How long to wait before killing the agent [default: 5s]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, conflicts_with = "force")]
    pub(crate) grace: Option<Duration>,
    /// Print output as JSON, one object per agent
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run the host of one agent
#[derive(Debug, Parser)]
#[command(
    name = "murmur-host",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "murmur starts this program for `murmur agent start` and for beats of the daemon."
)]
pub(crate) struct HostProgram {
    /// Path to the data folder [default: $MURMUR_DIR, else ~/.murmur]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) serve: HostServe,
}

/// Run the host of one agent until it ends
#[derive(Debug, ClapArgs)]
pub(crate) struct HostServe {
    /// Agent ID
    #[arg(long, value_name = "ID", required_unless_present = "beat")]
    pub(crate) agent_id: Option<AgentId>,
    /// Project it belongs to
    #[arg(long, required_unless_present = "beat")]
    pub(crate) project: Option<String>,
    /// Role, such as manager (may start agents)
    #[arg(long, default_value = "agent")]
    pub(crate) role: String,
    /// Backend of the agent [default: from config.toml, else claude]
    #[arg(long)]
    pub(crate) backend: Option<Backend>,
    /// Session ID of the conversation to resume
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// Folder to work in
    #[arg(long, value_name = "PATH", required_unless_present = "beat", value_hint = ValueHint::DirPath)]
    pub(crate) worktree: Option<PathBuf>,
    /// Issue to work on
    #[arg(long)]
    pub(crate) issue: Option<String>,
    /// Model to use
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Report readiness on stdout, and read the first message from stdin
    #[arg(long)]
    pub(crate) announce: bool,
    /// Run the beat whose job is on stdin
    #[arg(long, conflicts_with_all = ["agent_id", "project", "worktree", "announce"])]
    pub(crate) beat: bool,
    /// Additional arguments for the backend
    #[arg(last = true)]
    pub(crate) args: Vec<String>,
}
