//! The pulses that no hook of an agent's backend writes: its host writes them, from its events. Best effort, as in a
//! hook.

use super::audit::REJECTED;
use super::event::Progress;
use super::protocol::{AgentInfo, Wait};
use murmur_agent::backend;
use murmur_agent::event::{Event, RunResult};
use murmur_core::config::backend::Capability;
use murmur_core::id::SessionId;
use murmur_store::pulse::write::{put, put_over};
use murmur_store::pulse::{ACTION, Pulse, State, action, branch, brief, task};
use secrets::mask;
use sys::paths::DataDir;

/// How many calls without a result to remember; the oldest is forgotten first.
const CALLS: usize = 64;

/// The most characters of an error.
const ERROR: usize = 200;

/// How much of a message to remember, in characters; it may be a little more.
const MAX_LAST_MESSAGE: usize = 4 << 10;

/// Which pulses no hook writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unwritten {
    All,
    /// Those of calls and turns that fail.
    Failures,
    /// Those of turns that are interrupted while a call waits for a person.
    Waits,
}

/// Writes the pulses of one agent.
#[derive(Debug)]
pub struct Pulses {
    dir: DataDir,
    unwritten: Unwritten,
    /// What all of them have in common.
    common: Pulse,
    /// Calls without a result: id, tool and action.
    calls: Vec<[String; 3]>,
    /// The beginning of the last message of the turn.
    last_message: String,
    /// The first line of a message that was sent before the session began.
    message: Option<String>,
    /// The call that was denied last, unless the agent has gone on since: its id, and what people are told.
    denied: Option<[String; 2]>,
}

impl Pulses {
    /// The pulses of the agent with this `info`.
    #[must_use]
    pub fn of(dir: &DataDir, info: &AgentInfo) -> Self {
        let common = Pulse {
            agent_id: info.agent_id.to_string(),
            workspace: info.worktree.clone(),
            backend: info.backend.to_string(),
            ..Pulse::default()
        };
        let unwritten = match info.backend.has(Capability::Hooks) {
            true if backend::hooks_report_failures(&info.backend) => Unwritten::Waits,
            true => Unwritten::Failures,
            false => Unwritten::All,
        };
        let (calls, last_message) = (Vec::new(), String::new());
        Self { dir: dir.clone(), unwritten, common, calls, last_message, message: None, denied: None }
    }

