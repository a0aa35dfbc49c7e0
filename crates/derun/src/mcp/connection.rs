//! A conversation: one JSON-RPC message per line, concurrent tool calls, and one task that reads and writes. An
//! invalid message is answered with an error, and the conversation continues.

use super::line::{InputLine, MAX_LINE, Reader};
use super::message::{self, Message, RpcError};
use super::protocol::Lifecycle;
use super::server::{Reply, Server};
use super::state_root::StateRoot;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

/// The maximum number of concurrent calls. Beyond that, no more input is read.
const MAX_CALLS: usize = 1024;
/// The maximum number of bytes that wait to be read by the client. Beyond that, no more input is read.
const MAX_UNREAD: usize = 4 * 1024 * 1024;
/// How much buffer for answers to keep, in bytes.
const KEPT: usize = 256 * 1024;
/// How long calls may continue after the end of the input.
const DRAIN: Duration = Duration::from_secs(5);

/// Why the server stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Its output cannot be written, although the reader exists.
    #[error("cannot answer the MCP client: {0}")]
    Output(io::ErrorKind),
    /// An internal error.
    #[error("the MCP server failed")]
    Broken(#[source] tokio::task::JoinError),
}

/// Answers requests on `input`, one JSON-RPC message per line, until `input` ends or `output` is closed. The sessions
/// are those in `root`.
pub async fn serve<R, W>(root: StateRoot, input: R, mut output: W) -> Result<(), ServeError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut lines = Reader::new(input);
    let (open, ending) = watch::channel(());
    let mut open = Some(open);
    let mut calls = Calls::new(Server::new(root, ending));
    let mut last = None;
    let mut is_flushed = true;
    loop {
        let has_written = is_flushed && calls.answers.is_empty();
        if open.is_none() && calls.running.is_empty() && has_written {
            return Ok(());
        }
        let has_room = calls.running.len() < MAX_CALLS && calls.answers.len() < MAX_UNREAD;
        tokio::select! {
            written = write(&mut output, &mut calls.answers), if !has_written => match written {
                Ok(flushed) => is_flushed = flushed,
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                Err(error) => return Err(ServeError::Output(error.kind())),
            },
            Some(done) = calls.running.join_next() => match done {
                Ok((id, result)) => calls.finish(&id, result),
                Err(error) if error.is_cancelled() => {}
                Err(error) => return Err(ServeError::Broken(error)),
            },
            line = lines.line(), if open.is_some() && has_room => match line {
                InputLine::Whole(line) => calls.take(message::parse(line)),
                InputLine::TooLong => calls.take(Err(RpcError::parse(format!("a message has at most {MAX_LINE} bytes")))),
                InputLine::End => {
                    // Ends waiting calls.
                    open = None;
                    last = Some(Instant::now() + DRAIN);
                }
            },
            () = sleep_until(last.unwrap_or_else(Instant::now)), if last.is_some() => return Ok(()),
        }
    }
}

/// Writes some of `bytes`; once there are none, flushes and returns true. Cancel safe.
async fn write<W: AsyncWrite + Unpin>(output: &mut W, bytes: &mut VecDeque<u8>) -> io::Result<bool> {
    if bytes.is_empty() {
        bytes.shrink_to(KEPT);
        return output.flush().await.map(|()| true);
    }
    match output.write_buf(bytes).await? {
        0 => Err(io::ErrorKind::WriteZero.into()),
        _ => Ok(false),
    }
}

/// Calls in progress, and answers to be written.
struct Calls {
    server: Server,
    lifecycle: Lifecycle,
    running: JoinSet<(Value, Vec<u8>)>,
    /// Calls in progress by their ids, as JSON.
    by_id: HashMap<String, AbortHandle>,
    answers: VecDeque<u8>,
}

impl Calls {
    fn new(server: Server) -> Self {
        Self {
            server,
            lifecycle: Lifecycle::New,
            running: JoinSet::new(),
            by_id: HashMap::new(),
            answers: VecDeque::new(),
        }
    }

    fn take(&mut self, message: Result<Message, RpcError>) {
        match message {
            Ok(Message::Ignored) => {}
            Ok(Message::Cancelled(id)) => {
                if let Some(call) = self.by_id.remove(&id.to_string()) {
                    call.abort();
                }
            }
            Ok(Message::Request(request)) => {
                let version = self.lifecycle.admit(&request);
                match version.and_then(|version| self.server.reply(&request, version)) {
                    Ok(Reply::Result(result)) => self.answer(&request.id, Ok(result)),
                    Ok(Reply::Call(call)) => {
                        let id = request.id;
                        let name = id.to_string();
                        let running = self.running.spawn(async move { (id, call.await) });
                        self.by_id.insert(name, running);
                    }
                    Err(error) => self.answer(&request.id, Err(error)),
                }
            }
            Err(error) => self.answer(&Value::Null, Err(error)),
        }
    }

    fn finish(&mut self, id: &Value, result: Vec<u8>) {
        self.by_id.remove(&id.to_string());
        self.answer(id, Ok(result));
    }

    fn answer(&mut self, id: &Value, result: Result<Vec<u8>, RpcError>) {
        message::answer(&mut self.answers, id, result);
    }
}
