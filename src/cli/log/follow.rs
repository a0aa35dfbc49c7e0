//! `murmur log --follow`: shows each new line of the journal until stdout is closed.
//!
//! Lines always come from the journal. Two sources report that there is a new one: a watch on the file and, while a
//! daemon runs, its events. The daemon covers a journal that is a symlink or on a file system without notifications;
//! the watch covers a daemon that hangs. So no line is lost if one source fails, and none is shown twice.

use super::Printer;
use crate::daemon::client;
use murmur_rpc::envelope::LAGGED;
use murmur_store::journal::read::Filter;
use murmur_store::journal::tail::{Tail, TailLine};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use sys::paths::DataDir;
use sys::watch::{Watch, WatchedFolder};
use tokio::sync::Notify;

/// How often to poll the journal if the system cannot report changes.
const TICK: Duration = Duration::from_secs(1);

/// How much to read before showing it, in bytes.
const AT_ONCE: u64 = 1 << 20;

/// Shows each line after the position of `tail`.
pub(super) async fn follow(
    dir: &DataDir,
    mut tail: Tail,
    filter: &Filter,
    printer: &Printer,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let notifications = Arc::new(Notifications::default());
    let mut watch = Watch::new([&WatchedFolder::new(dir.root(), &["heartbeats.jsonl", "murmur.sock"])]).ok();
    let listening = tokio::spawn(listen(dir.clone(), Arc::clone(&notifications)));
    let _ends_with_us = AbortOnDrop(listening);
    loop {
        let show = |line: &TailLine<'_>| show(line, filter, printer, out);
        let more = tail.read(AT_ONCE, show)?;
        out.flush()?;
        if more {
            continue;
        }
        tokio::select! {
            () = notifications.ended.notified() => {}
            changed = changed(&mut watch) => {
                changed?;
                // The change may be a daemon's new socket.
                notifications.changed.notify_one();
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

/// Notifications between the two sources.
#[derive(Default)]
struct Notifications {
    /// A daemon reported the end of a beat, or it started or ended.
    ended: Notify,
    /// Something changed in the folder: there may be a new daemon.
    changed: Notify,
}

/// Follows the events of the running daemon, and of later ones after it ends.
async fn listen(dir: DataDir, notifications: Arc<Notifications>) {
    loop {
        if let Ok(mut daemon) = client::connect(&dir).await
            && client::attach(&mut daemon, None).await.is_ok()
        {
            // Catch up on lines that were written while not connected.
            notifications.ended.notify_one();
            while let Ok(event) = daemon.next_event().await {
                notifications.ended.notify_one();
                // The daemon disconnected us because we read too slowly.
                if event.event_type == LAGGED && client::attach(&mut daemon, None).await.is_err() {
                    break;
                }
            }
            notifications.ended.notify_one();
        }
        // A socket may exist before the daemon listens; the daemon sets its mode afterward, which is another change.
        notifications.changed.notified().await;
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
