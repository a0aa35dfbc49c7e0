//! One agent's process: started, fed, read, and ended with all its offspring.
//!
//! An invocation goes in; events go to a sink while it runs; how it ended comes out. The process that calls
//! [`run`] must have no other children: what is left when the agent is gone is the agent's, and is killed.

use super::claude::Parser;
use super::event::{Event, RunResult};
use super::invocation::Invocation;
use crate::sys::process::{self, Exit};
use rustix::process::Signal;
use std::io;
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

/// How an agent's process came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It ended by itself.
    Exited(i32),
    /// A signal killed it that murmur did not send.
    Signaled(i32),
    /// It ran longer than it may and was stopped.
    TimedOut {
        /// How long that is.
        limit: Duration,
    },
    /// Somebody stopped it, or murmur itself.
    Stopped {
        /// How long it had run.
        after: Duration,
    },
}

/// How long a run may take, and how long it may take to end when it is told to.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// From the start until it is stopped.
    pub limit: Duration,
    /// From SIGTERM until SIGKILL.
    pub grace: Duration,
}

/// How long what is left of a killed tree may take to vanish.
const REAPING: Duration = Duration::from_secs(2);

/// How long output may still arrive after the last process that could write it is gone.
const DRAIN: Duration = Duration::from_secs(1);

/// How much of the end of stderr is kept, in bytes.
const STDERR_KEPT: usize = 16 << 10;

/// A run that came to its end.
#[derive(Debug)]
pub struct Run {
    /// How.
    pub ending: Ending,
    /// What became of the process itself.
    pub exit: Exit,
    /// The run's summaries: usually one, none if it died early, more where background tasks ended after the first.
    pub said: Vec<RunResult>,
    /// The conversation's id, if it said one.
    pub session_id: Option<String>,
    /// The end of what it wrote on stderr, lossily decoded.
    pub stderr: String,
    /// Processes that could not be killed.
    pub survivors: usize,
}

/// Runs `invocation` to its end. `stop` resolves when it is to be stopped early.
///
/// # Errors
/// Only that the process could not be started; everything after that is a [`Run`].
pub async fn run(
    invocation: &Invocation,
    patience: Patience,
    stop: impl Future<Output = ()>,
    sink: &mut impl FnMut(&Event<'_>, Duration),
) -> io::Result<Run> {
    let started = Instant::now();
    let mut child = spawn(invocation)?;
    let mut reader = Reader { parser: Parser::default(), said: Vec::new(), session_id: None, sink, started };
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut errors = Vec::new();

    let (ending, exit, survivors) = {
        let feeding = async {
            if let Some(mut stdin) = stdin {
                // An agent that does not want its prompt says so by its ending.
                let _closed_early = stdin.write_all(&invocation.stdin).await;
            }
        };
        let reading = read_all(stdout, |bytes| reader.feed(bytes));
        let erring = read_all(stderr, |bytes| keep_end(&mut errors, bytes));
        let mut talking = pin!(async { tokio::join!(feeding, reading, erring) });
        let mut talked = false;
        let mut waiting = pin!(wait(&mut child, patience, stop, started));
        let (ending, exit) = loop {
            tokio::select! {
                ended = &mut waiting => break ended,
                _ = &mut talking, if !talked => talked = true,
            }
        };
        let survivors = process::end_all_children(REAPING).await.err().unwrap_or(0);
        if !talked {
            let _cut = timeout(DRAIN, talking).await;
        }
        (ending, exit, survivors)
    };
    reader.finish();
    let Reader { said, session_id, .. } = reader;
    Ok(Run {
        ending,
        exit,
        said,
        session_id,
        stderr: String::from_utf8_lossy(&errors).into_owned(),
        survivors,
    })
}

fn spawn(invocation: &Invocation) -> io::Result<Child> {
    let mut command = Command::new(&invocation.program);
    command.args(&invocation.args).current_dir(&invocation.cwd);
    command.envs(invocation.env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    process::bind_to_us(&mut command);
    command.spawn()
}

/// Waits for the end, or brings it about. Decided by who ended it, never by what it printed.
async fn wait(
    child: &mut Child,
    patience: Patience,
    stop: impl Future<Output = ()>,
    started: Instant,
) -> (Ending, Exit) {
    let pid = child.id();
    let ending = tokio::select! {
        biased;
        status = child.wait() => return ended_by_itself(status),
        () = sleep(patience.limit) => Ending::TimedOut { limit: patience.limit },
        () = stop => Ending::Stopped { after: started.elapsed() },
    };
    if let Some(pid) = pid {
        process::signal(pid, Signal::TERM);
    }
    let status = match timeout(patience.grace, child.wait()).await {
        Ok(status) => status,
        Err(_) => {
            if let Some(pid) = pid {
                process::signal(pid, Signal::KILL);
            }
            child.wait().await
        }
    };
    (ending, status.map_or(Exit::Signal(0), Exit::from))
}

fn ended_by_itself(status: io::Result<std::process::ExitStatus>) -> (Ending, Exit) {
    let exit = status.map_or(Exit::Signal(0), Exit::from);
    match exit {
        Exit::Code(code) => (Ending::Exited(code), exit),
        Exit::Signal(signal) => (Ending::Signaled(signal), exit),
    }
}

async fn read_all(pipe: Option<impl AsyncRead + Unpin>, mut take: impl FnMut(&[u8])) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        take(&buffer[..count]);
    }
}

/// Appends `bytes` to `kept` and drops from its front what is more than [`STDERR_KEPT`].
fn keep_end(kept: &mut Vec<u8>, bytes: &[u8]) {
    kept.extend_from_slice(bytes);
    let surplus = kept.len().saturating_sub(STDERR_KEPT);
    kept.drain(..surplus);
}

/// Turns stdout into events, keeps the run's own summary, and passes everything on.
struct Reader<'s, S> {
    parser: Parser,
    said: Vec<RunResult>,
    session_id: Option<String>,
    sink: &'s mut S,
    started: Instant,
}

impl<S: FnMut(&Event<'_>, Duration)> Reader<'_, S> {
    fn feed(&mut self, bytes: &[u8]) {
        let at = self.started.elapsed();
        let Self { parser, said, session_id, sink, .. } = self;
        parser.feed(bytes, &mut |event| observe(&event, said, session_id, |event| sink(event, at)));
    }

    fn finish(&mut self) {
        let at = self.started.elapsed();
        let Self { parser, said, session_id, sink, .. } = self;
        parser.finish(&mut |event| observe(&event, said, session_id, |event| sink(event, at)));
    }
}

/// Keeps what a [`Run`] reports and passes the event on.
fn observe(
    event: &Event<'_>,
    said: &mut Vec<RunResult>,
    session_id: &mut Option<String>,
    pass: impl FnOnce(&Event<'_>),
) {
    match event {
        Event::Result(result) => said.push(result.clone()),
        Event::Session { id, .. } if !id.is_empty() => *session_id = Some(id.clone().into_owned()),
        _ => {}
    }
    pass(event);
}
