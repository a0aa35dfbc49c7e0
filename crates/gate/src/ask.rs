//! Runs a program, reads the beginning of its output, and leaves no process behind.

use derun::plain::plain;
use secrets::mask;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use sys::process::{self, Signal};
use sys::random;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

/// How much of stderr is read, in bytes, and of stdout if the program answers by exiting.
const MAX_OUTPUT: usize = 4 << 10;

/// How much of stdout is read for an answer in lines.
const MAX_LINES: usize = 256 << 10;

/// How many characters of a printed line are shown.
const SHOWN: usize = 200;

/// Marks all started processes, so that they can be killed.
const MARK: &str = "MURMUR_ASKS";

/// What a program answered.
#[derive(Debug)]
pub struct ProgramOutput {
    /// Its exit status; `None` if it was killed because it had answered or printed more than is read.
    pub status: Option<ExitStatus>,
    /// The beginning of its stdout.
    pub stdout: Vec<u8>,
    /// The beginning of its stderr.
    pub stderr: Vec<u8>,
}

/// The first nonblank line, shortened and without secrets, escape codes and control characters.
pub fn first_line(output: &[u8]) -> Option<String> {
    let output = mask(&plain(output));
    let line = output.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().filter(|character| !character.is_control()).take(SHOWN).collect())
}

/// Runs `program --version` with this PATH until it exits, even if its children keep the pipes open. Returns
/// [`io::ErrorKind::TimedOut`] if it does not exit within `limit`.
pub async fn version(program: &Path, path: &OsStr, limit: Duration) -> io::Result<ProgramOutput> {
    let mut command = Command::new(program);
    command.arg("--version").env("PATH", path).stdin(Stdio::null());
    exit(command, limit).await
}

/// Runs `command` until it exits, like [`version`].
pub async fn exit(command: Command, limit: Duration) -> io::Result<ProgramOutput> {
    run(command, None, limit).await
}

/// What to write to a program's stdin, and what its answer looks like.
#[derive(Debug)]
pub struct ProgramInput<'a> {
    /// What to write.
    pub text: &'a [u8],
    /// Whether a line of its stdout is the answer.
    pub is_answer: fn(&[u8]) -> bool,
    /// How long it may take to exit by itself after its answer, once its stdin is closed. Then it is killed.
    pub grace: Duration,
}

/// Runs `command` and writes `input` to its stdin, until it answers or exits. Returns [`io::ErrorKind::TimedOut`] if it
/// does neither within `limit`.
pub async fn with_input(
    mut command: Command,
    input: &ProgramInput<'_>,
    limit: Duration,
) -> io::Result<ProgramOutput> {
    command.stdin(Stdio::piped());
    run(command, Some(input), limit).await
}

