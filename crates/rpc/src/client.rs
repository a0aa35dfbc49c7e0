//! The client side of a connection.

use crate::envelope::{Event, Request, ServerMessage};
use crate::frame::{LineError, Lines, MAX_ANSWER_LINE, MAX_LINE};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::io;
use std::path::Path;
use std::time::Duration;
use sys::error::{Failure, Hinted};
use sys::failure;
use sys::socket;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// A connection.
#[derive(Debug)]
pub struct Client {
    lines: Lines<OwnedReadHalf>,
    writing: OwnedWriteHalf,
    peer: Option<u32>,
    /// The number of the last request.
    asked: u64,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nobody listens, or the connection was closed.
    #[error(transparent)]
    Gone(#[from] io::Error),
    /// There was no response in time.
    #[error("no answer within {0:?}")]
    Silent(Duration),
    /// The response is invalid.
    #[error("the answer is not readable: {0}")]
    Garbled(String),
    /// The response is an error.
    #[error("{0}")]
    Refused(Failure),
}

impl Hinted for AskError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Refused(failure) => failure.to_do().map(str::to_owned),
            Self::Gone(error) => error.hint(),
            Self::Silent(_) | Self::Garbled(_) => None,
        }
    }
}

impl Client {
    /// Connects to the socket `name` in `folder`, at most for `timeout`.
    pub async fn connect(folder: &Path, name: &str, timeout: Duration) -> Result<Self, AskError> {
        let connecting = tokio::time::timeout(timeout, socket::connect(folder, name)).await;
        Ok(Self::new(connecting.map_err(|_| AskError::Silent(timeout))??))
    }

    /// Uses `stream`.
    #[must_use]
    pub fn new(stream: UnixStream) -> Self {
        let peer = stream.peer_cred().ok().and_then(|peer| u32::try_from(peer.pid()?).ok());
        let (reading, writing) = stream.into_split();
        Self { lines: Lines::new(reading, MAX_ANSWER_LINE, None), writing, peer, asked: 0 }
    }

    /// The process at the other end, according to the kernel; `None` if the system doesn't report it.
    #[must_use]
    pub fn peer(&self) -> Option<u32> {
        self.peer
    }

    /// Sends a request without waiting for the response. Returns the request's id.
    ///
    /// # Errors
    /// If the connection is closed, or the request is too long.
    pub async fn ask(&mut self, msg_type: &str, payload: Value) -> io::Result<String> {
        self.asked += 1;
        let id = self.asked.to_string();
        let request = Request { msg_type: msg_type.to_owned(), id: id.clone(), payload };
        let line = super::envelope::line(&request);
        if line.len() > MAX_LINE + 1 {
            let text = failure!(
                "the request has {} bytes, more than the maximum of {MAX_LINE}", line.len();
                "put the text into a file and send the file's path"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        self.writing.write_all(&line).await?;
        Ok(id)
    }

    /// Sends a request and waits for the response, at most for `timeout`. Events that arrive meanwhile are dropped.
    pub async fn answer(
        &mut self,
        msg_type: &str,
        payload: Value,
        timeout: Duration,
    ) -> Result<Value, AskError> {
        self.answer_as(msg_type, payload, timeout).await
    }

    /// Like [`Self::answer`], but parses the payload as a `T`.
    pub async fn answer_as<T: DeserializeOwned>(
        &mut self,
        msg_type: &str,
        payload: Value,
        timeout: Duration,
    ) -> Result<T, AskError> {
        let answering = async {
            let id = self.ask(msg_type, payload).await?;
            loop {
                let answer: Answer<'_> = serde_json::from_slice(self.next_bytes().await?).map_err(garbled)?;
                // An unparsable request is answered without an id.
                if answer.id.as_ref().is_some_and(|answered| *answered == id || answered.is_empty()) {
                    return answer.read();
                }
            }
        };
        tokio::time::timeout(timeout, answering).await.unwrap_or(Err(AskError::Silent(timeout)))
    }

    /// Follows the events from `from` on, or new ones only.
    pub async fn attach(&mut self, from: Option<u64>, timeout: Duration) -> Result<Value, AskError> {
        self.answer("attach", serde_json::json!({ "from": from }), timeout).await
    }

    /// The next line, a response or an event.
    ///
    /// # Errors
    /// [`AskError::Gone`] or [`AskError::Garbled`].
    pub async fn next(&mut self) -> Result<ServerMessage, AskError> {
        let line = self.next_bytes().await?;
        serde_json::from_slice(line).map_err(garbled)
    }

    /// The next line unparsed, without its newline.
    pub async fn next_bytes(&mut self) -> Result<&[u8], AskError> {
        let line = self.lines.next().await.map_err(|error| match error {
            LineError::Read(error) => AskError::Gone(error),
            error => AskError::Garbled(error.to_string()),
        })?;
        line.ok_or_else(|| AskError::Gone(io::ErrorKind::UnexpectedEof.into()))
    }

    /// The next event.
    pub async fn next_event(&mut self) -> Result<Event, AskError> {
        loop {
            if let ServerMessage::Event(event) = self.next().await? {
                return Ok(event);
            }
        }
    }

    /// Sends a request for another client, which receives the response under its own `id` and takes over the
    /// connection. Must be called before any other request.
    pub async fn hand_over(mut self, msg_type: &str, id: &str, payload: Value) -> io::Result<UnixStream> {
        let request = Request { msg_type: msg_type.to_owned(), id: id.to_owned(), payload };
        self.writing.write_all(&super::envelope::line(&request)).await?;
        self.lines.into_parts().0.reunite(self.writing).map_err(io::Error::other)
    }
}

/// A response whose payload, possibly long, is not parsed yet; or an event, which has no `id`.
#[derive(Deserialize)]
struct Answer<'a> {
    id: Option<String>,
    #[serde(default)]
    success: bool,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
    error: Option<String>,
    hint: Option<String>,
}

impl Answer<'_> {
    fn read<T: DeserializeOwned>(self) -> Result<T, AskError> {
        if !self.success {
            let failure = Failure::new(self.error.unwrap_or_default());
            return Err(AskError::Refused(failure.or_hint(self.hint)));
        }
        serde_json::from_str(self.payload.map_or("null", RawValue::get)).map_err(garbled)
    }
}

fn garbled(error: serde_json::Error) -> AskError {
    AskError::Garbled(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_killed_before_it_reads_a_request_is_gone() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut client = Client::new(ours);
        client.ask("ping", Value::Null).await.unwrap();
        drop(theirs);
        assert!(matches!(client.next().await, Err(AskError::Gone(_))));
    }
}
