//! The other direction of a backend's stream: what murmur writes to the agent's stdin, and when.
//!
//! A dialog is pure: texts, decisions and the agent's output go in, and bytes for its stdin come out. It may have a
//! state, such as requests without a response. Events never depend on that state, since they are replayed without a
//! dialog.

use super::client_call::{ClientError, ClientReply, ClientStep};
use super::event::PermissionRequest;
use murmur_core::config::acp_program::Offers;
use serde_json::Value;
use std::fmt::Debug;
use std::path::PathBuf;

/// What a dialog needs to know of a conversation to begin it, for backends that are not told by their arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conversation {
    /// The folder that the agent works in.
    pub cwd: PathBuf,
    /// The model, or `None` for the user's default.
    pub model: Option<String>,
    /// The backend's id of the conversation to resume.
    pub resume: Option<String>,
    /// What murmur does for the agent.
    pub offers: Offers,
    /// Whether the repository has Claude files that the agent must not get.
    pub hides_claude_files: bool,
}

/// A decision on a call that the agent asks about.
#[derive(Debug, Clone, PartialEq)]
pub enum CallDecision {
    /// It may run.
    Allow {
        /// The input to run it with instead, if a person changed it; not every backend can.
        input: Option<Value>,
    },
    /// It may not run.
    Deny {
        /// Why, for the model.
        reason: String,
    },
}

/// A call that will not run although it was allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overruled {
    /// The backend's id of the call.
    pub tool_use_id: String,
    /// Why, for people.
    pub reason: String,
}

/// A conversation with one agent over its stdin and stdout.
pub trait Dialog: Debug + Send {
    /// The first bytes for a new agent, before any message.
    fn open(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Takes output of the agent, in chunks of any size, and returns what it calls for: the next step of a handshake,
    /// or a message that waited for it.
    fn read(&mut self, output: &[u8]) -> Vec<u8> {
        let _no_steps = output;
        Vec::new()
    }

    /// Sends a message, which starts a turn. Empty if it has to wait; [`Dialog::read`] returns it then.
    fn send(&mut self, text: &str) -> Vec<u8>;

    /// Whether the conversation has begun. Until then, output belongs to no turn: an agent may repeat the messages of a
    /// conversation that it resumes.
    fn has_begun(&self) -> bool {
        true
    }

    /// Fills in what the agent has said elsewhere about the call that it asks about. Returns whether that is all; if
    /// not, more may follow soon.
    fn complete(&self, request: &mut PermissionRequest) -> bool {
        let _complete = request;
        true
    }

    /// Answers a call that the agent asks about.
    fn answer(&mut self, request: &PermissionRequest, decision: &CallDecision) -> Vec<u8>;

    /// The next steps of calls that the agent delegates.
    fn client_steps(&mut self) -> Vec<ClientStep> {
        Vec::new()
    }

    /// Replies to the agent's request with this id, which was performed.
    fn reply(&mut self, request: &str, result: Result<ClientReply, ClientError>) -> Vec<u8> {
        let (_request, _result) = (request, result);
        Vec::new()
    }

    /// Drops the message that waits for the conversation to begin, so that its turn never starts. Returns whether there
    /// was one.
    fn withdraw(&mut self) -> bool {
        false
    }

    /// Interrupts the current turn, also if it has yet to start. Empty then; [`Dialog::read`] returns it.
    fn interrupt(&mut self) -> Vec<u8>;

    /// Answers what the agent asks about calls on which its hook has decided. `is_allowed` has the recorded decision on
    /// a call, by its id.
    fn repeat_decisions(&mut self, is_allowed: &mut dyn FnMut(&str) -> bool) -> Vec<u8> {
        let _asks_once = is_allowed;
        Vec::new()
    }

    /// Whether the agent is told, and reports, why a call is denied.
    fn sends_reasons(&self) -> bool {
        false
    }

    /// The calls that were declined since the last time although they may have been allowed.
    fn overruled(&mut self) -> Vec<Overruled> {
        Vec::new()
    }

    /// Whether the agent reports a call only when its hook has decided, rather than when the model makes it.
    fn is_decided_at_start(&self) -> bool {
        false
    }

    /// Whether the agent runs `call`, such as `Bash(ls)`, only once [`Dialog::repeat_decisions`] has allowed it.
    fn asks_before(&self, call: &str) -> bool {
        let _runs = call;
        false
    }

    /// Whether the agent goes on reading stdin after a beat's turn, so that the beat ends only if murmur ends the
    /// agent.
    fn outlives_turn(&self) -> bool {
        false
    }
}
