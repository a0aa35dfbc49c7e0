//! One heartbeat, as `murmur status` shows it.

use crate::cli::inbox::{name_of, named_in};
use crate::cli::style::{Colors, Style, beat_text, local_time, plain_line, undecided};
use crate::daemon::heartbeats::approve_hint;
use crate::daemon::status::{BudgetStatus, Dropped, HeartbeatStatus, HeldStatus, Setting};
use derun::cli::span::span;
use jiff::Timestamp;
use murmur_core::config::heartbeat::file_of;
use murmur_core::permit::request::RequestId;
use std::io::Write;
use sys::paths::DataDir;
use sys::text::shown_line;

pub(super) fn print(
    out: &mut impl Write,
    style: Style,
    heartbeat: &HeartbeatStatus,
    (dir, daemon): (&DataDir, bool),
    now: Timestamp,
) -> anyhow::Result<()> {
    let (title, id) = (shown_line(&heartbeat.title), shown_line(&heartbeat.id));
    writeln!(out, "\n{}  {}", style.bold(title), style.dim(id))?;
    if !heartbeat.backend.is_default() {
        writeln!(out, "  agent     {}", heartbeat.backend)?;
    }
    writeln!(out, "  schedule  {}", heartbeat.schedule.as_deref().unwrap_or("none"))?;
    if let Some(on) = &heartbeat.on {
        writeln!(out, "  on        changes of {}", plain_line(&on.join(", ")))?;
    }
    match (&heartbeat.last, heartbeat.unjournaled_run()) {
        (None, Some(began)) => {
            writeln!(out, "  last      {}; the journal has no line for it", ago(began, now))?;
        }
        (Some(last), later) => {
            let text = last.text_after_outcome.as_deref().unwrap_or_default();
            let text = plain_line(&beat_text(last.outcome, text));
            let text = named_in(&text, dir, heartbeat.waits_for.as_ref());
            let line = format!(
                "  last      {} {} {}{text}",
                style.outcome_of(last.outcome, last.stopped),
                ago(&last.ended_at, now),
                undecided(last.undecided)
            );
            writeln!(out, "{}", line.trim_end())?;
            if let Some(began) = later {
                let began = ago(began, now);
                writeln!(out, "            lastRun is later, {began}; the journal has no line for it")?;
            }
        }
        (None, None) if heartbeat.last_run_ahead.is_some() => writeln!(out, "  last      unknown")?,
        (None, None) => writeln!(out, "  last      never")?,
    }
    let held = heartbeat.next_run.as_deref().and_then(|next| held_at(heartbeat, next));
    match (&heartbeat.running, &heartbeat.waits_for, &heartbeat.next_run, held) {
        (Some(running), ..) => {
            writeln!(out, "  running   for {}", lasting(&running.since, now))?;
            if let Some(id) = &running.waits_for {
                writeln!(
                    out,
                    "  waits     for you: request {}; see: murmur inbox",
                    name_of(dir, id.as_str())
                )?;
            }
        }
        (None, Some(id), ..) => {
            writeln!(out, "  next      when request {} is answered", name_of(dir, id.as_str()))?
        }
        (None, None, ..) if heartbeat.schedule.is_none() && heartbeat.on.is_none() => {
            writeln!(out, "  next      never")?
        }
        (None, None, ..) if !heartbeat.enabled => writeln!(out, "  next      never: \"enabled\" is false")?,
        (None, None, ..) if !daemon => {
            writeln!(out, "  next      not scheduled: the daemon is not running")?;
            if let Some(HeldStatus { until, why, .. }) = &heartbeat.held {
                writeln!(out, "  held      ends {}: {}", ahead(until, now), plain_line(why))?;
            }
        }
        (None, None, ..) if !heartbeat.approved => writeln!(out, "  next      when it is approved")?,
        (None, None, ..) if heartbeat.unedited => writeln!(out, "  next      when it is edited")?,
        (None, None, _, Some(HeldStatus { until, why, .. })) => {
            writeln!(out, "  next      {}: {}", ahead(until, now), plain_line(why))?;
        }
        (None, None, ..) if heartbeat.waiting => writeln!(out, "  next      due, waits for its turn")?,
        (None, None, Some(next), None) => {
            let reason =
                heartbeat.next_reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            writeln!(out, "  next      {}{reason}", ahead(next, now))?;
        }
        (None, None, None, None) if heartbeat.paused.is_some() => {
            writeln!(out, "  next      when it is resumed")?;
        }
        (None, None, None, None) if heartbeat.on.is_some() && !heartbeat.never_runs => {
            writeln!(out, "  next      when files change")?
        }
        (None, None, None, None) => writeln!(out, "  next      never")?,
    }
    if let Some(Dropped { count, last, why }) = &heartbeat.dropped {
        let runs = if *count == 1 { "run" } else { "runs" };
        writeln!(
            out,
            "  dropped   {count} {runs} since the daemon started, the last {}: {}",
            ago(last, now),
            plain_line(why)
        )?;
    }
    if heartbeat.unedited {
        let file = file_of(heartbeat.workspace.as_ref(), heartbeat.name.as_deref());
        writeln!(out, "  prompt    not edited yet; edit {}", shown_line(&file.to_string_lossy()))?;
    }
    if let (false, Some(name)) = (heartbeat.approved, &heartbeat.name) {
        let hint = approve_hint(heartbeat.workspace.as_ref(), name);
        writeln!(out, "  approval  not approved yet; {}", shown_line(&hint))?;
    }
    for notice in &heartbeat.notices {
        writeln!(out, "  notice    {}", shown_line(notice))?;
    }
    if let Some(problem) = &heartbeat.problem {
        writeln!(out, "  problem   {problem}")?;
    }
    Ok(())
}

