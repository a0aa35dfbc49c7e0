//! How long captures of beats are kept, and how large they may become: config.toml's table `captures`.

use super::checked::Check;
use super::interval::Interval;
use super::size::Size;
use serde::{Deserialize, Serialize};
use sys::error::Failure;
use sys::failure;

/// Limits of the captures of beats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Captures {
    /// How long they are kept.
    pub keep: Interval,
    /// How long those of failed beats are kept.
    pub keep_failed: Interval,
    /// How large all together may become.
    pub max: Size,
    /// How large one may become; a larger one keeps only its beginning and end.
    pub max_per_run: Size,
}

/// A value of `max_per_run`.
pub(super) struct PerRun(pub(super) Size);

/// The smallest one.
const LEAST: Size = Size::mebibytes(1);

impl Check for PerRun {
    type Raw = String;

    fn check(text: String) -> Result<Self, Failure> {
        let size = Size::check(text)?;
        match size >= LEAST {
            true => Ok(Self(size)),
            false => Err(failure!("\"{size}\" is too small"; "write at least \"{LEAST}\"")),
        }
    }
}

impl Default for Captures {
    fn default() -> Self {
        let days = |days: u32| Interval::from_secs(86_400 * days).unwrap_or(Interval::MAX);
        Self {
            keep: days(14),
            keep_failed: days(90),
            max: Size::mebibytes(2 << 10),
            max_per_run: Size::mebibytes(64),
        }
    }
}
