//! Checks that every call of an agent was decided: compares the calls that ran, according to the agent's events, with
//! the lines that the hook appends to decisions.jsonl (docs/reference/hook.md, The record).
//!
//! Events go in; the first call that ran undecided or despite a denial comes out. The hook writes its line
//! before it answers, so the line exists when the call's result arrives. Calls that Claude Code refuses before it
//! runs any hook (an unknown tool, invalid input) have a result that starts with one of `UNRUN`, as measured on
//! 2.1.197, 2.1.329 and 2.1.330.

mod decisions;

use crate::local_rules::LocalRules;
use crate::protocol::AgentInfo;
use decisions::Decisions;
use murmur_agent::dialog::Overruled;
use murmur_agent::event::{Event, PermissionRequest};
use murmur_core::config::backend::{Backend, Capability};
use murmur_core::id::AgentId;
use murmur_core::permit::decision::{DecidedBy, DecisionKind};
use murmur_outcome::breach::{breached, ran_denied};
use murmur_outcome::refused::{Refusals, UndecidedCalls};
use murmur_store::journal::decisions::{DecisionLine, shown};
use murmur_store::pulse::action;
use secrets::mask;
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use sys::clock;

/// Prefixes of the result of a call that Claude Code itself refused. The result of a failed command starts with its
/// exit code, so no command can forge these.
const UNRUN: [&str; 2] = ["<tool_use_error>", "Permission to use "];

/// The beginning of the result of a call that was rejected when its turn was interrupted.
pub(super) const REJECTED: &str = "The user doesn't want to proceed with this tool use.";

/// Two parts of the first line of a result if a hook refused the call or failed: its beginning, and a later part.
const REFUSED: [&str; 2] = ["PreToolUse:", " hook error: "];

/// Describes a call of which only the result could be read.
pub(super) const UNREAD: &str = "a call that could not be read";

/// How many calls whose hook asks a person to remember.
const ASKED: usize = 1000;

/// Whether the backend passes every call to the hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coverage {
    /// It does, so that a call without a decision is a breach.
    Every,
    /// Likewise, and before it reports the call.
    Started,
    /// It asks about some calls and runs others.
    Some,
}

impl Coverage {
    /// Returns the coverage of `backend`; `is_decided_at_start`: whether it reports a call only after the decision.
    pub(super) fn of(backend: &Backend, is_decided_at_start: bool) -> Self {
        match backend.has(Capability::Hooks) {
            true if is_decided_at_start => Self::Started,
            true => Self::Every,
            false => Self::Some,
        }
    }
}

/// Watches one agent's calls.
#[derive(Debug)]
pub(super) struct Audit {
    decisions: Decisions,
    /// Calls without a result.
    open: Vec<Open>,
    /// Calls whose hook asks a person.
    asked: HashSet<String>,
    /// Whether a skipped line may have held a call.
    has_lost_calls: bool,
    /// Whether a skipped line may have held a result.
    has_lost_results: bool,
    failure: Option<String>,
    /// A call that ran although it was denied.
    ran_denied: Option<String>,
    coverage: Coverage,
    undecided: UndecidedCalls,
    local_rules: Option<LocalRules>,
}

#[derive(Debug)]
struct Open {
    id: String,
    /// The message that contains the call.
    message: String,
    /// Empty for a call of the main agent.
    parent: String,
    /// A description such as `Bash(git push)`.
    words: String,
    /// Whether murmur allowed the same call, if the agent delegated it.
    by_client: Option<bool>,
    /// Its tool and input, if its agent may run it without a decision.
    call: Option<[String; 2]>,
}

impl Audit {
    /// Watches `agent`, whose decisions are appended to `path` from now on.
    pub(super) fn begin(path: PathBuf, agent: AgentId, coverage: Coverage) -> Self {
        let decisions = Decisions::begin(path, agent);
        let (open, failure) = (Vec::new(), None);
        Self {
            decisions,
            open,
            asked: HashSet::new(),
            has_lost_calls: false,
            has_lost_results: false,
            failure,
            ran_denied: None,
            coverage,
            undecided: UndecidedCalls::default(),
            local_rules: None,
        }
    }

    /// Also notices calls that these rules deny, of an agent that may run calls without a decision.
    pub(super) fn with(self, local_rules: Option<LocalRules>) -> Self {
        Self { local_rules: local_rules.filter(|_| self.coverage == Coverage::Some), ..self }
    }

