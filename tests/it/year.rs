//! A year of beats with a clock of its own and stand-ins for agents: which beats run, journal, captures and garbage
//! collection are real.
//!
//! The daemon's state machine decides which beats run, and when (`year/daemon.rs`). Simulated are the clock and the
//! beats: what each leaves (a journal line, the decision on its call, a pulse, a capture) is made by murmur's own
//! writers. Real are rotation, the daemon's daily garbage collection, and `murmur status`, whose time is that of the
//! program.
//!
//! A check simulates a few weeks of a few heartbeats. `MURMUR_YEAR_DAYS` (`just year`) asks for 100 heartbeats every 30
//! minutes, and for the limits that hold after a year. Two more heartbeats have active hours, and always fail.

mod daemon;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use derun::log::Log;
use derun::pack::{self, Label};
use derun::record::{Channel, TransportMode};
use derun::recorder::Recorder;
use derun::store::{NewSession, Store};
use derun::writer::End;
use jiff::SignedDuration;
use murmur::daemon::gc::{Scope, collect};
use murmur_core::config::captures::Captures;
use murmur_core::failures::BeatEnd;
use murmur_core::id::{BeatId, SessionId};
use murmur_core::outcome::OutcomeKind;
use murmur_core::permit::decision::{DecidedBy, DecisionKind};
use murmur_store::journal::append;
use murmur_store::journal::decisions::{self, DecisionLine, shown};
use murmur_store::journal::entry::JournalEntry;
use murmur_store::pulse::{Pulse, write};
use rotate::History;
use serde_json::json;
use sys::paths::{DataDir, slug};

use crate::env::{Env, fixture};
use daemon::{Daemon, Ended};

/// How many beats fail: one in this many.
const FAILS: usize = 100;

/// The workspaces with active hours, and whose beats always fail.
const OFFICE: &str = "office";
const BROKEN: &str = "broken";

struct Year {
    days: i64,
    heartbeats: usize,
    beats_a_day: usize,
}

/// The files that beats leave.
struct Files {
    dir: DataDir,
    store: Store,
    /// What an agent prints.
    stream: Vec<u8>,
    /// How many beats each workspace has had.
    beats: RefCell<HashMap<PathBuf, usize>>,
}

/// The space that everything in a folder takes.
#[derive(Debug, Default, Clone, Copy)]
struct Usage {
    bytes: u64,
    inodes: u64,
}

impl Usage {
    fn add(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let entry = entry.unwrap();
            let found = entry.metadata().unwrap();
            self.inodes += 1;
            self.bytes += found.blocks() * 512;
            if found.is_dir() {
                self.add(&entry.path());
            }
        }
    }
}

impl Files {
    /// Leaves behind all that a beat of `workspace` would, which began at `started`.
    fn beat(&self, Ended { workspace, started }: Ended<'_>) -> BeatEnd {
        let mut beats = self.beats.borrow_mut();
        let number = beats.entry(workspace.to_path_buf()).or_default();
        *number += 1;
        let failed = number.is_multiple_of(FAILS) || workspace.ends_with(BROKEN);
        let new = NewSession {
            id: None,
            command: vec!["claude".to_owned()],
            working_directory: workspace.display().to_string(),
            retention: Captures::default().keep_failed.duration(),
            transport: TransportMode::Pipe,
            tty_attached: false,
            max_bytes: None,
            group: None,
        };
        let writer = self.store.create(new, started).unwrap();
        let id = writer.id().clone();
        let recorder = Recorder::with_deferred_sync(writer, Log::open(self.store.root()));
        recorder.beside("events.jsonl").unwrap().unwrap();
        recorder.capture(Channel::Stdout, &self.stream);
        recorder.finish(&End::Exited(failed.into())).unwrap();
        let label = Label { group: slug(workspace, None), failed };
        assert!(pack::pack(&self.store, &[&id], &label, false).unwrap());
        let (ts, outcome) = (started.to_string(), if failed { OutcomeKind::Error } else { OutcomeKind::Ok });
        let entry = JournalEntry {
            beat: Some(BeatId::new(uuid::Uuid::now_v7().to_string())),
            agent: format!("heartbeat-{}", &id.as_str()[18..]),
            session_id: Some(SessionId::new(uuid::Uuid::now_v7().to_string())),
            cost_usd: Some(0.0123),
            num_turns: Some(1),
            model: Some("claude-sonnet-4-5".to_owned()),
            error: failed.then(|| "claude exited with code 1".to_owned()),
            capture: Some(id),
            ..JournalEntry::new(ts, workspace.display().to_string(), outcome, 8200)
        };
        self.decide(&entry, workspace);
        let pulse = Pulse { agent_id: entry.agent.clone(), workspace: workspace.into(), ..Pulse::default() };
        write::put(&self.dir, pulse).unwrap();
        match failed {
            true => {
                write::put_over(&self.dir, &entry.agent).unwrap();
                // Its time counts, as that in the pulse is later.
                let pulse = fs::File::open(self.dir.pulse(&entry.agent)).unwrap();
                pulse.set_modified(started.into()).unwrap();
            }
            false => write::remove(&self.dir, &entry.agent),
        }
        append::append(&self.dir.journal(), &entry).unwrap();
        if failed { BeatEnd::Failure { retryable: false } } else { BeatEnd::Success }
    }

