//! Which run a person means.

use super::super::capture;
use super::super::heartbeat_name::{is_called, named, unknown};
use super::super::style::plain_line;
use super::super::user_env::UserEnv;
use derun::cli::captures;
use derun::id::SessionId;
use derun::store::{Store, StoreError};
use jiff::Timestamp;
use murmur_core::config::backend::Backend;
use murmur_core::config::heartbeat::{Cache, Heartbeat};
use murmur_core::id::{AgentId, BeatId};
use murmur_core::naming::{self, Candidate, LAST, Noun};
use murmur_core::permit::request::RequestId;
use murmur_host::discover;
use murmur_host::record::Record;
use murmur_outcome::OutcomeKind as Outcome;
use murmur_store::journal::entry::{JournalEntry, LineKind};
use murmur_store::journal::read::{Backward, Entries, FoundEntry};
use murmur_store::journal::unfinished;
use std::io;
use std::path::Path;
use sys::paths::DataDir;
use sys::process_lock;
use sys::text::shown_line;
use sys::watch::{Watch, WatchedFolder};
use sys::{clock, failure, shell};

pub(super) enum Chosen {
    Run(Box<Run>),
    /// The id of a capture.
    Capture(String),
}

/// A beat.
pub(in crate::cli) struct Run {
    /// Its journal line; while it is running, the one that it would get if its process died now.
    pub(in crate::cli) entry: JournalEntry,
    pub(super) is_running: bool,
    /// Whether it is a hosted agent instead, which has no journal line.
    pub(super) is_hosted: bool,
}

/// Finds the beat, or the capture, that `what` names.
pub(super) fn choose(what: &str, dir: &DataDir, env: &UserEnv) -> anyhow::Result<Chosen> {
    if what == LAST {
        let latest = latest(dir, None, |_| true)?;
        let none = || failure!("there are no beats yet"; "run one: murmur beat");
        return Ok(latest.ok_or_else(none)?.into());
    }
    // A configuration that can't be read has no names, but the journal has beats.
    let known = Cache::new(env.time_zone()).load(&dir.config(), clock::now()).map(|found| found.heartbeats);
    let known = known.unwrap_or_default();
    if let Some(heartbeat) = named(what, &known, dir)? {
        return of_heartbeat(heartbeat, dir);
    }
    let path = Path::new(what);
    if path.is_dir() {
        let folder = path.canonicalize()?.display().to_string();
        let needle = serde_json::to_string(&folder)?;
        let found = latest(dir, Some(&needle), |entry| entry.workspace == folder)?;
        return Ok(found.ok_or_else(|| failure!("no beat has run in {folder}"; "see: murmur log"))?.into());
    }
    if let Some(run) = by_id(what, dir)? {
        return Ok(run.into());
    }
    // A workspace that isn't registered, or no longer is.
    if let Some(run) = latest(dir, None, |entry| is_called(entry, what))? {
        return Ok(run.into());
    }
    if let Some(run) = of_agent(what, dir)? {
        return Ok(run.into());
    }
    // One that can't be read is reported as such.
    let is_there = |store: Store| !matches!(store.session(what), Err(StoreError::NotFound(_)));
    if captures::existing()?.is_some_and(is_there) {
        return Ok(Chosen::Capture(what.to_owned()));
    }
    if let Some(id) = capture::meant(what)? {
        return Ok(Chosen::Capture(id));
    }
    let hint = unknown(what, &known).to_do().filter(|hint| hint.starts_with("did")).map(str::to_owned);
    let lists = "see: murmur log, murmur agent list, murmur capture list".to_owned();
    Err(failure!("no beat, heartbeat, agent or capture {:?}", plain_line(what))
        .hint(hint.unwrap_or(lists))
        .into())
}

fn of_heartbeat(heartbeat: &Heartbeat, dir: &DataDir) -> anyhow::Result<Chosen> {
    let folder = heartbeat.workspace.display().to_string();
    let name = heartbeat.name.as_deref();
    let needle = serde_json::to_string(&folder)?;
    let is_it = |entry: &JournalEntry| entry.workspace == folder && entry.heartbeat.as_deref() == name;
    let found = newest(dir, Some(&needle), is_it)?;
    let path = shell::path(&heartbeat.workspace);
    let named = name.map(|name| format!(" {}", shell::option("--name", name))).unwrap_or_default();
    let none = || failure!("{} has not run yet", shown_line(heartbeat.id.as_str()); "run it: murmur beat {path}{named}");
    Ok(found.ok_or_else(none)?.into())
}

