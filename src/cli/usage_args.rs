//! The arguments of `murmur usage`.

use super::log::since;
use clap::{Args as ClapArgs, ValueEnum};
use jiff::Timestamp;

/// Show what beats cost
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Beats are counted when they end. Quiet beats are those with the outcome ok or skipped.

Examples:
  murmur usage --since 7d              show what each heartbeat cost in a week
  murmur usage --by day --since 30d    show each day's cost")]
pub(super) struct Usage {
    /// What to group beats by
    #[arg(long, value_name = "KEY", default_value = "heartbeat")]
    pub(super) by: ByArg,
    /// Count only beats since WHEN, such as 2h, today or 2026-11-22
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub(super) since: Option<Timestamp>,
    /// Print output as JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum ByArg {
    Heartbeat,
    Workspace,
    Day,
    Model,
}
