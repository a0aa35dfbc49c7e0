//! `derun_read_output` with grep: matching lines from a cursor on, up to a gap.

use super::answer::Read;
use super::fail::{ToolError, shown};
use super::input::{Cursor, Pattern, ReadInput};
use super::read;
use super::state_root::StateRoot;
use crate::plain::plain;
use crate::record::{Gap, SCHEMA_VERSION};
use crate::search::{Query, Search};
use sys::clock;

/// How much is read at once.
const BLOCK: usize = 512 * 1024;
/// How many bytes to search in one call.
const MAX_SEARCHED: u64 = 64 * 1024 * 1024;
/// How many bytes to search with `strip_ansi`, which is slower.
const MAX_RENDERED: u64 = 16 * 1024 * 1024;
/// How many bytes before the cursor to read for context lines before the first match.
const BEFORE: u64 = 32 * 1024;

/// Searches a session's output.
pub(super) fn read(root: &StateRoot, input: &ReadInput, pattern: &Pattern) -> Result<Read, ToolError> {
    let render = input.options.strip_ansi.then_some(plain as fn(&[u8]) -> String);
    let query = Query::new(&pattern.regex, pattern.ignore_case, pattern.context, render)
        .map_err(|error| ToolError::argument("grep", one_line(&error.to_string())))?;
    let session = root.session(&input.session_id)?;
    let start = read::start(&session, input.from, input.options.encoding)?;
    let mut search = Search::new(&query, start, input.options.max_bytes);
    let most = if input.options.strip_ansi { MAX_RENDERED } else { MAX_SEARCHED };
    let mut at = start;
    if pattern.context > 0 && start > 0 {
        let from = start.saturating_sub(BEFORE);
        let length = usize::try_from(start - from).unwrap_or_default();
        let page = session.read(from, length, clock::now())?;
        let before = if page.gap.is_none() { page.bytes } else { Vec::new() };
        // The first line may be incomplete.
        let whole = if from == 0 { Some(0) } else { memchr::memchr(b'\n', &before).map(|at| at + 1) };
        search.prime(&before[whole.unwrap_or(before.len())..], from == 0);
    }
    let mut gap = None;
    let eof = loop {
        let page = session.read(at, BLOCK, clock::now())?;
        search.feed(&page.bytes);
        at = page.end();
        if page.gap.is_some() {
            search.finish();
            gap = page.gap.filter(|_| !search.is_full());
            break false;
        }
        if page.eof {
            search.finish();
            break !search.is_full();
        }
        if search.is_full() || page.bytes.len() < BLOCK {
            break false;
        }
        if at - start >= most {
            search.interrupt();
            break false;
        }
    };
    let next_cursor = Cursor(gap.map_or(search.next(), Gap::end));
    Ok(Read {
        schema_version: SCHEMA_VERSION,
        session_id: session.id().to_string(),
        state: session.status(clock::now())?.state,
        chunks: None,
        matches: Some(search.found().into_iter().map(Into::into).collect()),
        gap,
        next_cursor,
        eof,
    })
}

/// Puts a multi-line regex error on one line: its drawing of the position needs several.
fn one_line(error: &str) -> String {
    let last = error.lines().last().unwrap_or(error);
    shown(last.strip_prefix("error: ").unwrap_or(last))
}
