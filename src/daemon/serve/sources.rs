//! Where the daemon's events come from: timers, watched files, processes and hosts.

use crate::daemon::config_watcher::{ConfigEvent, ConfigWatcher, changed};
use crate::daemon::data_folder::DataFolder;
use crate::daemon::hosts::{HostEvent, Hosts};
use crate::daemon::notifier_process::NotifierProcess;
use crate::daemon::processes::Exit;
use crate::daemon::processes::Processes;
use crate::daemon::state::{Event, State};
use crate::daemon::stuck_monitor::{self, StuckMonitor};
use crate::daemon::triggers::Triggers;
use crate::daemon::watch_paths;
use crate::daemon::write_behind::{Task, WriteBehind};
use std::io;
use sys::alarm::{Alarm, WakeReason};
use sys::paths::DataDir;
use sys::pause::wait_until;
use sys::watch::{Changes, Watch};
use tokio::time::Instant;

/// Everything that the loop waits for, except for clients.
pub(super) struct Sources {
    pub(super) folder: DataFolder,
    pub(super) config: ConfigWatcher,
    pub(super) notifier: NotifierProcess,
    /// Notices that a process started or ended a beat, or wrote to the journal.
    pub(super) beats: Option<Watch>,
    pub(super) alarm: Alarm,
    /// When to give back the memory that the last event or command needed.
    pub(super) release_at: Option<Instant>,
    /// The time limit for what a stopping daemon waits for.
    pub(super) timeout_at: Option<Instant>,
    pub(super) processes: Processes,
    pub(super) hosts: Hosts,
    pub(super) triggers: Triggers,
    pub(super) stuck_monitor: StuckMonitor,
}

/// Something that happened.
pub(super) enum Input {
    /// An event of [`State`].
    Event(Event),
    /// config.json changed, or can no longer be watched; the edit may still be in progress.
    ConfigChanged(io::Result<Changes>),
    /// Nothing has happened for a while.
    Quiet,
    /// A task of [`WriteBehind`] is due.
    Write(Task),
    /// The notifier has ended and should be restarted.
    NotifierEnded,
    /// Something about a host.
    Hosts(HostEvent),
    /// Something about agents that may be stuck.
    Agents(stuck_monitor::Event),
}

impl Sources {
    /// Waits for the next input. Before and after the daemon runs, only its beats and its own time limits matter.
    pub(super) async fn next(
        &mut self,
        state: &State,
        dir: &DataDir,
        write_behind: &WriteBehind,
    ) -> io::Result<Input> {
        if state.is_starting() {
            std::future::pending::<()>().await;
        }
        let runs = state.is_running();
        Ok(tokio::select! {
            lost = self.folder.lost(), if runs => Input::Event(Event::Lost(lost)),
            Exit { beat, report } = self.processes.next_exit() => Input::Event(Event::Exited { beat, report }),
            woke = self.alarm.woke(), if runs => Input::Event(match woke? {
                WakeReason::Due => Event::Due,
                WakeReason::ClockSet => Event::ClockSet,
            }),
            event = self.config.next_event(), if runs => match event {
                ConfigEvent::Changed(result) => Input::ConfigChanged(result),
                ConfigEvent::Settled => Input::Event(Event::Edited),
                ConfigEvent::Tick => Input::Event(Event::Tick),
            },
            task = write_behind.next_task(), if runs => Input::Write(task),
            changed = changed(&mut self.beats) => Input::Event(self.beats_changed(&changed, dir)),
            changed = self.triggers.changed(), if runs => Input::Event(Event::FilesChanged(changed)),
            () = self.notifier.ended(), if runs => Input::NotifierEnded,
            event = self.hosts.next_event(), if runs => Input::Hosts(event),
            event = self.stuck_monitor.next_event(), if runs => Input::Agents(event),
            () = wait_until(self.release_at) => {
                self.release_at = None;
                Input::Quiet
            }
            () = wait_until(self.timeout_at) => {
                self.timeout_at = None;
                Input::Event(Event::TimedOut)
            }
            // Let clients read what there is first.
            () = tokio::task::yield_now(), if state.has_unread() => Input::Event(Event::Unread),
        })
    }

    fn beats_changed(&mut self, changed: &io::Result<()>, dir: &DataDir) -> Event {
        if changed.is_err() {
            self.beats = None;
            return Event::BeatsUnwatched;
        }
        // The folder may have been replaced.
        if self.beats.as_mut().is_some_and(|watch| watch.add(watch_paths::beats(dir)).is_err()) {
            self.beats = None;
        }
        Event::BeatsChanged
    }
}
