//! How a beat ended: the words of the journal and their texts. murmur's `outcome` decides.

use crate::config::watchdogs::Watchdog;
use crate::permit::request::RequestId;
use serde::{Deserialize, Serialize};

/// Maximum length of a summary, in characters (spec 0, Log Format).
pub const SUMMARY: usize = 200;

/// The kind of an outcome, as the journal writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeKind {
    /// Nothing to report.
    Ok,
    /// A person should look.
    Attention,
    /// The beat did not do its work.
    Error,
    /// The account's usage limit stopped the beat; it did not fail.
    Limited,
    /// The beat did not start its agent: there was nothing to do.
    Skipped,
}

impl OutcomeKind {
    /// Its name in the journal.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Attention => "attention",
            Self::Error => "error",
            Self::Limited => "limited",
            Self::Skipped => "skipped",
        }
    }
}

impl std::fmt::Display for OutcomeKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// The outcome of a beat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to report.
    Ok,
    /// A person should look; holds the beginning of the agent's answer.
    Attention(String),
    /// A call waits for a person's answer; another beat resumes with it.
    Waiting(Deferred),
    /// The beat did not do its work, and why.
    Error(String),
    /// The account's usage limit stopped the beat, and which.
    Limited(String),
    /// The beat did not start its agent, and why.
    Skipped(String),
}

/// A call that waits for a person's answer while no process runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deferred {
    /// The request.
    pub request: RequestId,
    /// What it asks and how to answer it, for people.
    pub text: String,
}

impl Outcome {
    /// Its kind, without the text.
    #[must_use]
    pub fn kind(&self) -> OutcomeKind {
        match self {
            Self::Ok => OutcomeKind::Ok,
            // The journal has a separate field for the request.
            Self::Attention(_) | Self::Waiting(_) => OutcomeKind::Attention,
            Self::Error(_) => OutcomeKind::Error,
            Self::Limited(_) => OutcomeKind::Limited,
            Self::Skipped(_) => OutcomeKind::Skipped,
        }
    }
}

/// Why murmur stops a beat that did nothing wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Somebody stops it.
    Asked,
    /// Its heartbeat is due again, and `overlap` is `replace`.
    Replaced,
    /// Its data folder was moved or deleted, so it ends, by itself or with its daemon.
    FolderGone,
}

/// The beginning of the error; how long the beat had run follows.
impl std::fmt::Display for StopReason {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Asked | Self::FolderGone => "stopped",
            Self::Replaced => "replaced by the next run",
        })
    }
}

/// How murmur ended a beat before it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyEnd {
    /// Its time ran out.
    TimedOut,
    /// It seemed to hang, and what noticed that.
    Hung(Watchdog),
    /// It exceeded its limit of turns, or was about to.
    OutOfTurns,
    /// Somebody stopped it, which is not a failure.
    Stopped,
    /// Its heartbeat was due again, and `overlap` is `replace`, which is not a failure either.
    Replaced,
}

/// The first `most` characters of `text` (not bytes).
#[must_use]
pub fn first_characters(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
