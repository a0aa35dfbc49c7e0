//! Heartbeats for tests.

use super::DeferredBeat;
use jiff::Timestamp;
use murmur_core::config::heartbeat::{BeatSettings, Heartbeat, HeartbeatId};
use murmur_core::config::interval::Interval;
use murmur_core::config::limit::Source;
use murmur_core::config::schedule_options::ScheduleOptions;
use murmur_core::config::timing::Schedule;
use murmur_core::id::{AgentId, BeatId};
use murmur_core::permit::request::RequestId;
use std::path::Path;
use std::sync::Arc;

/// This time of one day.
pub(crate) fn at(text: &str) -> Timestamp {
    format!("2026-02-03T{text}Z").parse().unwrap()
}

/// The id of a beat.
pub(crate) fn beat(id: &str) -> BeatId {
    BeatId::new(id)
}

/// A beat of `/a` that waited for an answer, which it got.
pub(crate) fn answered(by_person: bool) -> DeferredBeat {
    DeferredBeat {
        id: RequestId::parse("7ggs733k").unwrap(),
        agent: AgentId::parse("a-1").unwrap(),
        session: None,
        workspace: "/a".into(),
        name: None,
        is_answered: true,
        by_person,
    }
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
        scheduled_by: Source::ConfigJson,
        settings: Arc::default(),
        places: None,
        problem: None,
        never_runs: false,
        unedited: false,
        approved: true,
        last_run: last_run.map(at),
    }
}

/// Settings with these options of the schedule.
pub(crate) fn with_options(options: ScheduleOptions) -> Arc<BeatSettings> {
    Arc::new(BeatSettings { options: Some(Box::new(options)), ..BeatSettings::default() })
}
