//! Tracks what an agent has done and is doing, from its events and hooks: the content of a `Run`, and what a stop
//! interrupts. Pure: times are durations since the agent's start.

use super::beat_limits::Turns;
use super::calls::{Call, Calls};
use super::protocol::Wait;
use super::state::{AgentKind, Input};
use murmur_agent::background::Background;
use murmur_agent::event::{Event, RunResult};
use murmur_agent::turn_count::TurnCount;
use murmur_core::id::SessionId;
use murmur_core::permit::request::RequestId;
use murmur_outcome::run::LastActivity;
use murmur_store::journal::decisions::Unanswered;
use murmur_store::pulse::{ACTION, action, brief};
use secrets::mask;
use std::time::Duration;

/// How much of an answer to keep, in bytes.
const ANSWER: usize = 1 << 20;

/// API requests in a row that failed and were retried.
#[derive(Debug, Clone, Copy)]
struct Retries {
    count: u64,
    /// The HTTP status of the last answer, if there was one.
    status: Option<u64>,
}

/// The activity of an agent.
#[derive(Debug)]
pub(super) struct Activity {
    kind: AgentKind,
    /// Its results: all of a beat's, the newest of a hosted agent's.
    pub(super) results: Vec<RunResult>,
    pub(super) session_id: Option<SessionId>,
    /// The agent's version; empty if it doesn't say.
    pub(super) version: String,
    pub(super) calls: Calls,
    /// API failures in a row.
    retries: Option<Retries>,
    /// Calls that wait for a person.
    waits: Vec<Waiting>,
    background: Background,
    /// When the newest event arrived.
    newest: Duration,
    turn: Turn,
    /// Messages of the main agent, which `maxTurns` counts.
    messages: u64,
    message: String,
    /// The model's responses, for backends whose results don't have their number.
    responses: TurnCount,
    /// The text of the last message, up to [`ANSWER`] bytes: the answer, for backends whose results have no text.
    answer: String,
    /// The cost so far, for backends whose results don't have it.
    cost_usd: Option<f64>,
}

/// A call that waits for a person.
#[derive(Debug)]
struct Waiting {
    /// The number of its hook's connection; `None` once that has closed.
    hook: Option<u64>,
    wait: Wait,
    since: Duration,
}

/// Whether a turn is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Running, started after this many messages.
    Runs { after: u64 },
    /// Not running; the last one ended at this time.
    Ended(Duration),
}

impl Activity {
    pub(super) fn new(kind: AgentKind) -> Self {
        Self {
            kind,
            results: Vec::new(),
            session_id: None,
            version: String::new(),
            calls: Calls::default(),
            retries: None,
            waits: Vec::new(),
            background: Background::default(),
            newest: Duration::ZERO,
            turn: Turn::Runs { after: 0 },
            messages: 0,
            message: String::new(),
            responses: TurnCount::default(),
            answer: String::new(),
            cost_usd: None,
        }
    }

    /// Handles `event`, which arrived at `at`; returns the resulting input to the state machine.
    pub(super) fn see(&mut self, event: &Event<'_>, at: Duration) -> Option<Input> {
        self.newest = at;
        self.calls.see(event, at);
        self.background.observe(event);
        let responses = self.responses.see(event);
        match event {
            Event::Result(result) => {
                if self.kind == AgentKind::Live {
                    self.results.clear();
                }
                self.results.push(RunResult {
                    text: self.text_of(result),
                    cost_usd: result.cost_usd.or(self.cost_usd),
                    num_turns: result.num_turns.or(responses),
                    ..(**result).clone()
                });
                self.answer.clear();
                self.retries = None;
                self.turn = Turn::Ended(at);
                Some(Input::TurnEnded)
            }
            Event::Session { id, version, .. } => {
                if self.version != **version {
                    self.version = version.clone().into_owned();
                }
                if !id.is_empty() && self.session_id.as_ref().map(SessionId::as_str) != Some(&**id) {
                    self.session_id = Some(SessionId::new(id.clone()));
                }
                // A resumed agent may have repeated its conversation.
                self.answer.clear();
                self.begin_turn();
                None
            }
            Event::Cost { usd } => {
                self.cost_usd = Some(*usd);
                None
            }
            Event::Retry { attempt, status, .. } => {
                self.retries = Some(Retries { count: *attempt, status: *status });
                None
            }
            Event::Text { message, parent, .. } | Event::ToolUse { message, parent, .. } => {
                self.retries = None;
                // A subagent may work in the background while no turn is running.
                if !parent.is_empty() {
                    return None;
                }
                self.begin_turn();
                if self.message != **message {
                    self.messages += 1;
                    self.message = message.clone().into_owned();
                    self.answer.clear();
                }
                match event {
                    Event::Text { text, .. } => self.add_to_answer(text),
                    _ => self.answer.clear(),
                }
                Some(Input::Acted)
            }
            _ => None,
        }
    }

    /// The final text of a turn with `result`: its own, or else the last message of the turn.
    fn text_of(&self, result: &RunResult) -> Option<String> {
        let is_left_out =
            result.text.is_none() && (!result.is_error || result.subtype == RunResult::ERROR_IN_MESSAGE);
        if is_left_out { Some(self.answer.clone()) } else { result.text.clone() }
    }

