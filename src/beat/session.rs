//! What a run and the agent's reports about its session add to the journal line: cost, model, tokens, API error status, MCP
//! servers, limits.

use crate::outcome::Required;
use crate::outcome::retryable::FailedCall;
use crate::outcome::servers::Servers;
use murmur_agent::event::{ApiError, Event, Tokens};
use murmur_host::process::{Run, RunEnd};
use murmur_store::journal::entry::JournalEntry;
use murmur_store::limits::Reports;
use sys::clock;

/// What the agent has reported so far.
#[derive(Debug, Default)]
pub(super) struct Session {
    model: Option<String>,
    servers: Servers,
    /// The tokens of finished turns.
    usage: Option<Tokens>,
    /// The total as the agent reports it, subagents included.
    total_usage: Option<Tokens>,
    api_error_status: Option<u64>,
    /// The last call of the API, if it failed and was repeated, or got no answer.
    retried: Option<FailedCall>,
    has_begun: bool,
    limits: Reports,
}

impl Session {
    /// Records one of the agent's events.
    pub(super) fn observe(&mut self, event: &Event<'_>) {
        self.limits.observe(event, clock::now());
        match event {
            Event::Session { model, mcp_servers, .. } => {
                self.has_begun = true;
                if !model.is_empty() {
                    self.model = Some(model.clone().into_owned());
                }
                self.servers.add(mcp_servers);
            }
            Event::Usage(usage) => self.add(*usage),
            Event::Retry { status, .. } => self.retried = Some(FailedCall(*status)),
            // The model has answered.
            Event::ToolUse { .. } => self.retried = None,
            Event::ApiError(refusal) if refusal.error == ApiError::UNREACHABLE => {
                self.retried = Some(FailedCall(None));
            }
            Event::ApiError(refusal) => self.api_error_status = refusal.status.or(self.api_error_status),
            Event::Result(result) => {
                if self.model.is_none() {
                    self.model = result.models.first().cloned();
                }
                self.api_error_status = result.api_error_status.or(self.api_error_status);
                if let Some(usage) = result.usage {
                    self.add(usage);
                }
                self.total_usage = result.total_usage.or(self.total_usage);
            }
            _ => {}
        }
    }

    fn add(&mut self, usage: Tokens) {
        self.usage = Some(self.usage.unwrap_or_default() + usage);
    }

    /// The agent's servers and the required ones; `None` if the agent never listed its servers and none is required. `why`
    /// returns why a server was left out.
    pub(super) fn required<'a>(
        &'a self,
        names: &'a [String],
        why: &'a dyn Fn(&str) -> Option<String>,
    ) -> Option<Required<'a>> {
        (self.has_begun || !names.is_empty()).then_some(Required { servers: &self.servers, names, why })
    }

    /// The last call of the API, if it failed.
    pub(super) fn failed_call(&self) -> Option<FailedCall> {
        self.api_error_status.map(|status| FailedCall(Some(status))).or(self.retried)
    }

    /// The usage limits of its account.
    pub(super) fn limits(&self) -> &Reports {
        &self.limits
    }

    /// Fills in `entry`.
    pub(super) fn fill_in(self, entry: &mut JournalEntry) {
        entry.model = self.model;
        entry.tokens = self.total_usage.or(self.usage);
        entry.api_error_status = self.api_error_status;
    }
}

/// Fills in everything about `run` except the outcome and how murmur ended it early.
pub(super) fn fill_in_run(entry: &mut JournalEntry, run: Run) {
    entry.exit = Some(run.exit);
    entry.unguarded = run.refusals.unguarded;
    if let RunEnd::Settled { background, .. } = run.ending {
        entry.background_ended = Some(background);
    }
    entry.session_id = run.session_id;
    entry.capture = run.capture;
    entry.capture_lost = run.lost;
    // Results report the accumulated cost of the run, but count turns from 1 each.
    entry.num_turns =
        run.results.iter().map(|result| result.num_turns).reduce(|sum, turns| Some(sum? + turns?)).flatten();
    entry.cost_usd = run.results.last().and_then(|result| result.cost_usd);
    // Only some agents report them, and only with a result.
    let reported = run.results.into_iter().map(|result| result.denials).max_by_key(Vec::len);
    entry.denials = reported.filter(|denials| !denials.is_empty()).unwrap_or(run.denials);
}
