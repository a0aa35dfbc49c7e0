//! Shuts the daemon down, with or without its beats. Clients are served until the end.

use super::{Daemon, ServeError};
use crate::daemon::client::Beats;
use crate::daemon::config_watcher::changed;
use crate::daemon::data_folder::{DataFolder, Lost};
use crate::daemon::rpc_handlers::Command;
use crate::journal::unfinished::{self, Begun};
use std::collections::HashSet;
use std::io;
use std::pin::Pin;
use std::time::Duration;
use sys::process::Signal;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// How long beats may take to end: their grace period and stopping what is left of them.
const ENDING: Duration = Duration::from_secs(8);

/// How long to wait for a beat to take over its job before leaving it.
const BEGINNING: Duration = Duration::from_secs(8);

/// The message for a lost data folder.
fn lost_message(lost: &Lost) -> String {
    format!("{lost}; murmur stops, since another daemon could start there")
}

/// Turns `error` into a [`ServeError`]: the cause may be a lost data folder.
pub(super) fn serve_error(error: io::Error, folder: &DataFolder, log: &mut impl FnMut(&str)) -> ServeError {
    let Some(lost) = folder.check() else { return error.into() };
    log(&lost_message(&lost));
    ServeError::Lost(lost)
}

impl<L: FnMut(&str)> Daemon<L> {
    /// Stops because the data folder was moved or deleted. If only a file is gone, beats continue for the next daemon; without
    /// the folder nobody could find them.
    pub(super) fn stop_without_folder(&mut self, lost: Lost) {
        (self.log)(&lost_message(&lost));
        self.stopping = Some(match lost {
            Lost::Folder(_) => Beats::End,
            Lost::File(_) => Beats::Leave,
        });
        if matches!(lost, Lost::Folder(_)) {
            self.write_behind.close();
        }
        self.hosts.request_checks();
        self.lost = Some(lost);
    }

    /// Starts no more beats and ends or leaves the running ones. `stop` ends them in any case.
    pub(super) async fn shut_down(
        &mut self,
        stop: Pin<&mut impl Future<Output = ()>>,
        commands: &mut mpsc::Receiver<Command>,
    ) {
        self.state.stop();
        if self.stopping == Some(Beats::Leave) {
            tokio::select! {
                () = self.until_ours_can_be_left(commands) => {}
                () = stop => self.stopping = Some(Beats::End),
            }
        } else {
            self.stopping = Some(Beats::End);
        }
        if self.stopping == Some(Beats::End) {
            self.end_beats(commands).await;
        }
        if matches!(self.lost, Some(Lost::Folder(_))) {
            // Nothing can be written any more, and another folder may have taken its place.
            self.log_lost_lines();
            self.events.end();
            return;
        }
        // If a file of the folder is gone, nothing is flushed: another daemon may run there.
        self.flush();
        let looked = self.write_behind.check_replaced();
        self.log_error(looked);
        let retried = self.write_behind.write();
        self.log_error(retried);
        self.log_lost_lines();
        // Clients get every event until now.
        self.check_beats();
        while self.unread {
            tokio::task::yield_now().await;
            self.read_journal();
        }
        self.events.end();
    }

    /// Reports the journal lines that are lost when this process ends.
    fn log_lost_lines(&mut self) {
        let lost: Vec<String> = self.write_behind.unsaved_lines().collect();
        lost.iter().for_each(|line| (self.log)(&format!("a journal line is lost: {}", line.trim_end())));
    }

    /// Waits until every beat of ours has a record: from then on it needs no daemon.
    async fn until_ours_can_be_left(&mut self, commands: &mut mpsc::Receiver<Command>) {
        let waiting = async {
            while !self.all_have_records() && self.stopping == Some(Beats::Leave) {
                tokio::select! {
                    end = self.ours.ended() => self.ended(end),
                    // Without a watch, wait for ends and the timeout.
                    changed = changed(&mut self.beats) => if changed.is_err() { self.beats = None },
                    Some(command) = commands.recv() => self.handle_command(command),
                }
            }
        };
        let _some_have_not = timeout(BEGINNING, waiting).await;
    }

    fn all_have_records(&self) -> bool {
        let survey = unfinished::survey(&self.dir.beats()).unwrap_or_default();
        let begun: HashSet<&str> = survey.running.iter().map(|begun| begun.entry.beat.as_str()).collect();
        self.ours.ids().all(|beat| begun.contains(beat))
    }

    /// Ends all beats started by daemons, with their grace period.
    async fn end_beats(&mut self, commands: &mut mpsc::Receiver<Command>) {
        let survey = unfinished::survey(&self.dir.beats()).unwrap_or_default();
        self.ours.signal(Signal::TERM);
        let adopted = survey.running.iter().filter(|begun| begun.is_scheduled());
        for begun in adopted.filter(|begun| !self.ours.contains(&begun.entry.beat)) {
            unfinished::signal(&self.dir.beats(), begun, Signal::TERM);
        }
        if timeout(ENDING, self.until_ours_are_over(commands)).await.is_err() {
            // They did not react, for example because they are stopped. Their agents die with them.
            self.ours.signal(Signal::KILL);
            self.until_ours_are_over(commands).await;
        }
        let _some_go_on = timeout(ENDING, self.until_adopted_are_over(commands)).await;
    }

    async fn until_ours_are_over(&mut self, commands: &mut mpsc::Receiver<Command>) {
        while !self.ours.is_empty() {
            tokio::select! {
                end = self.ours.ended() => self.ended(end),
                Some(command) = commands.recv() => self.handle_command(command),
            }
        }
    }

    /// Waits for the beats of earlier daemons.
    async fn until_adopted_are_over(&mut self, commands: &mut mpsc::Receiver<Command>) {
        let adopted = |survey: unfinished::Survey| survey.running.iter().any(Begun::is_scheduled);
        while unfinished::survey(&self.dir.beats()).is_ok_and(adopted) {
            tokio::select! {
                changed = changed(&mut self.beats) => if changed.is_err() { return },
                Some(command) = commands.recv() => self.handle_command(command),
            }
        }
    }
}
