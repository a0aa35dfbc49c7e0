//! What a beat shows while it runs, written by a thread of its own: a terminal that is stopped, or a pager that does
//! not read, must not keep the beat from its timeout.

use derun::cli::stdout::stdout;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

/// The most bytes that wait to be written. When there are more, what comes is left out, and how much is said.
const WAITING: usize = 1 << 20;

/// Somewhere to write to that never waits.
#[derive(Debug)]
pub(super) struct Screen {
    pieces: Sender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    left_out: usize,
    done: oneshot::Receiver<io::Result<()>>,
}

impl Screen {
    /// Writes to stdout.
    pub(super) fn new() -> Self {
        let (pieces, written) = channel();
        let (tell, done) = oneshot::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let still_waiting = Arc::clone(&waiting);
        std::thread::spawn(move || {
            let _gone = tell.send(write_all(&written, &still_waiting));
        });
        Self { pieces, waiting, left_out: 0, done }
    }

    /// Shows what `draw` writes, unless too much waits already.
    pub(super) fn show(&mut self, draw: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
        if self.waiting.load(Ordering::Relaxed) > WAITING {
            self.left_out += 1;
        } else {
            self.say(draw);
        }
    }

    /// Shows what `draw` writes, however much waits: for what comes once.
    pub(super) fn say(&mut self, draw: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
        let mut piece = Vec::new();
        match std::mem::take(&mut self.left_out) {
            0 => {}
            events => {
                piece.extend(format!("[note] {events} events are not shown: nobody read\n").into_bytes())
            }
        }
        if draw(&mut piece).is_ok() {
            self.waiting.fetch_add(piece.len(), Ordering::Relaxed);
            // A reader that has gone has every right to.
            let _gone = self.pieces.send(piece);
        }
    }

    /// Waits until all of it is written, or nobody reads any more.
    ///
    /// # Errors
    /// Why it could not be written.
    pub(super) async fn finish(self) -> io::Result<()> {
        drop(self.pieces);
        self.done.await.unwrap_or(Ok(()))
    }
}

fn write_all(pieces: &Receiver<Vec<u8>>, waiting: &AtomicUsize) -> io::Result<()> {
    let mut stdout = stdout().lock();
    for piece in pieces {
        match stdout.write_all(&piece).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
        waiting.fetch_sub(piece.len(), Ordering::Relaxed);
    }
    Ok(())
}
