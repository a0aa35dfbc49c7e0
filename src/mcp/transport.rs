//! Messages from lines and back. What can be made nothing of is answered with an error, and the next line is taken;
//! only the input's end is an end, and that nobody reads the output any more.

use super::line::{Line, Reader};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetMeta, JsonRpcMessage, JsonRpcRequest,
    ProtocolVersion, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, watch};

/// What writes an answer.
type Sending = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// The lines of a client.
pub(super) struct Lines<R, W> {
    input: Reader<R>,
    output: Arc<Output<W>>,
    /// An answer of ours that is under way. It stays here when whoever waits for the next message stops waiting.
    answering: Option<Sending>,
    has_begun: bool,
}

/// How far the conversation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It goes on.
    Open,
    /// There is no more input.
    Input,
    /// The output takes no more.
    Output(io::ErrorKind),
}

/// Tells when the conversation is over.
#[derive(Debug, Clone)]
pub(super) struct Ending(watch::Receiver<End>);

impl Ending {
    /// Waits until there is no more input, or nobody for the output.
    pub(super) async fn reached(&self) {
        let mut end = self.0.clone();
        let _gone = end.wait_for(|end| *end != End::Open).await;
    }

    /// What is wrong with the output, if more than that nobody reads it.
    pub(super) fn problem(&self) -> Option<io::ErrorKind> {
        match *self.0.borrow() {
            End::Open | End::Input | End::Output(io::ErrorKind::BrokenPipe) => None,
            End::Output(kind) => Some(kind),
        }
    }
}

/// Where answers go.
struct Output<W> {
    inner: Mutex<Option<W>>,
    end: watch::Sender<End>,
}

impl<W: AsyncWrite + Unpin> Output<W> {
    async fn write(&self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        let mut inner = self.inner.lock().await;
        let Some(output) = &mut *inner else { return Err(io::ErrorKind::NotConnected.into()) };
        let mut written = output.write_all(&line).await;
        if written.is_ok() {
            written = output.flush().await;
        }
        if let Err(error) = &written {
            *inner = None;
            self.end.send_replace(End::Output(error.kind()));
        }
        written
    }
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(input: R, output: W) -> (Self, Ending) {
        let (end, ending) = watch::channel(End::Open);
        let output = Arc::new(Output { inner: Mutex::new(Some(output)), end });
        let lines = Self { input: Reader::new(input), output, answering: None, has_begun: false };
        (lines, Ending(ending))
    }

    /// The next message that is the server's to see. Whoever drops this loses nothing.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answering) = &mut self.answering {
                let answered = answering.await;
                self.answering = None;
                answered.ok()?;
            }
            let answer = match self.input.line().await {
                Line::End => {
                    self.output.end.send_if_modified(|end| {
                        let is_news = *end == End::Open;
                        *end = if is_news { End::Input } else { *end };
                        is_news
                    });
                    return None;
                }
                Line::TooLong => Some(nameless(
                    ErrorCode::PARSE_ERROR,
                    &format!("a message has at most {} bytes", super::line::MAX_LINE),
                )),
                Line::Whole(line) => match parsed(line) {
                    Ok(Some(message)) => match self.admitted(message) {
                        Ok(Some(message)) => return Some(message),
                        Ok(None) => None,
                        Err(answer) => Some(answer),
                    },
                    Ok(None) => None,
                    Err(answer) => Some(answer),
                },
            };
            if let Some(answer) = answer {
                let output = Arc::clone(&self.output);
                self.answering = Some(Box::pin(async move { output.write(answer).await }));
            }
        }
    }

    /// A message, if the server can have it by now, or else what it is answered with: what comes before a beginning
    /// would be taken for the end.
    fn admitted(&mut self, message: ClientJsonRpcMessage) -> Result<Option<ClientJsonRpcMessage>, Vec<u8>> {
        if self.has_begun {
            return Ok(Some(message));
        }
        // There is nothing yet to notify of or to respond to.
        let JsonRpcMessage::Request(JsonRpcRequest { id, request, .. }) = &message else { return Ok(None) };
        let meta = request.get_meta();
        match request {
            ClientRequest::InitializeRequest(_) => self.has_begun = true,
            ClientRequest::PingRequest(_) => {}
            ClientRequest::CustomRequest(custom) if custom.method == "initialize" => {
                return Err(refused(id, no_handshake()));
            }
            _ if meta.protocol_version().is_none() => {
                let problem = "initialize first: a conversation begins with the method initialize";
                return Err(refused(id, ErrorData::invalid_request(problem, None)));
            }
            // One that only asks what there is begins nothing, and one that is refused does not either.
            ClientRequest::DiscoverRequest(_) => {}
            _ => {
                let is_complete = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty();
                let is_known = meta
                    .protocol_version()
                    .is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version));
                self.has_begun = is_complete && is_known;
            }
        }
        Ok(Some(message))
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move { output.write(serde_json::to_vec(&item)?).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut end = self.output.end.subscribe();
        tokio::select! {
            biased;
            _ = end.wait_for(|end| matches!(end, End::Output(_))) => None,
            message = self.next() => message,
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        drop(self.output.inner.lock().await.take());
        Ok(())
    }
}

/// What a line says: a message, or nothing that is answered, or else the answer to it.
fn parsed(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Vec<u8>> {
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(line).map(Some).or_else(|_| match serde_json::from_slice::<Value>(line) {
        // A notification is never answered.
        Ok(value) if value.get("id").is_none() && value.get("method").is_some_and(Value::is_string) => {
            Ok(None)
        }
        Ok(Value::Array(_)) => {
            Err(nameless(ErrorCode::INVALID_REQUEST, "a batch is not taken; send one message a line"))
        }
        Ok(_) => Err(nameless(ErrorCode::INVALID_REQUEST, "not a JSON-RPC 2.0 message")),
        Err(error) => Err(nameless(ErrorCode::PARSE_ERROR, &format!("not JSON: {error}"))),
    })
}

/// An error that answers the request `id`.
fn refused(id: &RequestId, error: ErrorData) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into_bytes()
}

/// An error about what has no id that could be read: JSON-RPC wants null there.
fn nameless(code: ErrorCode, message: &str) -> Vec<u8> {
    let error = json!({ "code": code.0, "message": message });
    json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string().into_bytes()
}

/// What is said to an `initialize` of the wrong shape.
pub(super) fn no_handshake() -> ErrorData {
    let problem = "initialize takes protocolVersion (a string), capabilities (an object) and clientInfo (an object \
                   with the strings name and version)";
    ErrorData::invalid_params(problem, None)
}
