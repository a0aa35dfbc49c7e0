//! Writes the progress of a running beat in a thread, so that a stopped terminal or a pager that doesn't read cannot
//! keep the beat from its timeout.

use derun::cli::stdout::stdout;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

/// The maximum number of pending bytes. Beyond that, events are dropped and counted.
const WAITING: usize = 1 << 20;

/// A writer that never blocks.
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

    /// Writes the output of `draw`, unless too much is pending.
    pub(super) fn show(&mut self, draw: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
        if self.waiting.load(Ordering::Relaxed) > WAITING {
            self.left_out += 1;
        } else {
            self.show_always(draw);
        }
    }

    /// Writes the output of `draw` even if much is pending: for output that comes only once.
    pub(super) fn show_always(&mut self, draw: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
        let mut piece = Vec::new();
        match std::mem::take(&mut self.left_out) {
            0 => {}
            events => piece
                .extend(format!("[note] {events} events were dropped: stdout was not read\n").into_bytes()),
        }
        if draw(&mut piece).is_ok() {
            self.waiting.fetch_add(piece.len(), Ordering::Relaxed);
            // The reader may close its end at any time.
            let _gone = self.pieces.send(piece);
        }
    }

    /// Waits until everything is written or the reader is gone.
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
