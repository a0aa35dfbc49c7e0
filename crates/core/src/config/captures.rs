//! How long captures of beats are kept: config.toml's table `captures`.

use super::interval::Interval;
use super::size::Size;

/// Limits of the captures of beats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captures {
    /// How long they are kept.
    pub keep: Interval,
    /// How long those of failed beats are kept.
    pub keep_failed: Interval,
    /// How large all together may become.
    pub max: Size,
}

impl Default for Captures {
    fn default() -> Self {
        let days = |days: u32| Interval::from_secs(86_400 * days).unwrap_or(Interval::MAX);
        Self { keep: days(14), keep_failed: days(90), max: Size::mebibytes(2 << 10) }
    }
}
