//! The processes of the beats that this daemon starts: their jobs, and how each ends.

use super::launch::{self, BeatReport};
use crate::beat::Job;
use jiff::Timestamp;
use murmur_core::id::BeatId;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use sys::error::Failure;
use sys::process::{self, Signal};
use tokio::task::JoinSet;

/// The beats that are about to have a process, have one, or had one and have not been released yet.
#[derive(Debug, Default)]
pub struct Processes {
    beats: HashMap<BeatId, Process>,
    exits: JoinSet<Exit>,
}

/// The end of a beat's process.
#[derive(Debug)]
pub struct Exit {
    /// The beat.
    pub beat: BeatId,
    /// The process's report, or how it died without one.
    pub report: Result<BeatReport, Failure>,
}

/// A beat's process.
#[derive(Debug)]
pub struct Process {
    /// Its job.
    pub job: Job,
    /// When the beat started.
    pub since: Timestamp,
    /// Its process id, once it runs.
    pid: Option<u32>,
}

impl Processes {
    /// Adds a beat that has no process yet.
    pub fn add(&mut self, job: Job, since: Timestamp) {
        self.beats.insert(job.beat.clone(), Process { job, since, pid: None });
    }

    /// Starts the process of `beat`, with the daemon's `data_dir`.
    pub fn start(&mut self, beat: &BeatId, data_dir: &Path) -> io::Result<()> {
        let Some(process) = self.beats.get_mut(beat) else { return Err(io::ErrorKind::NotFound.into()) };
        let child = launch::start(data_dir)?;
        process.pid = child.id();
        let (beat, job) = (beat.clone(), process.job.clone());
        self.exits.spawn(async move { Exit { beat, report: launch::run_to_end(child, job).await } });
        Ok(())
    }

    /// Waits for the next process to end, or forever if none runs.
    pub async fn next_exit(&mut self) -> Exit {
        loop {
            match self.exits.join_next().await {
                Some(Ok(exit)) => return exit,
                // Tasks are never aborted and do not panic.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// The process of `beat`.
    #[must_use]
    pub fn get(&self, beat: &BeatId) -> Option<&Process> {
        self.beats.get(beat)
    }

    /// Forgets `beat`.
    pub fn release(&mut self, beat: &BeatId) {
        self.beats.remove(beat);
    }

    /// Sends `signal` to the process of `beat`; returns whether it has one.
    #[must_use]
    pub fn signal_one(&self, beat: &BeatId, signal: Signal) -> bool {
        let pid = self.get(beat).and_then(|process| process.pid);
        pid.inspect(|pid| process::signal(*pid, signal)).is_some()
    }

    /// Sends `signal` to each of them.
    pub fn signal(&self, signal: Signal) {
        for pid in self.beats.values().filter_map(|process| process.pid) {
            process::signal(pid, signal);
        }
    }
}
