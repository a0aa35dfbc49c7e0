//! The beats that this daemon has started and that run: their processes, and how each of them ended.

use super::launch::{self, Said};
use crate::beat::Job;
use jiff::Timestamp;
use std::collections::HashMap;
use sys::process::{self, Signal};
use tokio::process::Child;
use tokio::task::JoinSet;

/// All of them.
#[derive(Debug, Default)]
pub struct Beats {
    running: HashMap<String, Beat>,
    ending: JoinSet<End>,
}

/// A beat's id, and what its process said at last, or how it died without a word.
pub type End = (String, Result<Said, String>);

/// One of them.
#[derive(Debug)]
pub struct Beat {
    /// What it was to do.
    pub job: Job,
    /// Since when.
    pub since: Timestamp,
    /// The heartbeat's last run before this.
    pub before: Option<Timestamp>,
    /// Whether somebody asked for it; otherwise it was due.
    pub asked: bool,
    /// Its process, once it is added.
    pub pid: Option<u32>,
}

impl Beats {
    /// Adds `beat`, which `child` is to run.
    pub fn add(&mut self, child: Child, mut beat: Beat) {
        beat.pid = child.id();
        let (id, job) = (beat.job.beat.clone(), beat.job.clone());
        self.running.insert(id.clone(), beat);
        self.ending.spawn(async move { (id, launch::attend(child, job).await) });
    }

    /// Waits for the next end; for ever, if none runs.
    pub async fn ended(&mut self) -> End {
        loop {
            match self.ending.join_next().await {
                Some(Ok(end)) => return end,
                // Nobody aborts them, and they do not panic.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Takes out one that has ended.
    pub fn take(&mut self, beat: &str) -> Option<Beat> {
        self.running.remove(beat)
    }

    /// Whether `beat` is one of them.
    #[must_use]
    pub fn hold(&self, beat: &str) -> bool {
        self.running.contains_key(beat)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Their ids.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.running.keys().map(String::as_str)
    }

    /// The ids of those that were announced: each has a record until its line is written.
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