    fn add_to_answer(&mut self, text: &str) {
        let room = ANSWER.saturating_sub(self.answer.len());
        let end = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        self.answer.push_str(&text[..end.unwrap_or(0)]);
    }

    /// Starts a turn unless one is running.
    fn begin_turn(&mut self) {
        if let Turn::Ended(_) = self.turn {
            self.turn = Turn::Runs { after: self.messages };
        }
    }

    /// Adds a hook that waits for a person's answer.
    pub(super) fn waits(&mut self, hook: u64, wait: Wait, at: Duration) {
        self.waits.push(Waiting { hook: Some(hook), wait, since: at });
    }

    /// Removes a waiting hook and returns its request's id. If the agent is ending, its request stays as unanswered:
    /// the stop may have killed the hook.
    pub(super) fn stop_waiting(&mut self, hook: u64, is_ending: bool) -> Option<RequestId> {
        let at = self.waits.iter().position(|waiting| waiting.hook == Some(hook))?;
        if is_ending {
            self.waits[at].hook = None;
            return Some(self.waits[at].wait.request.clone());
        }
        Some(self.waits.remove(at).wait.request)
    }

    /// Whether a person is being asked.
    pub(super) fn is_waiting(&self) -> bool {
        self.waits.iter().any(|waiting| waiting.hook.is_some())
    }

    /// Requests that wait for a person, oldest first.
    pub(super) fn requests(&self) -> Vec<Wait> {
        let waiting = self.waits.iter().filter(|waiting| waiting.hook.is_some());
        waiting.map(|waiting| waiting.wait.clone()).collect()
    }

    /// Requests that were waiting when the agent ended, at `at`.
    pub(super) fn unanswered(&mut self, at: Duration) -> Vec<Unanswered> {
        let unanswered = |waiting: Waiting| {
            let Wait { request, call } = waiting.wait;
            Some(Unanswered { id: request, request: call?, time: at.saturating_sub(waiting.since) })
        };
        self.waits.drain(..).filter_map(unanswered).collect()
    }

    /// When the last turn ended; `None` while one is running.
    pub(super) fn ended_turn(&self) -> Option<Duration> {
        match self.turn {
            Turn::Ended(at) => Some(at),
            Turn::Runs { .. } => None,
        }
    }

    /// The number of background tasks.
    pub(super) fn background(&self) -> usize {
        self.background.count()
    }

    /// Whether the agent exceeds its limit `turns`. Claude Code also counts them, but from 0 again in each turn that
    /// the agent starts by itself. If only the default limit applies, a turn that started within it may finish, as it
    /// may have an alert.
    pub(super) fn overruns(&self, turns: Turns) -> bool {
        let Turn::Runs { after } = self.turn else { return false };
        let began_late = !self.results.is_empty() && after >= turns.most;
        began_late || (turns.is_set && self.messages > turns.most)
    }

    /// Whether a turn that the agent began by itself has had messages, but no result.
    pub(super) fn has_unfinished_turn(&self) -> bool {
        matches!(self.turn, Turn::Runs { after } if !self.results.is_empty() && self.messages > after)
    }

    /// Whether no turn is running but background tasks are.
    pub(super) fn has_only_background(&self) -> bool {
        self.ended_turn().is_some() && self.background() > 0
    }

    /// The call that has run for longest at `at`.
    pub(super) fn oldest_call(&self, at: Duration) -> Option<LastActivity> {
        self.calls.oldest_open().map(|call| call.doing(at))
    }

    /// The newest call that runs, or else the one that waits for a person, which some backends report only once it
    /// runs.
    pub(super) fn current_call(&self) -> Option<Call> {
        let waiting = || {
            let waits = self.waits.iter().rev().find(|waiting| waiting.hook.is_some())?;
            let request = waits.wait.call.as_deref()?;
            let last_action = action::of(&request.tool, &request.input.to_string());
            Some(Call { tool_name: request.tool.clone(), last_action })
        };
        self.calls.newest().cloned().or_else(waiting)
    }

    /// What the agent is doing at `at`.
    pub(super) fn doing(&self, at: Duration) -> LastActivity {
        let since = |then: Duration| at.saturating_sub(then);
        if let Some(waiting) = self.waits.first() {
            return LastActivity::Waits { request: waiting.wait.request.clone(), time: since(waiting.since) };
        }
        if let Some(Retries { count: retries, status }) = self.retries {
            return LastActivity::Retries { retries, status };
        }
        if let Some(call) = self.calls.newest_open() {
            return call.doing(at);
        }
        match self.turn {
            Turn::Runs { .. } => LastActivity::Model { time: since(self.newest) },
            Turn::Ended(_) if self.background() == 0 => LastActivity::Nothing,
            Turn::Ended(_) => {
                let tasks = self.background.tasks();
                LastActivity::Background {
                    tasks: tasks.map(|task| words(&task.description, &task.id)).collect(),
                }
            }
        }
    }
}

/// A task's label: its description, with secrets redacted.
fn words(description: &str, id: &str) -> String {
    let description = brief::line(&mask(description), ACTION);
    if description.is_empty() { id.to_owned() } else { description }
}

#[cfg(test)]
mod tests;
