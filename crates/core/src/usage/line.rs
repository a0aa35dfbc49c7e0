//! One line of the journal, narrowed to what it says about usage.
//!
//! Lines as murmur writes them are read by a scan that skips everything else. Whatever the scan might misread
//! is read by serde, so that both accept the same lines.

mod cursor;

use super::{Money, Tokens};
use cursor::Cursor;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A beat.
#[derive(Debug, Clone, PartialEq)]
pub struct BeatUsage<'a> {
    /// The workspace's path.
    pub workspace: Cow<'a, str>,
    /// The heartbeat's name, if it is a named one.
    pub heartbeat: Option<Cow<'a, str>>,
    /// The model.
    pub model: Option<Cow<'a, str>>,
    /// When it started, as written.
    started: Cow<'a, str>,
    duration_ms: u64,
    /// Whether there was nothing to report, or nothing to do.
    pub is_quiet: bool,
    /// What it cost, if the agent reported that.
    pub cost: Option<Money>,
    /// Whether its agent ran and reported no cost.
    pub lacks_cost: bool,
    /// Its tokens.
    pub tokens: Tokens,
}

impl<'a> BeatUsage<'a> {
    /// Reads a line without its newline; `None` if it is not a beat.
    #[must_use]
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        match Scanned::scan(line) {
            Some(scanned) => scanned.line(),
            None => Self::parse_slowly(line),
        }
    }

    /// When it ended, in milliseconds since 1970; `None` if its time is not readable. Not every sum needs it.
    #[must_use]
    pub fn ended(&self) -> Option<i64> {
        let started = &*self.started;
        let started = as_written(started).or_else(|| started.parse().ok())?.as_millisecond();
        started.checked_add(i64::try_from(self.duration_ms).ok()?)
    }

    /// The same with serde alone.
    fn parse_slowly(line: &'a [u8]) -> Option<Self> {
        let written: Written<'a> = serde_json::from_slice(line).ok()?;
        let Written { ts, workspace, outcome, duration_ms, kind, heartbeat, cost_usd, model, tokens, .. } =
            written;
        let kind = kind.map(|kind| serde_json::from_str::<Option<String>>(kind.get()));
        let is_beat = match kind {
            None | Some(Ok(None)) => true,
            Some(Ok(Some(word))) => word == "beat",
            Some(Err(_)) => false,
        };
        let tokens = tokens.unwrap_or_default();
        let cost = cost_usd.and_then(Money::from_usd);
        let line = Self {
            started: ts.0,
            duration_ms,
            workspace: workspace.0,
            heartbeat: heartbeat.map(|text| text.0),
            model: model.map(|text| text.0),
            is_quiet: is_quiet(&outcome.0)?,
            cost,
            lacks_cost: cost.is_none() && written.exit.is_some(),
            tokens: Tokens {
                input: tokens.input,
                output: tokens.output,
                cache_read: tokens.cache_read,
                cache_write: tokens.cache_write,
            },
        };
        is_beat.then_some(line)
    }
}

/// Whether an outcome is quiet; `None` if it is unknown.
fn is_quiet(outcome: &str) -> Option<bool> {
    match outcome {
        "ok" | "skipped" => Some(true),
        "attention" | "error" | "limited" => Some(false),
        _ => None,
    }
}

/// The time `text`, if it has the form that murmur writes: `2026-02-03T10:00:00Z` or `2026-02-03T10:00:00.123Z`.
/// Parsing any form takes several times as long.
fn as_written(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let number = |at: usize, digits: usize| {
        let digits = bytes.get(at..at + digits)?.iter();
        digits
            .map(|digit| digit.is_ascii_digit().then(|| i16::from(digit - b'0')))
            .try_fold(0, |number, digit| Some(10 * number + digit?))
    };
    let small = |at: usize| i8::try_from(number(at, 2)?).ok();
    let milliseconds = match (bytes.len(), bytes.get(19)?) {
        (20, b'Z') => 0,
        (24, b'.') if bytes[23] == b'Z' => i32::from(number(20, 3)?),
        _ => return None,
    };
    let is_separated = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')]
        .iter()
        .all(|(at, byte)| bytes[*at] == *byte);
    let nanoseconds = 1_000_000 * milliseconds;
    let at =
        DateTime::new(number(0, 4)?, small(5)?, small(8)?, small(11)?, small(14)?, small(17)?, nanoseconds);
    Offset::UTC.to_timestamp(at.ok().filter(|_| is_separated)?).ok()
}

