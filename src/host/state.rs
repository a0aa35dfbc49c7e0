//! What an agent is doing, and what is to be done about it: state × input → state + effects, purely.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;
use sys::error::Hinted;
use sys::process::Exit;

/// How many messages may wait for the end of a turn.
pub const QUEUE: usize = 64;

/// What an agent is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Its process is being started.
    Starting,
    /// It waits for a message.
    Idle {
        /// How many turns are over.
        turns: u64,
        /// How many of its tasks run in the background.
        #[serde(default, skip_serializing_if = "is_zero")]
        background: usize,
    },
    /// It is at work on a turn.
    Running {
        /// Which, from 1.
        turn: u64,
        /// How many messages wait for its end.
        queued: usize,
        /// How many of its tasks run in the background.
        #[serde(default, skip_serializing_if = "is_zero")]
        background: usize,
    },
    /// It has been told to end.
    Stopping {
        /// Whether it is killed at once.
        force: bool,
        /// How long it has until it is killed, in milliseconds.
        grace_ms: u64,
    },
    /// It has ended, and none of its processes is left.
    Exited {
        /// How.
        exit: Exit,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl State {
    /// How many of its tasks run in the background.
    #[must_use]
    pub fn background(&self) -> usize {
        match self {
            Self::Idle { background, .. } | Self::Running { background, .. } => *background,
            Self::Starting | Self::Stopping { .. } | Self::Exited { .. } => 0,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle { .. } => "idle",
            Self::Running { .. } => "running",
            Self::Stopping { .. } => "stopping",
            Self::Exited { .. } => "exited",
        }
    }
}

/// Which kind of agent it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One prompt, one turn, and it ends.
    Beat,
    /// As many turns as it is sent messages.
    Live,
}

/// What happens to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Its process runs.
    Started,
    /// Somebody sent it this.
    Send(String),
    /// It did something that belongs to a turn.
    Acted,
    /// It ended a turn.
    TurnEnded,
    /// So many of its tasks run in the background now.
    Background(usize),
    /// It is to end, within `grace`; with `force` at once.
    Stop {
        /// At once.
        force: bool,
        /// How long it may take.
        grace: Duration,
    },
    /// The grace is over.
    GraceOver,
    /// It ended, and all of it is gone.
    Ended(Exit),
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Say this to the agent: a turn begins.
    Say(String),
    /// Let it see the end of its input.
    CloseInput,
    /// Send it SIGTERM.
    Terminate,
    /// Kill it.
    Kill,
    /// Wake up when this is over.
    Wait(Duration),
    /// Tell everybody which state it is in.
    Announce,
}

/// Why a message is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// It is a beat.
    #[error("a beat has one prompt and takes no messages")]
    Beat,
    /// It is ending.
    #[error("the agent is {0}")]
    Ending(&'static str),
    /// Too many wait.
    #[error("{QUEUE} messages wait already")]
    Full,
}

impl Hinted for SendError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Beat => "spawn a live agent with: murmur host spawn".to_owned(),
            Self::Ending(..) => "it takes no more messages".to_owned(),
            Self::Full => "try again when a turn has ended".to_owned(),
        })
    }
}

/// The agent.
#[derive(Debug)]
pub struct Machine {
    kind: Kind,
    state: State,
    turns: u64,
    background: usize,
    queue: VecDeque<String>,
}

impl Machine {
    /// An agent that is about to be started, with the messages that it gets first.
    #[must_use]
    pub fn new(kind: Kind, first: Option<String>) -> Self {
        Self { kind, state: State::Starting, turns: 0, background: 0, queue: first.into_iter().collect() }
    }

    /// What it is doing.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether a message would be taken now.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn check_send(&self) -> Result<(), SendError> {
        match (&self.kind, &self.state) {
            (_, State::Stopping { .. } | State::Exited { .. }) => Err(SendError::Ending(self.state.word())),
            (Kind::Beat, _) => Err(SendError::Beat),
            (Kind::Live, _) if self.queue.len() >= QUEUE => Err(SendError::Full),
            (Kind::Live, _) => Ok(()),
        }
    }

    /// Takes `input` and says what is to be done.
    pub fn take(&mut self, input: Input) -> Vec<Effect> {
        match (input, &self.state) {
            (_, State::Exited { .. }) => Vec::new(),
            (Input::Ended(exit), _) => {
                self.state = State::Exited { exit };
                vec![Effect::Announce]
            }
            (Input::Started, _) => match self.kind {
                Kind::Beat => self.run(1),
                Kind::Live => self.next_turn(),
            },
            (Input::Send(text), _) if self.check_send().is_ok() => {
                self.queue.push_back(text);
                match &self.state {
                    State::Idle { .. } => self.next_turn(),
                    State::Running { turn, .. } => self.run(*turn),
                    _ => Vec::new(),
                }
            }
            // It goes on by itself, as when something in the background ended.
            (Input::Acted, _) if self.turns_between().is_some() => self.run(self.turns + 1),
            (Input::TurnEnded, State::Running { .. } | State::Idle { .. }) => {
                self.turns += 1;
                // A beat's process may have more to say after its first result, and ends by itself.
                if self.kind == Kind::Live { self.next_turn() } else { Vec::new() }
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
            (Input::GraceOver, State::Stopping { .. }) => vec![Effect::Kill],
            _ => Vec::new(),
        }
    }

    /// How many turns are over, if none runs. A beat is called running until it ends.
    #[must_use]
    pub fn turns_between(&self) -> Option<u64> {
        match self.state {
            State::Idle { turns, .. } => Some(turns),
            State::Running { turn, .. } if self.kind == Kind::Beat && self.turns >= turn => Some(self.turns),
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
        vec![Effect::Announce, Effect::Say(text)]
    }
}
