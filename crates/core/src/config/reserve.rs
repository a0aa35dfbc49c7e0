//! `reserve` and `onLimit`: how a heartbeat treats its account's usage limits.

use super::approval::Choice;
use super::checked::{Check, short, strictly};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use sys::error::Failure;
use sys::failure;

/// The part of each usage limit that beats leave to others, in percent: from 1 to 99.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reserve(u8);

impl Reserve {
    /// The accepted values, for hints.
    pub(super) const ACCEPTED: &str = "write a percentage from 1% to 99%, such as \"30%\"";

    /// The part of a limit that beats may use, from 0 to 1.
    #[must_use]
    pub fn usable(self) -> f64 {
        f64::from(100 - self.0) / 100.0
    }
}

impl FromStr for Reserve {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let number = text.strip_suffix('%').filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        let percent =
            number.and_then(|number| number.parse().ok()).filter(|percent| (1..=99).contains(percent));
        percent.map(Self).ok_or_else(|| failure!("{:?} is not a reserve", short(text); "{}", Self::ACCEPTED))
    }
}

impl fmt::Display for Reserve {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}%", self.0)
    }
}

impl<'de> Deserialize<'de> for Reserve {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strictly(deserializer)
    }
}

impl Check for Reserve {
    type Raw = String;

    fn check(text: String) -> Result<Self, Failure> {
        text.parse()
    }
}

impl JsonSchema for Reserve {
    fn schema_name() -> Cow<'static, str> {
        "Percentage".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A whole percentage.",
            "examples": ["30%"],
            "pattern": "^[1-9][0-9]?%$"
        })
    }
}

/// What happens to a beat that a usage limit stopped, from lenient to strict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnLimit {
    /// It resumes in its session when the hold ends.
    #[default]
    Resume,
    /// It is dropped; the schedule decides when the heartbeat runs next.
    Skip,
}

impl Choice for OnLimit {
    const WORDS: &'static [(&'static str, Self)] = &[("resume", Self::Resume), ("skip", Self::Skip)];
    const ABOUT: &'static str = "What happens to a beat that a usage limit stopped: resume (its conversation continues when the hold ends) or skip (it is dropped).";
    const ACCEPTED: &'static str = "write \"resume\" or \"skip\"";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_is_a_whole_percentage() {
        for (text, usable) in [("1%", 0.99), ("30%", 0.7), ("99%", 0.01)] {
            let reserve: Reserve = text.parse().unwrap();
            assert_eq!((reserve.usable(), reserve.to_string().as_str()), (usable, text));
        }
        for text in ["", "%", "30", "0%", "100%", "-1%", "+5%", "3.5%", "30 %", "999999999999%"] {
            let error = text.parse::<Reserve>().unwrap_err().line();
            assert!(error.ends_with("write a percentage from 1% to 99%, such as \"30%\""), "{text}: {error}");
        }
    }
}
