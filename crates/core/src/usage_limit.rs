//! Usage limits. Pure: takes what agents reported about an account and the time; returns until when nothing may start.
//!
//! [`hold`] is for an account whose limit is reached, and [`Usage::reserved_until`] for one with too little left.
//! [`LimitMessage`] is for agents that only report a limit as text.

mod message;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use crate::config::reserve::Reserve;
pub use message::{LimitMessage, is_other_limit};

/// How far in the future a reset of `window` may lie. Limits that don't say how long they last are per month at most.
/// Clocks may differ a little.
fn max_ahead(window: &str) -> SignedDuration {
    let hours = match window {
        "five_hour" => 6,
        weekly if weekly.starts_with("seven_day") => 8 * 24,
        _ => 32 * 24,
    };
    SignedDuration::from_hours(hours)
}

/// The longest extra wait after a reset, in seconds. Each account has its own, so that not all of them start at once.
const MAX_JITTER: u64 = 120;

/// An account whose usage is limited as a whole: the program, its folder and the kind of credential. Never a secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Account(Arc<str>);

impl Account {
    /// An account of `program`, whose settings are in `folder`, with a `kind` of credential.
    #[must_use]
    pub fn new(program: &str, folder: &str, kind: &str) -> Self {
        Self(format!("{program} {folder} ({kind})").into())
    }

    /// Its name in files and for people.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The extra wait after a reset, which is fixed per account.
    fn jitter(&self) -> SignedDuration {
        // FNV-1a, which every version computes alike.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = self.0.bytes().fold(0xcbf2_9ce4_8422_2325, step);
        SignedDuration::from_secs((hash % (MAX_JITTER + 1)).cast_signed())
    }
}

impl fmt::Display for Account {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// One of an account's limits, as last reported.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    /// `allowed`, `allowed_warning` or `rejected`.
    pub status: String,
    /// The used part, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilization: Option<f64>,
    /// When it resets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
    /// When this was reported.
    pub reported_at: Timestamp,
}

/// An account on hold: nothing that uses it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// The limit that was reached, such as `five_hour`.
    pub window: String,
    /// When that limit resets.
    pub resets_at: Timestamp,
    /// When the hold ends.
    pub until: Timestamp,
}

/// Why there is no hold although a limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnknownReset {
    /// The report has no time.
    #[error("its reset time is unknown")]
    Missing,
    /// The time is not in the future.
    #[error("its reset time is in the past")]
    Past,
    /// The time is too far in the future.
    #[error("its reset time is more than {} away", hours_or_days(*.0))]
    TooFar(SignedDuration),
}

fn hours_or_days(time: SignedDuration) -> String {
    match time.as_hours() {
        hours if hours % 24 == 0 => format!("{} days", hours / 24),
        hours => format!("{hours} hours"),
    }
}

/// Returns the hold for `account`, whose limit `window` is reached.
///
/// # Errors
/// The reset time is not usable. The heartbeat's schedule then decides when to try again.
pub fn hold(
    account: &Account,
    window: &str,
    resets_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<Hold, UnknownReset> {
    let resets_at = resets_at.ok_or(UnknownReset::Missing)?;
    if resets_at <= now {
        return Err(UnknownReset::Past);
    }
    let most = max_ahead(window);
    if resets_at.duration_since(now) > most {
        return Err(UnknownReset::TooFar(most));
    }
    let until = resets_at.checked_add(account.jitter()).map_err(|_| UnknownReset::TooFar(most))?;
    Ok(Hold { window: window.to_owned(), resets_at, until })
}

/// What is known of an account's usage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Its limits, by name.
    #[serde(default)]
    pub windows: BTreeMap<String, Window>,
    /// The hold, if a limit was reached. It may have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
}

/// A limit of which too much is used to start another beat.
#[derive(Debug, Clone, PartialEq)]
pub struct Reserved {
    /// The limit.
    pub window: String,
    /// The used part, from 0 to 1.
    pub utilization: f64,
    /// When that limit resets, if that is known.
    pub resets_at: Option<Timestamp>,
    /// When it no longer counts: once it resets, or could no longer last.
    pub until: Timestamp,
}

impl Usage {
    /// The hold, if it has not ended.
    #[must_use]
    pub fn held(&self, now: Timestamp) -> Option<&Hold> {
        // A hold from before the clock was set back could be as long as the clock was wrong.
        let is_plausible = |hold: &Hold| hold.resets_at.duration_since(now) <= max_ahead(&hold.window);
        self.hold.as_ref().filter(|hold| now < hold.until && is_plausible(hold))
    }

    /// The limit that leaves less than `reserve`, if any; the one that resets last.
    #[must_use]
    pub fn reserved_until(&self, reserve: Reserve, now: Timestamp) -> Option<Reserved> {
        let full = |(window, known): (&String, &Window)| {
            let (utilization, most) = (known.utilization?, max_ahead(window));
            let is_plausible = |at: &Timestamp| at.duration_since(known.reported_at) <= most;
            let resets_at = known.resets_at.filter(is_plausible);
            let until = resets_at.or_else(|| known.reported_at.checked_add(most).ok())?;
            let is_open = now < until && until.duration_since(now) <= most;
            let window = window.clone();
            (is_open && utilization > reserve.usable()).then_some(Reserved {
                window,
                utilization,
                resets_at,
                until,
            })
        };
        self.windows.iter().filter_map(full).max_by_key(|reserved| reserved.until)
    }
}

/// A limit's name for people: `five_hour` becomes `five-hour`.
#[must_use]
pub fn spoken(window: &str) -> String {
    if window.is_empty() { "usage".to_owned() } else { window.replace('_', "-") }
}
