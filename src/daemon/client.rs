//! Asking the daemon: what it is, how it is, and to go (docs/reference/daemon-protocol.md).

use super::status::Status;
use crate::rpc::client::{AskError, Client};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;
use sys::paths::DataDir;

/// How long a daemon may take to answer.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// What a daemon says to `ping`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ping {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// When it started, RFC 3339: tells it from another one, even of the same PID.
    #[serde(default)]
    pub started_at: String,
    /// Whether somebody else looks after its process, and has to start it again.
    #[serde(default)]
    pub foreground: bool,
    /// Its `--tick`, as it is written there.
    #[serde(default)]
    pub tick: Option<String>,
}

/// What it says to `attach`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Attached {
    /// As in [`Ping`].
    pub started_at: String,
    /// The number of the next event to happen.
    pub next: u64,
    /// The journal that is open now; 0 if there is none.
    pub journal_inode: u64,
    /// Behind the last line whose event has happened.
    pub journal_end: u64,
}

/// What becomes of the beats that run when the daemon stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Beats {
    /// They are told to end, and have their grace.
    End,
    /// They go on, and the next daemon waits for them.
    Leave,
}

/// Connects to the daemon of `dir`.
///
/// # Errors
/// That nobody listens.
pub async fn connect(dir: &DataDir) -> Result<Client, AskError> {
    Client::connect(dir.root(), dir.socket_name(), PATIENCE).await
}

/// Asks what it is.
///
/// # Errors
/// [`AskError`].
pub async fn ping(client: &mut Client) -> Result<Ping, AskError> {
    ask(client, "ping", Value::Null).await
}

/// Tells it to stop. It is gone when the lock that it holds is free.
///
/// # Errors
/// [`AskError`].
pub async fn stop(client: &mut Client, beats: Beats) -> Result<(), AskError> {
    client.answer("stop", json!({ "beats": beats }), PATIENCE).await.map(drop)
}

/// Follows its events from `from` on, or from the next one on.
///
/// # Errors
/// [`AskError`].
pub async fn attach(client: &mut Client, from: Option<u64>) -> Result<Attached, AskError> {
    let answer = client.attach(from, PATIENCE).await?;
    serde_json::from_value(answer).map_err(|error| AskError::Garbled(error.to_string()))
}

/// Asks the daemon of `dir` for its status.
///
/// # Errors
/// That nobody answers, or not in a way that can be read.
pub async fn status(dir: &DataDir) -> Result<Status, AskError> {
    ask(&mut connect(dir).await?, "status", Value::Null).await
}

/// The process that listens on the socket of `dir`, as the kernel has it.
pub async fn listener_pid(dir: &DataDir) -> Option<u32> {
    connect(dir).await.ok()?.peer()
}

async fn ask<T: DeserializeOwned>(
    client: &mut Client,
    msg_type: &str,
    payload: Value,
) -> Result<T, AskError> {
    client.answer_as(msg_type, payload, PATIENCE).await
}
