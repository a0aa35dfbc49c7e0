//! What is not in the agent's output: a person's messages to it, and what murmur did for it as its client. From the
//! ledger of its events.

use derun::session::Session;
use murmur_agent::event::Event;
use murmur_host::event::MurmurEvent;
use murmur_host::ledger::{self, Entries, LedgerEntry};

/// The events, in the order of the output.
pub(super) struct OwnEvents {
    entries: Entries,
    next: Option<LedgerEntry>,
}

/// One of them.
pub(super) enum OwnEvent<'a> {
    /// A person's message to the agent.
    Message(&'a str),
    /// A call that murmur carries out, its result, or the end of a turn without output.
    Shown(&'a Event<'a>),
}

impl OwnEvents {
    /// The events in the ledger of `session`; `None` if it has no ledger.
    pub(super) fn of(session: &Session) -> Option<Self> {
        let entries = Entries::new(session.beside(ledger::FILE).ok()?);
        Some(Self { entries, next: None })
    }

    /// The offset in the output of the next event, if there is one yet.
    pub(super) fn next_at(&mut self) -> Option<u64> {
        while self.next.is_none() {
            // Best effort, as reading the rest of the output is.
            let entry = self.entries.next_entry().ok()??;
            let is_shown = matches!(
                entry.own,
                Some(
                    MurmurEvent::Chat { .. }
                        | MurmurEvent::ToolUse { .. }
                        | MurmurEvent::ToolResult { .. }
                        | MurmurEvent::Interrupted
                )
            );
            self.next = Some(entry).filter(|_| is_shown);
        }
        self.next.as_ref().map(|entry| entry.at)
    }

    /// Passes events up to the offset `at` to `sink`.
    pub(super) fn take(&mut self, at: u64, mut sink: impl FnMut(OwnEvent<'_>)) {
        while self.next_at().is_some_and(|next| next <= at) {
            match self.next.take().and_then(|entry| entry.own) {
                Some(MurmurEvent::Chat { text, .. }) => sink(OwnEvent::Message(&text)),
                Some(own) => own.with_agent_event(|event| sink(OwnEvent::Shown(event))),
                None => {}
            }
        }
    }
}
