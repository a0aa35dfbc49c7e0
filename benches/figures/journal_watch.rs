//! Waits for journal lines without polling, and records when each arrived.

use anyhow::Context;
use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::path::Path;
use std::time::Duration;
use sys::watch::{Watch, WatchedFolder};

/// Waits until the journal at `path`, in an existing folder, has `count` lines or `timeout` is over, and returns
/// when each was seen.
pub(crate) fn lines(path: &Path, count: usize, timeout: Duration) -> anyhow::Result<Vec<Timestamp>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let folder = path.parent().context("a journal stands in a folder")?;
        let mut watch = Watch::new([&WatchedFolder::new(folder, &["heartbeats.jsonl"])])?;
        let mut seen = Vec::with_capacity(count);
        let waiting = async {
            loop {
                let there = fs::read(path).unwrap_or_default();
                let there = memchr::memchr_iter(b'\n', &there).count();
                seen.resize(there.max(seen.len()), now()?);
                if seen.len() >= count {
                    return anyhow::Ok(());
                }
                watch.changed().await?;
            }
        };
        if let Ok(failed) = tokio::time::timeout(timeout, waiting).await {
            failed?;
        }
        anyhow::ensure!(!seen.is_empty(), "no line in the journal after {timeout:?}");
        Ok(seen)
    })
}

/// In nanoseconds; murmur's own clock counts milliseconds.
fn now() -> anyhow::Result<Timestamp> {
    let now = clock_gettime(ClockId::Realtime);
    Ok(Timestamp::new(now.tv_sec, i32::try_from(now.tv_nsec)?)?)
}
