//! The state machine of an agent: (state, input) → (state, effects), pure.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;
use sys::error::Hinted;
use sys::process::Exit;

/// How many messages may be queued during a turn.
pub const QUEUE: usize = 64;

/// An agent's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum State {
    /// Its process is being started.
    Starting,
    /// It waits for a message.
    Idle {
        /// The number of finished turns.
        turns: u64,
        /// The number of background tasks.
        #[serde(default, skip_serializing_if = "is_zero")]
        background: usize,
    },
    /// It is working on a turn.
    Running {
        /// The turn's number, from 1.
        turn: u64,
        /// The number of queued messages.
        queued: usize,
        /// The number of background tasks.
        #[serde(default, skip_serializing_if = "is_zero")]
        background: usize,
    },
    /// It was told to end.
    Stopping {
        /// Whether it is killed at once.
        force: bool,
        /// The time until it is killed, in milliseconds.
        #[serde(alias = "grace_ms")]
        grace_ms: u64,
    },
    /// It has ended, and none of its processes is left.
    Exited {
        /// Its exit.
        exit: Exit,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl State {
    /// The number of background tasks.
    #[must_use]
    pub fn background(&self) -> usize {
        match self {
            Self::Idle { background, .. } | Self::Running { background, .. } => *background,
            Self::Starting | Self::Stopping { .. } | Self::Exited { .. } => 0,
        }
    }

    /// The name of the state.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle { .. } => "idle",
            Self::Running { .. } => "running",
            Self::Stopping { .. } => "stopping",
            Self::Exited { .. } => "exited",
        }
    }
}

/// The kind of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    /// One prompt, one turn, then it ends.
    Beat,
    /// One turn for each message.
    Live,
}

/// An input of the state machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Its process is running.
    Started,
    /// A message was sent.
    Send(String),
    /// It did something that belongs to a turn.
    Acted,
    /// It ended a turn.
    TurnEnded,
    /// The number of background tasks changed.
    Background(usize),
    /// It should end within `grace`; with `force` at once.
    Stop {
        /// At once.
        force: bool,
        /// The grace period.
        grace: Duration,
    },
    /// It has answered and should end by itself, within `grace`.
    Finish {
        /// The grace period.
        grace: Duration,
    },
    /// The grace period is over.
    GraceOver,
    /// It has ended, with all of its processes.
    Ended(Exit),
}

/// An effect to apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Send this message to the agent: a turn starts.
    Send(String),
    /// Close its stdin.
    CloseInput,
    /// Send it SIGTERM.
    Terminate,
    /// Kill it.
    Kill,
    /// Set a timer.
    Wait(Duration),
    /// Announce the new state.
    Announce,
}

/// Why a message is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The agent is a beat.
    #[error("a beat has one prompt and takes no messages")]
    Beat,
    /// It is ending.
    #[error("the agent is {0} and takes no more messages")]
    Ending(&'static str),
    /// The queue is full.
    #[error("{QUEUE} messages are already queued")]
    Full,
}

impl Hinted for SendError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Beat => "start a hosted agent with: murmur agent start".to_owned(),
            Self::Ending(..) => "start another one with: murmur agent start".to_owned(),
            Self::Full => "try again after the current turn".to_owned(),
        })
    }
}

/// Why a turn can't be interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InterruptError {
    /// The agent is a beat.
    #[error("a beat cannot be interrupted")]
    Beat,
    /// No turn is running.
    #[error("the agent is {0}, so no turn can be interrupted")]
    NoTurn(&'static str),
}

impl Hinted for InterruptError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Beat => "stop it with: murmur agent stop".to_owned(),
            Self::NoTurn(..) => "see: murmur agent list".to_owned(),
        })
    }
}

/// The state machine.
#[derive(Debug)]
pub struct Machine {
    kind: AgentKind,
    state: State,
    turns: u64,
    background: usize,
    queue: VecDeque<String>,
}

impl Machine {
    /// An agent that is about to start, with its first messages.
    #[must_use]
    pub fn new(kind: AgentKind, first: Option<String>) -> Self {
        Self { kind, state: State::Starting, turns: 0, background: 0, queue: first.into_iter().collect() }
    }

