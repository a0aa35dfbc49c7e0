//! Waits for the end of a run.

use super::choose::{Run, hosted_agent, newest};
use murmur_core::id::AgentId;
use murmur_store::journal::entry::JournalEntry;
use murmur_store::journal::unfinished;
use std::time::Duration;
use sys::paths::DataDir;
use sys::process_lock;
use sys::watch::{Watch, WatchedFolder};
use tokio::time::sleep;

/// How often to look whether the process died: nothing is written then.
const TICK: Duration = Duration::from_secs(1);

/// Waits until a run whose agent has ended is over, and returns it with its outcome; `None` if it has none, because its
/// process died.
pub(super) async fn until_over(run: &Run, dir: &DataDir) -> anyhow::Result<Option<Run>> {
    let folder = if run.is_hosted { dir.hosts() } else { dir.beats() };
    let mut watch = Watch::new([&WatchedFolder::new(&folder, &[]).and_writes()])?;
    while is_running(run, dir)? {
        tokio::select! {
            changed = watch.changed() => changed?,
            () = sleep(TICK) => {}
        }
    }
    if run.is_hosted {
        let ended = AgentId::parse(&run.entry.agent).ok().and_then(|agent| hosted_agent(&agent, dir));
        return Ok(ended.filter(|run| !run.is_running));
    }
    let needle = run.entry.beat.as_ref().map(|beat| format!("\"beat\":\"{beat}\""));
    newest(dir, needle.as_deref(), |entry| is_same(entry, run))
}

fn is_running(run: &Run, dir: &DataDir) -> anyhow::Result<bool> {
    if run.is_hosted {
        let record = AgentId::parse(&run.entry.agent).ok().map(|agent| dir.hosts().join(agent.record()));
        return Ok(record.and_then(|path| process_lock::look(&path)).is_some_and(|found| found.is_held));
    }
    Ok(unfinished::survey(&dir.beats())?.running.iter().any(|begun| is_same(&begun.entry, run)))
}

fn is_same(entry: &JournalEntry, run: &Run) -> bool {
    entry.beat == run.entry.beat
}
