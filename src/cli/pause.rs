//! `murmur pause` and `murmur resume`: change which heartbeats the daemon may start, whether one runs or not.

pub(super) mod until;

use super::heartbeat_name::{named, unknown};
use super::pause_args::{Pause as PauseArgs, Resume as ResumeArgs};
use super::status::merge_missed;
use super::style::{local_time, plain_line};
use super::user_env::UserEnv;
use crate::daemon::heartbeats::Heartbeats;
use crate::daemon::pauses::{self, Pause, Pauses};
use anyhow::bail;
use derun::cli::stdout::stdout;
use jiff::Timestamp;
use murmur_core::config::heartbeat::{Cache, Heartbeat, HeartbeatId};
use murmur_store::failures;
use murmur_store::journal::unfinished;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use sys::error::Failure;
use sys::paths::DataDir;
use sys::text::{Shown, shown_line};
use sys::unreadable::unwritable;
use sys::{clock, failure, shell};

pub(super) fn run(args: &PauseArgs, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.own_data_dir()?;
    let reason = args.reason.as_deref().map(plain_line).filter(|reason| !reason.is_empty());
    let now = clock::now();
    // Nobody needs its nanoseconds.
    let since = Timestamp::from_second(now.as_second()).ok();
    let paused: Vec<Option<HeartbeatId>> = match args.all {
        true => vec![None],
        false => chosen(args.name.as_deref(), false, &dir, env, now)?.into_iter().map(Some).collect(),
    };
    pauses::change(&dir, now, |pauses| {
        for id in &paused {
            let heartbeat = id.as_ref().map(ToString::to_string);
            pauses.add(Pause { heartbeat, since, until: args.until, reason: reason.clone() });
        }
    })?;
    let mut out = Shown(stdout().lock());
    let until = args.until.map(|until| format!(" until {}", local_time(until))).unwrap_or_default();
    for id in &paused {
        let (what, name) = shown(id.as_ref());
        writeln!(out, "paused {what}{until}; to resume, run: murmur resume {name}")?;
    }
    let survey = unfinished::survey(&dir.beats()).unwrap_or_default();
    let running = survey.running.iter().filter(|begun| {
        let id = HeartbeatId::new(Path::new(&begun.entry.workspace), begun.entry.heartbeat.as_deref());
        paused.iter().any(|paused| paused.as_ref().is_none_or(|paused| *paused == id))
    });
    match running.count() {
        0 => {}
        1 => writeln!(out, "1 beat is running and continues")?,
        many => writeln!(out, "{many} beats are running and continue")?,
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn resume(args: &ResumeArgs, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.own_data_dir()?;
    let now = clock::now();
    let mut out = Shown(stdout().lock());
    if args.all {
        let was_paused = pauses::change(&dir, now, |pauses| {
            let was_paused = pauses.active(now).next().is_some();
            pauses.clear();
            was_paused
        })?;
        let failed = reset_failures(&dir, None, env, now)?;
        let resumed = was_paused || !failed.is_empty();
        writeln!(out, "{}", if resumed { "resumed all heartbeats" } else { "nothing is paused" })?;
        return Ok(ExitCode::SUCCESS);
    }
    let ids = chosen(args.name.as_deref(), true, &dir, env, now)?;
    let (resumed, all): (Vec<bool>, bool) = pauses::change(&dir, now, |pauses: &mut Pauses| {
        let resumed =
            ids.iter().map(|id| pauses.remove(Some(id.as_str())).is_some_and(|was| was.is_active(now)));
        (resumed.collect(), pauses.active(now).any(|pause| pause.heartbeat.is_none()))
    })?;
    let failed = reset_failures(&dir, Some(&ids), env, now)?;
    for (id, was_paused) in ids.iter().zip(resumed) {
        let (what, _) = shown(Some(id));
        if let Some(failures) = failed.get(id.as_str()) {
            let times = if *failures == 1 { "once" } else { &format!("{failures} times in a row") };
            writeln!(out, "{what} failed {times}; its failure count is reset")?;
        }
        match (was_paused, all) {
            (true, false) => writeln!(out, "resumed {what}")?,
            (false, false) if failed.contains_key(id.as_str()) => {}
            (false, false) => writeln!(out, "{what} is not paused")?,
            (_, true) => writeln!(
                out,
                "{what} is still paused, because all heartbeats are paused; to resume all, run: murmur resume --all"
            )?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Resets the failures of these heartbeats, or of all, so that they run as scheduled. Returns how many each had.
fn reset_failures(
    dir: &DataDir,
    ids: Option<&[HeartbeatId]>,
    env: &UserEnv,
    now: Timestamp,
) -> Result<BTreeMap<String, u32>, Failure> {
    let mut state = Heartbeats::default();
    // If config.json is invalid, only heartbeats with failures in failures.json are reset.
    if let Ok(loaded) = Cache::new(env.time_zone()).load(&dir.config(), now) {
        let _wrong_ones = state.load(loaded.heartbeats, loaded.max_concurrent, now);
        state.set_streaks(failures::read(dir).unwrap_or_default(), now);
        let _runs = merge_missed(&mut state, dir, now);
    }
    let known: Vec<HeartbeatId> = state.entries().iter().map(|entry| entry.heartbeat.id.clone()).collect();
    let reset = failures::reset(dir, ids.unwrap_or(&known), ids.is_none(), now);
    let mut had = reset.map_err(|error| unwritable(&dir.failures(), &error))?;
    // The journal may have failures that no daemon has counted.
    for entry in state.entries().iter().filter(|entry| entry.failures() > 0) {
        let id = &entry.heartbeat.id;
        if ids.is_none_or(|ids| ids.contains(id)) {
            had.insert(id.to_string(), entry.failures());
        }
    }
    Ok(had)
}

/// What is paused, and how it is named on the command line.
pub(super) fn shown(id: Option<&HeartbeatId>) -> (String, String) {
    match id {
        None => ("all heartbeats".to_owned(), "--all".to_owned()),
        Some(id) => (shown_line(id.as_str()), shown_line(&shell::path(Path::new(id.as_str())))),
    }
}

/// The heartbeats called `name`, or those of the current folder. `is_resume` is whether one that is no longer
/// configured may be chosen.
fn chosen(
    name: Option<&str>,
    is_resume: bool,
    dir: &DataDir,
    env: &UserEnv,
    now: Timestamp,
) -> anyhow::Result<Vec<HeartbeatId>> {
    let loaded = Cache::new(env.time_zone()).load(&dir.config(), now)?;
    // A heartbeat that is no longer configured can still be resumed.
    let pauses = pauses::read(dir);
    let old = pauses.active(now).filter_map(|pause| pause.heartbeat.as_deref()).map(HeartbeatId::parse);
    if let Some(id) = old.into_iter().find(|id| Some(id.as_str()) == name)
        && loaded.heartbeats.iter().all(|heartbeat| heartbeat.id != id)
    {
        if is_resume {
            return Ok(vec![id]);
        }
        let (what, path) = shown(Some(&id));
        bail!(failure!("{what} was removed"; "to forget its pause, run: murmur resume {path}"));
    }
    let known = &loaded.heartbeats;
    let path = Path::new(name.unwrap_or("."));
    let real = path.canonicalize().ok();
    let is_there = |heartbeat: &&Heartbeat| {
        let workspace = &heartbeat.workspace;
        **workspace == *path || real.is_some() && (workspace.canonicalize().ok() == real)
    };
    let ids = |found: Vec<&Heartbeat>| found.into_iter().map(|heartbeat| heartbeat.id.clone()).collect();
    let Some(name) = name else {
        let found: Vec<&Heartbeat> = known.iter().filter(is_there).collect();
        if found.is_empty() {
            bail!(failure!("this folder is not a registered workspace"; "name a heartbeat, or use --all"));
        }
        return Ok(ids(found));
    };
    if let Some(found) = named(name, known, dir)? {
        return Ok(ids(vec![found]));
    }
    let found: Vec<&Heartbeat> = known.iter().filter(is_there).collect();
    if found.is_empty() {
        bail!(unknown(name, known));
    }
    Ok(ids(found))
}
