//! From a byte written to a running session until a waiting reader has it, through the library.

use super::super::home::Home;
use super::super::measure::Spread;
use super::super::table::{Row, Table, Target};
use super::stored::begin;
use derun::record::Channel;
use derun::store::Store;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::fs::File;
use std::io::{Read, Write};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use sys::clock;
use sys::pause::pause;

pub(super) const WAITS: usize = 300;
/// Between one answer and the next byte: long enough for the reader to wait.
pub(super) const PAUSE: Duration = Duration::from_millis(3);

pub(super) fn run(table: &mut Table, home: &Home) -> anyhow::Result<()> {
    let woken = by_inotify(home)?;
    let seen = by_library(home)?;
    add(table, "read of a running capture: from a new byte to having it", &woken, &seen);
    Ok(())
}

/// The rows of `seen`, over those of inotify alone: the median, and what 95 % of the waits don't exceed.
pub(super) fn add(table: &mut Table, figure: &str, floor: &[f64], seen: &[f64]) {
    let all = |values: &[f64]| Spread::of(values.to_vec());
    let most = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        Spread::of(values.get(values.len() * 95 / 100).copied().into_iter().collect())
    };
    let row = |name: &str, floor, ours, most| {
        let figure = format!("{figure}, {name}, over an inotify wake-up");
        Row::time(figure, ours).over(floor).target(Target::AtMost(most))
    };
    table.add(row("median", all(floor), all(seen), 0.2));
    table.add(row("p95", most(floor), most(seen), 0.5));
}

/// The baseline: a thread that sleeps in a read of an inotify instance, and then reads the file.
pub(super) fn by_inotify(home: &Home) -> anyhow::Result<Vec<f64>> {
    let path = home.path().join("grows");
    let mut grows = File::create(&path)?;
    let instance = inotify::init(CreateFlags::CLOEXEC)?;
    inotify::add_watch(&instance, &path, WatchFlags::MODIFY)?;
    let (tell, told) = channel();
    let mut watched = File::open(&path)?;
    let mut events = File::from(instance);
    let waiting = std::thread::spawn(move || -> std::io::Result<()> {
        let (mut event, mut byte) = ([0; 4096], [0; 1]);
        for _ in 0..WAITS {
            let _an_event = events.read(&mut event)?;
            watched.read_exact(&mut byte)?;
            let _gone = tell.send(Instant::now());
        }
        Ok(())
    });
    let mut times = Vec::with_capacity(WAITS);
    for _ in 0..WAITS {
        pause(PAUSE);
        let began = Instant::now();
        grows.write_all(b".")?;
        times.push(told.recv()?.duration_since(began).as_secs_f64() * 1e3);
    }
    waiting.join().map_err(|_| anyhow::anyhow!("the waiting thread panicked"))??;
    Ok(times)
}

fn by_library(home: &Home) -> anyhow::Result<Vec<f64>> {
    let store = Store::open(&home.path().join("live"))?;
    let mut writer = begin(&store, "live")?;
    writer.append(Channel::Stdout, b".", clock::now())?;
    let (tell, told) = channel();
    let waiting = std::thread::spawn(move || -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let session = store.session("live")?;
            let mut following = session.follow()?;
            let mut cursor = session.end()?;
            tell.send(Instant::now())?;
            let last = cursor + WAITS as u64;
            while cursor < last {
                let page = session.read(cursor, 64 * 1024, clock::now())?;
                if page.bytes.is_empty() {
                    following.changed().await?;
                } else {
                    tell.send(Instant::now())?;
                    cursor = page.next();
                }
            }
            Ok(())
        })
    });
    told.recv()?;
    let mut times = Vec::with_capacity(WAITS);
    for _ in 0..WAITS {
        pause(PAUSE);
        let began = Instant::now();
        writer.append(Channel::Stdout, b".", clock::now())?;
        times.push(told.recv()?.duration_since(began).as_secs_f64() * 1e3);
    }
    waiting.join().map_err(|_| anyhow::anyhow!("the waiting thread panicked"))??;
    Ok(times)
}
