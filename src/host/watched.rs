//! What an agent has done and is in the middle of, from its events and its hooks: what a `Run` reports of it, and what
//! a stop interrupts. Pure: times are those since the agent was started.

use super::calls::Calls;
use super::limits::Turns;
use super::process::{Doing, Unanswered};
use super::protocol::Wait;
use super::state::{Input, Kind};
use crate::agent::background::Background;
use crate::agent::event::{Event, RunResult};
use crate::pulse::{ACTION, brief};
use secrets::mask;
use std::time::Duration;

/// An agent as its events show it.
#[derive(Debug)]
pub(super) struct Watched {
    kind: Kind,
    /// Its summaries: of a beat all, of a live agent the newest.
    pub(super) said: Vec<RunResult>,
    pub(super) session_id: Option<String>,
    pub(super) calls: Calls,
    /// How often in a row the API has failed, and its last status.
    retries: Option<(u64, Option<u64>)>,
    /// The calls that wait for a person.
    waits: Vec<Waiting>,
    background: Background,
    /// The newest event.
    newest: Duration,
    turn: Turn,
    /// Messages of the agent itself, which are what `maxTurns` counts.
    messages: u64,
    message: String,
}

/// A call that waits for a person.
#[derive(Debug)]
struct Waiting {
    /// The number of its hook's connection; `None` after that has closed.
    hook: Option<u64>,
    wait: Wait,
    since: Duration,
}

/// Whether a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// One does, which began after so many messages.
    Runs { after: u64 },
    /// The last one ended then.
    Ended(Duration),
}

impl Watched {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            said: Vec::new(),
            session_id: None,
            calls: Calls::default(),
            retries: None,
            waits: Vec::new(),
            background: Background::default(),
            newest: Duration::ZERO,
            turn: Turn::Runs { after: 0 },
            messages: 0,
            message: String::new(),
        }
    }

    /// Takes `event`, which came at `at`, and says what it means for the agent's state.
    pub(super) fn see(&mut self, event: &Event<'_>, at: Duration) -> Option<Input> {
        self.newest = at;
        self.calls.see(event, at);
        self.background.observe(event);
        match event {
            Event::Result(result) => {
                if self.kind == Kind::Live {
                    self.said.clear();
                }
                self.said.push((**result).clone());
                self.retries = None;
                self.turn = Turn::Ended(at);
                Some(Input::TurnEnded)
            }
            Event::Session { id, .. } => {
                if !id.is_empty() && self.session_id.as_deref() != Some(&**id) {
                    self.session_id = Some(id.clone().into_owned());
                }
                self.begin_turn();
                None
            }
            Event::Retry { attempt, status, .. } => {
                self.retries = Some((*attempt, *status));
                None
            }
            Event::Text { message, parent, .. } | Event::ToolUse { message, parent, .. } => {
                self.retries = None;
                // What a subagent does may be in the background, while no turn runs.
                if !parent.is_empty() {
                    return None;
                }
                self.begin_turn();
                if self.message != **message {
                    self.messages += 1;
                    self.message = message.clone().into_owned();
                }
                Some(Input::Acted)
            }
            _ => None,
        }
    }

    /// A turn runs, if none did.
    fn begin_turn(&mut self) {
        if let Turn::Ended(_) = self.turn {
            self.turn = Turn::Runs { after: self.messages };
        }
    }

    /// A hook waits for a person's answer to `request`.
    pub(super) fn waits(&mut self, hook: u64, wait: Wait, at: Duration) {
        self.waits.push(Waiting { hook: Some(hook), wait, since: at });
    }

    /// It does not any more. Where the agent is being ended, that may have ended the hook, and its request is kept as one
    /// that nobody answered. Returns the request's id.
    pub(super) fn waits_no_more(&mut self, hook: u64, is_ending: bool) -> Option<String> {
        let at = self.waits.iter().position(|waiting| waiting.hook == Some(hook))?;
        if is_ending {
            self.waits[at].hook = None;
            return Some(self.waits[at].wait.request.clone());
        }
        Some(self.waits.remove(at).wait.request)
    }

    /// Whether a person is waited for.
    pub(super) fn is_waiting(&self) -> bool {
        self.waits.iter().any(|waiting| waiting.hook.is_some())
    }

    /// The requests that wait for a person, the oldest first.
    pub(super) fn requests(&self) -> Vec<Wait> {
        let waiting = self.waits.iter().filter(|waiting| waiting.hook.is_some());
        waiting.map(|waiting| waiting.wait.clone()).collect()
    }

    /// The requests that waited when the agent was ended, which was at `at`.
    pub(super) fn unanswered(&mut self, at: Duration) -> Vec<Unanswered> {
        let unanswered = |waiting: Waiting| {
            let Wait { request, call } = waiting.wait;
            Some(Unanswered { id: request, request: call?, time: at.saturating_sub(waiting.since) })
        };
        self.waits.drain(..).filter_map(unanswered).collect()
    }

    /// When the last turn ended, if none runs.
    pub(super) fn ended_turn(&self) -> Option<Duration> {
        match self.turn {
            Turn::Ended(at) => Some(at),
            Turn::Runs { .. } => None,
        }
    }

    /// How much runs in the background.
    pub(super) fn background(&self) -> usize {
        self.background.count()
    }

    /// Whether the agent goes beyond its `turns`. Claude Code counts them too, but starts again in each turn that it begins
    /// by itself. Without a set limit, a turn that began within the default one may finish: it may have an alert to report.
    pub(super) fn overruns(&self, turns: Turns) -> bool {
        let Turn::Runs { after } = self.turn else { return false };
        let began_late = !self.said.is_empty() && after >= turns.most;
        began_late || (turns.is_set && self.messages > turns.most)
    }

    /// Whether a turn that the agent began by itself has had messages, but no result.
    pub(super) fn has_unfinished_turn(&self) -> bool {
        matches!(self.turn, Turn::Runs { after } if !self.said.is_empty() && self.messages > after)
    }

    /// Whether no turn runs, and tasks in the background go on.
    pub(super) fn has_only_background(&self) -> bool {
        self.ended_turn().is_some() && self.background() > 0
    }

    /// What it is in the middle of at `at`.
    pub(super) fn doing(&self, at: Duration) -> Doing {
        let since = |then: Duration| at.saturating_sub(then);
        if let Some(waiting) = self.waits.first() {
            return Doing::Waits { request: waiting.wait.request.clone(), time: since(waiting.since) };
        }
        if let Some((retries, status)) = self.retries {
            return Doing::Retries { retries, status };
        }
        if let Some((call, begun)) = self.calls.newest_since() {
            let (tool, action) = (call.tool_name.clone(), call.last_action.clone());
            return Doing::Tool { tool, action, time: since(begun) };
        }
        match self.turn {
            Turn::Runs { .. } => Doing::Model { time: since(self.newest) },
            Turn::Ended(_) if self.background() == 0 => Doing::Nothing,
            Turn::Ended(_) => {
                let tasks = self.background.tasks();
                Doing::Background { tasks: tasks.map(|task| words(&task.description, &task.id)).collect() }
            }
        }
    }
}

/// What a task is called: by what it is for, without what looks like a secret.
fn words(description: &str, id: &str) -> String {
    let description = brief::line(&mask(description), ACTION);
    if description.is_empty() { id.to_owned() } else { description }
}

#[cfg(test)]
mod tests;
