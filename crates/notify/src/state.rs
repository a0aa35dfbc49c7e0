//! What must survive a restart. One process writes it, after each change and before anything is sent.

use crate::event::Event;
use crate::tokens::Issued;
use jiff::Timestamp;
use murmur_core::permit::request::RequestId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use sys::error::Failure;
use sys::failure;
use sys::versioned::{self, ReadError};

/// The contents of notify.json.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct State {
    /// Up to where the journal was read.
    pub journal: Option<JournalPosition>,
    /// What was reported about each heartbeat, by its id.
    pub heartbeats: BTreeMap<String, Heartbeat>,
    /// The open requests that were reported.
    pub requests: BTreeSet<RequestId>,
    /// What is still to be delivered, oldest first.
    pub outbox: Vec<Delivery>,
    /// The state of each channel.
    pub channels: BTreeMap<String, ChannelState>,
    /// The tokens that may still come back.
    pub tokens: Vec<Issued>,
    /// When the last digest was made.
    pub digested_at: Option<Timestamp>,
    /// How each heartbeat's beats ended since then, by its id.
    pub tally: BTreeMap<String, Tally>,
    /// The number of the next entry.
    pub next: u64,
}

/// A position in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalPosition {
    /// The file's inode.
    pub inode: u64,
    /// The end of a line, in bytes.
    pub end: u64,
    /// The number that the file has as a part of the journal; unknown in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
}

/// What was reported about a heartbeat.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Heartbeat {
    /// What was reported last; empty if all is well.
    pub told: String,
    /// When.
    pub told_at: Option<Timestamp>,
    /// The event to send when the cooldown is over.
    pub held: Option<PostponedEvent>,
    /// What was reported besides the ends of beats, by its kind, and by its agent if that is stuck.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, OtherReport>,
}

/// What was reported about a heartbeat besides the ends of its beats.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OtherReport {
    /// When it was reported last.
    pub told_at: Option<Timestamp>,
    /// The event to send when the cooldown is over.
    pub held: Option<PostponedEvent>,
}

/// An event to send later, if nothing changes until then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PostponedEvent {
    /// The event.
    pub event: Event,
    /// Distinguishes it from other trouble.
    pub fingerprint: String,
    /// When to send it.
    pub due: Timestamp,
}

/// An event that a channel has to deliver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Its number.
    pub id: u64,
    /// The channel.
    pub channel: String,
    /// Since when.
    pub since: Timestamp,
    /// The event.
    pub event: Event,
}

/// The state of a channel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChannelState {
    /// How many deliveries have failed in a row.
    pub failures: u32,
    /// The last error.
    pub error: Option<String>,
    /// When to try the next delivery.
    pub retry_at: Option<Timestamp>,
    /// When the last messages were sent, to limit their number.
    pub sent: Vec<Timestamp>,
    /// Up to which update answers were read, as the channel counts.
    pub read: Option<String>,
}

/// How a heartbeat's beats ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tally {
    /// What people call the heartbeat; earlier versions have only this, as the key.
    pub name: String,
    /// How many beats ended with each outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// What they cost, in US dollars.
    pub cost_usd: f64,
}

impl State {
    /// Reads the file at `path`; a missing one is empty.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        match versioned::read(path) {
            Ok(state) => Ok(state.unwrap_or_default()),
            Err(ReadError::Io(error)) => Err(failure!("cannot read {}", path.display()).because(&error)),
            Err(ReadError::Foreign) => Err(failure!(
                "{} has an unknown format or version, so undelivered notifications are lost", path.display();
                "it is replaced at the next notification"
            )),
        }
    }

    /// The channels whose last delivery failed, and why.
    pub fn failing(&self) -> impl Iterator<Item = (&str, &str)> {
        let failing = self.channels.iter().filter(|(_, channel)| channel.failures > 0);
        failing.map(|(name, channel)| (name.as_str(), channel.error.as_deref().unwrap_or("unknown error")))
    }

    /// Replaces the file at `path`.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        versioned::write(path, self)
    }
}
