//! The error of a run that murmur stopped: why, and what it interrupted.

use crate::run::LastActivity;
use murmur_core::config::watchdogs::Watchdog;
use murmur_core::outcome::StopReason;
use std::time::Duration;

/// The error of a run that took longer than `limit`, not counting the time `waited` for people.
pub(super) fn timed_out(limit: Duration, waited: Duration, doing: &LastActivity) -> String {
    let waiting = match waited.as_secs() {
        0 => String::new(),
        _ => format!(" (plus {} waiting for answers)", span(waited)),
    };
    format!("timed out after {}{waiting}, {}", humantime::format_duration(limit), during(doing))
}

/// The error of a run that seemed to hang for `limit`.
pub(super) fn hung(watchdog: Watchdog, limit: Duration, doing: &LastActivity) -> String {
    let limit = humantime::format_duration(limit);
    match (watchdog, doing) {
        (Watchdog::StartTimeout, _) => {
            format!("no output from the agent within {limit} of its start ({watchdog})")
        }
        (Watchdog::IdleTimeout, LastActivity::Retries { .. }) => {
            format!("no output from the model for {limit} ({watchdog}), {}", during(doing))
        }
        (Watchdog::IdleTimeout, _) => format!("no output from the model for {limit} ({watchdog})"),
        (Watchdog::ToolTimeout, LastActivity::Tool { tool, action, .. }) => {
            let action = if action.is_empty() { String::new() } else { format!(": {action}") };
            format!("{tool} ran for longer than {limit} ({watchdog}){action}")
        }
        (Watchdog::ToolTimeout, _) => format!("a tool ran for longer than {limit} ({watchdog})"),
    }
}

/// The error of a run that was stopped for `reason`.
pub(super) fn stopped(reason: StopReason, after: Duration, doing: &LastActivity) -> String {
    format!("{reason} after {}, {}", span(after), during(doing))
}

/// The error of a beat that was stopped for `reason` while a gate or verifier ran.
pub(super) fn stopped_in_gate(reason: StopReason, after: Duration, gate: &str) -> String {
    format!("{reason} after {}, in {gate}", span(after))
}

/// The error of a run that exceeded `limit` turns.
pub(super) fn out_of_turns(limit: u64) -> String {
    let turns = if limit == 1 { "turn" } else { "turns" };
    format!("exceeded its limit of {limit} {turns} and was stopped")
}

fn during(doing: &LastActivity) -> String {
    match doing {
        LastActivity::Waits { request, time } => {
            format!("while request {request} was waiting for an answer ({})", span(*time))
        }
        LastActivity::Retries { retries, status } => {
            let word = if *retries == 1 { "retry" } else { "retries" };
            let last = status.map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"));
            format!("while retrying the API: {retries} {word}, the last with {last}")
        }
        LastActivity::Tool { tool, action, time } => {
            let action = if action.is_empty() { String::new() } else { format!(": {action}") };
            format!("while {tool} was running ({}){action}", span(*time))
        }
        LastActivity::Model { time } => format!("while waiting for the model ({})", span(*time)),
        LastActivity::Background { tasks } => {
            let count = match tasks.len() {
                1 => "1 background task was".to_owned(),
                count => format!("{count} background tasks were"),
            };
            format!("after answering, while {count} still running: {}", tasks.join(", "))
        }
        LastActivity::Nothing => "after answering".to_owned(),
    }
}

/// Formats in whole seconds.
fn span(time: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(Duration::from_secs(time.as_secs()))
}
