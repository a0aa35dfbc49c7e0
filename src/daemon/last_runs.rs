//! `last-runs.json`: when each heartbeat last started, as known by the daemon that wrote it.
//!
//! config.json has the same, but an editor that saves an old copy sets it back. Later runs are in the journal.

use super::heartbeats::{Heartbeats, LastRuns, ScheduledHeartbeat};
use super::state::BeatSummary;
use super::state_files;
use jiff::{SignedDuration, Timestamp};
use murmur_core::config::heartbeat::HeartbeatId;
use murmur_core::failures::BeatEnd;
use murmur_store::journal::read::{Backward, Entries, FoundEntry, raw_workspace};
use murmur_store::journal::tail::Position;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::Path;
use sys::clock::rfc3339;
use sys::error::Failure;
use sys::paths::DataDir;
use sys::{atomic, file};

/// The version of the file.
const VERSION: u32 = 1;

/// A run that started this long before the file was written may be missing from it: the daemon may not have known of
/// it.
const MARGIN: SignedDuration = SignedDuration::from_secs(2);

/// How far in the future a last run may be, as after the clock was set back.
const MAX_FUTURE: SignedDuration = SignedDuration::from_hours(24);

/// How long to keep the last run of a heartbeat that is not in config.json, in case it comes back.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 90);

/// The file's contents.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Contents {
    version: u32,
    /// When it was written, RFC 3339.
    as_of: String,
    /// When each heartbeat last started, RFC 3339, by heartbeat id.
    last_runs: BTreeMap<String, String>,
}

/// The file's contents besides the version.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Unversioned {
    #[serde(rename = "asOf")]
    _as_of: String,
    #[serde(rename = "lastRuns")]
    _last_runs: BTreeMap<String, String>,
}

/// What an earlier daemon saved.
#[derive(Debug, Default)]
pub struct Saved {
    /// When it was saved; `None` if never or in the future, and the whole journal has to be read.
    pub as_of: Option<Timestamp>,
    /// The last runs. Those too far in the future count as now.
    pub runs: LastRuns,
}

/// Reads the file. A missing or invalid file counts as empty: the journal has the same runs.
#[must_use]
pub fn read(dir: &DataDir, now: Timestamp) -> Saved {
    let bytes = file::read_regular(&dir.last_runs()).ok().flatten();
    let contents = bytes.and_then(|bytes| serde_json::from_slice::<Contents>(&bytes).ok());
    let Some(contents) = contents.filter(|contents| contents.version == VERSION) else {
        return Saved::default();
    };
    let is_plausible = |at: &Timestamp| at.duration_since(now) <= MAX_FUTURE;
    let run = |(id, at): (String, String)| {
        let at = at.parse::<Timestamp>().ok()?;
        Some((HeartbeatId::parse(&id), Some(at).filter(is_plausible).unwrap_or(now)))
    };
    let as_of = contents.as_of.parse().ok().filter(|as_of| *as_of <= now);
    Saved { as_of, runs: contents.last_runs.into_iter().filter_map(run).collect() }
}

/// Why the file is not readable; `None` if it is.
#[must_use]
pub fn problem(dir: &DataDir) -> Option<Failure> {
    let then = "only config.json and the journal say when heartbeats last ran";
    state_files::problem::<Unversioned>(&dir.last_runs(), then, "remove it; the daemon writes it again")
}

/// Runs in the journal that no daemon has seen.
#[derive(Debug, Default)]
pub struct MissedRuns {
    /// The last runs.
    pub last: LastRuns,
    /// The ends of beats that do not count as successes or failures yet, oldest first.
    pub uncounted: Vec<BeatSummary>,
}

/// Returns the runs in the journal since `as_of`, or without it, each heartbeat's last run in the whole journal. Only
/// ends before `until` are uncounted.
pub fn since(
    dir: &DataDir,
    as_of: Option<Timestamp>,
    until: Option<Position>,
    state: &Heartbeats,
) -> io::Result<MissedRuns> {
    let missed = between(dir, as_of, until, state)?;
    if until.is_none() {
        return Ok(missed);
    }
    // What ran until now must not run again, even if its line is read later.
    Ok(MissedRuns { last: between(dir, as_of, None, state)?.last, ..missed })
}

fn between(
    dir: &DataDir,
    as_of: Option<Timestamp>,
    until: Option<Position>,
    state: &Heartbeats,
) -> io::Result<MissedRuns> {
    let since = as_of.map(|as_of| as_of.checked_sub(MARGIN).unwrap_or(Timestamp::MIN));
    let mut wanted: HashMap<&HeartbeatId, &ScheduledHeartbeat> =
        state.entries().iter().map(|entry| (&entry.heartbeat.id, entry)).collect();
    // Skips parsing lines of other workspaces: there may be a million.
    let workspaces = state.entries().iter().filter_map(|entry| entry.heartbeat.workspace.to_str());
    let workspaces: HashSet<Vec<u8>> = workspaces.filter_map(|path| serde_json::to_vec(path).ok()).collect();
    let wants = |line: &[u8]| raw_workspace(line).is_some_and(|workspace| workspaces.contains(workspace));
    let mut lines = Backward::open(&dir.journal())?;
    if let Some(until) = until {
        lines = lines.until(until)?;
    }
    let mut entries = Entries::new(lines, since);
    let mut missed = MissedRuns::default();
    while !wanted.is_empty()
        && let Some(FoundEntry { entry, .. }) = entries.next_entry(wants)?
    {
        let Some(began) = entry.started().filter(|_| entry.kind.is_beat()) else { continue };
        let id = HeartbeatId::new(Path::new(&entry.workspace), entry.heartbeat.as_deref());
        let Some(heartbeat) = wanted.get(&id) else { continue };
        let is_missed = since.zip(entry.ended()).is_none_or(|(since, ended)| ended >= since);
        let is_uncounted = is_missed && !heartbeat.has_counted(began);
        let line = BeatSummary::of(&entry);
        // Lines before a success or a counted end don't matter; without `since`, they may have been counted or reset.
        if !is_uncounted || line.end == BeatEnd::Success || since.is_none() {
            wanted.remove(&id);
        }
        // Only a daemon replaces beats, and counts them.
        if is_uncounted && line.end != BeatEnd::Replaced {
            missed.uncounted.push(line);
        }
        // A heartbeat's beats end in the order they start, so the first found is the last.
        missed.last.entry(id).or_insert(began);
    }
    missed.uncounted.reverse();
    Ok(missed)
}

/// Writes the last runs of `state`. On an error the file is unchanged.
pub fn write(dir: &DataDir, state: &Heartbeats, now: Timestamp) -> io::Result<()> {
    let is_kept = |at: Timestamp| now.duration_since(at) <= KEPT;
    let retired = state.retired().iter().filter(|(_, at)| is_kept(**at)).map(|(id, at)| (id, *at));
    let known = state.entries().iter().filter_map(|entry| Some((&entry.heartbeat.id, entry.last_run?)));
    let last_runs = retired.chain(known).map(|(id, at)| (id.to_string(), rfc3339(at))).collect();
    let contents = Contents { version: VERSION, as_of: rfc3339(now), last_runs };
    let mut bytes = serde_json::to_vec(&contents)?;
    bytes.push(b'\n');
    atomic::write(&dir.last_runs(), &bytes)
}
