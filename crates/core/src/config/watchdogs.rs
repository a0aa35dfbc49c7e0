//! `startTimeout`, `idleTimeout` and `toolTimeout`: how long an agent may be silent, and a tool may run. As written in
//! one file, and resolved.

use super::interval::Interval;
use super::limit::{MAX_TIME, Notices, Sourced};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The default for how long an agent may take to print anything.
pub const DEFAULT_START_TIMEOUT: Interval = Interval::from_secs(120).unwrap();

/// What ends a beat that seems to hang, by the key that sets its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Watchdog {
    /// The agent never printed anything.
    StartTimeout,
    /// The agent printed nothing for a while, and no tool ran.
    IdleTimeout,
    /// A tool ran for too long.
    ToolTimeout,
}

impl fmt::Display for Watchdog {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::StartTimeout => "startTimeout",
            Self::IdleTimeout => "idleTimeout",
            Self::ToolTimeout => "toolTimeout",
        })
    }
}

/// The keys in one file. `None` means unset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WatchdogKeys {
    /// How long an agent may take to print anything before its beat is ended.
    #[schemars(default = "start_timeout")]
    pub start_timeout: Option<Interval>,
    /// How long an agent may print nothing, while no tool runs, before its beat is ended. Default: no limit.
    pub idle_timeout: Option<Interval>,
    /// How long a tool may run before the beat is ended. Default: no limit.
    pub tool_timeout: Option<Interval>,
}

fn start_timeout() -> String {
    DEFAULT_START_TIMEOUT.to_string()
}

/// When a beat that seems to hang is ended. Time spent waiting for people doesn't count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watchdogs {
    /// How long its agent may take to print anything.
    pub start: Sourced<Interval>,
    /// How long its agent may print nothing while no tool runs.
    pub idle: Option<Sourced<Interval>>,
    /// How long a tool may run.
    pub tool: Option<Sourced<Interval>>,
}

impl Default for Watchdogs {
    fn default() -> Self {
        Self { start: Sourced::default(DEFAULT_START_TIMEOUT), idle: None, tool: None }
    }
}

impl WatchdogKeys {
    /// Combines config.json's keys with a HEARTBEAT.md's.
    pub(super) fn resolve(self, front: Self, notices: &mut Notices) -> Watchdogs {
        let mut shorter = |key: Watchdog, user: Option<Sourced<Interval>>, front| {
            notices.lower(&key.to_string(), user, front, MAX_TIME)
        };
        let start = self.start_timeout.map_or(Sourced::default(DEFAULT_START_TIMEOUT), Sourced::user);
        Watchdogs {
            start: shorter(Watchdog::StartTimeout, Some(start), front.start_timeout).unwrap_or(start),
            idle: shorter(Watchdog::IdleTimeout, self.idle_timeout.map(Sourced::user), front.idle_timeout),
            tool: shorter(Watchdog::ToolTimeout, self.tool_timeout.map(Sourced::user), front.tool_timeout),
        }
    }
}
