//! What can be typed after `murmur host`, and after `murmur-host`.

use crate::host::id::AgentId;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

/// Agents that outlive the daemon: start, list, follow, speak to, and stop them
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur host spawn \"Mend the build\" --attach   an agent in this folder, and what it does
  murmur host list                               who is there
  murmur host send site-1f2e3d4c \"And the docs\"  one more turn
  murmur attach site-1f2e3d4c --from 0           all that it did, and what it does
  murmur host stop site-1f2e3d4c                 that was all")]
pub(crate) struct Host {
    #[command(subcommand)]
    pub(crate) command: HostCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HostCommand {
    /// Every agent that runs
    List {
        /// Those that ended as well
        #[arg(long)]
        all: bool,
        /// One JSON object on stdout
        #[arg(long)]
        json: bool,
    },
    /// How one agent is
    Status {
        /// The agent
        agent: AgentId,
        /// One JSON object on stdout
        #[arg(long)]
        json: bool,
    },
    /// Look for hosts, and clean up after those that were killed
    Discover {
        /// One JSON object on stdout
        #[arg(long)]
        json: bool,
    },
    Spawn(HostSpawn),
    Attach(HostAttach),
    Send(HostSend),
    Stop(HostStop),
    #[command(hide = true)]
    Serve(HostServe),
}

/// Start a live agent; returns when it runs
#[derive(Debug, ClapArgs)]
pub(crate) struct HostSpawn {
    /// The first message to it; - reads it from stdin
    pub(crate) message: Option<String>,
    /// Its id [default: the project and eight random digits]
    #[arg(long, value_name = "ID")]
    pub(crate) agent_id: Option<AgentId>,
    /// What it belongs to [default: the folder's name]
    #[arg(long)]
    pub(crate) project: Option<String>,
    /// What it is for
    #[arg(long, default_value = "agent")]
    pub(crate) role: String,
    /// The folder it works in
    #[arg(long, value_name = "PATH", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) worktree: PathBuf,
    /// What it works on, such as #42
    #[arg(long)]
    pub(crate) issue: Option<String>,
    /// The model, where it is not your default
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Follow it at once
    #[arg(long)]
    pub(crate) attach: bool,
    /// JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// More arguments to Claude Code
    #[arg(last = true)]
    pub(crate) args: Vec<String>,
}

/// Show what an agent did and does, until it ends; Ctrl-C leaves it running
#[derive(Debug, ClapArgs)]
pub(crate) struct HostAttach {
    /// The agent
    pub(crate) agent: AgentId,
    /// Begin with this event; 0 is the first [default: the next one]
    #[arg(long, value_name = "N")]
    pub(crate) from: Option<u64>,
    /// The events as they are, one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say something to a live agent: now, or when the turn that runs is over
#[derive(Debug, ClapArgs)]
pub(crate) struct HostSend {
    /// The agent
    pub(crate) agent: AgentId,
    /// What; - reads it from stdin
    pub(crate) message: String,
    /// One JSON object on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// End an agent; returns when none of its processes is left
#[derive(Debug, ClapArgs)]
pub(crate) struct HostStop {
    /// The agent
    #[arg(required_unless_present = "all")]
    pub(crate) agent: Option<AgentId>,
    /// Every live agent
    #[arg(long, conflicts_with = "agent")]
    pub(crate) all: bool,
    /// Kill it at once, and its host as well if that does not answer
    #[arg(long)]
    pub(crate) force: bool,
    /// How long it has to end by itself [default: 5s]
    #[arg(long, value_name = "INTERVAL", value_parser = humantime::parse_duration, conflicts_with = "force")]
    pub(crate) grace: Option<Duration>,
    /// One JSON object on stdout for each
    #[arg(long)]
    pub(crate) json: bool,
}

/// The host of one agent; murmur starts it, for `murmur host spawn` and for every beat
#[derive(Debug, Parser)]
#[command(name = "murmur-host", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct HostProgram {
    /// Where murmur keeps its files [default: $MURMUR_DIR, else ~/.murmur]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) serve: HostServe,
}

/// Be the host of one agent until it ends (spec 3, Spawn Flow)
#[derive(Debug, ClapArgs)]
pub(crate) struct HostServe {
    /// Its id
    #[arg(long, value_name = "ID", required_unless_present = "beat")]
    pub(crate) agent_id: Option<AgentId>,
    /// What it belongs to
    #[arg(long, required_unless_present = "beat")]
    pub(crate) project: Option<String>,
    /// What it is for
    #[arg(long, default_value = "agent")]
    pub(crate) role: String,
    /// Which program it is
    #[arg(long, default_value = "claude")]
    pub(crate) backend: String,
    /// The folder it works in
    #[arg(long, value_name = "PATH", required_unless_present = "beat", value_hint = ValueHint::DirPath)]
    pub(crate) worktree: Option<PathBuf>,
    /// What it works on
    #[arg(long)]
    pub(crate) issue: Option<String>,
    /// The model
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Say on stdout, in one line, that it runs or why not; the first message stands on stdin
    #[arg(long)]
    pub(crate) announce: bool,
    /// Run the one beat whose job stands on stdin
    #[arg(long, conflicts_with_all = ["agent_id", "project", "worktree", "announce"])]
    pub(crate) beat: bool,
    /// More arguments to the agent's program
    #[arg(last = true)]
    pub(crate) args: Vec<String>,
}
