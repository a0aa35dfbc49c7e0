//! The arguments of `murmur trust`.

use clap::{Args as ClapArgs, ValueHint};
use std::path::PathBuf;

/// Review and trust a repository's Claude Code configuration
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Agents ignore a repository's Claude files (.claude, .mcp.json and CLAUDE.md) until you trust them. \
Changing them revokes trust, except for instructions such as CLAUDE.md.

Examples:
  murmur trust ~/repos/site             show the files and ask
  murmur trust ~/repos/site --json      show them as JSON, without asking
  murmur trust ~/repos/site --yes       trust them as they are now
  murmur trust --remove ~/repos/site    stop trusting them")]
pub(super) struct Trust {
    /// Name of a heartbeat, or a workspace folder
    #[arg(value_name = "NAME|PATH", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(super) path: PathBuf,
    /// Print output as JSON, without asking
    #[arg(long)]
    pub(super) json: bool,
    /// Trust the files as they are now, without asking
    #[arg(long)]
    pub(super) yes: bool,
    /// Stop trusting the files
    #[arg(long, conflicts_with = "yes")]
    pub(super) remove: bool,
}
