//! Emits events when a hosted agent's account is put on hold and when the hold ends.

use super::Host;
use crate::event::{MurmurEvent, Progress};
use murmur_core::usage_limit::{Account, Hold};
use murmur_store::limits;
use std::time::Duration;
use sys::alarm::Alarm;
use sys::clock;
use sys::paths::DataDir;
use sys::watch::{Watch, WatchedFolder};

/// The account that an agent uses, and the data folder that has its limits.
#[derive(Debug, Clone)]
pub struct WatchedAccount {
    /// The data folder.
    pub dir: DataDir,
    /// The account.
    pub account: Account,
}

/// Watches limits.json for the holds of one account.
pub(super) struct Holds<'a> {
    watched: Option<&'a WatchedAccount>,
    /// `None` where file changes aren't reported.
    watch: Option<Watch>,
    /// Fires when the hold ends.
    alarm: Option<Alarm>,
    known: Option<Hold>,
    /// Whether the file may have changed since it was read.
    is_stale: bool,
}

impl<'a> Holds<'a> {
    pub(super) fn begin(watched: Option<&'a WatchedAccount>) -> Self {
        let watch = watched.and_then(|watched| Watch::new([WatchedFolder::of(&watched.dir.limits())?]).ok());
        let alarm = watched.and_then(|_| Alarm::new().ok());
        Self { watched, watch, alarm, known: None, is_stale: true }
    }

    /// Waits until the hold changes, and returns it.
    pub(super) async fn changed(&mut self) -> Option<Hold> {
        let Some(watched) = self.watched else { return std::future::pending().await };
        loop {
            if std::mem::replace(&mut self.is_stale, false) {
                let hold = read(watched);
                if let (Some(alarm), Some(hold)) = (&mut self.alarm, &hold) {
                    // Best effort: without it, the hold just isn't reported as over.
                    let _unset = alarm.set(Some(hold.until));
                }
                if hold != self.known {
                    self.known.clone_from(&hold);
                    return hold;
                }
            }
            let is_held = self.known.is_some();
            let woke = async {
                match &mut self.alarm {
                    Some(alarm) if is_held => alarm.woke().await.map(drop),
                    _ => std::future::pending().await,
                }
            };
            let written = async {
                match &mut self.watch {
                    Some(watch) => watch.changed().await,
                    None => std::future::pending().await,
                }
            };
            let noticed = tokio::select! {
                woke = woke => woke,
                written = written => written,
            };
            self.is_stale = true;
            if noticed.is_err() {
                (self.watch, self.alarm) = (None, None);
            }
        }
    }
}

/// The hold of the account; an unreadable file has none.
fn read(watched: &WatchedAccount) -> Option<Hold> {
    let limits = limits::read(&watched.dir).ok()?;
    limits.accounts.get(&watched.account)?.held(clock::now()).cloned()
}

impl<S: FnMut(Progress<'_>, Duration)> Host<'_, S> {
    pub(super) fn note_hold(&mut self, hold: Option<Hold>) {
        self.capture.own(match &hold {
            Some(hold) => {
                MurmurEvent::Hold { window: hold.window.clone(), until: clock::rfc3339(hold.until) }
            }
            None => MurmurEvent::HoldOver,
        });
        self.hold = hold;
    }
}
