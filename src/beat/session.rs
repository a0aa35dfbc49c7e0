//! What a beat's journal line tells of its agent's session: the model, the tokens, the API's refusal, the MCP servers.

use crate::agent::event::{Event, Tokens};
use crate::journal::entry::Entry;
use crate::outcome::servers::Servers;
use crate::outcome::{Kind, Outcome};
use crate::trust::LeftOut;

/// What the agent has told so far.
#[derive(Debug, Default)]
pub(super) struct Session {
    model: Option<String>,
    servers: Servers,
    /// The tokens of the turns that are over.
    usage: Option<Tokens>,
    /// The same as the agent adds them up itself, with those of subagents.
    total_usage: Option<Tokens>,
    api_error_status: Option<u64>,
    has_begun: bool,
}

impl Session {
    /// Sees what the agent does.
    pub(super) fn see(&mut self, event: &Event<'_>) {
        match event {
            Event::Session { model, mcp_servers, .. } => {
                self.has_begun = true;
                if !model.is_empty() {
                    self.model = Some(model.clone().into_owned());
                }
                self.servers.add(mcp_servers);
            }
            Event::ApiError(refusal) => self.api_error_status = refusal.status.or(self.api_error_status),
            Event::Result(result) => {
                if self.model.is_none() {
                    self.model = result.models.first().cloned();
                }
                self.api_error_status = result.api_error_status.or(self.api_error_status);
                if let Some(usage) = result.usage {
                    self.usage = Some(self.usage.unwrap_or_default() + usage);
                }
                self.total_usage = result.total_usage.or(self.total_usage);
            }
            _ => {}
        }
    }

    /// Writes it into `entry`, whose outcome is known. The heartbeat can't do without the servers called `requires`, and
    /// the agent did not get those that were `left_out`.
    pub(super) fn fill_in(self, entry: &mut Entry, requires: &[String], left_out: &[LeftOut]) {
        let why =
            |name: &str| left_out.iter().find(|server| server.name == name).map(|server| server.why.clone());
        let judged = match entry.outcome {
            // It goes on in another beat, which has servers of its own.
            Kind::Attention if entry.waiting.is_some() => None,
            Kind::Ok => Some(Outcome::Ok),
            Kind::Attention => Some(Outcome::Attention(entry.summary.clone().unwrap_or_default())),
            Kind::Error => None,
        };
        if let Some(outcome) = judged.filter(|_| self.has_begun || !requires.is_empty()) {
            entry.set_outcome(self.servers.judge(outcome, requires, &why));
        }
        entry.model = self.model;
        entry.tokens = self.total_usage.or(self.usage);
        entry.api_error_status = self.api_error_status;
    }
}
