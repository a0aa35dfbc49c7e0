//! `derun_read_output` without grep: output from a cursor on, in chunks.

use super::answer::{Chunk, Read};
use super::fail::ToolError;
use super::input::{Cursor, Encoding, OutputOptions, ReadInput, Start};
use super::state_root::StateRoot;
use crate::plain::plain;
use crate::record::{Gap, SCHEMA_VERSION, State, Stretch};
use crate::session::{Page, Session};
use crate::store::StoreError;
use crate::tail;
use crate::text::{self, Piece};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sys::clock;

/// How far to search backwards for the start of a line.
const MAX_BACK: u64 = 64 * 1024 * 1024;

/// A part of the output.
#[derive(Debug)]
pub(super) struct Portion {
    pub(super) state: State,
    pub(super) chunks: Vec<Chunk>,
    pub(super) gap: Option<Gap>,
    pub(super) next: u64,
    pub(super) eof: bool,
}

/// Reads a session's output.
pub(super) fn read(root: &StateRoot, input: &ReadInput) -> Result<Read, ToolError> {
    let session = root.session(&input.session_id)?;
    let cursor = start(&session, input.from, input.options.encoding)?;
    let Portion { state, chunks, gap, next, eof } = portion(&session, cursor, &input.options)?;
    Ok(Read {
        schema_version: SCHEMA_VERSION,
        session_id: session.id().to_string(),
        state,
        chunks: Some(chunks),
        matches: None,
        gap,
        next_cursor: Cursor(next),
        eof,
    })
}

/// The cursor to start reading at: not before a gap if it is relative to the end. The last bytes in text start at a
/// character boundary.
pub(super) fn start(session: &Session, start: Start, encoding: Encoding) -> Result<u64, ToolError> {
    let bytes = |from: u64, to: u64| {
        let most = usize::try_from(to - from).unwrap_or(usize::MAX);
        session.read(from, most, clock::now()).map(|page| page.bytes)
    };
    match start {
        Start::Cursor(cursor) => Ok(cursor),
        Start::LastBytes(count) => {
            let end = end(session)?;
            let after_gap = after_gap(session, end)?;
            let from = end.saturating_sub(count).max(after_gap);
            if from == after_gap || encoding == Encoding::Base64 {
                return Ok(from);
            }
            Ok(from + text::left_over(&bytes(from, end.min(from + 3))?) as u64)
        }
        Start::LastLines(count) => {
            let end = end(session)?;
            let least = end.saturating_sub(MAX_BACK).max(after_gap(session, end)?);
            Ok(tail::lines(count, end, least, bytes)?)
        }
    }
}

/// The size of a session's output; 0 if the session has just started and has no files yet.
fn end(session: &Session) -> Result<u64, StoreError> {
    session.end().or_else(|error| match session.read(0, 0, clock::now()) {
        Ok(nothing) => Ok(nothing.next()),
        Err(_) => Err(error),
    })
}

/// The offset after the gap in the output; 0 if there is none.
fn after_gap(session: &Session, end: u64) -> Result<u64, StoreError> {
    Ok(if end > 0 { session.gap()?.map_or(0, Gap::end).min(end) } else { 0 })
}

/// At most `options.max_bytes` of output from `cursor` on.
pub(super) fn portion(session: &Session, cursor: u64, options: &OutputOptions) -> Result<Portion, ToolError> {
    let mut page = session.read(cursor, options.max_bytes, clock::now())?;
    let state = session.status(clock::now())?.state;
    if !state.is_active() && !page.eof && page.gap.is_none() && page.bytes.len() < options.max_bytes {
        // The session ended meanwhile, so all of its output exists now.
        page = session.read(cursor, options.max_bytes, clock::now())?;
    }
    let ready = ready(&page, options);
    let mut chunks = Vec::new();
    for (stretch, bytes) in page.chunks() {
        let left = usize::try_from(cursor + ready as u64 - stretch.offset.min(cursor + ready as u64));
        let bytes = &bytes[..bytes.len().min(left.unwrap_or(usize::MAX))];
        add(&mut chunks, &page, &stretch, bytes, options);
    }
    let gap = page.gap.filter(|_| ready == page.bytes.len());
    let next = if gap.is_some() { page.next() } else { cursor + ready as u64 };
    Ok(Portion { state, chunks, gap, next, eof: page.eof })
}

/// How many of the page's bytes to return now.
fn ready(page: &Page, options: &OutputOptions) -> usize {
    let bytes = &page.bytes[..];
    let is_full = bytes.len() == options.max_bytes;
    if options.encoding == Encoding::Base64 || page.eof || page.gap.is_some() {
        return bytes.len();
    }
    let ready = text::ready(bytes, is_full, false);
    if !options.strip_ansi {
        return ready;
    }
    let whole = ready - text::begun_escape(&bytes[..ready]);
    match memchr::memrchr(b'\n', &bytes[..whole]) {
        // More output follows, and a line is final only at its end.
        Some(newline) if is_full => newline + 1,
        None if is_full && whole == 0 => ready,
        _ => whole,
    }
}

fn add(chunks: &mut Vec<Chunk>, page: &Page, stretch: &Stretch, bytes: &[u8], options: &OutputOptions) {
    let mut at = stretch.offset;
    let mut push = |length: usize, text: Option<String>, data_base64: Option<String>| {
        let start_cursor = Cursor(at);
        let time = page.time_of(at).unwrap_or(stretch.timestamp);
        at += length as u64;
        chunks.push(Chunk {
            channel: stretch.channel,
            start_cursor,
            end_cursor: Cursor(at),
            timestamp: clock::rfc3339(time),
            encoding: if text.is_some() { Encoding::Text } else { Encoding::Base64 },
            text,
            data_base64,
        });
    };
    match options.encoding {
        _ if bytes.is_empty() => {}
        Encoding::Base64 => push(bytes.len(), None, Some(STANDARD.encode(bytes))),
        Encoding::Text if options.strip_ansi => push(bytes.len(), Some(plain(bytes)), None),
        Encoding::Text => {
            for piece in text::pieces(bytes) {
                match piece {
                    Piece::Text(text) => push(text.len(), Some(text.to_owned()), None),
                    Piece::Bytes(bytes) => push(bytes.len(), None, Some(STANDARD.encode(bytes))),
                }
            }
        }
    }
}
