//! murmur's side of the conversation with a beat's agent that is being recorded: without limits, clients or a journal
//! line. Others run the agent. Its output goes in; what it calls for goes to its stdin, which is closed after the first
//! turn.

use super::audit::{Audit, Coverage};
use super::control_requests::{ControlRequests, HookAnswer, NoDecision};
use murmur_agent::backend;
use murmur_agent::client_call::ClientStep;
use murmur_agent::dialog::{CallDecision, Conversation};
use murmur_agent::event::Event;
use murmur_agent::parser::Parser;
use murmur_agent::start::Prepared;
use murmur_core::config::acp_program::Offers;
use murmur_core::config::backend::{Backend, Capability};
use murmur_core::id::{AgentId, SessionId};
use std::io::Write;
use std::path::PathBuf;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// A beat's agent.
#[derive(Debug)]
pub struct BeatAgent<'a> {
    /// Its id.
    pub agent: AgentId,
    /// The program that runs it.
    pub backend: &'a Backend,
    /// How it was started, with the prompt as its stdin.
    pub prepared: &'a Prepared,
    /// Where the hook records its decisions.
    pub decisions: PathBuf,
}

/// Whether an agent of `backend` takes part in a conversation, rather than being told everything at its start.
#[must_use]
pub fn is_needed(prepared: &Prepared, backend: &Backend) -> bool {
    backend::dialog(backend, prepared.conversation.clone()).outlives_turn()
}

/// Talks with `agent` until the end of its turn or of its `output`. Its requests are decided as in a beat.
/// Blocks while the agent doesn't read what is written to `stdin`.
pub async fn converse(agent: BeatAgent<'_>, mut output: mpsc::Receiver<Vec<u8>>, mut stdin: impl Write) {
    let BeatAgent { agent, backend, prepared, decisions } = agent;
    // A recording is of what an agent does by itself.
    let conversation = Conversation { offers: Offers::default(), ..prepared.conversation.clone() };
    let mut dialog = backend::dialog(backend, conversation);
    let mut parser = Parser::new(backend::dialect(backend));
    let (mut requests, mut answers) =
        ControlRequests::new(prepared.hook.clone(), backend, &prepared.invocation);
    let coverage = if backend.has(Capability::Hooks) { Coverage::Started } else { Coverage::Some };
    let mut audit = Audit::begin(decisions, agent, coverage);
    let mut session: Option<SessionId> = None;
    let prompt = String::from_utf8_lossy(&prepared.invocation.stdin);
    let mut next = [dialog.open(), dialog.send(&prompt)].concat();
    loop {
        // An agent that no longer reads ends by itself.
        let _gone = stdin.write_all(&next);
        let incomplete = requests.completes_at();
        next = tokio::select! {
            bytes = output.recv() => {
                let Some(bytes) = bytes else { return };
                let mut next = dialog.read(&bytes);
                let mut is_over = false;
                parser.feed(&bytes, &mut |event| {
                    requests.see(&event, session.as_ref());
                    match event {
                        Event::Session { id, .. } => session = Some(SessionId::new(id)),
                        Event::Result(_) => is_over = true,
                        _ => {}
                    }
                });
                if is_over {
                    return;
                }
                requests.complete(&*dialog, Instant::now());
                for step in dialog.client_steps() {
                    if let ClientStep::Ask { request, .. } = step {
                        requests.ask(request, session.as_ref());
                    }
                }
                next.extend(dialog.repeat_decisions(&mut |call| audit.is_allowed(call)));
                next
            }
            Some(HookAnswer { request, decision }) = answers.recv() => {
                let denial = |error: NoDecision| CallDecision::Deny { reason: error.to_string() };
                dialog.answer(&request, &decision.unwrap_or_else(denial))
            }
            () = sleep_until(incomplete.unwrap_or_else(Instant::now)), if incomplete.is_some() => {
                requests.complete(&*dialog, Instant::now());
                Vec::new()
            }
        };
    }
}
