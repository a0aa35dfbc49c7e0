//! What is paused, as `murmur status` shows it.

use crate::cli::pause::shown;
use crate::cli::style::{local_time, plain_line};
use crate::daemon::pauses::Pause;
use derun::cli::span::span;
use jiff::Timestamp;
use murmur_core::config::heartbeat::HeartbeatId;
use std::io::{self, Write};

/// How many single pauses are listed before anything else; each heartbeat shows its own as well.
const MAX_LISTED: usize = 5;

/// Prints what is paused, one line each.
pub(super) fn print(out: &mut impl Write, paused: &[Pause], now: Timestamp) -> io::Result<()> {
    let (all, single): (Vec<&Pause>, Vec<&Pause>) =
        paused.iter().partition(|pause| pause.heartbeat.is_none());
    let listed = if single.len() > MAX_LISTED { &[] } else { single.as_slice() };
    for pause in all.iter().chain(listed) {
        let id = pause.heartbeat.as_deref().map(HeartbeatId::parse);
        let (what, name) = shown(id.as_ref());
        writeln!(out, "paused: {what}, {}; to resume, run: murmur resume {name}", line(pause, now))?;
    }
    if listed.len() < single.len() {
        writeln!(out, "paused: {} heartbeats; to resume, run: murmur resume NAME", single.len())?;
    }
    Ok(())
}

/// For how long, until when and why.
pub(super) fn line(pause: &Pause, now: Timestamp) -> String {
    let lasted = pause.since.map(|since| format!("for {}", span(now.duration_since(since))));
    let until = pause.until.map(|until| format!("until {}", local_time(until)));
    let reason = pause.reason.as_deref().map(plain_line);
    lasted.into_iter().chain(until).chain(reason).collect::<Vec<_>>().join(", ")
}