    /// Handles what happens while the agent runs.
    pub fn note(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Spawned(pid) => self.common.pid = *pid,
            Progress::Agent(event) => self.see(event),
            Progress::Message(text) => {
                self.message = Some(brief::line(&mask(text), ACTION));
                self.put_message();
            }
            Progress::Waiting(wait) => self.waits(wait),
            Progress::Denied { tool_use_id, what } => {
                self.denied = Some([*tool_use_id, *what].map(str::to_owned));
            }
            Progress::Untrusted(_) | Progress::Waited(_) | Progress::Unrecorded(_) => {}
        }
    }

    /// Notes a call that waits for a person, which its agent may not have announced. If its turn is interrupted
    /// meanwhile, it was the last one.
    fn waits(&mut self, wait: &Wait) {
        if let Some(call) = &wait.call
            && self.calls.iter().all(|[known, ..]| *known != call.tool_use_id)
        {
            self.remember(&call.tool_use_id, &call.tool, action::of(&call.tool, &call.input.to_string()));
        }
    }

    fn remember(&mut self, id: &str, tool: &str, action: String) {
        self.last_message.clear();
        self.calls.retain(|[known, ..]| *known != id);
        if self.calls.len() == CALLS {
            self.calls.remove(0);
        }
        self.calls.push([id.to_owned(), tool.to_owned(), action]);
    }

    /// Handles one of the agent's events.
    fn see(&mut self, event: &Event<'_>) {
        match event {
            Event::Text { .. } => self.denied = None,
            Event::ToolUse { id, .. } => {
                self.denied = self.denied.take().filter(|[denied, _]| *denied == **id)
            }
            _ => {}
        }
        match event {
            Event::Session { id, .. } => {
                // A resumed agent may have repeated its conversation.
                self.calls.clear();
                self.last_message.clear();
                self.common.session_id =
                    Some(SessionId::new(id.clone())).filter(|id| !id.as_str().is_empty());
                let last_action = "session began".to_owned();
                self.put_unless_hooks_do(Pulse {
                    state: State::Starting,
                    last_action,
                    ..self.common.clone()
                });
                self.put_message();
            }
            Event::Text { parent, text, .. } if parent.is_empty() => {
                let room = MAX_LAST_MESSAGE.saturating_sub(self.last_message.len());
                self.last_message.extend(text.chars().take(room));
            }
            Event::ToolUse { id, name, input, .. } if self.unwritten != Unwritten::Waits => {
                self.remember(id, name, action::of(name, input.0.get()));
            }
            Event::Blocked { id, .. } => self.calls.retain(|[known, ..]| *known != **id),
            Event::ToolResult { output, is_error: true, .. } if output.starts_with(REJECTED) => {}
            Event::ToolResult { id, output, is_error, .. } if self.common.session_id.is_some() => {
                let Some(at) = self.calls.iter().position(|[known, ..]| *known == **id) else { return };
                let [id, tool_name, last_action] = self.calls.remove(at);
                let error = is_error.then(|| first_line(output, "failed"));
                let (state, tool_use_id) = (State::Running, Some(id));
                self.put_unless_hooks_do(Pulse {
                    tool_name,
                    last_action,
                    state,
                    tool_use_id,
                    error,
                    ..self.common.clone()
                });
            }
            Event::Result(result) => {
                let denied = self.denied.take();
                // A turn that was interrupted ends without results of its calls.
                let interrupted = self.calls.drain(..).next_back().filter(|_| result.is_error);
                if self.unwritten == Unwritten::Waits && interrupted.is_none() {
                    return;
                }
                // Results of the Agent Client Protocol have no text.
                let last_message = std::mem::take(&mut self.last_message);
                let errors = Some(result.errors_for_people().collect::<Vec<_>>().join("; "))
                    .filter(|errors| !errors.is_empty());
                let text = result.text.clone().or(errors).unwrap_or(last_message);
                let is_canceled = result.stop_reason.as_deref() == Some(RunResult::CANCELED);
                let after =
                    denied.filter(|_| is_canceled).map(|[_, what]| format!(", after murmur denied {what}"));
                let text = text + &after.unwrap_or_default();
                let error = result.is_error.then(|| first_line(&text, "failed"));
                let summary = brief::line(&mask(&text), ACTION);
                let [tool_use_id, tool_name, last_action] =
                    interrupted.unwrap_or_else(|| [String::new(), String::new(), summary]);
                let tool_use_id = Some(tool_use_id).filter(|id| !id.is_empty());
                let state = State::Idle;
                self.put_unless_hooks_do(Pulse {
                    tool_name,
                    last_action,
                    state,
                    tool_use_id,
                    error,
                    ..self.common.clone()
                });
            }
            _ => {}
        }
    }

    /// Notes the message that begins a turn, in the session.
    fn put_message(&mut self) {
        if self.unwritten == Unwritten::All
            && self.common.session_id.is_some()
            && let Some(last_action) = self.message.take()
        {
            self.put_unless_hooks_do(Pulse { state: State::Running, last_action, ..self.common.clone() });
        }
    }

    /// Marks the agent as ended.
    pub fn end(self) {
        if self.unwritten != Unwritten::All {
            return;
        }
        let _best_effort = put_over(&self.dir, &self.common.agent_id);
    }

    fn put_unless_hooks_do(&self, pulse: Pulse) {
        let is_written = match self.unwritten {
            Unwritten::All => false,
            Unwritten::Failures => pulse.error.is_none(),
            Unwritten::Waits => pulse.state != State::Idle,
        };
        if is_written {
            return;
        }
        let current_task = task::get(&self.dir, &pulse.agent_id);
        let git_branch = branch::of(&pulse.workspace);
        let _best_effort = put(&self.dir, Pulse { current_task, git_branch, ..pulse });
    }
}

fn first_line(text: &str, otherwise: &str) -> String {
    let text = mask(text);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or(otherwise);
    brief::line(line, ERROR)
}

#[cfg(test)]
mod tests;
