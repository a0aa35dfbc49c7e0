//! An agent's pipes: stdin, written in the background, and stdout and stderr, read as output arrives.

use derun::record::Channel;
use std::io::{self, PipeReader};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;

/// How much is read at once, in bytes: as much as a pipe has room for by default.
const CHUNK: usize = 64 << 10;

/// The room of a pipe, in bytes, once the agent has filled it.
const LARGE_PIPE: usize = 1 << 20;

/// stdout and stderr, each until it is closed.
#[derive(Debug)]
pub struct Pipes {
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    /// The last bytes read; freed while there is nothing to read.
    buffer: Vec<u8>,
    /// Whether a pipe was enlarged.
    is_large: bool,
}

impl Pipes {
    /// Starts `command` with pipes for stdout and stderr.
    pub fn spawn(mut command: Command) -> io::Result<(Child, Self)> {
        // Not those that tokio makes: it would register each of them twice.
        let ((stdout, its_stdout), (stderr, its_stderr)) = (io::pipe()?, io::pipe()?);
        let receiver = |pipe: PipeReader| {
            rustix::io::ioctl_fionbio(&pipe, true)?;
            // It has just been made.
            Receiver::from_owned_fd_unchecked(pipe.into())
        };
        let (stdout, stderr) = (Some(receiver(stdout)?), Some(receiver(stderr)?));
        let child = command.stdout(its_stdout).stderr(its_stderr).spawn()?;
        Ok((child, Self { stdout, stderr, buffer: Vec::new(), is_large: false }))
    }

    /// Whether there may be more output.
    pub fn is_open(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    /// The next bytes; empty when one of the pipes has just been closed. Cancel safe.
    pub async fn next(&mut self) -> (Channel, &[u8]) {
        let Self { stdout, stderr, buffer, is_large } = self;
        let channel = loop {
            buffer.clear();
            let (channel, pipe) = tokio::select! {
                () = readable(stdout.as_ref()) => (Channel::Stdout, &mut *stdout),
                () = readable(stderr.as_ref()) => (Channel::Stderr, &mut *stderr),
            };
            buffer.reserve_exact(CHUNK);
            match pipe.as_ref().map_or(Ok(0), |pipe| pipe.try_read_buf(buffer)) {
                // Free the buffer: the next output may be hours away.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => *buffer = Vec::new(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(CHUNK..) if !*is_large => {
                    *is_large = true;
                    pipe.iter().for_each(enlarge);
                    break channel;
                }
                Ok(1..) => break channel,
                Ok(0) | Err(_) => {
                    *pipe = None;
                    break channel;
                }
            }
        };
        (channel, buffer)
    }
}

/// Makes room for more output, so that the agent waits less often. Best effort.
fn enlarge(pipe: &Receiver) {
    #[cfg(target_os = "linux")]
    let _as_large_as_before = rustix::pipe::fcntl_setpipe_size(pipe, LARGE_PIPE);
    #[cfg(not(target_os = "linux"))]
    let _unused = (pipe, LARGE_PIPE);
}

/// Waits until there is something to read, or the end.
async fn readable(pipe: Option<&Receiver>) {
    match pipe {
        // If this fails, the read reports the error.
        Some(pipe) => _ = pipe.readable().await,
        None => std::future::pending().await,
    }
}

/// Writes messages to the agent in order, and closes its stdin when the sender is dropped. An agent that doesn't read
/// blocks no one.
pub(super) fn feed(mut stdin: ChildStdin) -> mpsc::Sender<Vec<u8>> {
    // One message per turn: more queue up only if the agent answers without being asked.
    let (sender, mut receiver) = mpsc::channel::<Vec<u8>>(super::state::QUEUE);
    tokio::spawn(async move {
        while let Some(bytes) = receiver.recv().await {
            // The agent has closed its stdin; its exit tells the rest.
            if stdin.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    sender
}
