//! How long an agent may be quiet before it counts as stale or stuck: config.toml's table `quiet`.

use super::checked::Check;
use super::interval::Interval;
use super::members::Members;
use super::problem::Problem;
use super::toml_text;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;
use sys::failure;
use toml::Spanned;

/// The lengths of silence of a working agent and what they mean (spec 2, the consumers' thresholds).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiet {
    /// The agent is stale; before that it is active.
    pub stale: Interval,
    /// The agent is worth a look.
    pub warning: Interval,
    /// The agent is stuck.
    pub stuck: Interval,
}

impl Default for Quiet {
    fn default() -> Self {
        let minutes = |minutes: u32| Interval::from_secs(60 * minutes).unwrap_or(Interval::MAX);
        Self { stale: minutes(5), warning: minutes(15), stuck: minutes(30) }
    }
}

/// config.toml, of which only this table is read.
#[derive(Deserialize)]
struct Table {
    quiet: Option<Members<Keys>>,
}

/// The table as written.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table of time spans, such as [quiet]")]
pub(super) struct Keys {
    /// After this time without a sign of life, a working agent is stale. Default: 5m.
    #[schemars(with = "Option<Interval>")]
    stale: Option<Spanned<<Interval as Check>::Raw>>,
    /// After this time, it is worth a look. Default: 15m.
    #[schemars(with = "Option<Interval>")]
    warning: Option<Spanned<<Interval as Check>::Raw>>,
    /// After this time, it is stuck. Default: 30m.
    #[schemars(with = "Option<Interval>")]
    stuck: Option<Spanned<<Interval as Check>::Raw>>,
}

impl Quiet {
    /// Reads the table in config.toml's `text`; `path` is for messages.
    pub(super) fn read(text: &[u8], path: &Path) -> Result<Self, Problem> {
        let (quiet, last) = toml_text::every(text, path, Self::parse)?;
        // Each must be longer than the one before.
        if quiet.stale < quiet.warning && quiet.warning < quiet.stuck {
            return Ok(quiet);
        }
        let what = failure!(
            "the times in \"quiet\" do not increase";
            "make \"stale\" shorter than \"warning\", and \"warning\" shorter than \"stuck\""
        );
        Err(toml_text::problem_at(text, path, last, what))
    }

    /// The times, and where the last of them is written.
    fn parse(text: &[u8], path: &Path) -> Result<(Self, usize), Problem> {
        let Members(Keys { stale, warning, stuck }) =
            toml_text::read::<Table>(text, path)?.quiet.unwrap_or_default();
        let last = [&stale, &warning, &stuck].into_iter().flatten().map(|time| time.span().start).max();
        let default = Self::default();
        let quiet = Self {
            stale: toml_text::checked(stale, text, path)?.unwrap_or(default.stale),
            warning: toml_text::checked(warning, text, path)?.unwrap_or(default.warning),
            stuck: toml_text::checked(stuck, text, path)?.unwrap_or(default.stuck),
        };
        Ok((quiet, last.unwrap_or_default()))
    }

    /// The thresholds, from short to long.
    #[must_use]
    pub fn steps(&self) -> [Duration; 3] {
        [self.stale, self.warning, self.stuck].map(|step| Duration::from_secs(step.as_secs().into()))
    }
}
