//! `retry` and `breaker`: what happens after a beat fails. As written in one file, and resolved.

use super::checked::{Check, strictly};
use super::interval::{Interval, IntervalError};
use super::limit::{Notices, Source, Sourced};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, IgnoredAny};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use sys::error::{Failure, Hinted};
use sys::failure;

#[cfg(test)]
mod tests;

/// The most retries that anybody can set.
const MAX_RETRIES: u32 = 100;

/// How often and when to retry a beat after a passing failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How many times in a row.
    pub max: NonZeroU32,
    /// How long to wait before the first retry; it doubles from one to the next.
    pub backoff: Interval,
    /// The longest wait.
    pub max_backoff: Interval,
}

/// The keys in one file. `None` means unset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureKeys {
    /// Retries a beat that failed because the API was overloaded or unreachable. Default: none; the schedule decides.
    pub retry: Option<Retry>,
    /// After this many failures in a row, the time to the next run doubles with each further one, up to a day. 0 turns
    /// that off.
    #[schemars(default = "default_breaker")]
    pub breaker: Option<Breaker>,
}

fn default_breaker() -> u32 {
    5
}

/// What happens after beats of a heartbeat fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnFailure {
    /// How to retry after a passing failure.
    pub retry: Option<Sourced<Retry>>,
    /// When to run less often.
    pub breaker: Sourced<Breaker>,
}

impl Default for OnFailure {
    fn default() -> Self {
        Self { retry: None, breaker: Sourced::default(Breaker::default()) }
    }
}

impl FailureKeys {
    /// Combines config.json's keys with a HEARTBEAT.md's, which can only make runs rarer.
    pub(super) fn resolve(self, front: Self, notices: &mut Notices) -> OnFailure {
        let user = self.breaker.map_or(Sourced::default(Breaker::default()), Sourced::user);
        let breaker = match front.breaker {
            Some(asked) if asked < user.value => Sourced::front(asked),
            Some(asked) if asked > user.value => {
                let breaker = user.value;
                notices.add(format!(
                    "breaker: {asked} in HEARTBEAT.md allows more failures than config.json; {breaker} applies"
                ));
                user
            }
            _ => user,
        };
        OnFailure { retry: retry(self.retry, front.retry, notices), breaker }
    }
}

/// Fewer and later retries; none unless config.json allows them, since each costs another run.
fn retry(user: Option<Retry>, front: Option<Retry>, notices: &mut Notices) -> Option<Sourced<Retry>> {
    let (user, asked) = match (user, front) {
        (Some(user), Some(front)) => (user, front),
        (user, front) => {
            if let Some(asked) = front {
                notices.add(format!(
                    "retry: {asked} in HEARTBEAT.md has no effect; only config.json can allow retries"
                ));
            }
            return user.map(Sourced::user);
        }
    };
    let both = Retry {
        max: user.max.min(asked.max),
        backoff: user.backoff.max(asked.backoff),
        max_backoff: user.max_backoff.max(asked.max_backoff),
    };
    if both != asked {
        notices
            .add(format!("retry: {asked} in HEARTBEAT.md is more than config.json allows; {both} applies"));
    }
    Some(Sourced { value: both, source: if both == user { Source::ConfigJson } else { Source::Heartbeat } })
}

/// After how many failures in a row a heartbeat runs less often, from strict to lenient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breaker {
    /// After this many.
    After(NonZeroU32),
    /// Never.
    Off,
}

impl Breaker {
    /// The accepted values, for hints.
    pub(super) const ACCEPTED: &str = "write a whole number of failures such as 5, or 0 for never";
}

impl Default for Breaker {
    fn default() -> Self {
        NonZeroU32::new(default_breaker()).map_or(Self::Off, Self::After)
    }
}

impl fmt::Display for Breaker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(failures) => write!(out, "{failures}"),
            Self::Off => out.write_str("0"),
        }
    }
}

impl<'de> Deserialize<'de> for Breaker {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strictly(deserializer)
    }
}

impl Check for Breaker {
    type Raw = u32;

    fn check(failures: u32) -> Result<Self, Failure> {
        Ok(NonZeroU32::new(failures).map_or(Self::Off, Self::After))
    }
}

impl JsonSchema for Breaker {
    fn schema_name() -> Cow<'static, str> {
        "Breaker".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": u32::MAX })
    }
}

impl Retry {
    /// The accepted values, for hints.
    pub(super) const ACCEPTED: &str =
        "write an object such as {\"max\": 3, \"backoff\": \"1m\", \"maxBackoff\": \"30m\"}";
    const BACKOFF: Interval = Interval::from_secs(60).unwrap();
    const MAX_BACKOFF: Interval = Interval::from_secs(1800).unwrap();
}

impl fmt::Display for Retry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { max, backoff, max_backoff } = self;
        let times = if max.get() == 1 { "once" } else { &format!("{max} times") };
        write!(out, "{times}, after {backoff} to {max_backoff}")
    }
}

/// A value of an object's key.
#[derive(serde::Deserialize)]
#[serde(untagged)]
pub(super) enum Written {
    Number(u32),
    Text(String),
    Other(IgnoredAny),
}

impl<'de> Deserialize<'de> for Retry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strictly(deserializer)
    }
}

impl Check for Retry {
    type Raw = BTreeMap<String, Written>;

    fn check(keys: BTreeMap<String, Written>) -> Result<Self, Failure> {
        Self::of(keys)
    }
}

impl Retry {
    fn of(mut keys: BTreeMap<String, Written>) -> Result<Self, Failure> {
        let max = match keys.remove("max") {
            Some(Written::Number(max)) if max <= MAX_RETRIES => NonZeroU32::new(max),
            Some(_) => None,
            None => return Err(failure!("\"max\" is missing"; "{}", Self::ACCEPTED)),
        };
        let max = max.ok_or_else(
            || failure!("\"max\" has a wrong value"; "write a whole number from 1 to {MAX_RETRIES}"),
        )?;
        let mut span = |key: &str| match keys.remove(key) {
            Some(Written::Text(text)) => {
                let parsed = text.parse().map_err(|error: IntervalError| error.failure());
                parsed.map(Some).map_err(|error: Failure| error.after(format_args!("{key:?}: ")))
            }
            Some(_) => Err(failure!("{key:?} is not a time"; "write a string such as \"1m\"")),
            None => Ok(None),
        };
        let (backoff, max_backoff) = (span("backoff")?, span("maxBackoff")?);
        if let Some(unknown) = keys.keys().next() {
            return Err(failure!("unknown key {unknown:?}"; "{}", Self::ACCEPTED));
        }
        let backoff = backoff.unwrap_or(Self::BACKOFF);
        let max_backoff = max_backoff.unwrap_or(Self::MAX_BACKOFF.max(backoff));
        if max_backoff < backoff {
            return Err(failure!(
                "\"maxBackoff\" is {max_backoff}, less than \"backoff\", {backoff}";
                "write the longer time as \"maxBackoff\""
            ));
        }
        Ok(Self { max, backoff, max_backoff })
    }
}

impl JsonSchema for Retry {
    fn schema_name() -> Cow<'static, str> {
        "Retry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let span = generator.subschema_for::<Interval>();
        json_schema!({
            "type": "object",
            "properties": {
                "max": { "type": "integer", "minimum": 1, "maximum": MAX_RETRIES },
                "backoff": span,
                "maxBackoff": span,
            },
            "required": ["max"],
            "additionalProperties": false,
        })
    }
}
