//! A year of beats with a clock of its own and stand-ins for agents: journal, captures and garbage collection are real.
//!
//! Simulated are the results of beats: what each leaves in the journal and as a capture, made by murmur's own writers. Simulated
//! are not their processes, the daemon's loop and what starts them: a beat runs at each planned time. Real are rotation, the
//! daemon's daily garbage collection, and `murmur status`, whose time is that of the program.
//!
//! A check simulates a few weeks of a few heartbeats. `MURMUR_YEAR_DAYS` (`just year`) asks for 100 heartbeats every 30
//! minutes, and for the limits that hold after a year.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use derun::log::Log;
use derun::pack::{self, Label};
use derun::record::{Channel, TransportMode};
use derun::recorder::Recorder;
use derun::store::{NewSession, Store};
use derun::writer::End;
use jiff::{SignedDuration, Timestamp};
use murmur::daemon::gc::{Scope, collect};
use murmur_core::config::captures::Captures;
use murmur_core::id::{BeatId, SessionId};
use murmur_core::outcome::Kind;
use murmur_store::journal::append;
use murmur_store::journal::entry::Entry;
use rotate::History;
use serde_json::json;
use sys::paths::{DataDir, slug};

use crate::env::{Env, fixture};

/// How many beats fail.
const FAILS: usize = 100;

struct Year {
    days: i64,
    heartbeats: usize,
    beats_a_day: i64,
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

/// Runs a beat of `workspace` at `now`: all that it would leave behind.
fn beat(dir: &DataDir, store: &Store, workspace: &Path, stream: &[u8], number: usize, now: Timestamp) {
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
    let writer = store.create(new, now).unwrap();
    let id = writer.id().clone();
    let recorder = Recorder::with_deferred_sync(writer, Log::open(store.root()));
    recorder.beside("events.jsonl").unwrap().unwrap();
    recorder.capture(Channel::Stdout, stream);
    let failed = number.is_multiple_of(FAILS);
    recorder.finish(&End::Exited(failed.into())).unwrap();
    let label = Label { group: slug(workspace, None), failed };
    assert!(pack::pack(store, &id, &label, false).unwrap());
    let (ts, outcome) = (now.to_string(), if failed { Kind::Error } else { Kind::Ok });
    let entry = Entry {
        beat: Some(BeatId::new(uuid::Uuid::now_v7().to_string())),
        agent: format!("heartbeat-{}", &id.as_str()[18..]),
        session_id: Some(SessionId::new(uuid::Uuid::now_v7().to_string())),
        cost_usd: Some(0.0123),
        num_turns: Some(1),
        model: Some("claude-sonnet-4-5".to_owned()),
        error: failed.then(|| "claude exited with code 1".to_owned()),
        capture: Some(id),
        ..Entry::new(ts, workspace.display().to_string(), outcome, 8200)
    };
    append::append(&dir.journal(), &entry).unwrap();
}

#[test]
fn a_year_of_beats_takes_little_space() {
    let asked = std::env::var("MURMUR_YEAR_DAYS").ok().map(|days| days.parse().unwrap());
    let year = match asked {
        Some(days) => Year { days, heartbeats: 100, beats_a_day: 48 },
        None => Year { days: 20, heartbeats: 4, beats_a_day: 4 },
    };
    let env = Env::for_as_long_as(Duration::from_secs(24 * 3600));
    let workspaces: Vec<_> =
        (0..year.heartbeats).map(|number| env.workspace(&format!("w{number}"), "Do it.").0).collect();
    let entries: Vec<_> = workspaces.iter().map(|path| json!({ "path": path, "interval": "30m" })).collect();
    env.configure(&json!({ "workspaces": entries }).to_string());
    let dir = DataDir::find(Some(&env.data()), None, None).unwrap();
    let root = env.home().join(".local/state/derun");
    let store = Store::open(&root).unwrap();
    let stream = fs::read(Path::new(&fixture("ok")).join("stdout")).unwrap();
    let (end, begun) = (sys::clock::now(), Instant::now());
    let start = end - SignedDuration::from_hours(24 * year.days);
    let (mut number, mut most) = (0, Usage::default());
    for day in 0..year.days {
        for slot in 0..year.beats_a_day {
            let seconds = day * 86_400 + slot * 86_400 / year.beats_a_day;
            for workspace in &workspaces {
                number += 1;
                beat(&dir, &store, workspace, &stream, number, start + SignedDuration::from_secs(seconds));
            }
        }
        let now = start + SignedDuration::from_hours(24 * (day + 1));
        let captures = Some((&*root, Captures::default()));
        let collected = collect(&Scope { dir: &dir, captures, is_dry_run: false }, now);
        assert!(collected.error.is_none(), "{collected:?}");
        if day % 30 == 29 || day == year.days - 1 {
            let mut usage = Usage::default();
            usage.add(&env.data());
            usage.add(&root);
            most = Usage { bytes: most.bytes.max(usage.bytes), inodes: most.inodes.max(usage.inodes) };
            println!(
                "day {}: {} MiB, {} inodes, {:?}",
                day + 1,
                usage.bytes >> 20,
                usage.inodes,
                begun.elapsed()
            );
        }
    }
    // Every beat has its line.
    let parts = History::open(&dir.journal()).unwrap().into_bytes();
    let lines: usize = parts.map(|part| part.unwrap().iter().filter(|byte| **byte == b'\n').count()).sum();
    assert_eq!(lines, number);
    let kept = pack::list(&store).unwrap().len();
    assert!(kept < number, "no capture was removed");
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
