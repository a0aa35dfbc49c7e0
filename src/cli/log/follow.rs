//! `murmur log --follow`: every line that comes into the journal, as it comes, until the reader goes away.
//!
//! What is shown comes from the journal, whose lines say all there is. That there is a new one is told by the
//! journal's own watch and, as long as a daemon runs, by its events: it knows of lines that a watch here does not see,
//! in a journal that is a link to elsewhere or where nothing can be watched; the watch knows of lines that a daemon
//! which hangs does not tell. So neither loses a line when the other goes away, and none is shown twice.

use super::Printer;
use crate::daemon::client;
use crate::journal::read::Filter;
use crate::journal::tail::{Tail, TailLine};
use crate::rpc::envelope::LAGGED;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use sys::paths::DataDir;
use sys::watch::{Place, Watch};
use tokio::sync::Notify;

/// How often the journal is looked at where the system cannot tell that it changed.
const TICK: Duration = Duration::from_secs(1);

/// How much is read before it is shown, in bytes.
const AT_ONCE: u64 = 1 << 20;

/// Shows every line that comes behind where `tail` is.
pub(super) async fn follow(
    dir: &DataDir,
    mut tail: Tail,
    filter: &Filter,
    printer: &Printer,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let bells = Arc::new(Bells::default());
    let mut watch = Watch::new([&Place::new(dir.root(), &["heartbeats.jsonl", "murmur.sock"])]).ok();
    let listening = tokio::spawn(listen(dir.clone(), Arc::clone(&bells)));
    let _ends_with_us = AbortOnDrop(listening);
    loop {
        let show = |line: &TailLine<'_>| show(line, filter, printer, out);
        let more = tail.read(AT_ONCE, show)?;
        out.flush()?;
        if more {
            continue;
        }
        tokio::select! {
            () = bells.ended.notified() => {}
            changed = changed(&mut watch) => {
                changed?;
                // It may be a daemon's socket that came.
                bells.changed.notify_one();
            }
        }
    }
}

fn show(line: &TailLine<'_>, filter: &Filter, printer: &Printer, out: &mut impl Write) -> io::Result<()> {
    match line.entry() {
        Some(entry) if filter.matches(&entry) => printer.print(out, &entry, &line.bytes()?),
        _ => Ok(()),
    }
}

async fn changed(watch: &mut Option<Watch>) -> io::Result<()> {
    match watch {
        Some(watch) => watch.changed().await,
        None => {
            tokio::time::sleep(TICK).await;
            Ok(())
        }
    }
}

/// What tells the two sides of one another.
#[derive(Default)]
struct Bells {
    /// A daemon says that a beat has ended, or it is gone, or has come.
    ended: Notify,
    /// Something changed: there may be a daemon.
    changed: Notify,
}

/// Follows the events of the daemon that runs, and of the next one when that is gone.
async fn listen(dir: DataDir, bells: Arc<Bells>) {
    loop {
        if let Ok(mut daemon) = client::connect(&dir).await
            && client::attach(&mut daemon, None).await.is_ok()
        {
            // What came while nobody was attached.
            bells.ended.notify_one();
            while let Ok(event) = daemon.next_event().await {
                bells.ended.notify_one();
                // It has let go of us, since we were kept from reading for too long.
                if event.event_type == LAGGED && client::attach(&mut daemon, None).await.is_err() {
                    break;
                }
            }
            bells.ended.notify_one();
        }
        // Its socket may be there before anybody listens; its mode is set after that, which is a change as well.
        bells.changed.notified().await;
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
