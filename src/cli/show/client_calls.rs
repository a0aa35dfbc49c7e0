//! What murmur did for an agent, as its client, which is not in the agent's output: from the ledger of its events.

use derun::session::Session;
use murmur_agent::event::Event;
use murmur_host::event::MurmurEvent;
use murmur_host::ledger::{self, Entries, LedgerEntry};

/// The calls, in the order of the output.
pub(super) struct ClientCalls {
    entries: Entries,
    next: Option<LedgerEntry>,
}

impl ClientCalls {
    /// The calls in the ledger of `session`; `None` if it has no ledger.
    pub(super) fn of(session: &Session) -> Option<Self> {
        let entries = Entries::new(session.beside(ledger::FILE).ok()?);
        Some(Self { entries, next: None })
    }

    /// The offset in the output of the next event about a call, if there is one yet.
    pub(super) fn next_at(&mut self) -> Option<u64> {
        while self.next.is_none() {
            // Best effort, as reading the rest of the output is.
            let entry = self.entries.next_entry().ok()??;
            let is_call =
                matches!(entry.own, Some(MurmurEvent::ToolUse { .. } | MurmurEvent::ToolResult { .. }));
            self.next = Some(entry).filter(|_| is_call);
        }
        self.next.as_ref().map(|entry| entry.at)
    }

    /// Passes events up to the offset `at` to `sink`.
    pub(super) fn take(&mut self, at: u64, mut sink: impl FnMut(&Event<'_>)) {
        while self.next_at().is_some_and(|next| next <= at) {
            if let Some(own) = self.next.take().and_then(|entry| entry.own) {
                own.with_agent_event(&mut sink);
            }
        }
    }
}
