//! One line of the journal, narrowed to what it says about usage.
//!
//! Lines as murmur writes them are read by a scan that skips everything else. Whatever the scan might misread
//! is read by serde, so that both accept the same lines.

mod cursor;

use super::{Money, Tokens};
use cursor::Cursor;
use jiff::Timestamp;
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
    started: Cow<'a, [u8]>,
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
        let any = |text| std::str::from_utf8(text).ok()?.parse().ok();
        let started: Timestamp = as_written(&self.started).or_else(|| any(&self.started))?;
        let started = started.as_millisecond();
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
            started: match ts.0 {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
            duration_ms,
            workspace: workspace.0,
            heartbeat: heartbeat.map(|text| text.0),
            model: model.map(|text| text.0),
            is_quiet: is_quiet(outcome.0.as_bytes())?,
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
fn is_quiet(outcome: &[u8]) -> Option<bool> {
    match outcome {
        b"ok" | b"skipped" => Some(true),
        b"attention" | b"error" | b"limited" => Some(false),
        _ => None,
    }
}

/// The time `text`, if it has the form that murmur writes: `2026-02-03T10:00:00Z` or `2026-02-03T10:00:00.123Z`.
/// Parsing any form takes several times as long.
fn as_written(text: &[u8]) -> Option<Timestamp> {
    let (&[y1, y2, y3, y4, b'-', mo1, mo2, b'-', d1, d2, b'T', h1, h2, b':', mi1, mi2, b':', s1, s2], end) =
        text.split_first_chunk()?
    else {
        return None;
    };
    let [ms1, ms2, ms3] = match end {
        b"Z" => *b"000",
        [b'.', ms1, ms2, ms3, b'Z'] => [*ms1, *ms2, *ms3],
        _ => return None,
    };
    let mut is_valid = true;
    let mut number = |tens: u8, ones: u8| {
        let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
        is_valid &= tens < 10 && ones < 10;
        10 * i64::from(tens) + i64::from(ones)
    };
    let (year, month, day) = (100 * number(y1, y2) + number(y3, y4), number(mo1, mo2), number(d1, d2));
    let (hour, minute, second) = (number(h1, h2), number(mi1, mi2), number(s1, s2));
    let milliseconds = 100 * number(b'0', ms1) + number(ms2, ms3);
    if !is_valid || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = 60 * (60 * (24 * days_since_1970(year, month, day)? + hour) + minute) + second;
    Timestamp::from_millisecond(1000 * seconds + milliseconds).ok()
}

/// The days from 1970 to a date; `None` if there is no such date.
fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap_year = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(is_leap_year),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    // Years that begin in March end with the leap day, and 153 days are five of their months.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400);
    let days = 365 * years + leap_days + (153 * months + 2) / 5 + day - 1;
    (1..=last).contains(&day).then_some(days - DAYS_BEFORE_1970)
}

/// The days from March 1 of year 0 to 1970.
const DAYS_BEFORE_1970: i64 = 719_468;

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
    ts: &'a [u8],
    workspace: &'a str,
    outcome: &'a [u8],
    duration_ms: u64,
    is_other: bool,
    heartbeat: Option<&'a str>,
    cost: Option<Money>,
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
        let skipped = |at: &mut Cursor<'a>| at.skip().map(|_| 15);
        at.expect(b'{')?;
        loop {
            let bit = match at.initial()? {
                b't' if at.takes(br#""ts":"#) => {
                    found.ts = at.bytes().filter(|text| text.is_ascii())?;
                    0
                }
                b'w' if at.takes(br#""workspace":"#) => {
                    found.workspace = at.string()?;
                    1
                }
                b'o' if at.takes(br#""outcome":"#) => {
                    found.outcome = at.bytes()?;
                    2
                }
                b'd' if at.takes(br#""durationMs":"#) => {
                    found.duration_ms = at.whole_number()?;
                    3
                }
                b'k' if at.takes(br#""kind":"#) => {
                    let kind = at.skip()?;
                    // A string may spell `beat` with escapes.
                    if kind.contains(&b'\\') {
                        return None;
                    }
                    found.is_other = !matches!(kind, b"\"beat\"" | b"null");
                    4
                }
                b'h' if at.takes(br#""heartbeat":"#) => {
                    found.heartbeat = at.optional_string()?;
                    5
                }
                b'c' if at.takes(br#""costUsd":"#) => {
                    found.cost = match at.billionths() {
                        Some(billionths) => Some(Money(billionths)),
                        None => at.optional_number()?.and_then(Money::from_usd),
                    };
                    6
                }
                b'm' if at.takes(br#""model":"#) => {
                    found.model = at.optional_string()?;
                    7
                }
                b't' if at.takes(br#""tokens":"#) => {
                    found.tokens = tokens(&mut at)?;
                    8
                }
                b'e' if at.takes(br#""exit":"#) => {
                    found.has_run = at.skip()? != b"null";
                    9
                }
                // Nearly every line has these.
                b'a' if at.takes(br#""agent":"#) => skipped(&mut at)?,
                b'b' if at.takes(br#""beat":"#) => skipped(&mut at)?,
                b'n' if at.takes(br#""numTurns":"#) => skipped(&mut at)?,
                b's' if at.takes(br#""sessionId":"#) => skipped(&mut at)?,
                _ => {
                    at.skip_key()?;
                    skipped(&mut at)?
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
        let cost = self.cost;
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
        let (count, bit) = match at.initial()? {
            b'i' if at.takes(br#""input":"#) => (&mut tokens.input, 0),
            b'o' if at.takes(br#""output":"#) => (&mut tokens.output, 1),
            b'c' if at.takes(br#""cacheRead":"#) => (&mut tokens.cache_read, 2),
            b'c' if at.takes(br#""cacheWrite":"#) => (&mut tokens.cache_write, 3),
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
