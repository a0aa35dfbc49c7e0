//! Commands that run for an agent, without a shell and a terminal device: their processes, output and ends.
//!
//! A command leads a process group and, on Linux, dies with this process. It is reaped when it is released: until then,
//! its group can be killed safely, with what it left behind.

use murmur_agent::client_call::{ClientError, ClientErrorKind, ClientReply, CommandLine};
use murmur_agent::invocation::Invocation;
use std::collections::BTreeMap;
use std::io::{self, PipeReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use sys::child;
use sys::process::{Exit, Signal, signal_group};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::{mpsc, oneshot};

/// How many terminals an agent may have.
const MAX_TERMINALS: usize = 16;

/// How much output is kept at most, and by default, in bytes.
const MAX_OUTPUT: usize = 1 << 20;

/// How much is read at once, in bytes, and how much more than its limit an output may have.
const CHUNK: usize = 64 << 10;

/// How many chunks are read after the end of a command, which processes that it left behind may go on writing.
const LAST_CHUNKS: usize = 32;

/// Something that happened in a terminal.
#[derive(Debug)]
pub(super) enum TerminalEvent {
    /// It printed something.
    Printed { terminal: String, bytes: Vec<u8> },
    /// All that its command printed before it ended has been read.
    Read { terminal: String },
}

/// The terminals of an agent.
#[derive(Debug)]
pub(super) struct Terminals {
    all: BTreeMap<String, Terminal>,
    count: u64,
    events: mpsc::Sender<TerminalEvent>,
}

#[derive(Debug)]
struct Terminal {
    pid: u32,
    tool_use_id: String,
    output: Output,
    state: State,
    /// Requests that wait for the end.
    waits: Vec<String>,
}

#[derive(Debug)]
enum State {
    /// Its command runs. The sender tells the reader that it has ended.
    Running(oneshot::Sender<()>),
    /// Its command has ended; its last output is being read.
    Ended(Exit),
    /// All is known.
    Over(Exit),
}

/// A terminal whose command has ended, or that was released before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ending {
    /// The call that began it.
    pub(super) tool_use_id: String,
    /// The requests that waited for the end.
    pub(super) waits: Vec<String>,
    /// `None` if it was released.
    pub(super) exit: Option<Exit>,
    pub(super) output: String,
}

impl Terminals {
    /// No terminals yet. `events` gets what happens in them; while it is full, their commands wait.
    pub(super) fn new(events: mpsc::Sender<TerminalEvent>) -> Self {
        Self { all: BTreeMap::new(), count: 0, events }
    }

    /// Runs `command` in the folder `cwd`, with the environment of the agent of `invocation`. Returns the terminal's
    /// id.
    pub(super) fn start(
        &mut self,
        command: &CommandLine,
        cwd: &Path,
        invocation: &Invocation,
        tool_use_id: &str,
    ) -> Result<String, ClientError> {
        if self.all.len() >= MAX_TERMINALS {
            return Err(failed(format!("{MAX_TERMINALS} terminals are open; release one")));
        }
        let (pid, pipe) = spawn(command, cwd, invocation).map_err(|error| {
            let hint = if error.kind() == io::ErrorKind::NotFound {
                "; it is run without a shell, so pass its arguments as args"
            } else {
                ""
            };
            failed(format!("cannot run {:?}: {error}{hint}", command.program))
        })?;
        self.count += 1;
        let id = format!("terminal-{}", self.count);
        let limit = command.output_limit.and_then(|limit| usize::try_from(limit).ok());
        let (ended, until_ended) = oneshot::channel();
        tokio::spawn(read(pipe, id.clone(), self.events.clone(), until_ended));
        let terminal = Terminal {
            pid,
            tool_use_id: tool_use_id.to_owned(),
            output: Output::new(limit.unwrap_or(MAX_OUTPUT).min(MAX_OUTPUT)),
            state: State::Running(ended),
            waits: Vec::new(),
        };
        self.all.insert(id.clone(), terminal);
        Ok(id)
    }

