//! Runs a program until it and everything that it started have ended, within a time limit.
//!
//! On Linux, this process adopts orphans, so a child in another session is found, too. It must have no other children.

use super::capture::Captured;
use super::output::Output;
use super::{GateContext, clean, described, stopped, unusable};
use derun::record::Channel;
use derun::writer::End;
use murmur_agent::find::{self, FindError};
use murmur_core::config::interval::Interval;
use murmur_host::pipes::Pipes;
use murmur_host::run::{DRAIN, REAPING};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;
use sys::error::Failure;
use sys::process::{self, Exit};
use sys::{failure, shell, signals};
use tokio::process::Command;
use tokio::time::{Instant, sleep_until, timeout};

/// How a program ended.
#[derive(Debug)]
pub(super) enum ProgramEnd {
    /// It exited, and so did everything that it had started.
    Exited(Exit),
    /// It ran longer than its limit, and was killed.
    TimedOut,
    /// It exited, but this many processes that it had started ran longer than its limit, and were killed.
    LeftRunning(usize),
    /// This many of its processes could not be killed.
    Unkillable(usize),
    /// The beat was stopped after this long, and it was killed.
    Stopped(Duration),
    /// It was not started.
    NotStarted(Failure),
}

/// A program that has ended.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) ending: ProgramEnd,
    pub(super) output: Output,
}

/// Finds a program: one with a slash from the workspace, any other on the PATH.
pub(super) fn find(program: &str, context: &GateContext<'_>) -> Result<PathBuf, Failure> {
    if !program.contains('/') {
        return find::find(program, context.path.as_os_str()).map_err(|error| match error {
            FindError::NotExecutable { file } => not_executable(&file),
            FindError::Missing { path, .. } => failure!(
                "{program} not found on PATH ({})", path.display();
                "write ./{program} if it is in the workspace"
            ),
        });
    }
    let file = clean(&context.workspace.join(program));
    match file.metadata() {
        Ok(found) if found.is_dir() => {
            Err(unusable(&file, "is a folder", "write the path of a program".to_owned()))
        }
        Ok(_) if rustix::fs::access(&file, rustix::fs::Access::EXEC_OK).is_err() => {
            Err(not_executable(&file))
        }
        Ok(_) => Ok(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(unusable(&file, "does not exist", "create it, or correct its path".to_owned()))
        }
        Err(error) => Err(failure!("cannot use {}", file.display()).because(&error)),
    }
}

fn not_executable(file: &Path) -> Failure {
    unusable(file, "is not executable", format!("run: chmod +x {}", shell::path(file)))
}

/// Runs `program` in `context` for at most `limit`, and kills what is left of it then. What it prints is also
/// `captured`.
pub(super) async fn run(
    program: &Path,
    args: &[impl AsRef<str>],
    context: &GateContext<'_>,
    limit: Interval,
    mut captured: Option<Captured<'_>>,
) -> Finished {
    let finished = run_to_end(program, args, context, limit, captured.as_mut()).await;
    if let Some(captured) = captured {
        captured.ended(match &finished.ending {
            ProgramEnd::Exited(Exit::Code(code)) => End::Exited(*code),
            ProgramEnd::Exited(Exit::Signal(signal)) => End::Signaled(signals::name(*signal)),
            ending => End::Failed(described(ending, limit)),
        });
    }
    finished
}

async fn run_to_end(
    program: &Path,
    args: &[impl AsRef<str>],
    context: &GateContext<'_>,
    limit: Interval,
    mut captured: Option<&mut Captured<'_>>,
) -> Finished {
    let begun = Instant::now();
    let mut command = Command::new(program);
    command.args(args.iter().map(AsRef::<str>::as_ref)).current_dir(context.workspace);
    process::without_git_place(&mut command);
    command.envs(context.env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null());
    process::bind_to_us(&mut command);
    let mut output = Output::default();
    let not_started = |error: &io::Error| {
        let failure = Failure::of(error);
        // The file was found, so its interpreter is missing.
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        let hint = is_missing.then(|| "correct the interpreter in its first line".to_owned());
        ProgramEnd::NotStarted(failure.or_hint(hint))
    };
    let (mut child, mut pipes) = match Pipes::spawn(command) {
        Ok(started) => started,
        Err(error) => return Finished { ending: not_started(&error), output },
    };
    let pid = child.id();
    let mut take = |output: &mut Output, channel: Channel, bytes: &[u8]| {
        output.add(channel, bytes);
        if let Some(captured) = &mut captured {
            captured.add(pid, channel, bytes);
        }
    };
    let mut stopped = pin!(stopped(&context.stop));
    let mut all_ended = pin!(process::all_children_ended());
    let mut exit = None;
    let mut ending = loop {
        tokio::select! {
            status = child.wait(), if exit.is_none() => {
                exit = Some(status.map_or(Exit::Signal(0), Exit::from));
            }
            () = all_ended.as_mut(), if exit.is_some() => break ProgramEnd::Exited(exit.unwrap_or(Exit::Signal(0))),
            (channel, bytes) = pipes.next(), if pipes.is_open() => take(&mut output, channel, bytes),
            () = sleep_until(begun + limit.duration()) => break match exit {
                None => ProgramEnd::TimedOut,
                Some(_) => ProgramEnd::LeftRunning(process::descendants(std::process::id()).len()),
            },
            () = stopped.as_mut() => break ProgramEnd::Stopped(begun.elapsed()),
        }
    };
    if let Err(left) = process::end_all_children(REAPING).await {
        ending = ProgramEnd::Unkillable(left);
    }
    let drain = async {
        while pipes.is_open() {
            let (channel, bytes) = pipes.next().await;
            take(&mut output, channel, bytes);
        }
    };
    let _cut = timeout(DRAIN, drain).await;
    Finished { ending, output }
}
