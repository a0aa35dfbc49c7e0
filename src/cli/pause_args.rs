//! The arguments of `murmur pause` and `murmur resume`.

use super::pause::until;
use clap::{Args as ClapArgs, ValueHint};
use jiff::Timestamp;

/// Pause heartbeats, so that the daemon does not start them
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Running beats go on. A paused heartbeat still runs with murmur beat.

Examples:
  murmur pause                          pause the heartbeats of this folder
  murmur pause nightly --until 18:00    pause one heartbeat for some time
  murmur pause --all --reason 'release day'")]
pub(super) struct Pause {
    /// Heartbeat's name or id, or workspace folder [default: this folder]
    #[arg(value_hint = ValueHint::DirPath)]
    pub(super) name: Option<String>,
    /// Pause all heartbeats
    #[arg(long, conflicts_with = "name")]
    pub(super) all: bool,
    /// Resume by itself at this time: 18:00, 2h, tomorrow or 2026-11-22
    #[arg(long, value_name = "WHEN", value_parser = until::parse)]
    pub(super) until: Option<Timestamp>,
    /// Reason to show in the status
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
}

/// Resume paused heartbeats
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
A heartbeat that came due while it was paused runs once.

Examples:
  murmur resume              resume the heartbeats of this folder
  murmur resume nightly      resume one heartbeat
  murmur resume --all        resume everything, including single heartbeats")]
pub(super) struct Resume {
    /// Heartbeat's name or id, or workspace folder [default: this folder]
    #[arg(value_hint = ValueHint::DirPath)]
    pub(super) name: Option<String>,
    /// Resume everything
    #[arg(long, conflicts_with = "name")]
    pub(super) all: bool,
}