    /// Handles an event. Returns a call that ran undecided, if every call has to be decided.
    pub(super) fn see(&mut self, event: &Event<'_>) -> Option<String> {
        let undecided = self.undecided(event)?;
        if self.coverage != Coverage::Some {
            return Some(undecided);
        }
        self.undecided.add(&undecided);
        None
    }

    /// The calls that ran without a decision so far.
    pub(super) fn undecided_calls(&self) -> &UndecidedCalls {
        &self.undecided
    }

    fn undecided(&mut self, event: &Event<'_>) -> Option<String> {
        match event {
            // A resumed agent first repeats its conversation; those calls were decided in the earlier run.
            Event::Session { .. } if self.coverage == Coverage::Some => {
                self.open.clear();
                self.undecided = UndecidedCalls::default();
                None
            }
            Event::ToolUse { id, name, input, .. } if self.open.iter().any(|call| call.id == **id) => {
                for call in self.open.iter_mut().filter(|call| call.id == **id && input.0.get() != "{}") {
                    call.words = describe(name, input.0.get());
                    if let Some(call) = &mut call.call {
                        *call = [name.clone().into_owned(), input.0.get().to_owned()];
                    }
                }
                None
            }
            Event::ToolUse { message, parent, id, name, input } => {
                let lost = self.without_result(message, parent);
                if self.coverage == Coverage::Started && !self.decisions.has(id) {
                    return Some(describe(name, input.0.get()));
                }
                self.open.push(Open {
                    id: id.clone().into_owned(),
                    message: message.clone().into_owned(),
                    parent: parent.clone().into_owned(),
                    words: describe(name, input.0.get()),
                    by_client: None,
                    call: self
                        .local_rules
                        .is_some()
                        .then(|| [name.clone().into_owned(), input.0.get().to_owned()]),
                });
                lost
            }
            Event::Text { message, parent, .. } => self.without_result(message, parent),
            Event::ToolResult { id, output, is_error, .. } => self.ended(id, output, *is_error),
            // A hook that decided has recorded why; another one failed.
            Event::Blocked { id, reason } => {
                if !self.decisions.has(id) {
                    self.failure.get_or_insert_with(|| reason.clone().into_owned());
                }
                None
            }
            Event::Oversized { .. } => {
                (self.has_lost_calls, self.has_lost_results) = (true, true);
                None
            }
            Event::Garbled => {
                self.has_lost_calls = true;
                None
            }
            Event::Result(_) => {
                let lost = self.without_result("", "");
                self.open.retain(|call| !call.parent.is_empty());
                lost
            }
            _ => None,
        }
    }

    /// Describes a call that ran although it was denied, or that wrote where it may not, as its hook found
    /// afterward. Returns each only once.
    pub(super) fn breach(&mut self, event: &Event<'_>) -> Option<String> {
        if matches!(event, Event::ToolResult { .. } | Event::Result(_)) {
            self.decisions.read();
        }
        self.ran_denied.take().map(|call| ran_denied(&call)).or_else(|| {
            let call = self.decisions.breach.take()?;
            Some(breached(&call))
        })
    }

    /// Notes that the hook of this call asks a person. If the turn is interrupted meanwhile, the hook ends without a
    /// decision, and the call doesn't run.
    pub(super) fn asks(&mut self, tool_use_id: &str) {
        // It may be known before the call.
        if self.asked.len() < ASKED {
            self.asked.insert(tool_use_id.to_owned());
        }
    }

    /// Notes that the hook for a call that the agent asked about failed, so that the call is denied.
    pub(super) fn hook_failed(&mut self, asked: &PermissionRequest, why: &str) {
        let words = describe(&asked.tool, &asked.input.to_string());
        self.failure.get_or_insert_with(|| mask(&format!("{words}: {why}")));
        self.decisions.deny(&asked.tool_use_id, &asked.tool);
    }

    /// Records that a call will not run although it was allowed.
    pub(super) fn overrule(&mut self, Overruled { tool_use_id, reason }: &Overruled) {
        self.decisions.overrule(tool_use_id, reason);
    }

    /// Records that a request of the agent with this `info` was refused without a decision on it.
    pub(super) fn refuse(
        &mut self,
        info: &AgentInfo,
        cwd: &Path,
        request: &PermissionRequest,
        reason: &str,
        by: &DecidedBy,
    ) {
        let PermissionRequest { tool, input, tool_use_id, .. } = request;
        self.decisions.append(&DecisionLine {
            ts: clock::rfc3339(clock::now()),
            agent: info.agent_id.as_str(),
            project: Some(&*info.project).filter(|project| !project.is_empty()),
            beat: info.beat.as_ref(),
            tool,
            input: shown(&input.to_string()),
            answers: None,
            cwd,
            session: "",
            tool_use_id,
            decision: DecisionKind::Deny,
            by,
            reason: mask(reason),
            request: None,
            answered_by: None,
            breach: false,
            duration_ms: 0,
        });
    }

