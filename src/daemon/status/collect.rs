//! The status of each heartbeat, from the daemon's state.

use super::super::heartbeats::{Heartbeats, Running, ScheduledHeartbeat};
use super::{BudgetStatus, Dropped, HeartbeatStatus, HeldStatus, RunningBeat, Setting, StatusRequest};
use crate::beat::sources;
use jiff::Timestamp;
use murmur_core::config::heartbeat::Heartbeat;
use murmur_core::config::settings::Settings;
use murmur_core::permit::request::RequestId;
use murmur_core::spending::Ledger;
use std::borrow::Cow;
use std::collections::HashMap;
use sys::clock::rfc3339;
use sys::error::Hinted;

/// Returns every heartbeat of `state`, as of `now`, with config.toml's settings if they are `read`, what was spent
/// according to `ledger`, and without the journal's other data.
#[must_use]
pub fn heartbeats(
    state: &Heartbeats,
    read: Option<&Settings>,
    ledger: &Ledger,
    wanted: StatusRequest,
    now: Timestamp,
) -> Vec<HeartbeatStatus> {
    let settings = &read.map_or_else(|| Cow::Owned(Settings::default()), Cow::Borrowed);
    let place = |running: &'_ Running| (running.workspace.clone(), running.name.clone());
    let running: HashMap<_, _> = state.running().iter().map(|running| (place(running), running)).collect();
    let one = |entry: &ScheduledHeartbeat| {
        let waits_for = state.waits_for(entry).cloned();
        let Heartbeat { workspace, name, .. } = &entry.heartbeat;
        let here = (!running.is_empty())
            .then(|| running.get(&(workspace.to_path_buf(), name.as_deref().map(str::to_owned))));
        let mut notices = sources::notices(&entry.heartbeat, &settings.asking);
        notices.extend(entry.heartbeat.unreported_cost(settings).map(|unreported| unreported.line()));
        let problem = entry.heartbeat.problem(read).map(|problem| problem.line());
        let paused = state.pauses().of(&entry.heartbeat.id).filter(|pause| pause.is_active(now)).cloned();
        let rows = wanted.settings.then(|| sources::rows(&entry.heartbeat, settings));
        let budgets = wanted.settings.then(|| BudgetStatus::all(ledger, &entry.heartbeat, now));
        let settings = rows.into_iter().flatten().map(Setting::from).collect();
        HeartbeatStatus {
            notices,
            paused,
            problem,
            settings,
            budgets: budgets.unwrap_or_default(),
            ..heartbeat(entry, here.flatten().copied(), waits_for, now)
        }
    };
    state.entries().iter().map(one).collect()
}

fn heartbeat(
    entry: &ScheduledHeartbeat,
    running: Option<&Running>,
    waits_for: Option<RequestId>,
    now: Timestamp,
) -> HeartbeatStatus {
    let heartbeat = &entry.heartbeat;
    let ahead = heartbeat.last_run.filter(|at| *at > now);
    HeartbeatStatus {
        id: heartbeat.id.to_string(),
        workspace: heartbeat.workspace.display().to_string(),
        name: heartbeat.name.as_deref().map(str::to_owned),
        title: heartbeat.title.to_string(),
        backend: entry.backend().clone(),
        schedule: heartbeat.schedule.as_ref().map(ToString::to_string),
        on: heartbeat.on().map(|on| on.paths().iter().map(ToString::to_string).collect()),
        // A run in the future counts as now, but none started then.
        last_run: entry.last_run.filter(|_| ahead.is_none()).map(rfc3339),
        last_run_ahead: ahead.map(rfc3339),
        last: None,
        next_run: entry.next_run().map(rfc3339),
        next_reason: entry.delay(now),
        dropped: entry.dropped().map(|dropped| Dropped {
            count: dropped.count,
            last: rfc3339(dropped.last),
            why: dropped.why.to_owned(),
        }),
        running: running.map(|running| RunningBeat {
            beat: running.beat.clone(),
            since: rfc3339(running.since),
            waits_for: None,
        }),
        waiting: running.is_none()
            && waits_for.is_none()
            && entry.next_run().is_some_and(|next| next <= now)
            && entry.held().is_none_or(|held| held.until <= now),
        waits_for,
        held: HeldStatus::of(entry.held(), now),
        also_held: HeldStatus::of(entry.also_held(), now),
        unedited: heartbeat.unedited,
        approved: entry.is_approved(),
        notices: Vec::new(),
        repository_untrusted: false,
        problem: None,
        never_runs: heartbeat.never_runs,
        budgets: Vec::new(),
        enabled: heartbeat.is_enabled(),
        paused: None,
        failures: entry.failures(),
        settings: Vec::new(),
    }
}