/// The beat that started last of those that are `is_it`, among those whose line contains `needle`.
pub(in crate::cli) fn latest(
    dir: &DataDir,
    needle: Option<&str>,
    is_it: impl Fn(&JournalEntry) -> bool,
) -> anyhow::Result<Option<Run>> {
    let run = |entry, is_running| Run { entry, is_running, is_hosted: false };
    let running = unfinished::survey(&dir.beats())?.running.into_iter().map(|begun| begun.entry);
    let mut latest = running.filter(&is_it).max_by_key(JournalEntry::started).map(|entry| run(entry, true));
    let mut entries = Entries::new(lines(dir, needle)?, None);
    while let Some(FoundEntry { entry, .. }) = entries.next_entry(|_| true)? {
        let began = latest.as_ref().and_then(|run| run.entry.started());
        // The journal is in the order in which beats ended: earlier lines are of beats that started earlier still.
        if began.is_some() && entry.ended() <= began {
            break;
        }
        let is_later =
            latest.as_ref().is_none_or(|run| entry.started() > began || is_same(&run.entry, &entry));
        if entry.kind.is_beat() && is_it(&entry) && is_later {
            latest = Some(run(entry, false));
        }
    }
    Ok(latest)
}

/// Whether these are of the same beat.
fn is_same(one: &JournalEntry, other: &JournalEntry) -> bool {
    one.beat.is_some() && one.beat == other.beat
}

/// The journal's lines that contain `needle`, newest first.
fn lines(dir: &DataDir, needle: Option<&str>) -> io::Result<Backward> {
    let lines = Backward::open(&dir.journal())?;
    Ok(match needle {
        Some(needle) => lines.containing(needle),
        None => lines,
    })
}

/// The newest beat that `is_it`, among those whose line contains `needle`. A running one is newer than all others.
pub(super) fn newest(
    dir: &DataDir,
    needle: Option<&str>,
    is_it: impl Fn(&JournalEntry) -> bool,
) -> anyhow::Result<Option<Run>> {
    let survey = unfinished::survey(&dir.beats())?;
    let running = survey.running.into_iter().rev().map(|begun| begun.entry).find(|entry| is_it(entry));
    let mut entries = Entries::new(lines(dir, needle)?, None);
    if let Some(running) = running {
        // A beat that is about to end has a line already.
        let began = running.started();
        while let Some(FoundEntry { entry, .. }) =
            entries.next_entry(|_| true)?.filter(|at| at.entry.ended() > began)
        {
            if entry.kind.is_beat() && is_same(&running, &entry) {
                return Ok(Some(Run { entry, is_running: false, is_hosted: false }));
            }
        }
        return Ok(Some(Run { entry: running, is_running: true, is_hosted: false }));
    }
    while let Some(found) = entries.next_entry(|_| true)? {
        if found.entry.kind.is_beat() && is_it(&found.entry) {
            return Ok(Some(Run { entry: found.entry, is_running: false, is_hosted: false }));
        }
    }
    Ok(None)
}

/// The capture of the latest beat that has one, in `workspace`, of `heartbeat` if only that one is meant.
pub(in crate::cli) fn newest_capture(
    dir: &DataDir,
    workspace: Option<&str>,
    heartbeat: Option<&Option<String>>,
) -> anyhow::Result<Option<String>> {
    let is_it = |entry: &JournalEntry| {
        let is_there = workspace.is_none_or(|workspace| entry.workspace == workspace);
        is_there && heartbeat.is_none_or(|name| entry.heartbeat == *name) && entry.capture.is_some()
    };
    let needle = workspace.map(serde_json::to_string).transpose()?;
    let found = latest(dir, needle.as_deref(), is_it)?;
    Ok(found.and_then(|run| run.entry.capture).map(|capture| capture.to_string()))
}

/// Waits until the output of the agent of a running beat is captured, or the beat is over.
pub(super) async fn until_captured(run: Run, dir: &DataDir) -> anyhow::Result<Run> {
    let mut watch = Watch::new([&WatchedFolder::new(&dir.beats(), &[]).and_writes()])?;
    loop {
        let running = unfinished::survey(&dir.beats())?.running.into_iter().map(|begun| begun.entry);
        match running.filter(|entry| entry.beat == run.entry.beat).last() {
            Some(entry) if entry.capture.is_none() => watch.changed().await?,
            Some(entry) => return Ok(Run { entry, is_running: true, is_hosted: false }),
            None => {
                let is_it = |entry: &JournalEntry| entry.beat == run.entry.beat;
                return Ok(newest(dir, None, is_it)?.unwrap_or(run));
            }
        }
    }
}

/// The beat whose id is `start` or has it as a prefix.
fn by_id(start: &str, dir: &DataDir) -> anyhow::Result<Option<Run>> {
    let is_start = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if start.is_empty() || !is_start(start) {
        return Ok(None);
    }
    let start = &*start.to_ascii_lowercase();
    let begins =
        |entry: &JournalEntry| entry.beat.as_ref().is_some_and(|beat| beat.as_str().starts_with(start));
    let running = unfinished::survey(&dir.beats())?.running.into_iter().map(|begun| begun.entry);
    let running =
        running.filter(|entry| begins(entry)).map(|entry| Run { entry, is_running: true, is_hosted: false });
    let mut found: Vec<Run> = running.collect();
    let lines = Backward::open(&dir.journal())?.containing(&format!("\"beat\":\"{start}"));
    let mut entries = Entries::new(lines, None);
    // A short prefix may match a million beats.
    while let (true, Some(next)) = (found.len() < naming::ENOUGH, entries.next_entry(|_| true)?) {
        if next.entry.kind.is_beat() && begins(&next.entry) {
            found.retain(|run| !is_same(&run.entry, &next.entry));
            found.push(Run { entry: next.entry, is_running: false, is_hosted: false });
        }
    }
    let id = |run: &Run| run.entry.beat.as_ref().map(BeatId::to_string).unwrap_or_default();
    let candidates: Vec<Candidate> = found.iter().map(|run| Candidate::new(id(run))).collect();
    let index = naming::find(Noun::Beat, start, &candidates, None)?;
    Ok(index.map(|index| found.swap_remove(index)))
}

