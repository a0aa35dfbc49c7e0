//! Why calls of a beat were denied, and which calls those were, from decisions.jsonl; and which of them wait for a
//! person.

use super::choose::Run;
use crate::cli::inbox::name_of;
use jiff::Timestamp;
use murmur_agent::transcript::Call;
use murmur_core::permit::decision::{DecidedBy, DecisionKind};
use murmur_core::permit::request::{Request, RequestId};
use murmur_hook::PERSON_DENIED;
use murmur_host::discover;
use murmur_store::journal::decisions::read::{Decided, Filter, newest};
use murmur_store::journal::deferred::Folder;
use murmur_store::pulse::action;
use secrets::mask;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use sys::paths::DataDir;
use sys::text::shown_line;

/// A call that waits for a person.
#[derive(Debug)]
pub(super) struct Wait {
    pub(super) request: RequestId,
    /// What people call it.
    pub(super) name: String,
    pub(super) tool: String,
    tool_use_id: String,
}

impl Wait {
    fn new(dir: &DataDir, request: RequestId, call: Request) -> Self {
        let name = name_of(dir, request.as_str());
        Self { request, name, tool: call.tool, tool_use_id: call.tool_use_id }
    }
}

/// The calls of a running agent that wait, according to its host.
pub(super) async fn waits(dir: &DataDir, agent: &str) -> Vec<Wait> {
    let waits = discover::requests(&dir.hosts(), discover::REQUESTS_TIMEOUT).await;
    let waits = waits.into_iter().filter_map(|wait| Some((wait.request, wait.call?)));
    let waits = waits.filter(|(_, call)| call.agent == agent);
    waits.map(|(request, call)| Wait::new(dir, request, *call)).collect()
}

/// The decisions on a beat's calls. They are read once a call has failed, and again while the beat is running.
#[derive(Debug)]
pub(in crate::cli) struct Denials {
    path: PathBuf,
    filter: Filter,
    is_running: bool,
    /// The requests of calls that wait for a person, by call.
    waiting: HashMap<String, Wait>,
    /// The calls that the agent ran without a decision, as the journal has them.
    undecided: Vec<String>,
    /// The last decision on each call.
    decided: Option<HashMap<String, RecordedDecision>>,
}

/// A decision on a call.
#[derive(Debug, Clone)]
struct RecordedDecision {
    tool: String,
    /// What the tool was called with, in one line.
    subject: String,
    /// All of it, as JSON text.
    input: String,
    denied: Option<Denial>,
}

/// The reason, unless it only tells the agent that a person denied the call.
fn own_reason(reason: &str) -> String {
    if reason == PERSON_DENIED { String::new() } else { reason.to_owned() }
}

/// Why a call was denied.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Denial {
    /// Who denied it, if the reason doesn't say so.
    by: Option<&'static str>,
    reason: String,
}

impl Denial {
    /// Who denied the call and why: `denied by the guard: …`, `denied by you: …`, `denied: rule 1 of …`.
    pub(super) fn sentence(&self) -> String {
        match self.by {
            Some(_) => format!("denied {}", self.words()),
            None => format!("denied: {}", self.words()),
        }
    }

    /// The same without the word.
    pub(super) fn words(&self) -> String {
        match self.by {
            Some(by) if self.reason.is_empty() => format!("by {by}"),
            Some(by) => format!("by {by}: {}", self.reason),
            None => self.reason.clone(),
        }
    }
}

impl Denials {
    /// The denials of `run`.
    pub(super) fn new(dir: &DataDir, run: &Run) -> Self {
        let filter = Filter { name: Some(run.entry.agent.clone()), since: run.entry.started() };
        Self {
            path: dir.decisions(),
            filter,
            is_running: run.is_running,
            waiting: HashMap::new(),
            undecided: run.entry.undecided.clone(),
            decided: None,
        }
    }

    /// The denials of the agent of a beat that begins.
    pub(in crate::cli) fn from_now(dir: &DataDir, agent: &str, now: Timestamp) -> Self {
        let filter = Filter { name: Some(agent.to_owned()), since: Some(now) };
        Self {
            path: dir.decisions(),
            filter,
            is_running: true,
            waiting: HashMap::new(),
            undecided: Vec::new(),
            decided: None,
        }
    }

    /// Looks for calls that wait for a person now.
    pub(super) async fn look_for_waiting(&mut self, dir: &DataDir, run: &Run) {
        let waits = if run.is_running { waits(dir, &run.entry.agent).await } else { Vec::new() };
        let deferred =
            Folder::new(dir.approvals()).all(|_| {}).into_iter().map(|(id, call)| (id, call.request));
        let deferred = deferred.filter(|(_, request)| request.agent == run.entry.agent);
        let deferred = deferred.map(|(id, call)| Wait::new(dir, id, call));
        let all = waits.into_iter().chain(deferred);
        self.waiting = all.map(|wait| (wait.tool_use_id.clone(), wait)).collect();
    }

    /// The request of a call that waits for a person.
    pub(super) fn waiting(&self, call: &Call) -> Option<&Wait> {
        self.waiting.get(&call.id).filter(|_| call.result.is_none())
    }

    /// Why the call was denied; `None` if it was not.
    pub(super) fn of(&mut self, call: &Call) -> io::Result<Option<Denial>> {
        if !call.result.as_ref().is_some_and(|result| result.is_error) {
            return Ok(None);
        }
        Ok(self.decision(&call.id)?.and_then(|decision| decision.denied))
    }

    /// Whether the agent ran the call without a decision.
    pub(super) fn is_undecided(&mut self, call: &Call) -> io::Result<bool> {
        let Call { tool, subject, .. } = call;
        let words = if subject.is_empty() { tool.clone() } else { format!("{tool}({subject})") };
        // It may have asked about another call of the same kind.
        Ok(self.undecided.contains(&mask(&words)) && self.decision(&call.id)?.is_none())
    }

    /// The call with its tool and subject, if its agent did not say what it called, because a hook blocked it.
    pub(super) fn completed(&mut self, call: &Call) -> io::Result<Option<Call>> {
        if !call.tool.is_empty() {
            return Ok(None);
        }
        let decision = self.decision(&call.id)?;
        Ok(decision.map(|RecordedDecision { tool, subject, input, .. }| Call {
            tool,
            subject,
            input,
            ..call.clone()
        }))
    }

    /// The last decision on the call `id`.
    fn decision(&mut self, id: &str) -> io::Result<Option<RecordedDecision>> {
        let decided = match self.decided.take().filter(|decided| !self.is_running || decided.contains_key(id))
        {
            Some(decided) => decided,
            None => self.read()?,
        };
        let decision = decided.get(id).cloned();
        self.decided = Some(decided);
        Ok(decision)
    }

    fn read(&self) -> io::Result<HashMap<String, RecordedDecision>> {
        let (found, _unreadable) = newest(&self.path, &self.filter, usize::MAX)?;
        let decision = |Decided { tool, input, decision, by, reason, .. }: &Decided| {
            let by = match by {
                DecidedBy::Guard(_) => Some("the guard"),
                DecidedBy::Person => Some("you"),
                DecidedBy::Backend => Some("the backend"),
                _ => None,
            };
            let subject = action::of(tool, input);
            RecordedDecision {
                tool: shown_line(tool),
                subject,
                input: input.clone(),
                denied: (*decision == DecisionKind::Deny).then(|| Denial { by, reason: own_reason(reason) }),
            }
        };
        Ok(found
            .into_iter()
            .map(|found| (found.decided.tool_use_id.clone(), decision(&found.decided)))
            .collect())
    }
}
