//! A time span as people write it: `30m`, `1h30m`, `2d`.
//!
//! Parses text into whole seconds, never 0 and never so large that arithmetic overflows.

use super::checked::{Check, short, strictly};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use sys::error::{Failure, Hinted};

use jiff::SignedDuration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const UNITS: [(char, u32); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// A span of whole seconds, from `1s` to `36500d` (100 years).
///
/// Its text is one or more numbers with units. Units go from large to small, each at most once, with or without a space
/// between them. Any other order or a repeated unit is refused as a likely mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interval(u32);

/// Why a text is not an interval.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntervalError {
    /// The text has another form.
    #[error("{text:?} is not an interval")]
    Shape {
        /// The text, shortened to a readable length.
        text: String,
    },
    /// The interval is zero.
    #[error("{text:?} is too short")]
    Zero {
        /// The text.
        text: String,
    },
    /// The interval is longer than 100 years.
    #[error("{text:?} is too long")]
    TooLong {
        /// The text, shortened to a readable length.
        text: String,
    },
}

impl Hinted for IntervalError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Shape { .. } => {
                "write whole numbers with d, h, m or s, largest first, such as \"30m\" or \"1h30m\""
                    .to_owned()
            }
            Self::Zero { .. } => "write at least \"1s\"".to_owned(),
            Self::TooLong { .. } => "write at most \"36500d\"".to_owned(),
        })
    }
}

impl Interval {
    /// 100 years.
    pub const MAX: Self = Self(36_500 * 86_400);

    /// Returns the interval of this many seconds, if that is in range.
    #[must_use]
    pub const fn from_secs(seconds: u32) -> Option<Self> {
        if seconds == 0 || seconds > Self::MAX.0 { None } else { Some(Self(seconds)) }
    }

    /// Its length, in whole seconds.
    #[must_use]
    pub const fn as_secs(self) -> u32 {
        self.0
    }

    /// Its length for timers.
    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_secs(self.0 as u64)
    }

    /// Its length for arithmetic on timestamps.
    #[must_use]
    pub const fn signed(self) -> SignedDuration {
        SignedDuration::from_secs(self.0 as i64)
    }
}

impl FromStr for Interval {
    type Err = IntervalError;

    fn from_str(text: &str) -> Result<Self, IntervalError> {
        let found = || short(text);
        if !has_shape(text) {
            return Err(IntervalError::Shape { text: found() });
        }
        // The form is valid, so humantime only fails on numbers that overflow.
        let seconds = humantime::parse_duration(text.trim())
            .map_err(|_| IntervalError::TooLong { text: found() })?
            .as_secs();
        match u32::try_from(seconds) {
            Ok(0) => Err(IntervalError::Zero { text: found() }),
            Ok(seconds) => Self::from_secs(seconds).ok_or_else(|| IntervalError::TooLong { text: found() }),
            Err(_) => Err(IntervalError::TooLong { text: found() }),
        }
    }
}

/// Whether the text consists of digits and units, in order. humantime alone would accept `1 fortnight` or `5min`.
fn has_shape(text: &str) -> bool {
    let mut units = UNITS.iter();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let Some(unit) = number.chars().next() else { return false };
        if number.len() == rest.len() || !units.any(|(letter, _)| *letter == unit) {
            return false;
        }
        rest = number.strip_prefix(unit).unwrap_or_default().trim_start_matches(' ');
    }
    !text.trim().is_empty()
}

impl fmt::Display for Interval {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        for (letter, seconds) in UNITS {
            if rest >= seconds {
                write!(out, "{}{letter}", rest / seconds)?;
                rest %= seconds;
            }
        }
        Ok(())
    }
}

impl Serialize for Interval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Interval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strictly(deserializer)
    }
}

impl Check for Interval {
    type Raw = String;

    fn check(text: String) -> Result<Self, Failure> {
        text.parse().map_err(|error: IntervalError| error.failure())
    }
}

impl JsonSchema for Interval {
    fn schema_name() -> Cow<'static, str> {
        "Interval".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A span of time: whole numbers with the units d, h, m and s, largest first.",
            "examples": ["30m", "1h30m", "2d"],
            "pattern": "^ *(?=[0-9])([0-9]+d *)?([0-9]+h *)?([0-9]+m *)?([0-9]+s *)?$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn common_spellings_are_accepted() {
        for (text, seconds, back) in [
            ("30m", 1_800, "30m"),
            ("1h30m", 5_400, "1h30m"),
            ("1h 30m", 5_400, "1h30m"),
            (" 90m ", 5_400, "1h30m"),
            ("24h", 86_400, "1d"),
            ("36500d", 3_153_600_000, "36500d"),
            ("1d2h3m4s", 93_784, "1d2h3m4s"),
        ] {
            let interval: Interval = text.parse().unwrap();
            assert_eq!((interval.as_secs(), interval.to_string().as_str()), (seconds, back), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_a_hint() {
        for text in
            ["", " ", "m", "30", "30min", "1.5h", "-1h", "30m1h", "5m5m", "1 h", "1h\t3m", "½h", "30M", "5ms"]
        {
            let error = text.parse::<Interval>().unwrap_err().line();
            assert!(error.contains("\"1h30m\""), "{text}: {error}");
        }
        assert_eq!(
            "0s".parse::<Interval>().unwrap_err().line(),
            "\"0s\" is too short; write at least \"1s\""
        );
        for text in ["36501d", "99999999999999999999999d", "36500d1s"] {
            let error = text.parse::<Interval>().unwrap_err().line();
            assert!(error.ends_with("is too long; write at most \"36500d\""), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_interval_round_trips(seconds in 1..=Interval::MAX.0) {
            let interval = Interval::from_secs(seconds).unwrap();
            prop_assert_eq!(interval.to_string().parse::<Interval>().unwrap(), interval);
            let json = serde_json::to_string(&interval).unwrap();
            prop_assert_eq!(serde_json::from_str::<Interval>(&json).unwrap(), interval);
        }

        #[test]
        fn no_text_panics(text in "[0-9dhms .]{0,40}") {
            let _ = text.parse::<Interval>();
        }
    }
}
