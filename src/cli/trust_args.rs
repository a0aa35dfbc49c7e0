//! What can be typed after `murmur trust`.

use clap::{Args as ClapArgs, ValueHint};
use std::path::PathBuf;

/// Show what a repository's Claude files would do, and trust them
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur trust ~/repos/site             show the files and ask
  murmur trust ~/repos/site --json      show them as JSON, without asking
  murmur trust ~/repos/site --yes       trust them as they are now
  murmur trust --remove ~/repos/site    stop trusting them

Agents run without these files until you trust them, and again after they change.")]
pub(super) struct Trust {
    /// The workspace
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub(super) path: PathBuf,
    /// One JSON object on stdout; asks nothing
    #[arg(long)]
    pub(super) json: bool,
    /// Trust the files as they are now, without asking
    #[arg(long)]
    pub(super) yes: bool,
    /// Forget that you trusted them
    #[arg(long, conflicts_with = "yes")]
    pub(super) remove: bool,
}
