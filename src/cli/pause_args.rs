//! The arguments of `murmur pause` and `murmur resume`.

use super::pause::until;
use clap::{Args as ClapArgs, ValueHint};
use jiff::Timestamp;

/// Pause scheduled heartbeats
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Running beats continue. `murmur beat` still runs a paused heartbeat.

Examples:
  murmur pause                          pause the heartbeats of this folder
  murmur pause nightly --until 18:00    pause one heartbeat until 18:00
  murmur pause --all --reason 'release day'")]
pub(super) struct Pause {
    /// Name of a heartbeat, or a workspace folder [default: .]
    #[arg(value_name = "NAME|PATH", value_hint = ValueHint::DirPath)]
    pub(super) name: Option<String>,
    /// Pause all heartbeats
    #[arg(long, conflicts_with = "name")]
    pub(super) all: bool,
    /// When to resume automatically, such as 18:00, 2h, tomorrow or 2026-11-22
    #[arg(long, value_name = "WHEN", value_parser = until::parse)]
    pub(super) until: Option<Timestamp>,
    /// Reason, shown by murmur status
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
}

/// Resume paused heartbeats
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
A heartbeat that came due while it was paused runs once, unless its catchUp is skip or \
shorter than the delay. Also restores the \
schedule of heartbeats slowed down by repeated failures.

Examples:
  murmur resume              resume the heartbeats of this folder
  murmur resume nightly      resume one heartbeat
  murmur resume --all        resume all, including those paused individually")]
pub(super) struct Resume {
    /// Name of a heartbeat, or a workspace folder [default: .]
    #[arg(value_name = "NAME|PATH", value_hint = ValueHint::DirPath)]
    pub(super) name: Option<String>,
    /// Resume all heartbeats
    #[arg(long, conflicts_with = "name")]
    pub(super) all: bool,
}
