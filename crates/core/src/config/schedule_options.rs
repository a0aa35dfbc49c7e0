//! Keys about a heartbeat's schedule besides `interval` and `cron`: as written in one file, and resolved.
//!
//! A HEARTBEAT.md can only make runs rarer than config.json does.

use super::active_hours::ActiveHours;
use super::approval::{Choice, Word};
use super::checked::{Check, strictly};
use super::except::Except;
use super::interval::Interval;
use super::limit::{Notices, Sourced};
use super::trigger::On;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use sys::error::{Failure, Hinted};

/// What happens to a run that was missed, from the fewest to the most runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CatchUp {
    /// It is left out.
    Skip,
    /// It is made up for if it is at most this late.
    Within(Interval),
    /// It is made up for.
    Once,
}

/// What happens when a heartbeat is due while its last beat runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// The run is left out.
    Skip,
    /// It starts when that beat has ended.
    Queue,
    /// That beat is ended.
    Replace,
}

/// The keys in one file. `None` means unset.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleKeys {
    /// Whether the daemon starts its heartbeats. `murmur beat` does in any case.
    #[schemars(default = "enabled")]
    pub enabled: Option<bool>,
    /// The days and times at which a beat may start. Default: any.
    pub active_hours: Option<ActiveHours>,
    /// Dates on which no beat starts, in the time zone of `activeHours`, or else `tz`.
    pub except: Option<Except>,
    /// How much later than scheduled a beat may start. How much it is depends only on the heartbeat.
    pub jitter: Option<Interval>,
    /// What happens after runs were missed because the daemon or the computer was off, or the heartbeat was paused: one
    /// beat for all of them ("once"), none ("skip"), or one if it starts at most this late ("2h"), for `cron` after its
    /// last missed time.
    #[schemars(default = "catch_up")]
    pub catch_up: Option<CatchUp>,
    /// How late a beat may start. After that, its run is left out. Default: no limit.
    pub start_deadline: Option<Interval>,
    /// What happens when a heartbeat is due while its last beat runs: "skip" leaves the run out, "queue" waits,
    /// "replace" ends that beat.
    #[schemars(default = "overlap")]
    pub overlap: Option<Word<Overlap>>,
    /// Files in the workspace whose changes start a beat, besides the schedule.
    pub on: Option<On>,
}

fn enabled() -> bool {
    true
}

fn catch_up() -> &'static str {
    "once"
}

fn overlap() -> &'static str {
    "queue"
}

/// The resolved options of a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleOptions {
    /// Whether the daemon starts it.
    pub enabled: Sourced<bool>,
    /// When it may start: all of them must allow it.
    pub active_hours: Vec<Sourced<ActiveHours>>,
    /// The dates on which it does not start.
    pub except: Vec<Sourced<Except>>,
    /// How much later than scheduled it may start.
    pub jitter: Option<Sourced<Interval>>,
    /// Whether missed runs are made up for.
    pub catch_up: Option<Sourced<CatchUp>>,
    /// How late it may start.
    pub start_deadline: Option<Sourced<Interval>>,
    /// What happens if its last beat still runs.
    pub overlap: Option<Sourced<Overlap>>,
    /// The files whose changes start it.
    pub on: Option<Sourced<On>>,
}

impl Default for ScheduleOptions {
    fn default() -> Self {
        Self {
            enabled: Sourced::default(true),
            active_hours: Vec::new(),
            except: Vec::new(),
            jitter: None,
            catch_up: None,
            start_deadline: None,
            overlap: None,
            on: None,
        }
    }
}

/// How often active hours and excepted dates may exclude each other in turn before that counts as forever.
const MAX_JUMPS: usize = 1000;

impl ScheduleKeys {
    /// The names of the keys.
    pub(super) const NAMES: [&str; 8] =
        ["enabled", "activeHours", "except", "jitter", "catchUp", "startDeadline", "overlap", "on"];

    /// The keys, or `None` if none is set, which is by far the most common. `zone` is that of times and dates without
    /// one.
    pub(super) fn boxed(self, zone: &TimeZone) -> Option<Box<Self>> {
        if self == Self::default() {
            return None;
        }
        let days = self.active_hours.as_ref().and_then(ActiveHours::zone).unwrap_or(zone).clone();
        Some(Box::new(Self {
            active_hours: self.active_hours.map(|hours| hours.in_zone(zone)),
            except: self.except.map(|except| except.in_zone(&days)),
            ..self
        }))
    }
}

impl ScheduleOptions {
    /// Combines config.json's keys with a HEARTBEAT.md's; `None` if neither sets any. `is_scheduled` is whether
    /// config.json says when its heartbeats run.
    pub(crate) fn of(
        user: Option<&ScheduleKeys>,
        front: Option<&ScheduleKeys>,
        is_scheduled: bool,
        notices: &mut Notices,
    ) -> Option<Box<Self>> {
        let none = ScheduleKeys::default();
        let (user, front) = match (user, front) {
            (None, None) => return None,
            (user, front) => (user.unwrap_or(&none), front.unwrap_or(&none)),
        };
        Some(Box::new(Self {
            enabled: notices.enabled(user.enabled, front.enabled),
            active_hours: both(user.active_hours.as_ref(), front.active_hours.as_ref()),
            except: both(user.except.as_ref(), front.except.as_ref()),
            jitter: notices.higher("jitter", user.jitter.map(Sourced::user), front.jitter),
            catch_up: notices.lower(
                "catchUp",
                user.catch_up.map(Sourced::user),
                front.catch_up,
                CatchUp::Once,
            ),
            start_deadline: notices.lower(
                "startDeadline",
                user.start_deadline.map(Sourced::user),
                front.start_deadline,
                Interval::MAX,
            ),
            overlap: notices.overlap(user.overlap.map(|word| word.0), front.overlap.map(|word| word.0)),
            on: notices.on(user.on.as_ref(), front.on.as_ref(), is_scheduled),
        }))
    }

