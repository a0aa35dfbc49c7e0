//! A large journal.

use super::home::Home;
use super::measure::Size;
use jiff::SignedDuration;
use murmur_agent::event::Tokens;
use murmur_core::id::SessionId;
use murmur_outcome::{Outcome, OutcomeKind};
use murmur_store::journal::entry::JournalEntry;
use std::fs::File;
use std::io::{BufWriter, Write};
use sys::clock;
use sys::process::Exit;

/// How many beats it has.
pub(crate) const LINES: Size<usize> = Size { full: 1_000_000, tiny: 2000 };
/// One in so many beats fails.
const ERROR_EVERY: usize = 10_000;
/// The beats alternate between so many workspaces.
const WORKSPACES: usize = 100;

/// A beat a minute, the last one now.
pub(crate) fn write(home: &Home) -> anyhow::Result<()> {
    write_lines(home, LINES.get())
}

/// The same with `lines` beats.
pub(crate) fn write_lines(home: &Home, lines: usize) -> anyhow::Result<()> {
    let mut journal = BufWriter::with_capacity(1 << 20, File::create(home.journal())?);
    let now = clock::now();
    for number in 0..lines {
        let minutes = i64::try_from(lines - number)?;
        let at = now.checked_sub(SignedDuration::from_mins(minutes))?;
        let mut entry = JournalEntry {
            beat: Some(murmur::beat::new_id(at)),
            agent: format!("{:03}-{number:08x}", number % WORKSPACES),
            session_id: Some(SessionId::new(format!("{number:08x}-0000-4000-8000-000000000001"))),
            cost_usd: Some(0.0132),
            model: Some("claude-opus-4-5".to_owned()),
            tokens: Some(Tokens { input: 1234, output: 567, cache_read: 45_678, cache_write: 8901 }),
            num_turns: Some(3),
            exit: Some(Exit::Code(0)),
            ..JournalEntry::new(
                clock::rfc3339(at),
                format!("/workspaces/{:03}", number % WORKSPACES),
                OutcomeKind::Ok,
                41_234,
            )
        };
        if number % ERROR_EVERY == ERROR_EVERY / 2 {
            entry.set_outcome(Outcome::Error("API Error: 429 rate limited; try again later".to_owned()));
        } else if number % 10 == 0 {
            entry.set_outcome(Outcome::Attention("ATTENTION: two builds failed on main".to_owned()));
        }
        journal.write_all(entry.line()?.as_bytes())?;
    }
    journal.flush()?;
    Ok(())
}