    /// Notes whether one of `calls` is allowed, which the agent delegates to murmur and may report as its own.
    pub(super) fn decided_for_client(&mut self, calls: &[(&str, Value)], is_allowed: bool) {
        for (tool, input) in calls {
            let words = describe(tool, &input.to_string());
            for call in self.open.iter_mut().filter(|call| call.words == words) {
                call.by_client = Some(is_allowed);
            }
        }
    }

    /// Whether a decision on this call was recorded, even if the call is over.
    pub(super) fn is_decided(&mut self, tool_use_id: &str) -> bool {
        self.decisions.has_or_had(tool_use_id)
    }

    /// Whether the recorded decision on this call allows it.
    pub(super) fn is_allowed(&mut self, tool_use_id: &str) -> bool {
        self.decisions.has(tool_use_id)
            && self.decisions.by_call.get(tool_use_id) == Some(&DecisionKind::Allow)
    }

    /// The tools whose calls were denied, one entry per call, in order. Only decisions.jsonl knows all of them.
    pub(super) fn denials(&mut self) -> Vec<String> {
        self.decisions.denials()
    }

    /// Everything refused so far.
    pub(super) fn refusals(&mut self) -> Refusals {
        self.decisions.read();
        let failure = self.failure.take().or_else(|| self.decisions.failure.clone());
        let Decisions { by_guard, unanswered, by_backend, last_denied, .. } = &self.decisions;
        Refusals {
            by_guard: by_guard.clone(),
            unanswered: unanswered.clone(),
            by_backend: by_backend.clone(),
            last_denied: last_denied.clone(),
            failure,
            undecided: self.undecided.clone(),
        }
    }

    fn ended(&mut self, id: &str, output: &str, is_error: bool) -> Option<String> {
        let found = self.open.iter().position(|call| call.id == id);
        let (words, by_client, call) = match found {
            Some(at) => {
                let call = self.open.swap_remove(at);
                (call.words, call.by_client, call.call)
            }
            None if self.has_lost_calls => (UNREAD.to_owned(), None, None),
            // Belongs to the resumed conversation.
            None => return None,
        };
        let was_asked = self.asked.remove(id);
        if is_error && was_asked && output.starts_with(REJECTED) && !self.decisions.has(id) {
            return None;
        }
        if is_error && UNRUN.iter().any(|start| output.starts_with(start)) {
            return None;
        }
        if by_client.is_some_and(|is_allowed| is_allowed || is_error) && !self.decisions.has(id) {
            return None;
        }
        if self.decisions.has(id) {
            // A decision is valid for one call only.
            if self.decisions.end(id) == Some(DecisionKind::Deny) && !is_error {
                self.ran_denied.get_or_insert(words);
            }
            return None;
        }
        let [start, middle] = REFUSED;
        let first = output.lines().next().unwrap_or_default();
        if is_error && first.strip_prefix(start).is_some_and(|rest| rest.contains(middle)) {
            self.failure.get_or_insert_with(|| format!("{words}: {output}"));
            return None;
        }
        self.check_after_run(&words, call);
        Some(words)
    }

    /// Counts a call that ran undecided, if the guard or the person's rules refuse it.
    fn check_after_run(&mut self, words: &str, call: Option<[String; 2]>) {
        let (Some([tool, input]), Some(rules)) = (call, &self.local_rules) else { return };
        if let Some(denier) = rules.denied_by(&tool, &input) {
            self.undecided.add_refused(denier, words);
        }
    }

    /// A call of an earlier message whose result must have been in a skipped line. It ran: the result of a refused
    /// call is short.
    fn without_result(&mut self, message: &str, parent: &str) -> Option<String> {
        if !self.has_lost_results {
            return None;
        }
        let is_over = |call: &Open| call.parent == parent && call.message != message;
        let over: Vec<Open> = self.open.extract_if(.., |call| is_over(call)).collect();
        let lost = over.into_iter().find(|call| !self.decisions.has(&call.id))?;
        self.check_after_run(&lost.words, lost.call);
        Some(lost.words)
    }
}

/// Describes a call.
pub(super) fn describe(tool: &str, input: &str) -> String {
    let action = action::of(tool, input);
    if action.is_empty() { tool.to_owned() } else { format!("{tool}({action})") }
}

#[cfg(test)]
mod tests;
