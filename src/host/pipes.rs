//! What an agent hears and says: its stdin, fed in the background, and its stdout and stderr, whichever has something.

use derun::record::Channel;
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStdin};
use tokio::sync::mpsc;

/// What is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// stdout and stderr, each as long as it is open.
pub(super) struct Pipes {
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    /// What was read last; no memory while there is nothing to be read.
    buffer: Vec<u8>,
}

impl Pipes {
    /// Those of `child`.
    ///
    /// # Errors
    /// What the system says; the child has lost its pipes then.
    pub(super) fn of(child: &mut Child) -> io::Result<Self> {
        let receiver = |pipe: io::Result<OwnedFd>| Receiver::from_owned_fd(pipe?);
        let stdout = child.stdout.take().map(|pipe| receiver(pipe.into_owned_fd())).transpose()?;
        let stderr = child.stderr.take().map(|pipe| receiver(pipe.into_owned_fd())).transpose()?;
        Ok(Self { stdout, stderr, buffer: Vec::new() })
    }

    /// Whether there may be more.
    pub(super) fn is_open(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    /// The next bytes; none where one of the two has just ended. Nothing is lost where this is dropped before it is
    /// done.
    pub(super) async fn next(&mut self) -> (Channel, &[u8]) {
        let Self { stdout, stderr, buffer } = self;
        let channel = loop {
            buffer.clear();
            let (channel, pipe) = tokio::select! {
                () = readable(stdout.as_ref()) => (Channel::Stdout, &mut *stdout),
                () = readable(stderr.as_ref()) => (Channel::Stderr, &mut *stderr),
            };
            buffer.reserve_exact(CHUNK);
            match pipe.as_ref().map_or(Ok(0), |pipe| pipe.try_read_buf(buffer)) {
                // Drained: from here on it may wait for hours.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => *buffer = Vec::new(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
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

/// Waits until there is something to be read, or until the end.
async fn readable(pipe: Option<&Receiver>) {
    match pipe {
        // Where that cannot be asked, reading says why.
        Some(pipe) => _ = pipe.readable().await,
        None => std::future::pending().await,
    }
}

/// Writes to the agent what comes, one after the other; closes its stdin when nothing more can come. An agent that does
/// not read keeps nobody waiting.
pub(super) fn feed(mut stdin: ChildStdin) -> mpsc::Sender<Vec<u8>> {
    // A turn has one message, and the next begins when it is over: more wait only for an agent that answers unasked.
    let (tell, mut told) = mpsc::channel::<Vec<u8>>(super::state::QUEUE);
    tokio::spawn(async move {
        while let Some(bytes) = told.recv().await {
            // An agent that does not want to hear says so by its ending.
            if stdin.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    tell
}