/// A line for serde.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    #[serde(borrow)]
    ts: Text<'a>,
    #[serde(borrow)]
    workspace: Text<'a>,
    #[serde(borrow)]
    outcome: Text<'a>,
    duration_ms: u64,
    #[serde(borrow, default)]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    heartbeat: Option<Text<'a>>,
    #[serde(default)]
    cost_usd: Option<f64>,
    #[serde(borrow, default)]
    model: Option<Text<'a>>,
    #[serde(default)]
    tokens: Option<WrittenTokens>,
    #[serde(borrow, default)]
    exit: Option<&'a RawValue>,
}

/// Borrowed, unless it has escapes. (Serde borrows a bare `Cow` only without an `Option`.)
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WrittenTokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

/// What the scan found.
#[derive(Default)]
struct Scanned<'a> {
    /// A bit for each known key that was seen: serde accepts none twice.
    seen: u16,
    ts: &'a str,
    workspace: &'a str,
    outcome: &'a str,
    duration_ms: u64,
    is_other: bool,
    heartbeat: Option<&'a str>,
    cost: Option<f64>,
    model: Option<&'a str>,
    tokens: Tokens,
    has_run: bool,
}

/// The bits of the keys that every line has: `ts`, `workspace`, `outcome` and `durationMs`.
const REQUIRED: u16 = 0b1111;

impl<'a> Scanned<'a> {
    /// Returns `None` for a line that serde must read.
    fn scan(line: &'a [u8]) -> Option<Self> {
        let mut at = Cursor::new(line);
        let mut found = Self::default();
        at.expect(b'{')?;
        loop {
            let key = at.key()?;
            let bit = match key {
                b"ts" => {
                    found.ts = at.string()?;
                    0
                }
                b"workspace" => {
                    found.workspace = at.string()?;
                    1
                }
                b"outcome" => {
                    found.outcome = at.string()?;
                    2
                }
                b"durationMs" => {
                    found.duration_ms = at.whole_number()?;
                    3
                }
                b"kind" => {
                    let kind = at.skip()?;
                    // A string may spell `beat` with escapes.
                    if kind.contains(&b'\\') {
                        return None;
                    }
                    found.is_other = !matches!(kind, b"\"beat\"" | b"null");
                    4
                }
                b"heartbeat" => {
                    found.heartbeat = at.optional_string()?;
                    5
                }
                b"costUsd" => {
                    found.cost = at.optional_number()?;
                    6
                }
                b"model" => {
                    found.model = at.optional_string()?;
                    7
                }
                b"tokens" => {
                    found.tokens = tokens(&mut at)?;
                    8
                }
                b"exit" => {
                    found.has_run = at.skip()? != b"null";
                    9
                }
                _ => {
                    at.skip()?;
                    15
                }
            };
            if bit < 15 && found.seen & 1 << bit != 0 {
                return None;
            }
            found.seen |= 1 << bit;
            match at.next()? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        (at.is_at_end() && found.seen & REQUIRED == REQUIRED).then_some(found)
    }

    fn line(self) -> Option<BeatUsage<'a>> {
        if self.is_other {
            return None;
        }
        let cost = self.cost.and_then(Money::from_usd);
        Some(BeatUsage {
            started: Cow::Borrowed(self.ts),
            duration_ms: self.duration_ms,
            workspace: Cow::Borrowed(self.workspace),
            heartbeat: self.heartbeat.map(Cow::Borrowed),
            model: self.model.map(Cow::Borrowed),
            is_quiet: is_quiet(self.outcome)?,
            cost,
            lacks_cost: cost.is_none() && self.has_run,
            tokens: self.tokens,
        })
    }
}

fn tokens(at: &mut Cursor<'_>) -> Option<Tokens> {
    let mut tokens = Tokens::default();
    let mut seen = 0u8;
    at.expect(b'{')?;
    loop {
        let (count, bit) = match at.key()? {
            b"input" => (&mut tokens.input, 0),
            b"output" => (&mut tokens.output, 1),
            b"cacheRead" => (&mut tokens.cache_read, 2),
            b"cacheWrite" => (&mut tokens.cache_write, 3),
            _ => return None,
        };
        if seen & 1 << bit != 0 {
            return None;
        }
        seen |= 1 << bit;
        *count = at.whole_number()?;
        match at.next()? {
            b',' => {}
            b'}' => return Some(tokens),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests;
