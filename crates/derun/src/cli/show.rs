//! `murmur capture show`: prints a session's exact output, also while it is running.
//!
//! Both channels are printed in the order they were captured, block by block, so a session may have any size.
//!
//! On a terminal, the bytes have the same effects as the first time. Afterward, modes that an interrupted program
//! may leave behind are reset, where that does no harm: colors, the cursor, keyboard and mouse modes. `--plain`
//! prints no control characters.

use super::args::Show as Args;
use super::captures;
use super::json;
use super::runtime;
use super::sessions::SessionRow;
use super::stdout::{self, stdout};
use super::style::plain_line;
use crate::plain::Plain;
use crate::record::Gap;
use crate::session::{Session, Status};
use crate::store::{Store, StoreError};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use sys::clock;
use sys::failure;

/// How much is read at once.
const BLOCK: usize = 256 * 1024;

/// Default colors, a visible cursor, normal key codes, no mouse reports, no bracketed paste.
const RESTORE: &[u8] =
    b"\x1b[0m\x1b[?25h\x1b[?1l\x1b>\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l";

/// Prints a session's output.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let session = open(captures::existing()?.as_ref(), &args.id)?;
    let out = stdout().lock();
    let restores = io::stdout().is_terminal() && !args.plain;
    let mut sink = Sink { out, plain: args.plain.then(Plain::default), text: String::new() };
    let shown = show(args, &session, &mut sink);
    if restores {
        sink.out.write_all(RESTORE)?;
        sink.out.flush()?;
    }
    shown?;
    if let Some(note) = note(&session.status(clock::now())?, session.gap().unwrap_or_default()) {
        stdout::note(plain_line(&note))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints facts about a session as JSON.
pub fn describe(id: &str) -> anyhow::Result<ExitCode> {
    let session = open(captures::existing()?.as_ref(), id)?;
    let row = SessionRow::new(&session, session.status(clock::now())?);
    json::print(&mut stdout().lock(), "capture/1", &row)?;
    Ok(ExitCode::SUCCESS)
}

fn open(store: Option<&Store>, id: &str) -> anyhow::Result<Session> {
    let session = store.map_or_else(|| Err(StoreError::NotFound(id.to_owned())), |store| store.session(id));
    session.map_err(|error| match error {
        StoreError::NotFound(_) => anyhow::Error::new(
            failure!("session not found: {}", plain_line(id); "list them with: murmur capture list"),
        ),
        error => error.into(),
    })
}

fn show(args: &Args, session: &Session, sink: &mut Sink<impl Write>) -> anyhow::Result<()> {
    if args.follow {
        runtime()?.block_on(follow(args, session, sink))?;
    } else {
        let end = end(session)?;
        let mut at = start(args, session, end)?;
        while at < end {
            let most = usize::try_from(end - at).unwrap_or(BLOCK).min(BLOCK);
            let page = session.read(at, most, clock::now())?;
            if page.next() == at {
                break;
            }
            sink.take(&page.bytes)?;
            at = page.next();
        }
    }
    Ok(sink.end()?)
}

/// Prints existing and new output until the session ends.
async fn follow(args: &Args, session: &Session, sink: &mut Sink<impl Write>) -> anyhow::Result<()> {
    let mut following = session.follow()?;
    let mut at = start(args, session, end(session)?)?;
    loop {
        let page = session.read(at, BLOCK, clock::now())?;
        sink.take(&page.bytes)?;
        let is_idle = page.next() == at;
        at = page.next();
        if page.eof {
            return Ok(());
        }
        if is_idle {
            following.changed().await?;
        }
    }
}

/// The current size; 0 until the output file exists.
fn end(session: &Session) -> Result<u64, StoreError> {
    match session.end() {
        Err(StoreError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(0),
        end => end,
    }
}

/// The offset to start at: the first of the last lines, if only some are wanted, but not before a gap. An unterminated
/// last line counts.
fn start(args: &Args, session: &Session, end: u64) -> Result<u64, StoreError> {
    let Some(lines) = args.tail else { return Ok(0) };
    let mut breaks = 0;
    let mut before = end;
    let least = if end > 0 { session.gap()?.map_or(0, Gap::end).min(end) } else { 0 };
    while before > least && lines > 0 {
        let at = before.saturating_sub(BLOCK as u64).max(least);
        let most = usize::try_from(before - at).unwrap_or(BLOCK);
        let page = session.read(at, most, clock::now())?;
        for found in memchr::memrchr_iter(b'\n', &page.bytes) {
            let behind = at + found as u64 + 1;
            breaks += usize::from(behind < end);
            if breaks == lines {
                return Ok(behind);
            }
        }
        before = at;
    }
    Ok(if lines == 0 { end } else { least })
}

/// Writes output, unchanged or as plain text.
struct Sink<W> {
    out: W,
    plain: Option<Plain>,
    text: String,
}

impl<W: Write> Sink<W> {
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.plain {
            None => self.out.write_all(bytes)?,
            Some(plain) => {
                plain.feed(bytes, &mut self.text);
                self.out.write_all(self.text.as_bytes())?;
                self.text.clear();
            }
        }
        self.out.flush()
    }

    fn end(&mut self) -> io::Result<()> {
        if let Some(plain) = &mut self.plain {
            plain.finish(&mut self.text);
            self.out.write_all(self.text.as_bytes())?;
        }
        self.out.flush()
    }
}

/// Facts about the session that its output doesn't show.
fn note(status: &Status, gap: Option<Gap>) -> Option<String> {
    let last = status.last.as_ref();
    let gap = gap.map(|Gap { offset, length }| {
        format!("{length} bytes after the first {offset} were not kept: the session reached its maximum size")
    });
    let unwritten = "its end was not recorded: the capturing process died, or the disk was full".to_owned();
    let unwritten = (last.is_none() && !status.state.is_active()).then_some(unwritten);
    let lost = last.and_then(|last| last.lost.as_ref()).map(|lost| {
        format!("{} bytes after the first {} were lost: {}", lost.lost_bytes, lost.kept_bytes, lost.reason)
    });
    let failed =
        last.and_then(|last| last.error.as_ref()).map(|error| format!("the session failed: {error}"));
    let notes: Vec<String> = [gap, unwritten, lost, failed].into_iter().flatten().collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}