    /// Records the decision on the only call of a beat.
    fn decide(&self, beat: &JournalEntry, workspace: &Path) {
        let input = json!({ "command": "git log --oneline -n 20", "description": "Show what changed" });
        let line = DecisionLine {
            ts: beat.ts.clone(),
            agent: &beat.agent,
            project: Some("site"),
            beat: beat.beat.as_ref(),
            tool: "Bash",
            input: shown(&input.to_string()),
            answers: None,
            cwd: workspace,
            session: beat.session_id.as_ref().unwrap().as_str(),
            tool_use_id: &format!("toolu_{}", uuid::Uuid::now_v7().simple()),
            decision: DecisionKind::Allow,
            by: &DecidedBy::Rule { file: "config.json".into(), number: 1 },
            reason: "a rule allows it".to_owned(),
            request: None,
            answered_by: None,
            breach: false,
            duration_ms: 2,
        };
        decisions::append(&self.dir, &line).unwrap();
    }
}

#[test]
fn a_year_of_beats_takes_little_space() {
    let asked = std::env::var("MURMUR_YEAR_DAYS").ok().map(|days| days.parse().unwrap());
    let year = match asked {
        Some(days) => Year { days, heartbeats: 100, beats_a_day: 48 },
        None => Year { days: 20, heartbeats: 4, beats_a_day: 4 },
    };
    let env = Env::for_as_long_as(Duration::from_secs(24 * 3600));
    let interval = format!("{}s", 86_400 / year.beats_a_day);
    let names = (0..year.heartbeats).map(|number| format!("w{number}"));
    let entries: Vec<_> = names
        .map(|name| (name, json!({})))
        .chain([(OFFICE.to_owned(), json!({ "activeHours": "08:00-20:00" })), (BROKEN.to_owned(), json!({}))])
        .map(|(name, mut entry)| {
            (entry["path"], entry["interval"]) =
                (env.workspace(&name, "Do it.").path().into(), json!(interval));
            entry
        })
        .collect();
    env.configure(&json!({ "workspaces": entries }).to_string());
    let root = env.home().join(".local/state/derun");
    let files = Files {
        dir: DataDir::find(Some(&env.data()), None, None).unwrap(),
        store: Store::open(&root).unwrap(),
        stream: fs::read(Path::new(&fixture("ok")).join("stdout")).unwrap(),
        beats: RefCell::default(),
    };
    let dir = &files.dir;
    let (end, begun) = (sys::clock::now(), Instant::now());
    let start = end - SignedDuration::from_hours(24 * year.days);
    let mut daemon = Daemon::start(dir, start, |ended| files.beat(ended));
    let mut most = Usage::default();
    for day in 1..=year.days {
        let now = start + SignedDuration::from_hours(24 * day);
        daemon.run_until(now);
        let captures = Some((&*root, Captures::default()));
        let collected = collect(&Scope { dir, captures, is_dry_run: false }, now);
        assert!(collected.error.is_none(), "{collected:?}");
        if day % 30 == 0 || day == year.days {
            let mut usage = Usage::default();
            usage.add(&env.data());
            usage.add(&root);
            most = Usage { bytes: most.bytes.max(usage.bytes), inodes: most.inodes.max(usage.inodes) };
            println!("day {day}: {} MiB, {} inodes, {:?}", usage.bytes >> 20, usage.inodes, begun.elapsed());
        }
    }
    let reports = daemon.reports;
    let days = usize::try_from(year.days).unwrap();
    let beats = files.beats.take();
    let number: usize = beats.values().sum();
    for (workspace, beats) in &beats {
        let (least, most) = match workspace.file_name().unwrap().to_str().unwrap() {
            // Twelve hours a day, whenever the year begins.
            OFFICE => (days * year.beats_a_day / 2 - 1, days * (year.beats_a_day / 2 + 1)),
            // Slowed down to once a day.
            BROKEN => (days, days + 20),
            // The last one may be running.
            _ => (days * year.beats_a_day - 1, days * year.beats_a_day),
        };
        assert!((least..=most).contains(beats), "{}: {beats} beats", workspace.display());
    }
    assert_eq!((beats.len(), reports), (year.heartbeats + 2, 1), "only one heartbeat keeps failing");
    // Every beat has its line.
    let parts = History::open(&dir.journal()).unwrap().into_bytes();
    let lines: usize = parts.map(|part| part.unwrap().iter().filter(|byte| **byte == b'\n').count()).sum();
    assert_eq!(lines, number + reports);
    let parts = History::open(&dir.decisions()).unwrap().into_bytes();
    let decided: usize = parts.map(|part| part.unwrap().iter().filter(|byte| **byte == b'\n').count()).sum();
    assert_eq!(decided, number);
    let kept = pack::list(&files.store).unwrap().len();
    assert!(year.days <= 14 || kept < number, "no capture was removed");
    let status = || {
        let begun = Instant::now();
        let shown = env.run(["status"]);
        assert!(shown.contains("w0") && shown.ends_with("[exit 0]"), "{shown}");
        begun.elapsed()
    };
    let status = (0..9).map(|_| status()).min().unwrap();
    println!("{number} beats, {kept} captures, at most {most:?}; status: {status:?}");
    if asked.is_some() {
        assert!(most.bytes < 3_000_000_000 && most.inodes < 100_000, "{most:?}");
        assert!(status < Duration::from_millis(20), "{status:?}");
    }
}
