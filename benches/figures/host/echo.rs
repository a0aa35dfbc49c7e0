//! The baseline of a request and its response: a child that writes what it reads.

use anyhow::Context;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The argument that makes this program the child.
pub(crate) const CHILD: &str = "host-echo";

/// The maximum echoed at once, in bytes.
const MOST: usize = 4096;

/// Echoes until stdin ends.
pub(crate) fn child() -> anyhow::Result<()> {
    let (mut stdin, mut stdout) = (io::stdin().lock(), io::stdout().lock());
    let mut buffer = [0; MOST];
    loop {
        let count = stdin.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        // Text after the last newline would wait for the next, since stdout is line-buffered.
        stdout.write_all(&buffer[..count])?;
        stdout.flush()?;
    }
}

fn command() -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(CHILD);
    Ok(command)
}

/// Through two pipes.
#[derive(Debug)]
pub(super) struct Pipes {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
}

impl Pipes {
    pub(super) fn start() -> anyhow::Result<Self> {
        let mut child = command()?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().context("no stdout")?);
        Ok(Self { child, stdin, stdout })
    }

    /// A round trip.
    pub(super) fn ask(&mut self, line: &[u8]) -> anyhow::Result<()> {
        self.stdin.as_mut().context("no stdin")?.write_all(line)?;
        Ok(self.stdout.read_exact(&mut [0; MOST][..line.len()])?)
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        self.stdin = None;
        let _ended = self.child.wait();
    }
}

/// Through one socket.
#[derive(Debug)]
pub(super) struct Socket {
    child: Child,
    stream: UnixStream,
}

impl Socket {
    pub(super) fn start() -> anyhow::Result<Self> {
        let (stream, theirs) = UnixStream::pair()?;
        let (stdin, stdout) = (OwnedFd::from(theirs.try_clone()?), OwnedFd::from(theirs));
        let child = command()?.stdin(stdin).stdout(stdout).spawn()?;
        Ok(Self { child, stream })
    }

    /// A round trip.
    pub(super) fn ask(&mut self, line: &[u8]) -> anyhow::Result<()> {
        self.stream.write_all(line)?;
        Ok(self.stream.read_exact(&mut [0; MOST][..line.len()])?)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _closed = self.stream.shutdown(std::net::Shutdown::Both);
        let _ended = self.child.wait();
    }
}
