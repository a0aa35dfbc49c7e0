//! Budgets. Pure: takes heartbeats with budgets and the beats that ended; returns which heartbeats are on hold, and
//! until when.
//!
//! A beat counts in the period in which it ended. A budget that is used up holds its heartbeats until the period ends.

#[cfg(test)]
mod tests;

use crate::config::budget::{Amount, Budget, Period};
use crate::config::heartbeat::{Heartbeat, HeartbeatId};
use crate::usage::Money;
use crate::usage::line::BeatUsage;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Whose beats a budget counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Those of all heartbeats.
    All,
    /// Those of a workspace.
    Workspace(Arc<Path>),
    /// Those of one heartbeat.
    Heartbeat(HeartbeatId),
}

impl fmt::Display for Scope {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => out.write_str("all heartbeats"),
            Self::Workspace(path) => write!(out, "workspace {}", path.display()),
            Self::Heartbeat(id) => write!(out, "heartbeat {id}"),
        }
    }
}

/// A budget that is used up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedUp {
    /// Whose beats count.
    pub scope: Scope,
    /// How much may be spent.
    pub limit: Amount,
    /// In which period.
    pub period: Period,
    /// When that ends.
    pub until: Timestamp,
}

/// As in `the budget of 5 USD a day for all heartbeats is used up`.
impl fmt::Display for UsedUp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scope, limit, period, .. } = self;
        write!(out, "the budget of {limit} a {} for {scope} is used up", period.name())
    }
}

/// What was spent of a limit in its current period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// Whose beats count.
    pub scope: Scope,
    /// How much may be spent.
    pub limit: Amount,
    /// In which period.
    pub period: Period,
    /// How much was, for people.
    pub amount: String,
    /// How many beats should have reported a cost, but didn't; 0 if the limit isn't in US dollars.
    pub cost_unknown: u64,
    /// When the period ends.
    pub until: Timestamp,
}

/// What was spent in the current period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    start: Timestamp,
    end: Timestamp,
    cost: Money,
    cost_unknown: u64,
    tokens: u64,
}

impl Window {
    /// The period that contains `at`; `None` if it exceeds the calendar.
    fn of(period: Period, at: Timestamp, zone: &TimeZone) -> Option<Self> {
        let today = at.to_zoned(zone.clone()).date();
        let first = match period {
            Period::Day => today,
            Period::Week => {
                today.checked_sub(i64::from(today.weekday().to_monday_zero_offset()).days()).ok()?
            }
            Period::Month => today.first_of_month(),
        };
        let next = match period {
            Period::Day => first.tomorrow().ok()?,
            Period::Week => first.checked_add(7.days()).ok()?,
            Period::Month => first.checked_add(1.month()).ok()?,
        };
        let midnight = |day: Date| Some(day.to_zoned(zone.clone()).ok()?.timestamp());
        Some(Self {
            start: midnight(first)?,
            end: midnight(next)?,
            cost: Money::default(),
            cost_unknown: 0,
            tokens: 0,
        })
    }

    fn has_used_up(&self, limit: Amount) -> bool {
        match limit {
            Amount::Usd(usd) => self.cost >= usd.money(),
            Amount::Tokens(count) => self.tokens >= count,
        }
    }
}

/// What was spent of one budget.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tally {
    budget: Arc<Budget>,
    /// One for each of its limits.
    windows: Vec<Window>,
}

impl Tally {
    fn new(budget: &Arc<Budget>, now: Timestamp) -> Option<Self> {
        let limits = budget.limits().iter();
        let windows: Option<Vec<Window>> =
            limits.map(|(period, _)| Window::of(*period, now, budget.zone())).collect();
        Some(Self { budget: Arc::clone(budget), windows: windows? })
    }

    /// Adds a beat; returns the limits that it uses up.
    fn add(&mut self, ended: Timestamp, line: &BeatUsage<'_>) -> Vec<(Period, Amount, Timestamp)> {
        let mut used_up = Vec::new();
        for ((period, limit), window) in self.budget.limits().iter().zip(&mut self.windows) {
            if ended >= window.end
                && let Some(next) = Window::of(*period, ended, self.budget.zone())
            {
                *window = next;
            }
            if ended < window.start {
                continue;
            }
            let before = window.has_used_up(*limit);
            window.cost = window.cost.plus(line.cost.unwrap_or_default());
            window.cost_unknown += u64::from(line.lacks_cost);
            window.tokens = window.tokens.saturating_add(line.tokens.total());
            if !before && window.has_used_up(*limit) {
                used_up.push((*period, *limit, window.end));
            }
        }
        used_up
    }

    /// The limit that is used up for the longest time.
    fn used_up(&self, now: Timestamp) -> Option<(Period, Amount, Timestamp)> {
        let limits = self.budget.limits().iter().zip(&self.windows);
        let used_up = limits.filter(|((_, limit), window)| now < window.end && window.has_used_up(*limit));
        used_up.map(|((period, limit), window)| (*period, *limit, window.end)).max_by_key(|(.., end)| *end)
    }
}

/// All budgets, and what was spent of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    tallies: BTreeMap<Scope, Tally>,
}

