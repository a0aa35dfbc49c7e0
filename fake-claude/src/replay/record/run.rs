//! Runs the command: pipes, signal forwarding, waiting for its end.
//!
//! Input: a plan and the streams. Output: the bytes that passed through. The child is reaped only after the last
//! signal was sent, so a signal never hits another process with the same PID.

use std::io::{self, IsTerminal, PipeReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level;

use super::super::fixture::End;
use super::super::pump::{Kept, ends_within, pump, wait_for_any};
use super::{RecordError, RecordPlan, Stdin, Streams};

/// The recorded bytes.
pub(super) struct Ran {
    pub(super) end: End,
    pub(super) duration_ms: u64,
    pub(super) stdin: Vec<u8>,
    pub(super) stdout: Kept,
    pub(super) stderr: Kept,
}

pub(super) fn run(plan: &RecordPlan, streams: Streams<'_>) -> Result<Ran, RecordError> {
    let program = || PathBuf::from(&plan.program);
    let watch = |source| RecordError::Watch { program: program(), source };
    let signals = Signals::catch().map_err(watch)?;
    let (gone, alive) = io::pipe().map_err(watch)?;
    let start = Instant::now();
    let mut child =
        command(plan).spawn().map_err(|source| RecordError::Start { program: program(), source })?;
    let (to, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let pid = Pid::from_child(&child);
    let (stdin, stdout, stderr) = thread::scope(|scope| {
        let (gone, signals) = (&gone, &signals);
        let stdin = scope.spawn(move || feed(plan, streams.stdin, to, pid, gone, start));
        // A reader that ends early drops its pipe, as without a recorder.
        let keep = |from: Option<_>, to| from.map(|from| drain(from, to, gone, start)).unwrap_or_default();
        let stdout = scope.spawn(move || keep(out.map(Pipe::Out), streams.stdout));
        let stderr = scope.spawn(move || keep(err.map(Pipe::Err), streams.stderr));
        let passing = scope.spawn(move || signals.pass_on(pid, gone));
        let ended = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        drop(alive);
        let kept = (stdin.join(), stdout.join(), stderr.join());
        drop(passing.join());
        ended.map(|_| kept)
    })
    .map_err(|error| watch(error.into()))?;
    let status = child.wait().map_err(watch)?;
    let end = match (status.code(), status.signal()) {
        (None, Some(signal)) => End::Signal(signal),
        (code, _) => End::Code(code.unwrap_or_default()),
    };
    let duration_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    let broken = |_| watch(io::Error::other("a thread that moves its bytes panicked"));
    Ok(Ran {
        end,
        duration_ms,
        stdin: stdin.map_err(broken)?,
        stdout: stdout.map_err(broken)?,
        stderr: stderr.map_err(broken)?,
    })
}

fn command(plan: &RecordPlan) -> Command {
    let mut command = Command::new(&plan.program);
    if plan.only_env {
        command.env_clear();
    }
    command.args(&plan.argv).current_dir(&plan.cwd).envs(plan.env.iter().cloned());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn feed(
    plan: &RecordPlan,
    own: std::os::fd::BorrowedFd<'_>,
    to: Option<std::process::ChildStdin>,
    pid: Pid,
    gone: &PipeReader,
    start: Instant,
) -> Vec<u8> {
    let Some(mut to) = to else { return Vec::new() };
    match &plan.stdin {
        Stdin::Inherit => {
            let bytes = pump(own, &mut to, gone.as_fd(), false, start).bytes;
            drop(to);
            for signal in [Signal::TERM, Signal::KILL] {
                if plan.grace.is_none_or(|grace| ends_within(gone.as_fd(), grace)) {
                    break;
                }
                // It is not reaped before this thread ends.
                let _ = rustix::process::kill_process(pid, signal);
            }
            bytes
        }
        Stdin::Bytes(bytes) => {
            // The command may not read its input.
            drop(to.write_all(bytes));
            bytes.clone()
        }
    }
}

enum Pipe {
    Out(std::process::ChildStdout),
    Err(std::process::ChildStderr),
}

fn drain(from: Pipe, to: &mut (dyn Write + Send), gone: &PipeReader, start: Instant) -> Kept {
    match from {
        Pipe::Out(from) => pump(from.as_fd(), to, gone.as_fd(), true, start),
        Pipe::Err(from) => pump(from.as_fd(), to, gone.as_fd(), true, start),
    }
}

/// Termination signals, caught while the command runs.
struct Signals {
    caught: [(Signal, UnixStream); 3],
    ids: Vec<signal_hook::SigId>,
}

impl Signals {
    fn catch() -> io::Result<Self> {
        let mut ids = Vec::new();
        let mut catch = |number| {
            let (read, write) = UnixStream::pair()?;
            ids.push(low_level::pipe::register(number, write)?);
            io::Result::Ok(read)
        };
        let caught =
            [(Signal::TERM, catch(SIGTERM)?), (Signal::HUP, catch(SIGHUP)?), (Signal::INT, catch(SIGINT)?)];
        Ok(Self { caught, ids })
    }

    /// Forwards caught signals to the child until it ends.
    fn pass_on(&self, pid: Pid, gone: &PipeReader) {
        // A terminal sends its interrupt to the child as well, and a second one would have another meaning.
        let from_terminal = io::stdin().is_terminal();
        let streams = self.caught.each_ref().map(|(_, stream)| stream);
        while let Some(index) = wait_for_any(&streams, gone.as_fd()) {
            let (signal, stream) = &self.caught[index];
            if rustix::io::read(stream, &mut [0; 1][..]).is_err() {
                return;
            }
            if !(from_terminal && *signal == Signal::INT) {
                // The child may have just ended.
                let _ = rustix::process::kill_process(pid, *signal);
            }
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            low_level::unregister(id);
        }
    }
}
