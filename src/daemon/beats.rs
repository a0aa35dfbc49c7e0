//! The running beats that this daemon started: their processes, and how each ends.

use super::launch::{self, BeatReport};
use crate::beat::Job;
use jiff::Timestamp;
use std::collections::HashMap;
use sys::error::Failure;
use sys::process::{self, Signal};
use tokio::process::Child;
use tokio::task::JoinSet;

/// The running beats.
#[derive(Debug, Default)]
pub struct Beats {
    running: HashMap<String, Beat>,
    ending: JoinSet<End>,
}

/// A beat's id, and its process's report, or how the process died without one.
pub type End = (String, Result<BeatReport, Failure>);

/// A running beat.
#[derive(Debug)]
pub struct Beat {
    /// Its job.
    pub job: Job,
    /// When it started.
    pub since: Timestamp,
    /// The heartbeat's previous run.
    pub before: Option<Timestamp>,
    /// Whether a client requested it; otherwise it was due.
    pub requested: bool,
    /// Its process, once it is added.
    pub pid: Option<u32>,
}

impl Beats {
    /// Adds `beat`, which `child` runs.
    pub fn add(&mut self, child: Child, mut beat: Beat) {
        beat.pid = child.id();
        let (id, job) = (beat.job.beat.clone(), beat.job.clone());
        self.running.insert(id.clone(), beat);
        self.ending.spawn(async move { (id, launch::run_to_end(child, job).await) });
    }

    /// Waits for the next beat to end, or forever if none runs.
    pub async fn ended(&mut self) -> End {
        loop {
            match self.ending.join_next().await {
                Some(Ok(end)) => return end,
                // Tasks are never aborted and do not panic.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Removes an ended beat.
    pub fn take(&mut self, beat: &str) -> Option<Beat> {
        self.running.remove(beat)
    }

    /// Whether `beat` is running.
    #[must_use]
    pub fn contains(&self, beat: &str) -> bool {
        self.running.contains_key(beat)
    }

    /// Whether no beat is running.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// The ids of the running beats.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.running.keys().map(String::as_str)
    }

    /// The ids of announced beats: each has a record until its journal line is written.
    pub fn announced(&self) -> impl Iterator<Item = &str> {
        self.running.iter().filter(|(_, beat)| beat.job.announced).map(|(id, _)| id.as_str())
    }

    /// Sends `signal` to each of their processes.
    pub fn signal(&self, signal: Signal) {
        for pid in self.running.values().filter_map(|beat| beat.pid) {
            process::signal(pid, signal);
        }
    }
}