impl Ledger {
    /// The budgets of `heartbeats`, of which nothing was spent.
    #[must_use]
    pub fn new<'a>(heartbeats: impl Iterator<Item = &'a Heartbeat>, now: Timestamp) -> Self {
        let budgets = heartbeats.flat_map(scopes);
        let tallies = budgets.filter_map(|(scope, budget)| Some((scope, Tally::new(budget, now)?)));
        Self { tallies: tallies.collect() }
    }

    /// Whether there is no budget.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tallies.is_empty()
    }

    /// When the first of the current periods began; beats that ended before don't count.
    #[must_use]
    pub fn since(&self) -> Option<Timestamp> {
        self.tallies.values().flat_map(|tally| &tally.windows).map(|window| window.start).min()
    }

    /// Whether `other` has the same budgets.
    #[must_use]
    pub fn has_budgets_of(&self, other: &Self) -> bool {
        let budgets = |ledger: &Self| -> Vec<(Scope, Arc<Budget>)> {
            ledger.tallies.iter().map(|(scope, tally)| (scope.clone(), Arc::clone(&tally.budget))).collect()
        };
        budgets(self) == budgets(other)
    }

    /// Whether a period begins in the future, since a clock was wrong: all has to be counted again.
    #[must_use]
    pub fn is_ahead(&self, now: Timestamp) -> bool {
        self.tallies.values().flat_map(|tally| &tally.windows).any(|window| now < window.start)
    }

    /// Adds a beat; returns the budgets that it uses up. Beats of heartbeats without a budget, and those that ended
    /// before [`Self::since`], change nothing.
    pub fn add(&mut self, line: &BeatUsage<'_>) -> Vec<UsedUp> {
        let Some(ended) = line.ended().and_then(|at| Timestamp::from_millisecond(at).ok()) else {
            return Vec::new();
        };
        let workspace = Path::new(&*line.workspace);
        let mut found = Vec::new();
        for (scope, tally) in &mut self.tallies {
            let counts = match scope {
                Scope::All => true,
                Scope::Workspace(path) => **path == *workspace,
                Scope::Heartbeat(id) => *id == HeartbeatId::new(workspace, line.heartbeat.as_deref()),
            };
            if counts {
                let used_up = tally.add(ended, line).into_iter();
                found.extend(used_up.map(|(period, limit, until)| UsedUp {
                    scope: scope.clone(),
                    limit,
                    period,
                    until,
                }));
            }
        }
        found
    }

    /// Adds what another ledger with the same budgets counted.
    #[must_use]
    pub fn merged(mut self, other: &Self) -> Self {
        for (tally, more) in self.tallies.values_mut().zip(other.tallies.values()) {
            for (window, more) in tally.windows.iter_mut().zip(&more.windows) {
                if window.start == more.start {
                    window.cost = window.cost.plus(more.cost);
                    window.cost_unknown += more.cost_unknown;
                    window.tokens = window.tokens.saturating_add(more.tokens);
                } else if window.start < more.start {
                    *window = *more;
                }
            }
        }
        self
    }

    /// What was spent of the budgets of `heartbeat`.
    #[must_use]
    pub fn spent(&self, heartbeat: &Heartbeat, now: Timestamp) -> Vec<Spent> {
        let tallies = scopes(heartbeat).filter_map(|(scope, _)| Some((self.tallies.get(&scope)?, scope)));
        let spent = tallies.flat_map(|(tally, scope)| {
            let limits = tally.budget.limits().iter().zip(&tally.windows);
            limits.map(move |((period, limit), window)| {
                // A period that has ended has a successor, in which nothing was spent.
                let next = Window::of(*period, now, tally.budget.zone()).filter(|_| window.end <= now);
                let window = next.unwrap_or(*window);
                let (amount, cost_unknown) = match limit {
                    Amount::Usd(_) => (format!("{} USD", window.cost.usd()), window.cost_unknown),
                    Amount::Tokens(_) => (format!("{} tokens", window.tokens), 0),
                };
                let (scope, until) = (scope.clone(), window.end);
                Spent { scope, period: *period, limit: *limit, amount, cost_unknown, until }
            })
        });
        spent.collect()
    }

    /// The budget that holds `heartbeat` for the longest time.
    #[must_use]
    pub fn hold(&self, heartbeat: &Heartbeat, now: Timestamp) -> Option<UsedUp> {
        let used_up = scopes(heartbeat).filter_map(|(scope, _)| {
            let (period, limit, until) = self.tallies.get(&scope)?.used_up(now)?;
            Some(UsedUp { scope, limit, period, until })
        });
        used_up.max_by_key(|used_up| used_up.until)
    }
}

/// The budgets of a heartbeat.
fn scopes(heartbeat: &Heartbeat) -> impl Iterator<Item = (Scope, &Arc<Budget>)> {
    heartbeat.settings.budgets.iter().flat_map(|budgets| {
        let workspace = || Scope::Workspace(Arc::clone(&heartbeat.workspace));
        let all = budgets.total.iter().map(|budget| (Scope::All, budget));
        let workspace = budgets.workspace.iter().map(move |budget| (workspace(), budget));
        let own = budgets.own.iter().map(|budget| (Scope::Heartbeat(heartbeat.id.clone()), budget));
        all.chain(workspace).chain(own)
    })
}
