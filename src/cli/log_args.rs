//! The arguments of `murmur log`.

use super::log::{count, pattern, since, until};
use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use jiff::Timestamp;
use murmur_outcome::OutcomeKind;
use murmur_store::journal::read::OutcomeFilter;
use regex::Regex;
use std::path::PathBuf;

/// Show the outcomes of past beats
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
WHEN is a time span (2h), a time (14:30, noon, now), a day (today, yesterday, monday, 2026-11-22) or \
'last week'. --until includes the whole day or week.

Examples:
  murmur log -n 5                          show the last five beats
  murmur log --outcome error --since 1d    show errors from the last 24 hours
  murmur log --name site --since monday    show the beats of site since Monday
  murmur log --stat                        sum up each heartbeat's last 30 days
  murmur log -n 1 --json | jq -r .beat     print the id of the last beat
  murmur log --follow --json | jq .        pass beats to a program as they end")]
pub(super) struct Log {
    /// Maximum number of beats, or all [default: 20]
    #[arg(short = 'n', value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(super) count: Option<usize>,
    /// Keep running and show beats as they end
    #[arg(long, short = 'f')]
    pub(super) follow: bool,
    /// Show only beats of this heartbeat or workspace
    #[arg(long, value_name = "NAME|PATH", conflicts_with = "workspace", value_hint = ValueHint::DirPath)]
    pub(super) name: Option<PathBuf>,
    /// Show only beats of this workspace
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(super) workspace: Option<PathBuf>,
    /// Show only beats that ended this way
    #[arg(long)]
    pub(super) outcome: Option<OutcomeArg>,
    /// Show only beats since WHEN, such as 2h, monday or 2026-11-22
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub(super) since: Option<Timestamp>,
    /// Show only beats until WHEN
    #[arg(long, value_name = "WHEN", value_parser = until)]
    pub(super) until: Option<Timestamp>,
    /// Show only beats whose text matches this regular expression
    #[arg(long, value_name = "REGEX", value_parser = pattern)]
    pub(super) grep: Option<Regex>,
    /// Print only id, outcome, name and text
    #[arg(long, conflicts_with = "json")]
    pub(super) oneline: bool,
    /// Show runs, last outcomes, median duration and cost of each heartbeat
    #[arg(long, conflicts_with_all = ["follow", "oneline", "count"])]
    pub(super) stat: bool,
    /// Print the raw journal lines, or with --stat one object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum OutcomeArg {
    Ok,
    Attention,
    Error,
    Limited,
    Skipped,
    Stopped,
}

impl From<OutcomeArg> for OutcomeFilter {
    fn from(outcome: OutcomeArg) -> Self {
        match outcome {
            OutcomeArg::Ok => Self::As(OutcomeKind::Ok),
            OutcomeArg::Attention => Self::As(OutcomeKind::Attention),
            OutcomeArg::Error => Self::As(OutcomeKind::Error),
            OutcomeArg::Limited => Self::As(OutcomeKind::Limited),
            OutcomeArg::Skipped => Self::As(OutcomeKind::Skipped),
            OutcomeArg::Stopped => Self::Stopped,
        }
    }
}
