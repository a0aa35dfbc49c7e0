//! The daemon's socket: JSON lines, one answer a question (docs/daemon-protocol.md).
//!
//! Asks: `{"msg_type":"status","id":"1","payload":null}`. Answers: `{"msg_type":"status","id":"1","success":true,
//! "payload":{…}}`, or `"success":false,"error":"…"`. A client that is slow, rude or gone costs its own task only.

use super::status::Status;
use crate::sys::paths::DataDir;
use crate::sys::socket;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// A question.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// `ping` or `status`.
    pub msg_type: String,
    /// Comes back in the answer.
    pub id: String,
    /// What goes with the question.
    #[serde(default)]
    pub payload: Value,
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
pub struct Response {
    /// The question's.
    pub msg_type: String,
    /// The question's.
    pub id: String,
    /// Whether `payload` or `error` says more.
    pub success: bool,
    /// What was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The longest question, in bytes.
const LONGEST: u64 = 64 << 10;

/// How long a client may take over a line.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most clients at once. One more waits in the socket's own queue until another leaves.
const CLIENTS: usize = 16;

/// A wish for a status, answered by the loop that knows.
pub type Wish = oneshot::Sender<Status>;

/// Accepts clients until it is dropped. Their wishes go to `wishes`, which takes one at a time.
pub async fn serve(listener: UnixListener, wishes: mpsc::Sender<Wish>) {
    let mut clients = tokio::task::JoinSet::new();
    loop {
        while clients.len() >= CLIENTS {
            clients.join_next().await;
        }
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if socket::is_same_user(&stream) => {
                    clients.spawn(converse(stream, wishes.clone()));
                }
                Ok(_) => {}
                // Out of descriptors, most likely: wait for a client to leave rather than spin.
                Err(_) => {
                    let _left = timeout(Duration::from_secs(1), clients.join_next()).await;
                }
            },
            Some(_) = clients.join_next() => {}
        }
    }
}

async fn converse(stream: UnixStream, wishes: mpsc::Sender<Wish>) {
    let (reading, mut writing) = stream.into_split();
    let mut reading = BufReader::new(reading);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut reading).take(LONGEST);
        let Ok(Ok(1..)) = timeout(PATIENCE, limited.read_until(b'\n', &mut line)).await else { return };
        let response = answer(&line, &wishes).await;
        let whole = line.ends_with(b"\n");
        let Ok(mut text) = serde_json::to_vec(&response) else { return };
        text.push(b'\n');
        let Ok(Ok(())) = timeout(PATIENCE, writing.write_all(&text)).await else { return };
        if !whole {
            return;
        }
    }
}

async fn answer(line: &[u8], wishes: &mpsc::Sender<Wish>) -> Response {
    let Request { msg_type, id, .. } = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => return refusal(String::new(), String::new(), format!("not a request: {error}")),
    };
    let payload = match msg_type.as_str() {
        "ping" => Ok(serde_json::json!({ "pid": std::process::id(), "version": env!("CARGO_PKG_VERSION") })),
        "status" => status(wishes).await,
        _ => Err(format!("unknown msg_type {msg_type:?}; known are ping and status")),
    };
    match payload {
        Ok(payload) => Response { msg_type, id, success: true, payload: Some(payload), error: None },
        Err(error) => refusal(msg_type, id, error),
    }
}

async fn status(wishes: &mpsc::Sender<Wish>) -> Result<Value, String> {
    let (wish, granted) = oneshot::channel();
    wishes.send(wish).await.map_err(|_| "the daemon is stopping".to_owned())?;
    let status = granted.await.map_err(|_| "the daemon is stopping".to_owned())?;
    serde_json::to_value(status).map_err(|error| error.to_string())
}

fn refusal(msg_type: String, id: String, error: String) -> Response {
    Response { msg_type, id, success: false, payload: None, error: Some(error) }
}

/// The process that listens on the socket of `dir`, as the kernel has it.
///
/// # Errors
/// That nobody listens, or that the system does not tell.
pub async fn listener_pid(dir: &DataDir) -> io::Result<u32> {
    let stream = socket::connect(dir.root(), dir.socket_name()).await?;
    let pid = stream.peer_cred()?.pid().and_then(|pid| u32::try_from(pid).ok());
    pid.ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// Asks the daemon of `dir` for its status.
///
/// # Errors
/// That nobody answers, or not in a way that can be read.
pub async fn ask_status(dir: &DataDir) -> io::Result<Status> {
    let mut stream = socket::connect(dir.root(), dir.socket_name()).await?;
    stream.write_all(b"{\"msg_type\":\"status\",\"id\":\"1\",\"payload\":null}\n").await?;
    let mut line = Vec::new();
    let mut reading = BufReader::new(stream);
    timeout(PATIENCE, reading.read_until(b'\n', &mut line))
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let response: Response = serde_json::from_slice(&line)?;
    match (response.payload, response.error) {
        (Some(payload), _) => Ok(serde_json::from_value(payload)?),
        (None, error) => Err(io::Error::other(error.unwrap_or_default())),
    }
}
