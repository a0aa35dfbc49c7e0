//! How long captures of beats are kept, and how large they may become: config.toml's table `captures`.

use super::checked::Check;
use super::interval::Interval;
use super::members::Members;
use super::problem::Problem;
use super::size::Size;
use super::toml_text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use sys::error::Failure;
use sys::failure;
use toml::Spanned;

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

impl Captures {
    /// Removes nothing: for settings that could be meant to keep more than the defaults.
    fn keeping_all() -> Self {
        Self { keep: Interval::MAX, keep_failed: Interval::MAX, max: Size::MAX, ..Self::default() }
    }

    /// The limits as pairs of a key of config.toml and a value.
    #[must_use]
    pub fn pairs(&self) -> [(&'static str, String); 4] {
        [
            ("keep", self.keep.to_string()),
            ("keep-failed", self.keep_failed.to_string()),
            ("max", self.max.to_string()),
            ("max-per-run", self.max_per_run.to_string()),
        ]
    }

    /// Reads the table in config.toml's `text`; `path` is for messages.
    ///
    /// No decision about a call depends on it, so a wrong one is reported, and only keeps all captures.
    pub(super) fn read(text: &[u8], path: &Path) -> (Self, Option<Problem>) {
        match toml_text::every(text, path, Self::parse) {
            Ok(captures) => (captures, None),
            Err(problem) => (Self::keeping_all(), Some(problem)),
        }
    }

    fn parse(text: &[u8], path: &Path) -> Result<Self, Problem> {
        let Members(Keys { keep, keep_failed, max, max_per_run }) =
            toml_text::read::<Table>(text, path)?.captures.unwrap_or_default();
        let default = Self::default();
        let total = toml_text::checked::<AtLeast>(max, text, path)?;
        let per_run = toml_text::checked::<AtLeast>(max_per_run, text, path)?;
        Ok(Self {
            keep: toml_text::checked(keep, text, path)?.unwrap_or(default.keep),
            keep_failed: toml_text::checked(keep_failed, text, path)?.unwrap_or(default.keep_failed),
            max: total.map_or(default.max, |AtLeast(size)| size),
            max_per_run: per_run.map_or(default.max_per_run, |AtLeast(size)| size),
        })
    }
}

/// config.toml, of which only this table is read.
#[derive(Deserialize)]
struct Table {
    captures: Option<Members<Keys>>,
}

/// The table as written.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case", expecting = "a table such as [captures]")]
pub(super) struct Keys {
    /// How long captures of beats are kept. Each heartbeat's newest always is. Default: 14d.
    #[schemars(with = "Option<Interval>")]
    keep: Option<Spanned<<Interval as Check>::Raw>>,
    /// How long those of failed beats are kept. Default: 90d.
    #[schemars(with = "Option<Interval>")]
    keep_failed: Option<Spanned<<Interval as Check>::Raw>>,
    /// How large all captures of beats together may become. Default: 2GiB.
    #[schemars(with = "Option<Size>")]
    max: Option<Spanned<<AtLeast as Check>::Raw>>,
    /// How large one may become; a larger one keeps only its beginning and end. Default: 64MiB.
    #[schemars(with = "Option<Size>")]
    max_per_run: Option<Spanned<<AtLeast as Check>::Raw>>,
}

/// A size of captures that isn't too small to keep anything.
struct AtLeast(Size);

/// The smallest one.
const LEAST: Size = Size::mebibytes(1);

impl Check for AtLeast {
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
