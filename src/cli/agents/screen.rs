//! The terminal's alternate screen, which shows frames in place and is restored afterward.
//!
//! A thread writes to it, so that a stopped terminal doesn't block the program from exiting.

use derun::cli::stdout::stdout;
use std::io::Write;
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

/// Enters the alternate screen, hides the cursor, and clears what a killed program may have left there: then the
/// terminal is on that screen already, and doesn't clear it.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[0m\x1b[2J";

/// Shows the cursor and leaves the alternate screen.
pub(in crate::cli) const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// How long to wait for the terminal to be restored. A stopped terminal takes longer.
const LEAVE_TIMEOUT: Duration = Duration::from_millis(500);

/// The maximum number of pending writes: the first, a frame and the last, plus one.
const MAX_PENDING: usize = 4;

/// The alternate screen; active while this exists.
#[derive(Debug)]
pub(in crate::cli) struct Screen {
    pictures: mpsc::SyncSender<String>,
    /// One message per write: whether it succeeded.
    written: Receiver<bool>,
    /// The number of pending writes.
    waiting: usize,
}

impl Screen {
    /// Enters the alternate screen.
    pub(in crate::cli) fn begin() -> Self {
        let (pictures, to_write) = mpsc::sync_channel::<String>(MAX_PENDING);
        let (sender, written) = channel(MAX_PENDING);
        std::thread::spawn(move || {
            for picture in to_write {
                let mut stdout = stdout().lock();
                let done = stdout.write_all(picture.as_bytes()).and_then(|()| stdout.flush());
                if sender.blocking_send(done.is_ok()).is_err() {
                    return;
                }
            }
        });
        let mut screen = Self { pictures, written, waiting: 0 };
        screen.write(ENTER.to_owned());
        screen
    }

    /// Writes `text`, unless too much is pending.
    pub(in crate::cli) fn write(&mut self, text: String) {
        self.waiting += usize::from(self.pictures.try_send(text).is_ok());
    }

    /// Whether a frame would be written at once.
    pub(in crate::cli) fn is_free(&self) -> bool {
        self.waiting == 0
    }

    /// Waits for a pending write, if there is one; returns whether it succeeded.
    pub(in crate::cli) async fn written(&mut self) -> bool {
        if self.waiting == 0 {
            return std::future::pending().await;
        }
        let written = self.written.recv().await.unwrap_or(false);
        self.waiting -= 1;
        written
    }

    /// Draws a frame.
    pub(in crate::cli) fn draw(&mut self, lines: &[String]) {
        let picture = lines.join("\x1b[K\r\n");
        self.write(format!("\x1b[H{picture}\x1b[K\x1b[J"));
    }

    /// Leaves the alternate screen.
    pub(in crate::cli) async fn leave(&mut self) {
        self.write(LEAVE.to_owned());
        let all = async { while self.waiting > 0 && self.written().await {} };
        let _stopped = timeout(LEAVE_TIMEOUT, all).await;
    }
}
