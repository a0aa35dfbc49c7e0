//! What beats cost, from the lines of the journal. Pure: takes bytes; returns sums.
//!
//! [`scan`] reads many lines in several threads, [`mod@line`] reads one, and [`Counter`] adds them up.

pub mod line;
pub mod scan;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use line::BeatUsage;
use serde::Serialize;
use std::collections::HashMap;
use std::ops::Range;

/// What to group beats by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupBy {
    /// Their heartbeat.
    Heartbeat,
    /// Their workspace.
    Workspace,
    /// The day on which they ended, in the user's time zone.
    Day,
    /// The model that the agent reported.
    Model,
}

/// An amount of money, in billionths of a US dollar, so that sums don't depend on their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money(pub u64);

impl Money {
    /// The amount `usd`; `None` if it is negative or not a number.
    #[must_use]
    pub fn from_usd(usd: f64) -> Option<Self> {
        const MAX_USD: f64 = 1e9;
        // Both are in range.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just before")]
        (0.0..=MAX_USD).contains(&usd).then(|| Self((usd * 1e9).round() as u64))
    }

    /// In US dollars.
    #[must_use]
    pub fn usd(self) -> f64 {
        // Exact up to nine million dollars.
        #[expect(clippy::cast_precision_loss, reason = "billionths beyond that don't matter")]
        let usd = self.0 as f64 / 1e9;
        usd
    }

    /// The sum, at most the largest amount.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Token counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// Input tokens, without those read from or written to the cache.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache.
    pub cache_write: u64,
}

impl Tokens {
    /// All of them.
    #[must_use]
    pub fn total(self) -> u64 {
        [self.output, self.cache_read, self.cache_write].into_iter().fold(self.input, u64::saturating_add)
    }

    fn add(&mut self, other: Self) {
        let sum = |count: &mut u64, more: u64| *count = count.saturating_add(more);
        sum(&mut self.input, other.input);
        sum(&mut self.output, other.output);
        sum(&mut self.cache_read, other.cache_read);
        sum(&mut self.cache_write, other.cache_write);
    }
}

/// The sums of some beats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// How many beats.
    pub beats: u64,
    /// How many of them had nothing to report, or nothing to do.
    pub quiet: u64,
    /// Their cost; `None` if none of them reported it.
    pub cost: Option<Money>,
    /// How many of them should have reported a cost, but didn't.
    pub cost_unknown: u64,
    /// Their tokens.
    pub tokens: Tokens,
}

impl Sums {
    fn add(&mut self, line: &BeatUsage<'_>) {
        self.beats += 1;
        self.quiet += u64::from(line.is_quiet);
        self.cost_unknown += u64::from(line.lacks_cost);
        self.spend(line.cost, line.tokens);
    }

    fn spend(&mut self, cost: Option<Money>, tokens: Tokens) {
        if let Some(cost) = cost {
            self.cost = Some(self.cost.unwrap_or_default().plus(cost));
        }
        self.tokens.add(tokens);
    }

    fn merge(&mut self, other: &Self) {
        self.beats += other.beats;
        self.quiet += other.quiet;
        self.cost_unknown += other.cost_unknown;
        self.spend(other.cost, other.tokens);
    }
}

/// The group of a beat.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// A heartbeat: its workspace, and its name if it is a named one.
    Heartbeat(String, Option<String>),
    /// A workspace.
    Workspace(String),
    /// A day; `None` if the line's time is not readable.
    Day(Option<Date>),
    /// A model; `None` if the line has none.
    Model(Option<String>),
}

/// Adds up beats by group.
#[derive(Debug)]
pub struct Counter<'a> {
    by: GroupBy,
    since: Option<Timestamp>,
    zone: &'a TimeZone,
    /// By workspace, and name after a NUL, or by model.
    texts: HashMap<Box<str>, Sums>,
    /// The beats without a model.
    without: Sums,
    days: HashMap<Option<Date>, Sums>,
    /// The day of the last beat, which is not in `days` yet.
    day: Option<Day>,
    /// The text being looked up.
    key: String,
}

/// The sums of a day, so that the next beat of the same day needs no lookup.
#[derive(Debug)]
struct Day {
    date: Date,
    /// Its milliseconds.
    range: Range<i64>,
    sums: Sums,
}

