//! Asking the daemon: one question, and a wait for its answer, through restarts of the daemon, until the time is up.
//!
//! It also ends when the agent is gone: killed, it leaves this process behind, whose stdout then has no reader.

use super::surroundings::Surroundings;
use crate::error::{Failure, Hinted};
use crate::host::id::AgentId;
use crate::host::protocol::{WAIT, Wait};
use crate::permit::policy::HOLD;
use crate::permit::request::{Answer, DEFERRED, EXPIRED, LATE, REQUEST, Request, RequestId, WAITING, Whom};
use crate::rpc::asker;
use crate::rpc::envelope::{Request as Question, Response};
use crate::rpc::frame::LONGEST;
use crate::sys::socket;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long a daemon that was never reached is looked for: it may just be restarting.
const LOOKING: Duration = Duration::from_secs(2);

/// How long one that was reached may take to say what becomes of a request whose time is up.
const LAST: Duration = Duration::from_secs(10);

/// The longest pause between two looks for a daemon that is gone.
const PAUSE: Duration = Duration::from_secs(1);

/// What came of asking.
#[derive(Debug)]
pub(super) enum Asked {
    /// Somebody decided.
    Answered(Answer),
    /// Nobody did in time, as this request.
    Expired(RequestId),
    /// The call is put off, as this request.
    Deferred(RequestId),
}

/// Why nothing came of it.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    /// There is no daemon.
    #[error("murmur's daemon cannot be reached ({0}), so nobody can be asked")]
    Unreachable(#[source] io::Error),
    /// The daemon does not answer.
    #[error("murmur's daemon does not answer")]
    Silent,
    /// It says no, or what cannot be read.
    #[error("murmur's daemon does not take the request: {0}")]
    Refused(Failure),
    /// It is too long to be shown.
    #[error("the call has {0} bytes, more than can be asked about")]
    Long(usize),
    /// An agent's process answers in the daemon's place.
    #[error("a process of the agent is listening on the daemon's socket")]
    Squatter,
    /// The agent is gone.
    #[error("the agent that asked is gone")]
    Gone {
        /// Whether the daemon knows of the request, and writes down what became of it.
        is_known: bool,
    },
}

impl Hinted for AskError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Refused(why) => why.hint(),
            Self::Long(_) => Some("make it shorter".to_owned()),
            Self::Squatter => Some("restart the daemon: murmur restart".to_owned()),
            Self::Unreachable(_) | Self::Silent | Self::Gone { .. } => None,
        }
    }
}

/// Until when a person is waited for.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// Until then: whatever can be put off is, afterwards.
    hold: Instant,
    /// Until then in any case.
    last: Instant,
}

/// How a connection ended without an answer.
enum Broken {
    /// The daemon is gone; another one may come.
    Lost(io::Error),
    /// There will be no answer.
    Over(AskError),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

/// What the daemon says of a request whose time is up.
#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    Outcome { outcome: String, id: RequestId },
    Answer(Answer),
}

/// Asks `request`; `can_defer` says at the end whether the call may be put off.
///
/// # Errors
/// [`AskError`]: the call is to be refused.
pub(super) fn ask(
    request: &Request,
    surroundings: &Surroundings,
    can_defer: impl Fn() -> bool,
) -> Result<Asked, AskError> {
    let line = line("1", REQUEST, serde_json::to_value(request).unwrap_or_default());
    if line.len() > LONGEST {
        return Err(AskError::Long(line.len()));
    }
    let until = |seconds: Option<u32>| {
        let left = surroundings.left();
        Instant::now() + seconds.map_or(left, |seconds| Duration::from_secs(seconds.into()).min(left))
    };
    let last = until(request.wait);
    let is_held = request.wait.is_none() && request.may_defer();
    let patience = Patience { hold: if is_held { until(Some(HOLD)) } else { last }, last };
    let until = last;
    let may_defer = || request.may_defer() && can_defer();
    // Held until the answer is there: a beat's time stands still meanwhile.
    let _host = (request.whom == Whom::Person).then(|| tell_host(request, surroundings)).flatten();
    let (mut give_up, mut pause) = (Instant::now() + LOOKING, Duration::from_millis(20));
    loop {
        let (folder, name) = &surroundings.socket;
        let broken = match socket::connect_blocking(folder, name) {
            // Its answers would be the agent's own.
            Ok(stream) if asker::is_agents_listener(&stream) => Broken::Over(AskError::Squatter),
            Ok(stream) => {
                // It was there, so it comes again.
                (give_up, pause) = (until, Duration::from_millis(20));
                match converse(stream, &line, patience, &may_defer) {
                    Ok(asked) => return Ok(asked),
                    Err(broken) => broken,
                }
            }
            Err(error) => Broken::Lost(error),
        };
        match broken {
            Broken::Over(error) => return Err(error),
            Broken::Lost(error) if Instant::now() >= give_up.min(until) => {
                return Err(AskError::Unreachable(error));
            }
            Broken::Lost(_) => {
                rest(pause.min(give_up.min(until).saturating_duration_since(Instant::now())))?;
                pause = (pause * 2).min(PAUSE);
            }
        }
    }
}

