//! Heartbeats that may not start, because of the usage limits of their account, or of their budgets.

use super::{Entry, Heartbeats};
use jiff::Timestamp;
use murmur_agent::backend;
use murmur_agent::invocation::own_env;
use murmur_core::config::backend::Backend;
use murmur_core::config::heartbeat::{Heartbeat, HeartbeatId};
use murmur_core::config::settings::Settings;
use murmur_core::usage_limit::{Account, Usage, spoken};
use murmur_store::limits::Limits;
use std::collections::{BTreeMap, HashMap};
use sys::clock::rfc3339;
use sys::paths::User;

/// Why a heartbeat may not start, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Until when.
    pub until: Timestamp,
    /// Why, for people.
    pub why: String,
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
            let backend = heartbeat.backend.as_ref().map_or(&accounts.default, |chosen| &chosen.value);
            if accounts.by_backend.iter().all(|(known, _)| known != backend) {
                let account = backend::account(backend, &user.home, &own_env);
                accounts.by_backend.push((backend.clone(), account));
            }
        }
        accounts
    }

    fn backend<'a>(&'a self, heartbeat: &'a Heartbeat) -> &'a Backend {
        heartbeat.backend.as_ref().map_or(&self.default, |chosen| &chosen.value)
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

    /// Sets what is known of usage limits. Returns what to log: which accounts are on hold now and were not before.
    pub fn set_limits(&mut self, limits: Limits, now: Timestamp) -> Vec<String> {
        let before = std::mem::replace(&mut self.limits, limits);
        self.apply_limits(now);
        let held = |limits: &Limits| -> BTreeMap<Account, Timestamp> {
            let held = |usage: &Usage| Some(usage.held(now)?.until);
            let all = limits.accounts.iter();
            all.filter_map(|(account, usage)| Some((account.clone(), held(usage)?))).collect()
        };
        let (before, after) = (held(&before), held(&self.limits));
        let new = after.iter().filter(|(account, until)| before.get(*account) != Some(until));
        let mut lines: Vec<String> = new
            .map(|(account, until)| {
                let why = self.limits.accounts.get(account).and_then(|usage| usage.held(now));
                let window = why.map_or_else(String::new, |hold| spoken(&hold.window));
                format!("{account} is on hold until {}: its {window} limit is reached", rfc3339(*until))
            })
            .collect();
        let over = before.keys().filter(|account| !after.contains_key(*account));
        lines.extend(over.map(|account| format!("{account} is no longer on hold")));
        lines
    }

    /// Sets which heartbeats' budgets are used up.
    pub fn set_over_budget(&mut self, over_budget: HashMap<HeartbeatId, Held>, now: Timestamp) {
        self.over_budget = over_budget;
        self.apply_limits(now);
    }

    /// Decides again which heartbeats are held.
    pub(super) fn apply_limits(&mut self, now: Timestamp) {
        for entry in &mut self.entries {
            let limit = self.limits.accounts.get(&entry.account).and_then(|usage| held(usage, entry, now));
            let budget = self.over_budget.get(&entry.heartbeat.id).cloned();
            entry.limited = limit.into_iter().chain(budget).max_by_key(|held| held.until);
            entry.stopped = self.limits.stopped.get(entry.heartbeat.id.as_str()).cloned();
        }
        self.apply_streaks();
    }

    /// What is known of usage limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

fn held(usage: &Usage, entry: &Entry, now: Timestamp) -> Option<Held> {
    if let Some(hold) = usage.held(now) {
        let why = format!("the {} limit of {} is reached", spoken(&hold.window), entry.account);
        return Some(Held { until: hold.until, why });
    }
    let reserve = entry.heartbeat.reserve?.value;
    let reserved = usage.reserved_until(reserve, now)?;
    let used = 100.0 * reserved.utilization;
    let why = format!(
        "{used:.0}% of the {} limit of {} is used, and reserve is {reserve}",
        spoken(&reserved.window),
        entry.account
    );
    Some(Held { until: reserved.until, why })
}
