//! What an agent hears and says: its stdin, fed in the background, and its stdout and stderr, whichever has something.

use crate::capture::record::Channel;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;

/// What is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// stdout and stderr, each as long as it is open.
pub(super) struct Pipes {
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// What was read last of each; only there while it is needed.
    buffers: [Vec<u8>; 2],
}

impl Pipes {
    /// Those of `child`.
    pub(super) fn of(child: &mut Child) -> Self {
        Self { stdout: child.stdout.take(), stderr: child.stderr.take(), buffers: Default::default() }
    }

    /// Whether there may be more.
    pub(super) fn is_open(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    /// The next bytes; none where one of the two has just ended. Nothing is lost where this is dropped before it is
    /// done.
    pub(super) async fn next(&mut self) -> (Channel, &[u8]) {
        let Self { stdout, stderr, buffers: [out, err] } = self;
        let (channel, count) = tokio::select! {
            count = read(stdout, out) => (Channel::Stdout, count),
            count = read(stderr, err) => (Channel::Stderr, count),
        };
        let buffer = if channel == Channel::Stdout { out } else { err };
        (channel, &buffer[..count])
    }
}

async fn read(from: &mut Option<impl AsyncRead + Unpin>, buffer: &mut Vec<u8>) -> usize {
    let Some(pipe) = from else { return std::future::pending().await };
    buffer.resize(CHUNK, 0);
    let count = pipe.read(buffer).await.unwrap_or(0);
    if count == 0 {
        *from = None;
        *buffer = Vec::new();
    }
    count
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
