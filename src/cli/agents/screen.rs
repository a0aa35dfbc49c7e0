//! A terminal's other screen, on which pictures are drawn one over the other. What was there before comes back.
//!
//! A thread writes, so that a terminal that is stopped keeps nobody from stopping us.

use derun::cli::stdout::stdout;
use std::io::Write;
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

/// The other screen, without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";

/// The cursor, and the screen that was there.
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// How long a terminal may take to get back to what it was; one that is stopped takes longer.
const LEAVING: Duration = Duration::from_millis(500);

/// The most that may be written and not yet be: what comes first, a picture, and what comes last; one more is room.
const MOST: usize = 4;

/// The screen, while it is the other one.
#[derive(Debug)]
pub(super) struct Screen {
    pictures: mpsc::SyncSender<String>,
    /// Whether each was written.
    written: Receiver<bool>,
    /// How many are being written.
    waiting: usize,
}

impl Screen {
    /// Shows it.
    pub(super) fn begin() -> Self {
        let (pictures, to_write) = mpsc::sync_channel::<String>(MOST);
        let (tell, written) = channel(MOST);
        std::thread::spawn(move || {
            for picture in to_write {
                let mut stdout = stdout().lock();
                let done = stdout.write_all(picture.as_bytes()).and_then(|()| stdout.flush());
                if tell.blocking_send(done.is_ok()).is_err() {
                    return;
                }
            }
        });
        let mut screen = Self { pictures, written, waiting: 0 };
        screen.write(ENTER.to_owned());
        screen
    }

    fn write(&mut self, text: String) {
        self.waiting += usize::from(self.pictures.try_send(text).is_ok());
    }

    /// Whether a picture would be written at once.
    pub(super) fn is_free(&self) -> bool {
        self.waiting == 0
    }

    /// Waits until something is written, if there is anything; whether it was.
    pub(super) async fn written(&mut self) -> bool {
        if self.waiting == 0 {
            return std::future::pending().await;
        }
        let written = self.written.recv().await.unwrap_or(false);
        self.waiting -= 1;
        written
    }

    /// Draws `lines` over what is there.
    pub(super) fn draw(&mut self, lines: &[String]) {
        let picture = lines.join("\x1b[K\r\n");
        self.write(format!("\x1b[H{picture}\x1b[K\x1b[J"));
    }

    /// Shows the screen that was there before.
    pub(super) async fn leave(&mut self) {
        self.write(LEAVE.to_owned());
        let all = async { while self.waiting > 0 && self.written().await {} };
        let _stopped = timeout(LEAVING, all).await;
    }
}
