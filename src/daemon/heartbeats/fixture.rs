//! Heartbeats for tests.

use jiff::Timestamp;
use murmur_core::config::approval::ApprovalSettings;
use murmur_core::config::gate::{GateSource, Gates};
use murmur_core::config::heartbeat::{Heartbeat, HeartbeatId};
use murmur_core::config::interval::Interval;
use murmur_core::config::limit::{Notices, Source, Sourced};
use murmur_core::config::mcp::Mcp;
use murmur_core::config::on_failure::OnFailure;
use murmur_core::config::permissions::Permissions;
use murmur_core::config::requires::Requires;
use murmur_core::config::reserve::OnLimit;
use murmur_core::config::size::Size;
use murmur_core::config::timing::Schedule;
use murmur_core::config::watchdogs::Watchdogs;
use murmur_core::id::BeatId;
use std::path::Path;

/// This time of one day.
pub(crate) fn at(text: &str) -> Timestamp {
    format!("2026-02-03T{text}Z").parse().unwrap()
}

/// The id of a beat.
pub(crate) fn beat(id: &str) -> BeatId {
    BeatId::new(id)
}

/// A heartbeat that is due every `minutes`.
pub(crate) fn heartbeat(
    workspace: &str,
    name: Option<&str>,
    minutes: u32,
    last_run: Option<&str>,
) -> Heartbeat {
    let workspace = Path::new(workspace);
    Heartbeat {
        id: HeartbeatId::new(workspace, name),
        workspace: workspace.into(),
        name: name.map(Into::into),
        title: "".into(),
        description: None,
        file: workspace.join("HEARTBEAT.md"),
        schedule: Some(Schedule::Every(Interval::from_secs(minutes * 60).unwrap())),
        max_turns: None,
        scheduled_by: Source::ConfigJson,
        timeout: Sourced::default(Interval::from_secs(300).unwrap()),
        background_wait: Sourced::default(Interval::from_secs(10).unwrap()),
        model: None,
        backend: None,
        requires: Requires::default(),
        required_by_user: 0,
        mcp: Sourced::default(Mcp::default()),
        gates: Gates::default(),
        gate_source: Sourced::default(GateSource::Config),
        gates_by_user: (0, 0),
        on_failure: OnFailure::default(),
        max_budget: None,
        budgets: None,
        min_free: Sourced::default(Size::mebibytes(256)),
        watchdogs: Watchdogs::default(),
        permissions: Permissions::default(),
        denied_by_user: 0,
        notices: Notices::default(),
        asking: ApprovalSettings::default(),
        guard: true,
        tighter: ApprovalSettings::default(),
        reserve: None,
        on_limit: Sourced::default(OnLimit::default()),
        places: None,
        problem: None,
        never_runs: false,
        unedited: false,
        approved: true,
        options: None,
        last_run: last_run.map(at),
    }
}