    /// The processes to reap only when they are released.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.all.values().map(|terminal| terminal.pid).collect()
    }

    /// Notices commands that have ended.
    pub(super) fn look(&mut self) {
        for terminal in self.all.values_mut() {
            if let State::Running(_) = terminal.state
                && let Some(exit) = child::ended(terminal.pid)
                && let State::Running(ended) = std::mem::replace(&mut terminal.state, State::Ended(exit))
            {
                // The reader may have gone with the runtime.
                let _gone = ended.send(());
            }
        }
    }

    /// Takes an event. Returns the end of a command.
    pub(super) fn note(&mut self, event: TerminalEvent) -> Option<Ending> {
        match event {
            TerminalEvent::Printed { terminal, bytes } => {
                self.all.get_mut(&terminal)?.output.push(&bytes);
                None
            }
            TerminalEvent::Read { terminal } => {
                let terminal = self.all.get_mut(&terminal)?;
                let State::Ended(exit) = terminal.state else { return None };
                terminal.state = State::Over(exit);
                Some(terminal.ending(Some(exit)))
            }
        }
    }

    /// The output of a terminal so far.
    pub(super) fn output(&self, id: &str) -> Result<ClientReply, ClientError> {
        let terminal = self.all.get(id).ok_or_else(|| unknown(id))?;
        let (text, is_truncated) = terminal.output.text();
        let exit = match terminal.state {
            State::Over(exit) => Some(exit),
            State::Running(_) | State::Ended(_) => None,
        };
        Ok(ClientReply::Output { text, is_truncated, exit })
    }

    /// How the command of a terminal ended. `None` if `request` has to wait for that.
    pub(super) fn wait(&mut self, id: &str, request: &str) -> Option<Result<ClientReply, ClientError>> {
        let Some(terminal) = self.all.get_mut(id) else { return Some(Err(unknown(id))) };
        match terminal.state {
            State::Over(exit) => Some(Ok(ClientReply::Exited(exit))),
            State::Running(_) | State::Ended(_) => {
                terminal.waits.push(request.to_owned());
                None
            }
        }
    }

    /// Kills the command of a terminal, and what it left behind.
    pub(super) fn kill(&self, id: &str) -> Result<ClientReply, ClientError> {
        let terminal = self.all.get(id).ok_or_else(|| unknown(id))?;
        signal_group(terminal.pid, Signal::KILL);
        Ok(ClientReply::Done)
    }

    /// Kills all commands, and what they left behind.
    pub(super) fn kill_all(&self) {
        self.all.values().for_each(|terminal| signal_group(terminal.pid, Signal::KILL));
    }

    /// Kills the command of a terminal and forgets it. Returns its end, unless that is known already.
    pub(super) fn release(&mut self, id: &str) -> Result<Option<Ending>, ClientError> {
        let mut terminal = self.all.remove(id).ok_or_else(|| unknown(id))?;
        signal_group(terminal.pid, Signal::KILL);
        // If it still runs, it is reaped like any other child.
        child::reap(terminal.pid);
        Ok(match terminal.state {
            State::Over(_) => None,
            State::Ended(exit) => Some(terminal.ending(Some(exit))),
            State::Running(_) => Some(terminal.ending(None)),
        })
    }
}

impl Terminal {
    fn ending(&mut self, exit: Option<Exit>) -> Ending {
        let (output, _) = self.output.text();
        let waits = std::mem::take(&mut self.waits);
        Ending { tool_use_id: self.tool_use_id.clone(), waits, exit, output }
    }
}

/// The folder `cwd` without links.
pub(super) fn real_folder(cwd: &Path) -> Result<PathBuf, ClientError> {
    let real = cwd
        .canonicalize()
        .and_then(|real| if real.is_dir() { Ok(real) } else { Err(io::ErrorKind::NotADirectory.into()) });
    real.map_err(|error| failed(format!("cannot run a command in {}: {error}", cwd.display())))
}

/// Starts a command. Returns its PID and the pipe with all that it prints.
fn spawn(command: &CommandLine, cwd: &Path, invocation: &Invocation) -> io::Result<(u32, Receiver)> {
    let (output, its_output) = io::pipe()?;
    let mut process = super::process::in_environment_of(invocation, &command.program);
    process.args(&command.args).envs(command.env.iter().map(|(name, value)| (name, value))).current_dir(cwd);
    process.stdin(Stdio::null()).stdout(its_output.try_clone()?).stderr(its_output);
    // Not tokio's child, which would be reaped as soon as it ends.
    let child = process.into_std().spawn()?;
    Ok((child.id(), receiver(output)?))
}

fn receiver(pipe: PipeReader) -> io::Result<Receiver> {
    rustix::io::ioctl_fionbio(&pipe, true)?;
    // It has just been made.
    Receiver::from_owned_fd_unchecked(pipe.into())
}

