//! The daemon's sweep of a store with many captures of beats, half of which are too old.

use super::home::Home;
use super::measure::{Size, interleave, milliseconds};
use super::table::{Row, Table, Target};
use derun::log::Log;
use derun::pack::{self, Label};
use derun::record::{Channel, TransportMode};
use derun::recorder::Recorder;
use derun::store::{NewSession, Store};
use derun::writer::End;
use jiff::{SignedDuration, Timestamp};
use murmur::daemon::gc::{Scope, collect};
use murmur_core::config::captures::Captures;
use std::path::Path;
use sys::clock;
use sys::paths::DataDir;

const ROUNDS: usize = 11;
/// How many captures there are.
const CAPTURES: Size<usize> = Size { full: 20_000, tiny: 40 };
/// The captures are of so many heartbeats.
const HEARTBEATS: Size<usize> = Size { full: 100, tiny: 2 };

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    let home = Home::new("#!/bin/sh\n")?;
    let (root, now) = (home.path().join("derun"), clock::now());
    let store = Store::open(&root)?;
    let stdout = std::fs::read(super::home::fixture("ok").join("stdout"))?;
    let limits = Captures::default();
    for number in 0..CAPTURES.get() {
        // From twice the time that they are kept, until now.
        let age = 2.0 * limits.keep.duration().as_secs_f64() * (1.0 - number as f64 / CAPTURES.get() as f64);
        let started = now.checked_sub(SignedDuration::from_secs_f64(age))?;
        capture(&store, number, &stdout, started)?;
    }
    let dir = DataDir::find(Some(&home.data()), None, None)?;
    let sweep = || {
        let scope = Scope { dir: &dir, captures: Some((&*root, limits)), is_dry_run: true };
        milliseconds(|| {
            let found = collect(&scope, now).removed.len();
            anyhow::ensure!(found >= CAPTURES.get() / 3, "{found} captures are too old");
            Ok(())
        })
    };
    let listed = root.join("sessions");
    let list = || milliseconds(|| sizes(&listed));
    let [floor, ours] = interleave(ROUNDS, [&mut || list(), &mut || sweep()])?;
    let figure = format!("sweep of {} captures, half of them too old, over listing them", CAPTURES.get());
    table.add(Row::time(figure, ours).over(floor).target(Target::AtMost(1000.0)));
    Ok(())
}

/// Lists all files with their sizes.
fn sizes(folder: &Path) -> anyhow::Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder)? {
        sum += entry?.metadata()?.len();
    }
    Ok(sum)
}

/// The capture of a beat that started then.
fn capture(store: &Store, number: usize, stdout: &[u8], started: Timestamp) -> anyhow::Result<()> {
    let new = NewSession {
        id: None,
        command: vec!["claude".to_owned()],
        working_directory: "/workspaces/1".to_owned(),
        retention: Captures::default().keep_failed.duration(),
        transport: TransportMode::Pipe,
        tty_attached: false,
        max_bytes: None,
        group: None,
    };
    let writer = store.create(new, started)?;
    let id = writer.id().clone();
    let recorder = Recorder::with_deferred_sync(writer, Log::open(store.root()));
    recorder.capture(Channel::Stdout, stdout);
    recorder.finish(&End::Exited(0))?;
    let label = Label { group: format!("w{:03}", number % HEARTBEATS.get()), failed: false };
    pack::pack(store, &[&id], &label, false)?;
    Ok(())
}
