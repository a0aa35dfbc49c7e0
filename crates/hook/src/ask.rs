//! Asks the daemon: sends one request and waits for its answer, across restarts of the daemon, until the time is up.
//!
//! Also stops when the agent has ended: if it is killed, this process remains, and its stdout has no reader.

use super::context::{HookContext, SocketPath};
use super::keys::Keys;
use super::without_daemon::{Unattended, WithoutDaemon};
use murmur_core::id::AgentId;
use murmur_core::permit::policy::DEFER_AFTER;
use murmur_core::permit::request::{
    Answer, Approver, DEFERRED, EXPIRED, LATE, NO_DAEMON, REQUEST, Request, RequestId, WAITING,
};
use murmur_host::protocol::WAIT;
use murmur_rpc::caller;
use murmur_rpc::envelope::{Request as Question, Response};
use murmur_rpc::frame::MAX_LINE;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::ErrorKind::{ConnectionRefused, NotFound};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use sys::error::{Failure, Hinted};
use sys::lines::{LineBuffer, LineRead};
use sys::socket;

/// How long to look for a daemon that was never reached: it may be restarting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the daemon may take to report the outcome of a request whose time is up.
pub(super) const OUTCOME_TIMEOUT: Duration = Duration::from_secs(10);

/// The shortest and the longest pause between two attempts to reconnect.
const MIN_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The outcome of a request.
#[derive(Debug)]
pub(super) enum AskOutcome {
    /// Somebody decided.
    Answered(Answer),
    /// Nobody decided on this request in time.
    Expired(RequestId),
    /// The call is deferred, as this request.
    Deferred(RequestId),
}

/// Why a request has no outcome.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    /// No daemon is running.
    #[error("{NO_DAEMON}")]
    NotRunning,
    /// The daemon can't be reached.
    #[error("cannot reach murmur's daemon, so nobody can be asked")]
    Unreachable(#[source] io::Error),
    /// The daemon did not answer.
    #[error("murmur's daemon did not answer")]
    Silent,
    /// The daemon refused the request, or its answer is not readable.
    #[error("murmur's daemon refused the request")]
    Refused(#[source] Failure),
    /// The call is too long to show to a person.
    #[error("the call is too long to ask about ({0} bytes)")]
    Long(usize),
    /// A process of an agent listens on the daemon's socket.
    #[error("a process of the agent is listening on the daemon's socket")]
    AgentListens,
    /// The agent has ended.
    #[error("the agent has ended")]
    Gone {
        /// Whether the daemon knows the request, and so records its outcome.
        is_known: bool,
    },
}

impl Hinted for AskError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Refused(why) => why.hint(),
            Self::Long(_) => Some("make it shorter".to_owned()),
            Self::AgentListens => Some("restart the daemon: murmur restart".to_owned()),
            Self::NotRunning | Self::Unreachable(_) | Self::Silent | Self::Gone { .. } => None,
        }
    }
}

/// How long to wait for a person.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitDeadlines {
    /// Until when to wait before deferring the call, if that is possible.
    pub(super) defer_at: Instant,
    /// Until when to wait in any case.
    pub(super) ends_at: Instant,
}