/// Sends what a terminal prints, until it is closed. After the command ends, sends the remaining output and then an end
/// event.
async fn read(
    pipe: Receiver,
    terminal: String,
    events: mpsc::Sender<TerminalEvent>,
    mut ended: oneshot::Receiver<()>,
) {
    let mut has_ended = false;
    // How many chunks may still come before the end is reported.
    let mut left = usize::MAX;
    loop {
        if !has_ended {
            tokio::select! {
                // If this fails, the read reports the error.
                _ = pipe.readable() => {}
                _ = &mut ended => (has_ended, left) = (true, LAST_CHUNKS),
            }
        }
        let mut bytes = Vec::with_capacity(CHUNK);
        let read = if has_ended { read_now(&pipe, &mut bytes) } else { pipe.try_read_buf(&mut bytes) };
        let is_empty = match read {
            Ok(0) => break,
            Ok(_) => {
                let printed = TerminalEvent::Printed { terminal: terminal.clone(), bytes };
                if events.send(printed).await.is_err() {
                    return;
                }
                left = left.saturating_sub(1);
                false
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
            Err(_) => break,
        };
        if has_ended && (is_empty || left == 0) {
            if events.send(TerminalEvent::Read { terminal: terminal.clone() }).await.is_err() {
                return;
            }
            return rest(pipe, terminal, events).await;
        }
    }
    // It closed its output, and may still run.
    if !has_ended {
        let _gone = ended.await;
    }
    let _gone = events.send(TerminalEvent::Read { terminal }).await;
}

/// Reads what is available, even if tokio's driver hasn't seen yet that the pipe is readable.
fn read_now(pipe: &Receiver, bytes: &mut Vec<u8>) -> io::Result<usize> {
    bytes.resize(CHUNK, 0);
    let read = rustix::io::retry_on_intr(|| rustix::io::read(pipe, &mut bytes[..]));
    bytes.truncate(read.unwrap_or(0));
    Ok(read?)
}

/// Sends what processes print that the command left behind.
async fn rest(pipe: Receiver, terminal: String, events: mpsc::Sender<TerminalEvent>) {
    while pipe.readable().await.is_ok() {
        let mut bytes = Vec::with_capacity(CHUNK);
        match pipe.try_read_buf(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if events.send(TerminalEvent::Printed { terminal: terminal.clone(), bytes }).await.is_err() {
            return;
        }
    }
}

/// The end of what a terminal printed.
#[derive(Debug)]
struct Output {
    bytes: Vec<u8>,
    limit: usize,
    is_truncated: bool,
}

impl Output {
    fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, is_truncated: false }
    }

    fn push(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
        if self.bytes.len() > self.limit.saturating_add(CHUNK) {
            self.bytes.drain(..self.bytes.len() - self.limit);
            self.is_truncated = true;
        }
    }

    /// At most as many bytes as the limit, and whether there were more before.
    fn text(&self) -> (String, bool) {
        let is_inside_character = |byte: &&u8| **byte & 0xc0 == 0x80;
        let cut = self.bytes.iter().take(3).take_while(is_inside_character).count();
        let whole = &self.bytes[if self.is_truncated { cut } else { 0 }..];
        let text = String::from_utf8_lossy(whole);
        let from = text.len().saturating_sub(self.limit);
        let from = (from..=text.len()).find(|from| text.is_char_boundary(*from)).unwrap_or_default();
        (text[from..].to_owned(), self.is_truncated || from > 0)
    }
}

fn unknown(id: &str) -> ClientError {
    ClientError { kind: ClientErrorKind::Invalid, message: format!("there is no terminal {id:?}") }
}

fn failed(message: String) -> ClientError {
    ClientError { kind: ClientErrorKind::Failed, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_output_is_kept_without_half_a_character() {
        let text = |limit: usize, pieces: &[&[u8]]| {
            let mut output = Output::new(limit);
            pieces.iter().for_each(|piece| output.push(piece));
            output.text()
        };
        assert_eq!(text(10, &[b"abc", b"def"]), ("abcdef".to_owned(), false));
        assert_eq!(text(3, &[b"abcdef"]), ("def".to_owned(), true));
        assert_eq!(text(3, &["äöü".as_bytes()]), ("ü".to_owned(), true));
        assert_eq!(text(4, &["äöü".as_bytes()]), ("öü".to_owned(), true));
        assert_eq!(text(0, &[b"abc"]), (String::new(), true));
        assert_eq!(text(9, &[b"a\xffb"]), ("a\u{fffd}b".to_owned(), false));
        let many = vec![b"x".repeat(CHUNK); 5];
        let many: Vec<&[u8]> = many.iter().map(Vec::as_slice).chain(["€€".as_bytes()]).collect();
        assert_eq!(text(5, &many), ("€".to_owned(), true));
    }

    #[test]
    fn an_output_uses_no_more_memory_than_its_limit_and_a_chunk() {
        let mut output = Output::new(1000);
        for _ in 0..100 {
            output.push(&b"y".repeat(CHUNK));
            assert!(output.bytes.len() <= 1000 + CHUNK);
        }
        assert_eq!(output.text(), ("y".repeat(1000), true));
    }
}