    /// The key that prevents a start at `at`, if any.
    #[must_use]
    pub fn closed_at(&self, at: Timestamp) -> Option<&'static str> {
        let is_closed = |opens: Option<Timestamp>| opens != Some(at);
        if self.active_hours.iter().any(|hours| is_closed(hours.value.from(at))) {
            return Some("activeHours");
        }
        self.except.iter().any(|except| is_closed(except.value.from(at))).then_some("except")
    }

    /// The first moment at or after `at` at which it may start; `None` if there is none for years.
    #[must_use]
    pub fn from(&self, at: Timestamp) -> Option<Timestamp> {
        let mut found = at;
        for _ in 0..MAX_JUMPS {
            let hours = self.active_hours.iter().map(|hours| hours.value.from(found));
            let dates = self.except.iter().map(|except| except.value.from(found));
            let next = hours.chain(dates).try_fold(found, |last, next| Some(last.max(next?)))?;
            if next == found {
                return Some(found);
            }
            found = next;
        }
        None
    }
}

/// What both files say; what they say alike, once.
fn both<T: Clone + PartialEq>(user: Option<&T>, front: Option<&T>) -> Vec<Sourced<T>> {
    let front = front.filter(|front| user != Some(front)).cloned().map(Sourced::front);
    user.cloned().map(Sourced::user).into_iter().chain(front).collect()
}

impl Notices {
    /// Disabled if either file says so.
    fn enabled(&mut self, user: Option<bool>, front: Option<bool>) -> Sourced<bool> {
        match (user, front) {
            (Some(false), front) => {
                if front == Some(true) {
                    self.add(
                        "enabled: true in HEARTBEAT.md has no effect; config.json sets false".to_owned(),
                    );
                }
                Sourced::user(false)
            }
            (_, Some(false)) => Sourced::front(false),
            (Some(true), _) => Sourced::user(true),
            (None, Some(true)) => Sourced::front(true),
            (None, None) => Sourced::default(true),
        }
    }

    /// A HEARTBEAT.md can't add runs to those that config.json asks for.
    fn on(&mut self, user: Option<&On>, front: Option<&On>, is_scheduled: bool) -> Option<Sourced<On>> {
        match (user, front) {
            (None, Some(_)) if is_scheduled => {
                self.add("on in HEARTBEAT.md has no effect; config.json's schedule applies".to_owned());
                None
            }
            (None, front) => front.cloned().map(Sourced::front),
            (Some(user), front) => {
                if front.is_some_and(|front| front != user) {
                    self.add("on in HEARTBEAT.md has no effect; config.json's applies".to_owned());
                }
                Some(Sourced::user(user.clone()))
            }
        }
    }

    /// A HEARTBEAT.md can leave runs out, but not end beats, or keep its own from being ended.
    fn overlap(&mut self, user: Option<Overlap>, front: Option<Overlap>) -> Option<Sourced<Overlap>> {
        let may = |asked: Overlap| match user.unwrap_or(Overlap::Queue) {
            Overlap::Queue => asked != Overlap::Replace,
            other => asked == other,
        };
        match (user, front) {
            (user, Some(asked)) if !may(asked) => {
                let (asked, applies) = (asked.word(), user.unwrap_or(Overlap::Queue).word());
                self.add(format!(
                    "overlap: {asked} in HEARTBEAT.md has no effect, since only config.json can set it; {applies} applies"
                ));
                user.map(Sourced::user)
            }
            (user, Some(asked)) if user != Some(asked) => Some(Sourced::front(asked)),
            (user, _) => user.map(Sourced::user),
        }
    }
}

impl CatchUp {
    /// The accepted values, for hints.
    pub(super) const ACCEPTED: &str =
        "write \"once\", \"skip\", or how late a missed run may start, such as \"2h\"";
}

impl fmt::Display for CatchUp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skip => out.write_str("skip"),
            Self::Within(most) => write!(out, "{most}"),
            Self::Once => out.write_str("once"),
        }
    }
}

impl Check for CatchUp {
    type Raw = String;

    fn check(text: String) -> Result<Self, Failure> {
        match &*text {
            "skip" => Ok(Self::Skip),
            "once" => Ok(Self::Once),
            text => text
                .parse()
                .map(Self::Within)
                .map_err(|error: super::interval::IntervalError| error.failure().hint(Self::ACCEPTED)),
        }
    }
}

impl<'de> Deserialize<'de> for CatchUp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strictly(deserializer)
    }
}

impl JsonSchema for CatchUp {
    fn schema_name() -> Cow<'static, str> {
        "CatchUp".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let within = generator.subschema_for::<Interval>();
        json_schema!({ "anyOf": [{ "enum": ["once", "skip"] }, within] })
    }
}

impl Choice for Overlap {
    const WORDS: &'static [(&'static str, Self)] =
        &[("skip", Self::Skip), ("queue", Self::Queue), ("replace", Self::Replace)];
    const ABOUT: &'static str = "What happens when a heartbeat is due while its last beat runs: skip (leave the run out), queue (wait) or replace (end that beat).";
    const ACCEPTED: &'static str = "write \"skip\", \"queue\" or \"replace\"";
}

#[cfg(test)]
mod tests;
