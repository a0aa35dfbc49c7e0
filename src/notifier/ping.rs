//! Pings: a monitor such as Healthchecks hears when beats start and end, so it notices when they no longer do.

use super::{Input, Notifier};
use ::notify::channel;
use serde_json::Value;

/// What a ping says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ping {
    /// A beat started.
    Start,
    /// It ended, and nobody needs to look.
    Ok,
    /// It failed or needs attention.
    Fail,
}

impl Ping {
    /// What is added to the URL's path.
    fn suffix(self) -> &'static str {
        match self {
            Self::Start => "/start",
            Self::Ok => "",
            Self::Fail => "/fail",
        }
    }
}

impl Notifier {
    /// Sends the ping for a `beat_started` event.
    pub(super) fn ping(&mut self, payload: &Value, ping: Ping) {
        let text = |key: &str| payload.get(key).and_then(Value::as_str);
        let Some(workspace) = text("workspace") else { return };
        let name = self.names.of(workspace, text("heartbeat"));
        self.send_ping(&name, text("beat").map(str::to_owned), ping, String::new());
    }

    /// Sends a ping about `heartbeat` with `text`, on a thread of its own. It isn't kept: a late ping would be wrong.
    pub(super) fn send_ping(&self, heartbeat: &str, beat: Option<String>, ping: Ping, text: String) {
        let Some(address) = self.notify.ping_for(heartbeat).cloned() else { return };
        let (heartbeat, threads) = (heartbeat.to_owned(), self.threads.clone());
        std::thread::spawn(move || {
            if let Err(error) = channel::ping(&address, ping.suffix(), beat.as_deref(), &text) {
                let _ended = threads.blocking_send(Input::PingFailed(heartbeat, error.failure.line()));
            }
        });
    }
}
