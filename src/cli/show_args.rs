//! The arguments of `murmur show`.

use clap::Args as ClapArgs;

/// Show what a beat or an agent did
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Shows the newest beat by default. With the ID of a command's capture, prints the exact bytes that the command wrote. \
On a terminal, the output goes through your $PAGER.

Examples:
  murmur show                     show what the newest beat did
  murmur show site                show what the newest beat of site did
  murmur show site --full         also show all input and output of tools
  murmur show site --follow       follow a running beat
  murmur show build-42 --plain    print the text of a capture")]
pub(super) struct ShowBeat {
    /// Name or folder of a heartbeat, ID or ID prefix of a beat, agent or capture, or last (newest beat)
    #[arg(value_name = "NAME|ID", default_value = "last", hide_default_value = true)]
    pub(super) what: String,
    /// Show the full input and output of tools
    #[arg(long)]
    pub(super) full: bool,
    /// Print the bytes that the agent wrote
    #[arg(long, conflicts_with_all = ["full", "json"])]
    pub(super) raw: bool,
    /// Print output as JSON
    #[arg(long, conflicts_with = "follow")]
    pub(super) json: bool,
    /// Keep printing new output until it ends
    #[arg(long, short = 'f')]
    pub(super) follow: bool,
    /// With a capture or --raw, print only the last N lines, and new ones with --follow
    #[arg(long, value_name = "N")]
    pub(super) tail: Option<usize>,
    /// With a capture or --raw, print plain text, without escape codes or progress updates
    #[arg(long)]
    pub(super) plain: bool,
}