async fn run(
    mut command: Command,
    input: Option<&ProgramInput<'_>>,
    limit: Duration,
) -> io::Result<ProgramOutput> {
    let number = u64::from_be_bytes(random::bytes()?);
    command.env(MARK, format!("{number:016x}"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    process::bind_to_us(&mut command);
    let mut child = command.spawn()?;
    let group = child.id();
    let (Some(mut stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    // Stays open until the answer: a program may exit when its stdin ends.
    let mut stdin = child.stdin.take();
    let (most, is_answer) = input.map_or((MAX_OUTPUT, None), |asked| (MAX_LINES, Some(asked.is_answer)));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let ended = timeout(limit, async {
        if let (Some(stdin), Some(input)) = (&mut stdin, input) {
            // It may not read it; then its exit or its silence is the answer.
            let _not_read = stdin.write_all(input.text).await;
        }
        tokio::select! {
            status = child.wait() => status.map(Some),
            () = begins(&mut stdout, &mut out, most, is_answer) => Ok(None),
            () = begins(&mut stderr, &mut err, MAX_OUTPUT, None), if is_answer.is_none() => Ok(None),
        }
    });
    let ended = ended.await;
    drop(stdin);
    if let (Ok(Ok(None)), Some(input)) = (&ended, input) {
        let _killed_otherwise = timeout(input.grace, child.wait()).await;
    }
    if let Some(group) = group {
        process::signal_group(group, Signal::KILL);
    }
    // Processes that left the group.
    process::kill_marked(&[OsString::from(format!("{MARK}={number:016x}"))]);
    let status = ended.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    if status.is_none() {
        child.wait().await?;
    }
    rest(&stdout, &mut out, most);
    rest(&stderr, &mut err, MAX_OUTPUT);
    Ok(ProgramOutput { status, stdout: out, stderr: err })
}

/// Reads up to `most` bytes, or to a line that `is_answer`. A closed pipe does not mean that the program exited.
async fn begins(
    pipe: &mut (impl AsyncRead + Unpin),
    into: &mut Vec<u8>,
    most: usize,
    is_answer: Option<fn(&[u8]) -> bool>,
) {
    let mut buffer = [0; MAX_OUTPUT];
    let mut line = 0;
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        into.extend_from_slice(&buffer[..count]);
        while let Some(length) = into[line..].iter().position(|byte| *byte == b'\n') {
            if is_answer.is_some_and(|is_answer| is_answer(&into[line..line + length])) {
                return;
            }
            line += length + 1;
        }
        if into.len() >= most {
            into.truncate(most);
            return;
        }
    }
    std::future::pending().await
}

/// Reads what is available; the pipes are nonblocking.
fn rest(pipe: &impl AsFd, into: &mut Vec<u8>, most: usize) {
    let mut buffer = [0; MAX_OUTPUT];
    while into.len() < most
        && let Ok(count @ 1..) = rustix::io::read(pipe.as_fd(), &mut buffer)
    {
        into.extend_from_slice(&buffer[..count]);
    }
    into.truncate(most);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    /// A script as the program, in `folder`.
    fn program(folder: &Path, script: &str) -> PathBuf {
        let program = folder.join("claude");
        std::fs::write(&program, format!("#!/bin/sh\ncd '{}'\n{script}\n", folder.display())).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        program
    }

    /// Runs a script as the program, in `folder`.
    async fn of(folder: &Path, script: &str, limit: Duration) -> io::Result<ProgramOutput> {
        version(&program(folder, script), &std::env::var_os("PATH").unwrap(), limit).await
    }

    /// Asks a script for a line of `yes`.
    #[cfg(target_os = "linux")]
    async fn asked(folder: &Path, script: &str, limit: Duration) -> io::Result<ProgramOutput> {
        let mut command = Command::new(program(folder, script));
        command.env("PATH", std::env::var_os("PATH").unwrap());
        let asked =
            ProgramInput { text: b"hello\n", is_answer: |line| line == b"yes", grace: Duration::ZERO };
        with_input(command, &asked, limit).await
    }

    /// Waits for the end of the process whose PID the script wrote.
    #[cfg(target_os = "linux")]
    async fn gone(folder: &Path) {
        let pid = std::fs::read_to_string(folder.join("pid")).unwrap();
        if let Some(ending) = sys::identity::watch(pid.trim().parse().unwrap()) {
            timeout(Duration::from_secs(60), ending.ended()).await.expect("it was ended").unwrap();
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn endless_output_is_read_up_to_the_limit_and_stopped() {
        let folder = tempfile::tempdir().unwrap();
        for (script, is_loud) in [("exec yes", true), ("exec yes >&2", false)] {
            let answer = of(folder.path(), script, Duration::from_secs(60)).await.unwrap();
            assert!(answer.status.is_none());
            assert_eq!(
                (answer.stdout.len() == MAX_OUTPUT, answer.stderr.len() == MAX_OUTPUT),
                (is_loud, !is_loud)
            );
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test(flavor = "current_thread")]
    async fn the_answer_ends_with_the_program_and_its_children_are_killed() {
        let folder = tempfile::tempdir().unwrap();
        for aside in ["sleep 1000", "setsid sleep 1000"] {
            let script = format!("{aside} & echo $! >pid; echo 2.1.300; echo why >&2; exit 3");
            let answer = of(folder.path(), &script, Duration::from_secs(60)).await.unwrap();
            assert_eq!(answer.status.unwrap().code(), Some(3));
            assert_eq!((&*answer.stdout, &*answer.stderr), (&b"2.1.300\n"[..], &b"why\n"[..]));
            gone(folder.path()).await;
        }
        let answer = of(folder.path(), "sleep 1000 & echo $! >pid; yes", Duration::from_secs(60)).await;
        assert!(answer.unwrap().status.is_none());
        gone(folder.path()).await;
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_hanging_program_times_out() {
        let folder = tempfile::tempdir().unwrap();
        let late = of(folder.path(), "kill -STOP $$", Duration::from_millis(50)).await;
        assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test(flavor = "current_thread")]
    async fn a_question_ends_with_its_answer_and_nothing_runs_on() {
        let folder = tempfile::tempdir().unwrap();
        let limit = Duration::from_secs(60);
        let script = "read word; setsid sleep 1000 & echo $! >pid; echo \"$word\"; echo yes; cat";
        let answer = asked(folder.path(), script, limit).await.unwrap();
        assert_eq!((answer.status, &*answer.stdout), (None, &b"hello\nyes\n"[..]));
        gone(folder.path()).await;
        let gave_up = asked(folder.path(), "echo no; echo why >&2; exit 3", limit).await.unwrap();
        assert_eq!(gave_up.status.unwrap().code(), Some(3));
        assert_eq!((&*gave_up.stdout, &*gave_up.stderr), (&b"no\n"[..], &b"why\n"[..]));
        let loud = asked(folder.path(), "exec yes no", limit).await.unwrap();
        assert_eq!((loud.status, loud.stdout.len()), (None, MAX_LINES));
        let silent = asked(folder.path(), "cat >/dev/null", Duration::from_millis(50)).await;
        assert_eq!(silent.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
