//! Heartbeats that may not start, because of the usage limits of their account, or of their budgets.

use super::{Heartbeats, ScheduledHeartbeat};
use jiff::Timestamp;
use murmur_agent::backend;
use murmur_agent::invocation::own_env;
use murmur_core::config::backend::Backend;
use murmur_core::config::heartbeat::{Heartbeat, HeartbeatId};
use murmur_core::config::settings::Settings;
use murmur_core::usage_limit::{Account, Hold, Usage, spoken};
use murmur_store::limits::Limits;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use sys::clock::rfc3339;
use sys::paths::User;

/// What holds a heartbeat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HoldKind {
    /// A usage limit of its account is reached.
    #[default]
    Limit,
    /// Its account has no more left than the heartbeat's `reserve`.
    Reserve,
    /// A budget is used up.
    Budget,
    /// It keeps failing.
    Failures,
}

/// Why a heartbeat may not start, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatHold {
    /// What holds it.
    pub kind: HoldKind,
    /// Until when.
    pub until: Timestamp,
    /// Why, for people.
    pub why: String,
}

/// An account that is on hold now and was not before, or the reverse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldChange {
    /// The account.
    pub account: Account,
    /// Its hold; `None` if it no longer has one.
    pub hold: Option<Hold>,
}

impl fmt::Display for HoldChange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { account, hold } = self;
        match hold {
            Some(Hold { window, until, .. }) => {
                let (until, window) = (rfc3339(*until), spoken(window));
                write!(out, "{account} is on hold until {until}: its {window} limit is reached")
            }
            None => write!(out, "{account} is no longer on hold"),
        }
    }
}

/// The accounts that heartbeats use.
#[derive(Debug, Default)]
pub struct Accounts {
    /// The backend of heartbeats that set none.
    pub default: Backend,
    /// The account of each backend that a heartbeat uses.
    pub by_backend: Vec<(Backend, Account)>,
}

impl Accounts {
    /// The accounts that `heartbeats` of `user` use.
    #[must_use]
    pub fn find(heartbeats: &[Heartbeat], user: &User) -> Self {
        // Beats report broken settings.
        let settings = Settings::read(&user.settings.settings()).unwrap_or_default();
        let mut accounts = Self { default: settings.agent.unwrap_or_default(), by_backend: Vec::new() };
        for heartbeat in heartbeats {
            let backend =
                heartbeat.settings.backend.as_ref().map_or(&accounts.default, |chosen| &chosen.value);
            if accounts.by_backend.iter().all(|(known, _)| known != backend) {
                let account = backend::account(backend, &user.home, &own_env);
                accounts.by_backend.push((backend.clone(), account));
            }
        }
        accounts
    }

    fn backend<'a>(&'a self, heartbeat: &'a Heartbeat) -> &'a Backend {
        heartbeat.settings.backend.as_ref().map_or(&self.default, |chosen| &chosen.value)
    }

    fn of(&self, heartbeat: &Heartbeat) -> Account {
        let backend = self.backend(heartbeat);
        let known = self.by_backend.iter().find(|(known, _)| known == backend);
        known.map(|(_, account)| account.clone()).unwrap_or_default()
    }
}

impl Heartbeats {
    /// Sets the accounts that heartbeats use.
    pub fn set_accounts(&mut self, accounts: &Accounts, now: Timestamp) {
        for entry in &mut self.entries {
            entry.backend = accounts.backend(&entry.heartbeat).clone();
            entry.account = accounts.of(&entry.heartbeat);
        }
        self.apply_limits(now);
    }

    /// Replaces the known usage limits. Returns the accounts whose hold begins, changes or ends.
    pub fn set_limits(&mut self, limits: Limits, now: Timestamp) -> Vec<HoldChange> {
        let before = std::mem::replace(&mut self.limits, limits);
        self.apply_limits(now);
        let holds = |limits: &Limits| -> BTreeMap<Account, Hold> {
            let held =
                |(account, usage): (&Account, &Usage)| Some((account.clone(), usage.held(now)?.clone()));
            limits.accounts.iter().filter_map(held).collect()
        };
        let (before, after) = (holds(&before), holds(&self.limits));
        let over = before.keys().filter(|account| !after.contains_key(*account)).cloned();
        let over: Vec<HoldChange> = over.map(|account| HoldChange { account, hold: None }).collect();
        let is_new = |(account, hold): &(Account, Hold)| {
            before.get(account).is_none_or(|known| known.until != hold.until)
        };
        let new = after.into_iter().filter(is_new);
        new.map(|(account, hold)| HoldChange { account, hold: Some(hold) }).chain(over).collect()
    }

    /// Sets which heartbeats' budgets are used up.
    pub fn set_over_budget(&mut self, over_budget: HashMap<HeartbeatId, HeartbeatHold>, now: Timestamp) {
        self.over_budget = over_budget;
        self.apply_limits(now);
    }

    /// Decides again which heartbeats are held.
    pub(super) fn apply_limits(&mut self, now: Timestamp) {
        for entry in &mut self.entries {
            entry.limited = limited(entry, &self.limits, &self.over_budget, now).map(Box::new);
            entry.stopped = self.limits.stopped.get(entry.heartbeat.id.as_str()).cloned().map(Box::new);
        }
        self.apply_streaks();
    }

    /// What is known of usage limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// Why usage limits or a budget hold a heartbeat, and until when.
pub(super) fn limited(
    entry: &ScheduledHeartbeat,
    limits: &Limits,
    over_budget: &HashMap<HeartbeatId, HeartbeatHold>,
    now: Timestamp,
) -> Option<HeartbeatHold> {
    let limit = limits.accounts.get(&entry.account).and_then(|usage| held(usage, entry, now));
    let budget = over_budget.get(&entry.heartbeat.id).cloned();
    limit.into_iter().chain(budget).max_by_key(|held| held.until)
}

fn held(usage: &Usage, entry: &ScheduledHeartbeat, now: Timestamp) -> Option<HeartbeatHold> {
    if let Some(hold) = usage.held(now) {
        let why = format!("the {} limit of {} is reached", spoken(&hold.window), entry.account);
        return Some(HeartbeatHold { kind: HoldKind::Limit, until: hold.until, why });
    }
    let reserve = entry.heartbeat.settings.reserve?.value;
    let reserved = usage.reserved_until(reserve, now)?;
    let used = 100.0 * reserved.utilization;
    let unknown = if reserved.resets_at.is_none() { "; its reset time is unknown" } else { "" };
    let why = format!(
        "{used:.0}% of the {} limit of {} is used, and reserve is {reserve}{unknown}",
        spoken(&reserved.window),
        entry.account
    );
    Some(HeartbeatHold { kind: HoldKind::Reserve, until: reserved.until, why })
}