impl Day {
    /// The day of a time in milliseconds.
    fn of(at: i64, zone: &TimeZone) -> Option<Self> {
        let zoned = Timestamp::from_millisecond(at).ok()?.to_zoned(zone.clone());
        let date = zoned.date();
        let first = zoned.start_of_day().ok()?.timestamp().as_millisecond();
        let next = date.tomorrow().ok()?.to_zoned(zone.clone()).ok()?.timestamp().as_millisecond();
        Some(Self { date, range: first..next, sums: Sums::default() })
    }
}

impl<'a> Counter<'a> {
    /// Counts beats that ended at `since` or later. Days are those of `zone`.
    #[must_use]
    pub fn new(by: GroupBy, since: Option<Timestamp>, zone: &'a TimeZone) -> Self {
        Self {
            by,
            since,
            zone,
            texts: HashMap::new(),
            without: Sums::default(),
            days: HashMap::new(),
            day: None,
            key: String::new(),
        }
    }

    /// Adds a beat.
    pub fn add(&mut self, line: &BeatUsage<'_>) {
        if let Some(since) = self.since
            && line.ended().is_some_and(|ended| ended < since.as_millisecond())
        {
            return;
        }
        self.key.clear();
        match self.by {
            GroupBy::Heartbeat => {
                self.key.push_str(&line.workspace);
                if let Some(name) = &line.heartbeat {
                    self.key.push('\0');
                    self.key.push_str(name);
                }
            }
            GroupBy::Workspace => self.key.push_str(&line.workspace),
            GroupBy::Day => return self.day_of(line.ended()).add(line),
            GroupBy::Model => match &line.model {
                Some(model) => self.key.push_str(model),
                None => return self.without.add(line),
            },
        }
        if let Some(sums) = self.texts.get_mut(self.key.as_str()) {
            return sums.add(line);
        }
        self.texts.entry(self.key.as_str().into()).or_default().add(line);
    }

    /// The sums of the day of a time in milliseconds. Most beats are on the same day as the one before.
    fn day_of(&mut self, at: Option<i64>) -> &mut Sums {
        let is_same = |day: &Day| at.is_some_and(|at| day.range.contains(&at));
        if !self.day.as_ref().is_some_and(is_same) {
            self.end_day();
            self.day = at.and_then(|at| Day::of(at, self.zone));
        }
        match &mut self.day {
            Some(day) => &mut day.sums,
            None => self.days.entry(None).or_default(),
        }
    }

    fn end_day(&mut self) {
        if let Some(Day { date, sums, .. }) = self.day.take() {
            self.days.entry(Some(date)).or_default().merge(&sums);
        }
    }

    /// Adds what another counter of the same kind counted.
    #[must_use]
    pub fn merged(mut self, mut other: Self) -> Self {
        other.end_day();
        for (key, sums) in other.texts {
            self.texts.entry(key).or_default().merge(&sums);
        }
        for (day, sums) in other.days {
            self.days.entry(day).or_default().merge(&sums);
        }
        self.without.merge(&other.without);
        self
    }

    /// The groups: days in order, others with the most expensive first.
    #[must_use]
    pub fn groups(mut self) -> Vec<(Group, Sums)> {
        self.end_day();
        let by = self.by;
        let group = |key: Box<str>| match (by, key.split_once('\0')) {
            (GroupBy::Heartbeat, Some((workspace, name))) => {
                Group::Heartbeat(workspace.to_owned(), Some(name.to_owned()))
            }
            (GroupBy::Heartbeat, None) => Group::Heartbeat(key.into(), None),
            (GroupBy::Model, _) => Group::Model(Some(key.into())),
            _ => Group::Workspace(key.into()),
        };
        let mut groups: Vec<(Group, Sums)> =
            self.texts.into_iter().map(|(key, sums)| (group(key), sums)).collect();
        groups.extend(self.days.into_iter().map(|(day, sums)| (Group::Day(day), sums)));
        groups.extend(Some((Group::Model(None), self.without)).filter(|(_, sums)| sums.beats > 0));
        groups.sort_by(|(one, first), (other, second)| {
            let cost = |sums: &Sums| (sums.cost, sums.tokens.total(), sums.beats);
            let order =
                if by == GroupBy::Day { std::cmp::Ordering::Equal } else { cost(second).cmp(&cost(first)) };
            order.then_with(|| one.cmp(other))
        });
        groups
    }
}

/// The sums of all groups.
#[must_use]
pub fn total(groups: &[(Group, Sums)]) -> Sums {
    let mut total = Sums::default();
    groups.iter().for_each(|(_, sums)| total.merge(sums));
    total
}

#[cfg(test)]
mod tests;