/// The run whose agent's output is the capture with this id; `None` if another command was captured.
pub(super) fn captured_as(id: &str, dir: &DataDir) -> anyhow::Result<Option<Run>> {
    let is_it = |entry: &JournalEntry| entry.capture.as_ref().is_some_and(|capture| capture.as_str() == id);
    if let Some(run) = newest(dir, Some(&format!("\"capture\":\"{id}\"")), is_it)? {
        return Ok(Some(run));
    }
    let hosted = discover::started(&dir.hosts()).unwrap_or_default();
    Ok(hosted.iter().filter_map(|(info, _)| hosted_agent(&info.agent_id, dir)).find(|run| is_it(&run.entry)))
}

/// The run of an agent: a beat's, or a hosted one, as its host's record describes it.
pub(super) fn of_agent(what: &str, dir: &DataDir) -> anyhow::Result<Option<Run>> {
    let hosted = discover::started(&dir.hosts()).unwrap_or_default();
    let candidates: Vec<Candidate> =
        hosted.iter().map(|(info, _)| Candidate::new(info.agent_id.as_str())).collect();
    if let Some(index) = naming::find(Noun::Agent, what, &candidates, None)?
        && let Some((info, _)) = hosted.get(index)
        && let Some(run) = hosted_agent(&info.agent_id, dir)
    {
        return Ok(Some(run));
    }
    let Ok(agent) = AgentId::parse(what) else { return Ok(None) };
    newest(dir, Some(&format!("\"agent\":\"{agent}\"")), |entry| entry.agent == agent.as_str())
}

/// The run of the agent with this id.
pub(super) fn hosted_agent(id: &AgentId, dir: &DataDir) -> Option<Run> {
    let found = process_lock::look(&dir.hosts().join(id.record()));
    let record = found.and_then(|found| Record::parse(&found.text))?;
    let folder = record.info.worktree.display().to_string();
    let mut entry = JournalEntry::new(record.info.started_at, folder, Outcome::Ok, 0);
    (entry.agent, entry.backend, entry.capture) = (id.to_string(), record.info.backend, record.capture);
    entry.beat = record.info.beat;
    if let Some(ended) = &record.result {
        let lasted = entry.started().zip(ended.ended_at.parse::<Timestamp>().ok());
        let lasted = lasted.map(|(from, to)| to.duration_since(from).as_millis());
        entry.duration_ms = lasted.and_then(|ms| u64::try_from(ms).ok()).unwrap_or_default();
        (entry.exit, entry.error) = (ended.exit, ended.error.clone());
    }
    let (is_running, is_hosted) = (record.result.is_none(), entry.beat.is_none());
    if is_hosted && !is_running {
        (entry.undecided, entry.undecided_more) = undecided(&entry, dir).unwrap_or_default();
    }
    Some(Run { entry, is_running, is_hosted })
}

/// The backend and the capture of the agent with this id.
pub(in crate::cli) fn hosted_capture(id: &AgentId, dir: &DataDir) -> Option<(Backend, SessionId)> {
    let entry = hosted_agent(id, dir)?.entry;
    Some((entry.backend, entry.capture?))
}

/// The calls that a hosted agent ran without a decision, which the journal has once it has ended, and how many more
/// there were.
fn undecided(agent: &JournalEntry, dir: &DataDir) -> io::Result<(Vec<String>, usize)> {
    let lines = Backward::open(&dir.journal())?.containing(&format!("\"agent\":\"{}\"", agent.agent));
    let mut entries = Entries::new(lines, None);
    while let Some(found) = entries.next_entry(|_| true)? {
        let entry = found.entry;
        if entry.kind == LineKind::Undecided && entry.agent == agent.agent && entry.ts == agent.ts {
            return Ok((entry.undecided, entry.undecided_more));
        }
    }
    Ok((Vec::new(), 0))
}

/// The beat that waited for the answer that continued this one, and the beat that continued this one.
pub(super) fn linked(entry: &JournalEntry, dir: &DataDir) -> anyhow::Result<(Option<Run>, Option<Run>)> {
    let by =
        |key: &str, request: &Option<RequestId>, of: fn(&JournalEntry) -> &Option<RequestId>| match request {
            Some(id) => {
                newest(dir, Some(&format!("\"{key}\":\"{id}\"")), |entry| of(entry).as_ref() == Some(id))
            }
            None => Ok(None),
        };
    let before = by("waiting", &entry.resumes, |entry| &entry.waiting)?;
    Ok((before, by("resumes", &entry.waiting, |entry| &entry.resumes)?))
}

impl From<Run> for Chosen {
    fn from(run: Run) -> Self {
        Self::Run(Box::new(run))
    }
}
