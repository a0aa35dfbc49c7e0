//! What is shown: heartbeats, agents, requests, journal lines and limits. Ids are only used in actions, and are text,
//! as this crate knows none of murmur's types. Everything that is drawn is a [`Text`].

use crate::text::Text;
use jiff::Timestamp;
use std::sync::Arc;

/// How a beat ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Nothing needs attention.
    Ok,
    /// The agent reported something.
    Attention,
    /// It failed.
    Error,
    /// A usage limit stopped it.
    Limited,
    /// It did not run.
    Skipped,
    /// It waits for an answer.
    Waiting,
    /// A person stopped it.
    Stopped,
}

impl Outcome {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Attention => "attention",
            Self::Error => "error",
            Self::Limited => "limited",
            Self::Skipped => "skipped",
            Self::Waiting => "waiting",
            Self::Stopped => "stopped",
        }
    }

    /// Its character in a strip of outcomes.
    #[must_use]
    pub fn mark(self) -> char {
        match self {
            Self::Ok => '.',
            Self::Attention => '!',
            Self::Error => 'E',
            Self::Limited => 'L',
            Self::Skipped => '-',
            Self::Waiting => '?',
            Self::Stopped => 's',
        }
    }
}

/// The state of a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeartbeatState {
    /// A beat runs since this time.
    Running(Timestamp),
    /// Its last beat waits for a person.
    Waits,
    /// It is due and waits for another beat to end.
    Due,
    /// Its next run.
    Next(Timestamp),
    /// It may not start before this time.
    Held(Timestamp),
    /// A person paused it, until this time if there is one.
    Paused(Option<Timestamp>),
    /// The daemon doesn't start it; the word says why: `manual`, `disabled`, `new`, `problem`.
    Off(&'static str),
}

/// A heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// Its id.
    pub id: Arc<str>,
    /// Its title.
    pub title: Text,
    /// Its schedule.
    pub schedule: Text,
    /// Its state.
    pub state: HeartbeatState,
    /// Why it can't run, is held, or what else to know; may be empty.
    pub note: Text,
    /// The running beat.
    pub beat: Option<String>,
    /// Whether it can't run, or failed.
    pub is_failing: bool,
}

/// The health of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// It waits for a person.
    Waiting,
    /// It has done nothing for a very long time.
    Stuck,
    /// It has done nothing for a long time.
    Warning,
    /// Its process is gone.
    Dead,
    /// Nothing has been heard of it for a long time.
    Stale,
    /// It works.
    Active,
    /// It waits for a message.
    Idle,
    /// It ended.
    Exited,
}

impl Health {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Stuck => "stuck",
            Self::Warning => "warning",
            Self::Dead => "dead",
            Self::Stale => "stale",
            Self::Active => "active",
            Self::Idle => "idle",
            Self::Exited => "exited",
        }
    }

    /// Whether its process may still work.
    #[must_use]
    pub fn is_live(self) -> bool {
        !matches!(self, Self::Dead | Self::Exited)
    }
}

/// An agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// Its id.
    pub id: Arc<str>,
    /// The id, to show.
    pub name: Text,
    /// Its health.
    pub health: Health,
    /// Its state, as its host calls it.
    pub state: Text,
    /// What it does or did last, with the tool.
    pub doing: Text,
    /// The folder it works in.
    pub folder: Text,
    /// When it started, or when it was last heard of.
    pub since: Timestamp,
    /// Tokens in its context, and how many fit.
    pub context: Option<(u64, u64)>,
    /// Its cost so far, in US dollars.
    pub cost: Option<f64>,
    /// The beat that it runs.
    pub beat: Option<String>,
    /// Whether murmur can stop it.
    pub is_hosted: bool,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The question.
    pub text: Text,
    /// Its options.
    pub options: Vec<Text>,
}

/// A request that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its id.
    pub id: String,
    /// Its number, or its id.
    pub name: Text,
    /// The agent that asks.
    pub agent: Arc<str>,
    /// The agent and its workspace, to show.
    pub asker: Text,
    /// The tool.
    pub tool: Text,
    /// The request on one line.
    pub summary: Text,
    /// All of it.
    pub body: Vec<Text>,
    /// Why the guard could not tell what the call does.
    pub doubt: Option<Text>,
    /// The questions; empty if the request is about a call.
    pub questions: Vec<Question>,
    /// Whether its agent has ended and is resumed with the answer.
    pub is_deferred: bool,
    /// When it was sent.
    pub asked: Timestamp,
    /// When it expires.
    pub expires: Option<Timestamp>,
}

/// Something else in the inbox: a problem that a person solves with a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What identifies it while others come and go.
    pub id: String,
    /// Its number; `-` if it has none.
    pub name: Text,
    /// Its kind, such as `breaker`.
    pub kind: &'static str,
    /// What it is about, on one line.
    pub text: Text,
    /// All of it.
    pub body: Vec<Text>,
    /// Since when, if that is known.
    pub since: Option<Timestamp>,
    /// When it ends by itself.
    pub deadline: Option<Timestamp>,
    /// The command that solves it, in full.
    pub command: Vec<Text>,
}

/// A journal line.
#[derive(Debug, Clone, PartialEq)]
pub struct LogLine {
    /// When the beat ended.
    pub at: Timestamp,
    /// The id of its heartbeat.
    pub heartbeat: Arc<str>,
    /// The name of its heartbeat, to show.
    pub name: Text,
    /// How it ended.
    pub outcome: Outcome,
    /// What the line is about if it isn't a beat, such as `stuck`.
    pub label: Option<&'static str>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// Its cost, in US dollars.
    pub cost: Option<f64>,
    /// Its text.
    pub text: Text,
    /// The beat.
    pub beat: Option<String>,
}

/// A window of a usage limit of an account.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The account.
    pub account: Text,
    /// The window, such as `5-hour`.
    pub window: Text,
    /// The used part, from 0 to 1.
    pub used: Option<f64>,
    /// Whether it is reached.
    pub is_reached: bool,
    /// When it resets.
    pub resets: Option<Timestamp>,
    /// Until when no heartbeat of the account starts.
    pub held: Option<Timestamp>,
}

/// The kind of a line of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// What the agent wrote, and what tools printed.
    Plain,
    /// A call that succeeded or runs.
    Call,
    /// A call that failed or was denied.
    Failed,
    /// A note of murmur.
    Note,
}

/// A line of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptLine {
    /// Its kind.
    pub kind: LineKind,
    /// Its text.
    pub text: Text,
}

/// The daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Daemon {
    /// Not known yet.
    #[default]
    Unknown,
    /// It runs.
    Up {
        /// Its version.
        version: Text,
        /// Since when.
        since: Timestamp,
    },
    /// It doesn't run, or doesn't answer: the reason, with what to do.
    Down(Text),
}
