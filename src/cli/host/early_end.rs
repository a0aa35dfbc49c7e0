//! Notices that a new agent ends before its first event: its program is broken, or refuses its arguments.

use super::attach::{Follower, wait};
use crate::cli::style::plain_line;
use murmur_core::id::AgentId;
use murmur_host::discover::{self, ANSWER_TIMEOUT};
use murmur_rpc::envelope::{Event, ServerMessage};
use secrets::mask;
use serde_json::Value;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use sys::failure;
use sys::paths::DataDir;
use tokio::sync::Notify;

/// How long to wait for the first event of an agent that has a message. Most take less than a second.
const WITH_MESSAGE: Duration = Duration::from_secs(3);

/// The same without a message: Claude Code prints nothing until it has one.
const WITHOUT_MESSAGE: Duration = Duration::from_millis(100);

/// Waits for the first event of the new `agent`.
///
/// # Errors
/// It ended before that.
pub(super) async fn check(dir: &DataDir, agent: &AgentId, has_message: bool) -> anyhow::Result<()> {
    let begins = Arc::new(Notify::new());
    let mut first = FirstEvents { begins: Arc::clone(&begins), ..FirstEvents::default() };
    let limit = if has_message { WITH_MESSAGE } else { WITHOUT_MESSAGE };
    let mut follower = Follower::new(dir, agent, (Some(0), true), &mut first, None);
    let ended = tokio::select! {
        biased;
        () = begins.notified() => return Ok(()),
        ended = tokio::time::timeout(limit, follower.follow()) => match ended {
            Ok(ended) => ended,
            Err(_) => return Ok(()),
        },
    };
    let Some(exit) = first.exit.filter(|_| !first.has_begun) else { return ended };
    // Its id can be used again, and its record says that it has ended.
    let host = discover::find(&dir.hosts(), agent, ANSWER_TIMEOUT).await;
    if let Some(host) = host.filter(discover::HostInfo::is_alive) {
        wait(host.record.as_ref()).await;
    }
    let how = match (exit.get("code"), exit.get("signal")) {
        (Some(code), _) => format!(" (exit code {code})"),
        (None, Some(signal)) => format!(" (signal {signal})"),
        (None, None) => String::new(),
    };
    let last = first.stderr.lines().rev().find(|line| !line.trim().is_empty());
    let why = last.map(|line| format!(": {}", plain_line(&mask(line.trim())))).unwrap_or_default();
    Err(failure!("agent {agent} ended at once{how}{why}"; "see: murmur show {agent}").into())
}

/// An agent's first events, which are written to it as lines of JSON.
#[derive(Default)]
struct FirstEvents {
    /// Notified of the first event.
    begins: Arc<Notify>,
    has_begun: bool,
    /// The last part of its stderr that isn't blank.
    stderr: String,
    /// How it ended.
    exit: Option<Value>,
}

impl FirstEvents {
    fn see(&mut self, event: &Event) {
        let text = |key: &str| event.payload.get(key).and_then(Value::as_str).unwrap_or_default();
        match &*event.event_type {
            "state" if text("state") == "exited" => self.exit = event.payload.get("exit").cloned(),
            "stderr" if text("text").trim().is_empty() => {}
            "stderr" => self.stderr = text("text").to_owned(),
            "chat" if text("role") == "user" => {}
            // murmur's own, and output that isn't the backend's format: programs may print errors to stdout.
            "state" | "garbled" | "oversized" | "lost" | "hold" | "hold_over" | "problem" => {}
            _ => {
                self.has_begun = true;
                self.begins.notify_one();
            }
        }
    }
}

impl Write for FirstEvents {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Ok(ServerMessage::Event(event)) = serde_json::from_slice(line) {
            self.see(&event);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
