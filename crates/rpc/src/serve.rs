//! The server side of a connection. A client that is slow, misbehaves or disappears affects only its own task.

use crate::caller::Caller;
use crate::clients::{Activity, Clients};
use crate::envelope::{Payload, Request, payload, response_line};
use crate::feed::Reader;
use crate::frame::{LineError, Lines, MAX_LINE};
use crate::output::Output;
use serde::Serialize;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use sys::error::Failure;
use sys::failure;
use sys::{descriptor, socket};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// How long a request may take from its first byte to its last.
const LINE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait for clients that don't read when the server shuts down.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Errors for a client that finds no room, and for one that is dropped.
const REJECTED: (&str, &str) =
    ("too many clients are connected, and each waits for an answer or for events", "try again later");
const DROPPED: (&str, &str) =
    ("too many clients are connected, and this one was idle the longest", "connect again");

/// Handles requests. Each client gets a clone.
pub trait Service: Clone + Send + 'static {
    /// Answers `request` of `caller`.
    fn answer(&self, request: &Request, caller: &Caller) -> impl Future<Output = Answer> + Send;
}

/// The result of a request.
#[derive(Debug)]
pub enum Answer {
    /// A payload.
    Payload(Payload),
    /// An error with a hint.
    Refusal(Failure),
    /// A payload, followed by events.
    Attach(Payload, Reader),
    /// A payload; no more events.
    Detach(Payload),
    /// The client talks to another server from now on, which has already received the request.
    HandOver(UnixStream),
}

impl Answer {
    /// A payload, or why it cannot be sent.
    #[must_use]
    pub fn payload(value: &impl Serialize) -> Self {
        payload(value).map_or_else(Self::Refusal, Self::Payload)
    }

    fn without_events(self) -> Self {
        match self {
            Self::Attach(payload, _) => Self::Payload(payload),
            other => other,
        }
    }
}

/// Accepts clients until `over` is true, and drops those that have received everything. If there are too many, in total
/// or of agents, the one that has been idle longest makes room; if none is idle, the new client is rejected.
/// When `next` yields a listener, it replaces the current one.
pub async fn serve(
    mut listener: UnixListener,
    mut next: mpsc::Receiver<UnixListener>,
    service: impl Service,
    mut over: watch::Receiver<bool>,
) {
    let mut clients = Clients::new(Clients::limit(descriptor::most_open()));
    while !*over.borrow() {
        tokio::select! {
            accepted = listener.accept(), if clients.all_dropped_have_left() => match accepted {
                Ok((stream, _)) if !socket::is_same_user(&stream) => {}
                Ok((stream, _)) => {
                    let caller = Arc::new(Caller::of(&stream));
                    if clients.make_room(&caller) {
                        let (service, over) = (service.clone(), over.clone());
                        clients.add(Arc::clone(&caller), |activity| converse(stream, caller, service, over, activity));
                    } else {
                        let _no_room = stream.try_write(&last_line(&REJECTED));
                    }
                }
                // Probably out of file descriptors: drop a client instead of spinning.
                Err(_) => {
                    clients.drop_longest_idle();
                    let _left = timeout(Duration::from_secs(1), clients.left()).await;
                }
            },
            Some(()) = clients.left() => {}
            Some(another) = next.recv() => listener = another,
            _ = over.changed() => {}
        }
    }
    drop(listener);
    while clients.left().await.is_some() {}
}

/// The last line for a client that is dropped, sent only if there is room for it at once.
fn last_line((what, hint): &(&str, &str)) -> Vec<u8> {
    response_line("", "", Err(&Failure::new(*what).hint(*hint)))
}

/// A request in progress.
type Asked = Pin<Box<dyn Future<Output = (Request, Answer)> + Send>>;

async fn converse<S: Service>(
    stream: UnixStream,
    caller: Arc<Caller>,
    service: S,
    mut over: watch::Receiver<bool>,
    activity: Arc<Activity>,
) {
    let (reading, mut writing) = stream.into_split();
    let mut lines = Lines::new(reading, MAX_LINE, Some(LINE_TIMEOUT));
    let mut output = Output::default();
    let mut asked: Option<Asked> = None;
    // After an invalid request, no more of the client's requests are read.
    let mut is_listening = true;
    loop {
        output.fill();
        if output.is_done() && asked.is_none() && (!is_listening || *over.borrow()) {
            return;
        }
        let is_over = *over.borrow();
        let is_idle = asked.is_none() && !output.is_attached();
        activity.note(is_idle);
        tokio::select! {
            // A client that was idle when it was told to leave goes, even if it has sent a request since.
            biased;
            () = activity.dropped(), if is_idle => {
                let _no_room = writing.try_write(&last_line(&DROPPED));
                return;
            }
            // Send events while a request is in progress.
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
                        let (service, caller) = (service.clone(), Arc::clone(&caller));
                        asked = Some(Box::pin(async move {
                            let answer = service.answer(&request, &caller).await;
                            (request, answer)
                        }));
                    }
                    Err(error) => complain(&mut output, failure!("invalid request: {error}")),
                },
                // The client may have closed its end and still wait for responses.
                Ok(None) => {
                    is_listening = false;
                    output.detach();
                }
                Err(LineError::Read(_)) => return,
                Err(error) => {
                    is_listening = false;
                    output.detach();
                    complain(&mut output, error.to_string().into());
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

/// Writes output or waits for some. `None` if the client is gone, or doesn't read during shutdown.
async fn flow(output: &mut Output, writing: &mut OwnedWriteHalf, is_over: bool) -> Option<()> {
    let flowing = output.flow(writing);
    if is_over { timeout(DRAIN_TIMEOUT, flowing).await.ok()?.ok() } else { flowing.await.ok() }
}

fn complain(output: &mut Output, error: Failure) {
    output.answer(&response_line("", "", Err(&error)));
}

/// Queues `answer`; returns the other server if the client is handed over.
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
    output.answer(&response_line(&request.msg_type, &request.id, answer.as_deref()));
    None
}

/// Connects the client with `other` until one of them leaves or `over` is true: the other server keeps running and
/// doesn't signal the end.
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
    let (reading, rest) = lines.into_parts();
    let Ok(mut client) = reading.reunite(writing) else { return };
    if other.write_all(&rest).await.is_ok() {
        tokio::select! {
            _one_left = tokio::io::copy_bidirectional(&mut client, &mut other) => {}
            _ = over.wait_for(|is_over| *is_over) => {}
        }
    }
}
