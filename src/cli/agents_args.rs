//! What can be typed after `murmur agents` and `murmur agent`.

use clap::{Args as ClapArgs, Subcommand};

/// Say what every agent is doing, and how it is; those that need a person first
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur agents                 every agent, whoever started it
  murmur agents --watch         and what changes, as it does
  murmur agents site-1f2e3d4c   one of them, and what it did last
  murmur agents site-1f2e3d4c --watch
  murmur agents --json | jq '.agents[] | select(.health == \"stuck\")'")]
pub(crate) struct Agents {
    /// One agent, and what it did last; with --watch only that one
    pub(crate) agent: Option<String>,
    /// One JSON object on stdout; with --watch one a change
    #[arg(long)]
    pub(crate) json: bool,
    /// Go on and show what changes; on a terminal in place
    #[arg(long, short = 'w')]
    pub(crate) watch: bool,
    /// The most actions to show of one agent
    #[arg(short = 'n', value_name = "N", default_value_t = 10, conflicts_with = "watch")]
    pub(crate) count: usize,
}

/// Set what one agent works on
#[derive(Debug, ClapArgs)]
pub(crate) struct Agent {
    #[command(subcommand)]
    pub(crate) command: AgentCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Set what an agent works on, in words; without words, print it
    #[command(after_help = "\
Examples:
  murmur agent task \"Mend the build\"               of the agent that runs this
  murmur agent task site-1f2e3d4c \"Mend the build\"
  murmur agent task                                what it is
  murmur agent task \"\"                             take it back")]
    Task {
        /// The agent [default: the one that runs this]
        agent: Option<String>,
        /// What it works on; a single argument is this
        task: Option<String>,
    },
}
