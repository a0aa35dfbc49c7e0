//! What is said of a run that murmur stopped: why, and what that interrupted.

use crate::host::process::Doing;
use std::time::Duration;

/// Of one that took `limit`, besides what it had `waited` for people.
pub(super) fn timed_out(limit: Duration, waited: Duration, doing: &Doing) -> String {
    let besides = match waited.as_secs() {
        0 => String::new(),
        _ => format!(", besides {} for answers,", span(waited)),
    };
    format!(
        "timed out after {}{besides} and was stopped, {}",
        humantime::format_duration(limit),
        during(doing)
    )
}

/// Of one that somebody stopped.
pub(super) fn stopped(after: Duration, doing: &Doing) -> String {
    format!("stopped after {}, before it was done, {}", span(after), during(doing))
}

/// Of one that went beyond `limit` turns.
pub(super) fn out_of_turns(limit: u64) -> String {
    let turns = if limit == 1 { "turn" } else { "turns" };
    format!("went on by itself beyond its {limit} {turns} and was stopped")
}

fn during(doing: &Doing) -> String {
    match doing {
        Doing::Waits { request, time } => {
            format!("while request {request} had waited for an answer for {}", span(*time))
        }
        Doing::Retries { retries, status } => {
            let word = if *retries == 1 { "retry" } else { "retries" };
            let last = status.map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"));
            format!("while the API was tried again: {retries} {word}, {last} the last time")
        }
        Doing::Tool { tool, action, time } => {
            let action = if action.is_empty() { String::new() } else { format!(": {action}") };
            format!("while {tool} had run for {}{action}", span(*time))
        }
        Doing::Model { time } => format!("while it waited for the model for {}", span(*time)),
        Doing::Background { tasks } => {
            let ran =
                if tasks.len() == 1 { "1 task ran".to_owned() } else { format!("{} tasks ran", tasks.len()) };
            format!("after it had answered, while {ran} in the background: {}", tasks.join(", "))
        }
        Doing::Nothing => "after it had answered".to_owned(),
    }
}

/// In whole seconds.
fn span(time: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(Duration::from_secs(time.as_secs()))
}
