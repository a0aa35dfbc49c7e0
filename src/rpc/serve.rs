//! The end that answers. A client that is slow, rude or gone costs its own task only.

use super::envelope::{Request, Response};
use super::feed::Reader;
use super::frame::{LONGEST, LineError, Lines};
use super::output::Output;
use crate::sys::socket;
use serde_json::Value;
use std::pin::Pin;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The most clients at once. One more is told so and let go.
pub const CLIENTS: usize = 256;

/// How long a question may take from its first byte to its last.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a client that takes nothing is waited for once the server ends.
const LAST: Duration = Duration::from_secs(1);

/// Who knows the answers. One clone for each client.
pub trait Service: Clone + Send + 'static {
    /// Answers `request`.
    fn answer(&self, request: &Request) -> impl Future<Output = Answer> + Send;
}

/// What comes of a question.
#[derive(Debug)]
pub enum Answer {
    /// This.
    Payload(Value),
    /// An error, which says what to do.
    Refusal(String),
    /// This, and after it the events.
    Attach(Value, Reader),
    /// This, and no more events.
    Detach(Value),
    /// From now on the client speaks with another server, which has been asked already.
    HandOver(UnixStream),
}

impl Answer {
    fn without_events(self) -> Self {
        match self {
            Self::Attach(payload, _) => Self::Payload(payload),
            other => other,
        }
    }
}

/// Accepts clients until `over` is true, and lets those go that have all they are going to get.
pub async fn serve(listener: UnixListener, service: impl Service, mut over: watch::Receiver<bool>) {
    let mut clients = JoinSet::new();
    while !*over.borrow() {
        while clients.try_join_next().is_some() {}
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if !socket::is_same_user(&stream) => {}
                Ok((stream, _)) if clients.len() >= CLIENTS => turn_away(stream),
                Ok((stream, _)) => {
                    clients.spawn(converse(stream, service.clone(), over.clone()));
                }
                // Out of descriptors, most likely: wait for a client to leave rather than spin.
                Err(_) => {
                    let _left = timeout(Duration::from_secs(1), clients.join_next()).await;
                }
            },
            Some(_) = clients.join_next() => {}
            _ = over.changed() => {}
        }
    }
    drop(listener);
    while clients.join_next().await.is_some() {}
}

/// Says that there are too many, if that can be said at once.
fn turn_away(stream: UnixStream) {
    let error = format!("{CLIENTS} clients are connected already; try again when one has gone");
    let line = Response::new(String::new(), String::new(), Err(error)).line();
    let _no_room = stream.try_write(&line);
}

/// A question, on its way to its answer.
type Asked = Pin<Box<dyn Future<Output = (Request, Answer)> + Send>>;

async fn converse<S: Service>(stream: UnixStream, service: S, mut over: watch::Receiver<bool>) {
    let (reading, mut writing) = stream.into_split();
    let mut lines = Lines::new(reading, LONGEST, Some(PATIENCE));
    let mut output = Output::default();
    let mut asked: Option<Asked> = None;
    // What comes from a client that said something wrong is not listened to.
    let mut is_listening = true;
    loop {
        output.fill();
        if output.is_done() && asked.is_none() && (!is_listening || *over.borrow()) {
            return;
        }
        let is_over = *over.borrow();
        tokio::select! {
            // Events flow while a question waits for its answer.
            (request, answer) = answered(&mut asked) => {
                asked = None;
                let answer = if is_listening { answer } else { answer.without_events() };
                if let Some(other) = take(&mut output, request, answer) {
                    return hand_over(lines, writing, output, other, over).await;
                }
            }
            line = lines.next(), if is_listening && asked.is_none() && output.has_room() => match line {
                Ok(Some(line)) => match serde_json::from_slice::<Request>(line) {
                    Ok(request) => {
                        let service = service.clone();
                        asked = Some(Box::pin(async move {
                            let answer = service.answer(&request).await;
                            (request, answer)
                        }));
                    }
                    Err(error) => complain(&mut output, &format!("not a request: {error}")),
                },
                // It may have said all it wants to, and wait for the answers.
                Ok(None) => {
                    is_listening = false;
                    output.detach();
                }
                Err(LineError::Read(_)) => return,
                Err(error) => {
                    is_listening = false;
                    output.detach();
                    complain(&mut output, &error.to_string());
                }
            },
            flowed = flow(&mut output, &mut writing, is_over) => if flowed.is_none() { return },
            _ = over.changed(), if !is_over => {}
        }
    }
}

async fn answered(asked: &mut Option<Asked>) -> (Request, Answer) {
    match asked {
        Some(asked) => asked.await,
        None => std::future::pending().await,
    }
}

/// Writes, or waits for something to write. `None` if the client is gone, or takes nothing although the server ends.
async fn flow(output: &mut Output, writing: &mut OwnedWriteHalf, is_over: bool) -> Option<()> {
    let flowing = output.flow(writing);
    if is_over { timeout(LAST, flowing).await.ok()?.ok() } else { flowing.await.ok() }
}

fn complain(output: &mut Output, error: &str) {
    output.answer(&Response::new(String::new(), String::new(), Err(error.to_owned())).line());
}

/// Has the client get `answer`; returns the other server if it is one.
fn take(output: &mut Output, request: Request, answer: Answer) -> Option<UnixStream> {
    let answer = match answer {
        Answer::HandOver(other) => return Some(other),
        Answer::Payload(payload) => Ok(payload),
        Answer::Refusal(error) => Err(error),
        Answer::Attach(payload, reader) => {
            output.attach(reader);
            Ok(payload)
        }
        Answer::Detach(payload) => {
            output.detach();
            Ok(payload)
        }
    };
    output.answer(&Response::new(request.msg_type, request.id, answer).line());
    None
}

/// Has the client speak with `other`, until one of them leaves or `over` is true: the other server is there still, and
/// does not say when it has said all.
async fn hand_over(
    lines: Lines<OwnedReadHalf>,
    mut writing: OwnedWriteHalf,
    mut output: Output,
    mut other: UnixStream,
    mut over: watch::Receiver<bool>,
) {
    output.detach();
    while output.is_waiting() {
        if output.flow(&mut writing).await.is_err() {
            return;
        }
    }
    let (reading, said) = lines.into_parts();
    let Ok(mut client) = reading.reunite(writing) else { return };
    if other.write_all(&said).await.is_ok() {
        tokio::select! {
            _one_left = tokio::io::copy_bidirectional(&mut client, &mut other) => {}
            _ = over.wait_for(|is_over| *is_over) => {}
        }
    }
}
