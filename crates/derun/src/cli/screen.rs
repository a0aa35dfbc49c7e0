//! Writes output in a thread, so that a stopped terminal or a pager that doesn't read cannot block the program. On a
//! terminal, it keeps a few lines below the output, such as a progress line, a prompt, or what the user is typing.

use super::stdout::stdout;
use super::wrapped::{error_width, output_width, wrapped};
use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use sys::terminal;
use tokio::sync::oneshot;
use tokio::time::timeout;
use unicode_width::UnicodeWidthStr;

/// The maximum number of pending bytes. Beyond that, events are dropped and counted.
const WAITING: usize = 1 << 20;

/// How long a terminal may take to be written to in the end. A stopped one takes longer.
const LEAVE_TIMEOUT: Duration = Duration::from_millis(500);

/// How often lines that count seconds are drawn again.
const SECOND: Duration = Duration::from_secs(1);

/// The lines below the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// The lines.
    pub rows: Vec<String>,
    /// The row and the column of the cursor.
    pub cursor: (usize, usize),
}

impl Lines {
    /// One line, with the cursor behind it.
    pub fn one(text: String) -> Self {
        Self { cursor: (0, text.width()), rows: vec![text] }
    }
}

/// Draws the lines for a terminal of this many columns.
pub type Draw = Box<dyn Fn(usize) -> Lines + Send>;

/// What is below the output.
pub enum Footer {
    /// No lines.
    Nothing,
    /// Lines that count seconds.
    Counting(Draw),
}

enum Piece {
    Out(Vec<u8>),
    Error(Vec<u8>),
    Footer(Footer),
    Prompt(Option<Draw>),
    /// The user has ended the prompt's line.
    Typed,
    /// Answered once everything before it is written.
    Written(oneshot::Sender<()>),
}

/// Where pieces of output go. It never blocks.
#[derive(Clone)]
pub struct Sink {
    /// What was written and not flushed.
    text: Vec<u8>,
    pieces: Sender<Piece>,
    waiting: Arc<AtomicUsize>,
    /// The thread, before it starts with the first piece.
    thread: Arc<Mutex<Option<Thread>>>,
}

impl Sink {
    /// Writes the output of `draw` to stdout.
    pub fn out(&self, draw: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
        let mut piece = Vec::new();
        if draw(&mut piece).is_ok() {
            self.waiting.fetch_add(piece.len(), Ordering::Relaxed);
            self.send(Piece::Out(piece));
        }
    }

    /// Writes `line` to stderr.
    pub fn error(&self, line: &str) {
        self.send(Piece::Error(format!("{line}\n").into_bytes()));
    }

    /// Replaces the lines below the output.
    pub fn below(&self, bottom: Footer) {
        self.send(Piece::Footer(bottom));
    }

    /// Shows a prompt instead of the lines below the output, until it is removed or [`Self::typed`].
    pub fn prompt(&self, prompt: Option<Draw>) {
        self.send(Piece::Prompt(prompt));
    }

    /// Leaves the prompt where it is: its line has been typed, and the terminal has moved on.
    pub fn typed(&self) {
        self.send(Piece::Typed);
    }

    /// Waits until everything so far is written, but not for a stopped terminal.
    pub async fn written(&self) {
        let (sender, written) = oneshot::channel();
        self.send(Piece::Written(sender));
        let _stopped = timeout(LEAVE_TIMEOUT, written).await;
    }

    fn send(&self, piece: Piece) {
        if let Some(Thread { writer, written, sender }) = self.thread().take() {
            std::thread::spawn(move || {
                let _gone = sender.send(writer.run(&written));
            });
        }
        // The reader may close its end at any time.
        let _gone = self.pieces.send(piece);
    }

    fn thread(&self) -> MutexGuard<'_, Option<Thread>> {
        // No code that holds the lock panics.
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = std::mem::take(&mut self.text);
        self.out(|out| out.write_all(&text));
        Ok(())
    }
}