    /// The current state.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Checks whether a message would be accepted now.
    pub fn check_send(&self) -> Result<(), SendError> {
        match (&self.kind, &self.state) {
            (_, State::Stopping { .. } | State::Exited { .. }) => Err(SendError::Ending(self.state.as_str())),
            (AgentKind::Beat, _) => Err(SendError::Beat),
            (AgentKind::Live, _) if self.queue.len() >= QUEUE => Err(SendError::Full),
            (AgentKind::Live, _) => Ok(()),
        }
    }

    /// Checks whether a turn is running that can be interrupted.
    pub fn check_interrupt(&self) -> Result<(), InterruptError> {
        match (&self.kind, &self.state) {
            (AgentKind::Live, State::Running { .. }) => Ok(()),
            (AgentKind::Beat, State::Running { .. }) => Err(InterruptError::Beat),
            (_, state) => Err(InterruptError::NoTurn(state.as_str())),
        }
    }

    /// Applies `input` and returns the effects.
    pub fn take(&mut self, input: Input) -> Vec<Effect> {
        match (input, &self.state) {
            (_, State::Exited { .. }) => Vec::new(),
            (Input::Ended(exit), _) => {
                self.state = State::Exited { exit };
                vec![Effect::Announce]
            }
            (Input::Started, _) => match self.kind {
                AgentKind::Beat => self.run(1),
                AgentKind::Live => self.next_turn(),
            },
            (Input::Send(text), _) if self.check_send().is_ok() => {
                self.queue.push_back(text);
                match &self.state {
                    State::Idle { .. } => self.next_turn(),
                    State::Running { turn, .. } => self.run(*turn),
                    _ => Vec::new(),
                }
            }
            // It continues by itself, for example when a background task ended.
            (Input::Acted, _) if self.turns_between().is_some() => self.run(self.turns + 1),
            (Input::TurnEnded, State::Running { .. } | State::Idle { .. }) => {
                self.turns += 1;
                // A beat's process may print more after its first result; it exits by itself.
                if self.kind == AgentKind::Live { self.next_turn() } else { Vec::new() }
            }
            (Input::Background(count), state) => {
                self.background = count;
                match state {
                    State::Idle { .. } => self.rest(),
                    State::Running { turn, .. } => self.run(*turn),
                    _ => Vec::new(),
                }
            }
            (Input::Stop { force, grace }, state) => {
                let was_idle = matches!(state, State::Idle { .. });
                if let State::Stopping { force: is_forced, .. } = state
                    && (*is_forced || !force)
                {
                    return Vec::new();
                }
                let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
                self.state = State::Stopping { force, grace_ms: if force { 0 } else { grace_ms } };
                self.queue.clear();
                match (force, was_idle) {
                    (true, _) => vec![Effect::Announce, Effect::Kill],
                    (false, true) => vec![Effect::Announce, Effect::CloseInput, Effect::Wait(grace)],
                    (false, false) => {
                        vec![Effect::Announce, Effect::CloseInput, Effect::Terminate, Effect::Wait(grace)]
                    }
                }
            }
            (Input::Finish { grace }, state) if !matches!(state, State::Stopping { .. }) => {
                let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
                self.state = State::Stopping { force: false, grace_ms };
                self.queue.clear();
                vec![Effect::Announce, Effect::CloseInput, Effect::Wait(grace)]
            }
            (Input::GraceOver, State::Stopping { .. }) => vec![Effect::Kill],
            _ => Vec::new(),
        }
    }

    /// How many turns are over, if none runs. A beat is called running until it ends.
    #[must_use]
    pub fn turns_between(&self) -> Option<u64> {
        match self.state {
            State::Idle { turns, .. } => Some(turns),
            State::Running { turn, .. } if self.kind == AgentKind::Beat && self.turns >= turn => {
                Some(self.turns)
            }
            _ => None,
        }
    }

    fn run(&mut self, turn: u64) -> Vec<Effect> {
        self.become_if_new(State::Running { turn, queued: self.queue.len(), background: self.background })
    }

    fn rest(&mut self) -> Vec<Effect> {
        self.become_if_new(State::Idle { turns: self.turns, background: self.background })
    }

    fn become_if_new(&mut self, state: State) -> Vec<Effect> {
        if self.state == state {
            return Vec::new();
        }
        self.state = state;
        vec![Effect::Announce]
    }

    fn next_turn(&mut self) -> Vec<Effect> {
        let Some(text) = self.queue.pop_front() else { return self.rest() };
        let (queued, background) = (self.queue.len(), self.background);
        self.state = State::Running { turn: self.turns + 1, queued, background };
        vec![Effect::Announce, Effect::Send(text)]
    }
}