/// The settings of a heartbeat, and where they are set, after what it has spent.
pub(super) fn settings(
    out: &mut impl Write,
    heartbeat: &HeartbeatStatus,
    now: Timestamp,
) -> std::io::Result<()> {
    for BudgetStatus { scope, period, limit, spent, cost_unknown, until } in &heartbeat.budgets {
        let (scope, until) = (plain_line(scope), ahead(until, now));
        let unknown = match cost_unknown {
            0 => String::new(),
            1 => ", and 1 beat of unknown cost".to_owned(),
            more => format!(", and {more} beats of unknown cost"),
        };
        writeln!(
            out,
            "  spent     {spent} of {limit} this {period} by {scope}{unknown}; the {period} ends {until}"
        )?;
    }
    writeln!(out, "  settings")?;
    for Setting { key, value, source } in &heartbeat.settings {
        writeln!(out, "    {key}: {}  ({source})", plain_line(value))?;
    }
    Ok(())
}

/// What a person should do about the heartbeat first.
pub(super) fn hint_of(heartbeat: &HeartbeatStatus, dir: &DataDir) -> Option<String> {
    let workspace = heartbeat.workspace.as_ref();
    let id = if heartbeat.running.is_some() {
        request_of_running(heartbeat)
    } else {
        heartbeat.waits_for.as_ref()
    };
    let request = id.map(|id| format!("request {} is waiting; see: murmur inbox", name_of(dir, id.as_str())));
    let unapproved = heartbeat.name.as_deref().filter(|_| !heartbeat.approved);
    let edit = || format!("edit {}", file_of(workspace, heartbeat.name.as_deref()).display());
    request
        .or_else(|| heartbeat.problem.clone())
        .or_else(|| unapproved.map(|name| approve_hint(workspace, name)))
        .or_else(|| heartbeat.unedited.then(edit))
        .or_else(|| heartbeat.notices.first().cloned())
}

/// The request that the running beat waits for.
pub(super) fn request_of_running(heartbeat: &HeartbeatStatus) -> Option<&RequestId> {
    heartbeat.running.as_ref().and_then(|running| running.waits_for.as_ref())
}

/// What holds the heartbeat when it is due `next`.
pub(super) fn held_at<'a>(heartbeat: &'a HeartbeatStatus, next: &str) -> Option<&'a HeldStatus> {
    let at = |text: &str| text.parse::<Timestamp>().ok();
    heartbeat.held.as_ref().filter(|held| at(next) <= at(&held.until))
}

fn ago(at: &str, now: Timestamp) -> String {
    at.parse::<Timestamp>()
        .map_or_else(|_| at.to_owned(), |at| format!("{} ago", span(now.duration_since(at))))
}

/// How long something has lasted that began at a time.
fn lasting(since: &str, now: Timestamp) -> String {
    since.parse::<Timestamp>().map_or_else(|_| since.to_owned(), |since| span(now.duration_since(since)))
}

/// A future time, for people.
pub(super) fn ahead(at: &str, now: Timestamp) -> String {
    at.parse::<Timestamp>().map_or_else(
        |_| at.to_owned(),
        |at| format!("in {} ({})", span(at.duration_since(now)), local_time(at)),
    )
}