/// Why a connection ended without an answer.
enum Broken {
    /// The daemon disconnected; another one may start.
    Lost(io::Error),
    /// There will be no answer.
    Over(AskError),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

/// The daemon's reply: an answer, or the outcome of a request whose time is up.
#[derive(Deserialize)]
#[serde(untagged)]
enum Reply {
    Outcome { outcome: String, id: RequestId },
    Answer(Answer),
}

/// Asks `request`. `can_defer` is called when the time is up, and returns whether the call may be deferred.
///
/// # Errors
/// If nobody decided. Callers deny the call.
pub(super) fn ask(
    request: &Request,
    context: &HookContext,
    can_defer: impl Fn() -> bool,
) -> Result<AskOutcome, AskError> {
    let mut keys = Keys::Current;
    let mut line = ask_line(request, keys);
    if line.len() > MAX_LINE {
        return Err(AskError::Long(line.len()));
    }
    let until = |seconds: Option<u32>| {
        let left = context.left();
        Instant::now() + seconds.map_or(left, |seconds| Duration::from_secs(seconds.into()).min(left))
    };
    let ends_at = until(request.wait);
    let is_held = request.wait.is_none() && request.may_defer();
    let deadlines =
        WaitDeadlines { defer_at: if is_held { until(Some(DEFER_AFTER)) } else { ends_at }, ends_at };
    let may_defer = || request.may_defer() && can_defer();
    // Kept open until the answer arrives: the beat's timeout is paused meanwhile.
    let mut host = None;
    let mut without_daemon = WithoutDaemon::new(request, context);
    let (mut was_reached, mut pause) = (false, MIN_PAUSE);
    let give_up = (Instant::now() + CONNECT_TIMEOUT).min(ends_at);
    loop {
        let SocketPath { folder, name } = &context.socket;
        let broken = match socket::connect_blocking(folder, name) {
            // The agent itself would be answering.
            Ok(stream) if caller::is_agents_listener(&stream) => Broken::Over(AskError::AgentListens),
            Ok(stream) => {
                (was_reached, pause) = (true, MIN_PAUSE);
                if request.whom == Approver::Person && host.is_none() {
                    host = pause_timeout(request, context);
                }
                match converse(stream, &line, keys, deadlines, &may_defer) {
                    Ok(outcome) => return Ok(outcome),
                    Err(Broken::Over(AskError::Refused(why))) if keys.are_too_new(&why.to_string()) => {
                        keys = Keys::Earlier;
                        line = ask_line(request, keys);
                        continue;
                    }
                    Err(broken) => broken,
                }
            }
            Err(error) => Broken::Lost(error),
        };
        let error = match broken {
            Broken::Over(error) => return Err(error),
            Broken::Lost(error) => error,
        };
        let until = match (was_reached, request.whom) {
            // The daemon was there, so it will come back. Meanwhile, the hook does what the daemon would do.
            (true, Approver::Person) => match without_daemon.check(deadlines, &may_defer) {
                Unattended::Decided(outcome) => return Ok(outcome),
                Unattended::Waits(until) => until,
            },
            (true, Approver::Model) if Instant::now() < ends_at => ends_at,
            (false, _) if Instant::now() < give_up => give_up,
            _ if matches!(error.kind(), NotFound | ConnectionRefused) => return Err(AskError::NotRunning),
            _ => return Err(AskError::Unreachable(error)),
        };
        sleep(pause.min(until.saturating_duration_since(Instant::now())))?;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// Waits until `pause` is over; fails if the agent ends.
fn sleep(pause: Duration) -> Result<(), AskError> {
    let stdout = io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    let timeout = Timespec::try_from(pause).ok();
    match poll(&mut polled, timeout.as_ref()) {
        Ok(1..) => Err(AskError::Gone { is_known: false }),
        _ => Ok(()),
    }
}

fn ask_line(request: &Request, keys: Keys) -> Vec<u8> {
    line("1", REQUEST, keys.ask(request))
}

fn line(id: &str, msg_type: &str, payload: Value) -> Vec<u8> {
    let question = Question { msg_type: msg_type.to_owned(), id: id.to_owned(), payload };
    let mut line = serde_json::to_vec(&question).unwrap_or_default();
    line.push(b'\n');
    line
}

/// How long the agent's host may take.
const HOST_TIMEOUT: Duration = Duration::from_secs(1);

/// Tells the agent's host that a person is being waited for, until the returned stream is dropped. Does nothing if the
/// host is not reachable.
fn pause_timeout(request: &Request, context: &HookContext) -> Option<UnixStream> {
    let agent = AgentId::parse(&request.agent).ok()?;
    let mut host = socket::connect_blocking(&context.dir.hosts(), &agent.socket()).ok()?;
    host.set_write_timeout(Some(HOST_TIMEOUT)).ok()?;
    host.set_read_timeout(Some(HOST_TIMEOUT)).ok()?;
    for keys in [Keys::Current, Keys::Earlier] {
        let wait = json!({ "request": request.id(0).as_str(), "call": keys.ask(request) });
        host.write_all(&line("1", WAIT, wait)).ok()?;
        // Tell the host first, so that stopping the agent on seeing the request reports that it waited.
        let mut answer = [0; 256];
        let length = host.read(&mut answer).unwrap_or_default();
        if !keys.are_too_new(&String::from_utf8_lossy(&answer[..length])) {
            break;
        }
    }
    Some(host)
}

/// Sends the request on `stream`, waits for the answer, and when the time is up asks for the request's outcome.
fn converse(
    mut stream: UnixStream,
    question: &[u8],
    keys: Keys,
    deadlines: WaitDeadlines,
    may_defer: &impl Fn() -> bool,
) -> Result<AskOutcome, Broken> {
    stream.write_all(question)?;
    let mut received = LineBuffer::new(MAX_LINE);
    if deadlines.defer_at < deadlines.ends_at {
        if let Some(reply) = receive(&mut stream, &mut received, deadlines.defer_at)? {
            return outcome_of(reply);
        }
        if may_defer() {
            stream.write_all(&line("2", LATE, keys.late(true, true)))?;
            match receive(&mut stream, &mut received, Instant::now() + OUTCOME_TIMEOUT)? {
                Some(Reply::Outcome { outcome, .. }) if outcome == WAITING => {}
                Some(reply) => return outcome_of(reply),
                None => return Err(Broken::Over(AskError::Silent)),
            }
        }
    }
    if let Some(reply) = receive(&mut stream, &mut received, deadlines.ends_at)? {
        return outcome_of(reply);
    }
    stream.write_all(&line("3", LATE, keys.late(may_defer(), false)))?;
    match receive(&mut stream, &mut received, Instant::now() + OUTCOME_TIMEOUT)? {
        Some(reply) => outcome_of(reply),
        None => Err(Broken::Over(AskError::Silent)),
    }
}

fn outcome_of(reply: Reply) -> Result<AskOutcome, Broken> {
    match reply {
        Reply::Answer(answer) => Ok(AskOutcome::Answered(answer)),
        Reply::Outcome { outcome, id } if outcome == EXPIRED => Ok(AskOutcome::Expired(id)),
        Reply::Outcome { outcome, id } if outcome == DEFERRED => Ok(AskOutcome::Deferred(id)),
        Reply::Outcome { outcome, .. } => Err(Broken::Over(AskError::Refused(outcome.into()))),
    }
}

/// Returns the daemon's next reply, or `None` if there is none before `until`.
fn receive(
    stream: &mut UnixStream,
    received: &mut LineBuffer,
    until: Instant,
) -> Result<Option<Reply>, Broken> {
    loop {
        let found = received.find();
        if found == Some(LineRead::TooLong) {
            return Err(Broken::Over(AskError::Refused("the answer is too long".into())));
        }
        if found.is_some() {
            let refused = |why: Failure| Broken::Over(AskError::Refused(why));
            let response: Response =
                serde_json::from_slice(received.line()).map_err(|error| refused(error.to_string().into()))?;
            let failure = response.failure();
            return match (response.success, response.payload) {
                (true, Some(payload)) => {
                    Reply::deserialize(payload).map(Some).map_err(|error| refused(error.to_string().into()))
                }
                _ => Err(refused(failure)),
            };
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        let stdout = io::stdout();
        let mut polled = [PollFd::new(&*stream, PollFlags::IN), PollFd::new(&stdout, PollFlags::empty())];
        match poll(&mut polled, Timespec::try_from(left).ok().as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(Broken::Lost(error.into())),
        }
        if !polled[1].revents().is_empty() {
            return Err(Broken::Over(AskError::Gone { is_known: true }));
        }
        if !polled[0].revents().is_empty() {
            let mut chunk = [0; 4096];
            match stream.read(&mut chunk) {
                Ok(0) => return Err(Broken::Lost(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => received.space().extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Broken::Lost(error)),
            }
        }
    }
}
