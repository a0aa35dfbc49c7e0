//! The client of the daemon's socket: ping, status, events and stop (docs/reference/daemon-protocol.md).

use super::status::{Status, StatusRequest};
use jiff::Timestamp;
use murmur_rpc::client::{AskError, Client};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;
use sys::clock;
use sys::paths::DataDir;

/// How long a daemon may take to answer.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The response to `ping`. The aliases are the keys of older daemons.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ping {
    /// Its process id.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// When it started, RFC 3339: distinguishes it from another daemon with the same PID.
    #[serde(default, alias = "started_at")]
    pub started_at: String,
    /// Whether another program supervises it and has to restart it.
    #[serde(default)]
    pub foreground: bool,
    /// Its `--tick`, as written.
    #[serde(default)]
    pub tick: Option<String>,
    /// Whether it is stopping.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopping: bool,
}

impl Ping {
    /// The response of this process, a daemon that started at `started`.
    #[must_use]
    pub fn new(started: Timestamp, foreground: bool, tick: Option<Duration>) -> Self {
        Self {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: clock::rfc3339(started),
            foreground,
            tick: tick.map(|tick| humantime::format_duration(tick).to_string()),
            stopping: false,
        }
    }
}

/// The response to `attach`. The aliases are the keys of older daemons.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attached {
    /// As in [`Ping`].
    #[serde(alias = "started_at")]
    pub started_at: String,
    /// The number of the next event.
    pub next: u64,
    /// The inode of the open journal; 0 if there is none.
    #[serde(alias = "journal_inode")]
    pub journal_inode: u64,
    /// The byte offset after the last line that was sent as an event.
    #[serde(alias = "journal_end")]
    pub journal_end: u64,
}

/// What happens to running beats when the daemon stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Beats {
    /// They are told to end, with their grace period.
    End,
    /// They continue, and the next daemon waits for them.
    Leave,
}

/// Connects to the daemon of `dir`.
pub async fn connect(dir: &DataDir) -> Result<Client, AskError> {
    Client::connect(dir.root(), dir.socket_name(), ANSWER_TIMEOUT).await
}

/// Sends a ping.
pub async fn ping(client: &mut Client) -> Result<Ping, AskError> {
    ask(client, "ping", Value::Null).await
}

/// Tells the daemon to stop. It has ended when its lock is free.
pub async fn stop(client: &mut Client, beats: Beats) -> Result<(), AskError> {
    client.answer("stop", json!({ "beats": beats }), ANSWER_TIMEOUT).await.map(drop)
}

/// Follows events, starting with number `from` or the next one.
pub async fn attach(client: &mut Client, from: Option<u64>) -> Result<Attached, AskError> {
    let answer = client.attach(from, ANSWER_TIMEOUT).await?;
    serde_json::from_value(answer).map_err(|error| AskError::Garbled(error.to_string()))
}

/// Returns the status of the daemon of `dir`.
pub async fn status(dir: &DataDir, wanted: StatusRequest) -> Result<Status, AskError> {
    ask(&mut connect(dir).await?, "status", json!(wanted)).await
}

/// The process that listens on the socket of `dir`, according to the kernel.
pub async fn listener_pid(dir: &DataDir) -> Option<u32> {
    connect(dir).await.ok()?.peer()
}

async fn ask<T: DeserializeOwned>(
    client: &mut Client,
    msg_type: &str,
    payload: Value,
) -> Result<T, AskError> {
    client.answer_as(msg_type, payload, ANSWER_TIMEOUT).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_older_daemons_are_read() {
        let ping = json!({ "pid": 1, "version": "0.1.0", "started_at": "2026-02-03T10:00:00Z" });
        assert_eq!(serde_json::from_value::<Ping>(ping).unwrap().started_at, "2026-02-03T10:00:00Z");
        let attached = json!({ "started_at": "", "next": 1, "journal_inode": 2, "journal_end": 3 });
        let attached: Attached = serde_json::from_value(attached).unwrap();
        assert_eq!((attached.next, attached.journal_inode, attached.journal_end), (1, 2, 3));
        let keys = json!({ "startedAt": "", "next": 1, "journalInode": 2, "journalEnd": 3 });
        assert_eq!(serde_json::to_value(attached).unwrap(), keys);
    }
}