/// Waits until `pause` is over or the agent is gone.
fn rest(pause: Duration) -> Result<(), AskError> {
    let stdout = io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    let timeout = Timespec::try_from(pause).ok();
    match poll(&mut polled, timeout.as_ref()) {
        Ok(1..) => Err(AskError::Gone { is_known: false }),
        _ => Ok(()),
    }
}

fn line(id: &str, msg_type: &str, payload: Value) -> Vec<u8> {
    let question = Question { msg_type: msg_type.to_owned(), id: id.to_owned(), payload };
    let mut line = serde_json::to_vec(&question).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Tells the agent's host that a person is waited for until what is returned is dropped. A host that is away has no time
/// to stand still.
fn tell_host(request: &Request, surroundings: &Surroundings) -> Option<UnixStream> {
    let agent = AgentId::parse(&request.agent).ok()?;
    let mut host = socket::connect_blocking(&surroundings.dir.hosts(), &agent.socket()).ok()?;
    let wait = Wait { request: request.id(0).to_string() };
    host.set_write_timeout(Some(Duration::from_secs(1))).ok()?;
    host.write_all(&line("1", WAIT, serde_json::to_value(&wait).unwrap_or_default())).ok()?;
    Some(host)
}

/// Asks on `stream` as long as there is patience, and then what becomes of the request.
fn converse(
    mut stream: UnixStream,
    question: &[u8],
    patience: Patience,
    may_defer: &impl Fn() -> bool,
) -> Result<Asked, Broken> {
    stream.write_all(question)?;
    let mut heard = Vec::new();
    if patience.hold < patience.last {
        if let Some(said) = listen(&mut stream, &mut heard, patience.hold)? {
            return take(said);
        }
        if may_defer() {
            stream.write_all(&line("2", LATE, json!({ "may_defer": true, "waits": true })))?;
            match listen(&mut stream, &mut heard, Instant::now() + LAST)? {
                Some(Said::Outcome { outcome, .. }) if outcome == WAITING => {}
                Some(said) => return take(said),
                None => return Err(Broken::Over(AskError::Silent)),
            }
        }
    }
    if let Some(said) = listen(&mut stream, &mut heard, patience.last)? {
        return take(said);
    }
    stream.write_all(&line("3", LATE, json!({ "may_defer": may_defer() })))?;
    match listen(&mut stream, &mut heard, Instant::now() + LAST)? {
        Some(said) => take(said),
        None => Err(Broken::Over(AskError::Silent)),
    }
}

fn take(said: Said) -> Result<Asked, Broken> {
    match said {
        Said::Answer(answer) => Ok(Asked::Answered(answer)),
        Said::Outcome { outcome, id } if outcome == EXPIRED => Ok(Asked::Expired(id)),
        Said::Outcome { outcome, id } if outcome == DEFERRED => Ok(Asked::Deferred(id)),
        Said::Outcome { outcome, .. } => Err(Broken::Over(AskError::Refused(outcome.into()))),
    }
}

/// The next thing that the daemon says, if it does so before `until`.
fn listen(stream: &mut UnixStream, heard: &mut Vec<u8>, until: Instant) -> Result<Option<Said>, Broken> {
    loop {
        if let Some(end) = memchr::memchr(b'\n', heard) {
            let refused = |why: Failure| Broken::Over(AskError::Refused(why));
            let response: Response =
                serde_json::from_slice(&heard[..end]).map_err(|error| refused(error.to_string().into()))?;
            heard.drain(..=end);
            let said_no = response.failure();
            return match (response.success, response.payload) {
                (true, Some(payload)) => {
                    Said::deserialize(payload).map(Some).map_err(|error| refused(error.to_string().into()))
                }
                _ => Err(refused(said_no)),
            };
        }
        if heard.len() > LONGEST {
            return Err(Broken::Over(AskError::Refused("its answer is too long".into())));
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
                Ok(count) => heard.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Broken::Lost(error)),
            }
        }
    }
}