/// Where lines of output are broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrapping {
    /// Between words, as the terminal's width requires.
    Words,
    /// Nowhere: programs read them.
    Nothing,
}

/// A writer that never blocks.
pub struct Screen {
    sink: Sink,
    left_out: usize,
    done: oneshot::Receiver<io::Result<()>>,
    /// The result of what was written without the thread.
    direct: io::Result<()>,
}

impl Screen {
    /// Writes to stdout and stderr.
    pub fn new(wraps: Wrapping) -> Self {
        let (pieces, written) = channel();
        let (sender, done) = oneshot::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let writer = Writer {
            waiting: Arc::clone(&waiting),
            is_wrapped: wraps == Wrapping::Words,
            bottom: Footer::Nothing,
            prompt: None,
            is_due: false,
            drawn: None,
        };
        let thread = Arc::new(Mutex::new(Some(Thread { writer, written, sender })));
        Self { sink: Sink { text: Vec::new(), pieces, waiting, thread }, left_out: 0, done, direct: Ok(()) }
    }

    /// Another way to write to it.
    pub fn sink(&self) -> Sink {
        self.sink.clone()
    }

    /// Writes the output of `draw`, unless too much is pending.
    pub fn show(&mut self, draw: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
        if self.sink.waiting.load(Ordering::Relaxed) > WAITING {
            self.left_out += 1;
        } else {
            self.show_always(draw);
        }
    }

    /// Writes the output of `draw` even if much is pending: for output that comes only once.
    pub fn show_always(&mut self, draw: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
        let left_out = std::mem::take(&mut self.left_out);
        self.sink.out(|out| {
            if left_out > 0 {
                writeln!(out, "[note] {left_out} events were dropped: stdout was not read")?;
            }
            draw(out)
        });
    }

    /// Writes the output of `draw`, the last one. If it is the only one and need not wait for a reader, no thread is
    /// started.
    pub fn show_last(&mut self, draw: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
        let mut text = Vec::new();
        let drawn = draw(&mut text);
        if self.sink.thread().is_some() && terminal::stdout_takes(text.len()) {
            let mut stdout = stdout().lock();
            self.direct = drawn.and_then(|()| stdout.write_all(&text)).and_then(|()| stdout.flush());
        } else {
            self.show_always(|out| drawn.and_then(|()| out.write_all(&text)));
        }
    }

    /// Waits until everything is written or the reader is gone. Every [`Sink`] must be gone, too.
    pub async fn finish(self) -> io::Result<()> {
        drop(self.sink);
        match self.direct {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(error),
            Ok(()) => self.done.await.unwrap_or(Ok(())),
        }
    }
}

/// The thread that writes, before it starts.
struct Thread {
    writer: Writer,
    written: Receiver<Piece>,
    sender: oneshot::Sender<io::Result<()>>,
}

/// The thread's state.
struct Writer {
    waiting: Arc<AtomicUsize>,
    is_wrapped: bool,
    bottom: Footer,
    /// Shown instead.
    prompt: Option<Draw>,
    /// Whether the lines below the output have to be drawn.
    is_due: bool,
    /// The lines on the terminal, and its width when they were drawn.
    drawn: Option<(Lines, usize)>,
}

impl Writer {
    fn run(mut self, pieces: &Receiver<Piece>) -> io::Result<()> {
        match self.all(pieces) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    fn all(&mut self, pieces: &Receiver<Piece>) -> io::Result<()> {
        loop {
            // Draw once for all that is pending.
            let next = match pieces.try_recv() {
                Err(TryRecvError::Empty) => {
                    self.draw()?;
                    match self.bottom {
                        Footer::Counting(_) if self.prompt.is_none() => pieces.recv_timeout(SECOND),
                        _ => pieces.recv().map_err(|_| RecvTimeoutError::Disconnected),
                    }
                }
                next => next.map_err(|_| RecvTimeoutError::Disconnected),
            };
            match next {
                Ok(piece) => self.write(piece)?,
                Err(RecvTimeoutError::Timeout) => self.is_due = true,
                Err(RecvTimeoutError::Disconnected) => return self.erase(),
            }
        }
    }

    fn write(&mut self, piece: Piece) -> io::Result<()> {
        match piece {
            Piece::Out(bytes) => {
                self.erase()?;
                let text =
                    if self.is_wrapped { broken(&bytes, output_width()) } else { Cow::Borrowed(&*bytes) };
                let mut stdout = stdout().lock();
                stdout.write_all(&text).and_then(|()| stdout.flush())?;
                self.waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
                self.is_due = true;
            }
            Piece::Error(bytes) => {
                self.erase()?;
                // Output counts even if stderr can't be written.
                let _closed = io::stderr().write_all(&broken(&bytes, error_width()));
                self.is_due = true;
            }
            Piece::Footer(bottom) => (self.bottom, self.is_due) = (bottom, true),
            Piece::Prompt(prompt) => (self.prompt, self.is_due) = (prompt, true),
            Piece::Written(sender) => {
                self.draw()?;
                let _gone = sender.send(());
            }
            Piece::Typed => (self.prompt, self.drawn, self.is_due) = (None, None, true),
        }
        Ok(())
    }

    /// Removes the lines below the output.
    fn erase(&mut self) -> io::Result<()> {
        let Some((lines, columns)) = self.drawn.take() else { return Ok(()) };
        let mut stdout = stdout().lock();
        stdout.write_all(erasing(&lines, columns).as_bytes()).and_then(|()| stdout.flush())
    }

    /// Draws the lines below the output if they are due and differ from what is there.
    fn draw(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_due) {
            return Ok(());
        }
        let columns = terminal::size().map_or(0, |size| usize::from(size.ws_col));
        let columns = if columns == 0 { 80 } else { columns };
        let lines = match (&self.prompt, &self.bottom) {
            (None, Footer::Nothing) => return self.erase(),
            (Some(draw), _) | (None, Footer::Counting(draw)) => draw(columns),
        };
        if self.drawn.as_ref().is_some_and(|(drawn, width)| *drawn == lines && *width == columns) {
            return Ok(());
        }
        let before = self.drawn.take().map(|(lines, columns)| erasing(&lines, columns)).unwrap_or_default();
        let mut text = before + &lines.rows.join("\r\n");
        let below = lines.rows.len().saturating_sub(lines.cursor.0 + 1);
        if below > 0 {
            text.push_str(&format!("\x1b[{below}A"));
        }
        text.push('\r');
        if lines.cursor.1 > 0 {
            text.push_str(&format!("\x1b[{}C", lines.cursor.1));
        }
        let mut stdout = stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())?;
        self.drawn = Some((lines, columns));
        Ok(())
    }
}

/// Whole lines, broken for a terminal of `width` columns.
fn broken(bytes: &[u8], width: Option<usize>) -> Cow<'_, [u8]> {
    match width {
        Some(_) => wrapped(&String::from_utf8_lossy(bytes), width).into_bytes().into(),
        None => bytes.into(),
    }
}

/// What removes `lines` from a terminal on which they were drawn with this many columns.
fn erasing(lines: &Lines, columns: usize) -> String {
    let rows = |text: &str| text.width().saturating_sub(1) / columns.max(1);
    let above = lines.rows.iter().take(lines.cursor.0);
    let up = above.map(|row| 1 + rows(row)).sum::<usize>() + lines.cursor.1 / columns.max(1);
    if up > 0 { format!("\x1b[{up}A\r\x1b[J") } else { "\r\x1b[J".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_removed_from_the_first_one_on() {
        assert_eq!(erasing(&Lines::one("12s".to_owned()), 80), "\r\x1b[J");
        let two = Lines { rows: vec!["> a".to_owned(), "  b".to_owned()], cursor: (1, 3) };
        assert_eq!(erasing(&two, 80), "\x1b[1A\r\x1b[J");
    }
}
