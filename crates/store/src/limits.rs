//! limits.json: what agents reported of their accounts' usage limits, and the beats that a limit stopped.
//!
//! Beats and hosts write it, under a lock, when their agent reports a limit; the daemon reads it. Accounts without
//! usage limits, such as those with an API key, have no entry.

use jiff::Timestamp;
use murmur_agent::event::{Event, RateLimit};
use murmur_core::config::heartbeat::HeartbeatId;
use murmur_core::id::SessionId;
use murmur_core::usage_limit::{self, Account, Hold, LimitMessage, UnknownReset, Usage, Window, spoken};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use sys::clock::rfc3339;
use sys::error::Failure;
use sys::paths::DataDir;
use sys::versioned::{self, ReadError};
use sys::{failure, lock};

/// The file's contents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// What is known of each account.
    #[serde(default)]
    pub accounts: BTreeMap<Account, Usage>,
    /// The beats that a limit stopped, by the heartbeat's id.
    #[serde(default)]
    pub stopped: BTreeMap<String, StoppedBeat>,
}

/// A beat that a limit stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoppedBeat {
    /// When it started.
    pub started_at: Timestamp,
    /// Its session.
    pub session: SessionId,
}

/// A usage limit that stopped a beat, as in its journal line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitReached {
    /// The account.
    pub account: Account,
    /// The limit, such as `five_hour`.
    pub window: String,
    /// When it resets, if the agent reported that, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<String>,
    /// Until when the account is on hold, if it is, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_until: Option<String>,
}

/// Reads the file; a missing one is empty.
pub fn read(dir: &DataDir) -> Result<Limits, Failure> {
    let path = dir.limits();
    match versioned::read(&path) {
        Ok(limits) => Ok(limits.unwrap_or_default()),
        Err(ReadError::Io(error)) => Err(failure!("cannot read {}", path.display()).because(&error)),
        Err(ReadError::Foreign) => Err(failure!(
            "{} has an unknown format or version, so no usage limit is known", path.display();
            "remove it; agents report their limits again"
        )),
    }
}

/// Changes the file, unless `change` returns that there is nothing to change. Other contents are replaced.
pub fn update(dir: &DataDir, change: impl FnOnce(&mut Limits) -> bool) -> io::Result<()> {
    let _lock = lock::lock(&dir.limits_lock())?;
    let mut limits = versioned::read_known::<Limits>(&dir.limits())?;
    if !change(&mut limits) {
        return Ok(());
    }
    versioned::write(&dir.limits(), &limits)
}

/// The status of a limit that is reached.
pub const REJECTED: &str = "rejected";

/// What one agent reported of its account's usage limits.
#[derive(Debug, Clone, Default)]
pub struct Reports(Vec<Report>);

/// A report, and when it arrived.
#[derive(Debug, Clone)]
struct Report {
    limit: RateLimit,
    at: Timestamp,
}

impl Reports {
    /// Processes a report that arrived at `at`. The last one of each limit counts.
    fn add(&mut self, limit: &RateLimit, at: Timestamp) {
        let report = Report { limit: limit.clone(), at };
        match self.0.iter_mut().find(|known| known.limit.window == limit.window) {
            Some(known) => *known = report,
            None => self.0.push(report),
        }
    }

    /// Processes an event of the agent; returns whether it is about usage limits. Errors count where no report came
    /// before them.
    pub fn observe(&mut self, event: &Event<'_>, now: Timestamp) -> bool {
        match event {
            Event::RateLimit(limit) => self.add(limit, now),
            Event::ApiError(error) if self.rejected().is_none() => match &error.limit {
                Some(limit) => self.add(limit, now),
                None => return false,
            },
            Event::Result(result) if result.is_error => {
                return self.read_error(result.text.as_deref().unwrap_or_default(), now);
            }
            _ => return false,
        }
        true
    }

    /// Processes the text of an error.
    fn read_error(&mut self, text: &str, now: Timestamp) -> bool {
        if usage_limit::is_other_limit(text) {
            let before = self.0.len();
            // Claude Code reports each 429 as a rejected limit; this one has no name.
            self.0.retain(|known| known.limit.status != REJECTED || !known.limit.window.is_empty());
            return self.0.len() < before;
        }
        let found = LimitMessage::parse(text, now).filter(|_| self.rejected().is_none());
        let Some(LimitMessage { window, resets_at }) = found else { return false };
        let resets_at = resets_at.map(Timestamp::as_second);
        self.add(&RateLimit { status: REJECTED.to_owned(), window, resets_at, utilization: None }, now);
        true
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The limit that is reached; of several, the one that resets last.
    #[must_use]
    pub fn rejected(&self) -> Option<&RateLimit> {
        let limits = self.0.iter().map(|report| &report.limit);
        limits.filter(|limit| limit.status == REJECTED).max_by_key(|limit| limit.resets_at)
    }

    /// The resulting hold for `account`, or why it isn't put on hold; `None` if no limit is reached.
    #[must_use]
    pub fn hold(&self, account: &Account, now: Timestamp) -> Option<Result<Hold, UnknownReset>> {
        let limit = self.rejected()?;
        Some(usage_limit::hold(account, &limit.window, time(limit), now))
    }

    /// Updates the usage of `account`; returns whether it changed. Another agent may have reported something newer.
    pub fn record(&self, usage: &mut Usage, account: &Account, now: Timestamp) -> bool {
        let before = usage.clone();
        for Report { limit, at } in &self.0 {
            let mut window = Window {
                status: limit.status.clone(),
                utilization: limit.utilization.filter(|part| part.is_finite()),
                resets_at: time(limit),
                reported_at: *at,
            };
            if let Some(known) = usage.windows.get(&limit.window) {
                // A time in the future is from before the clock was set back.
                if known.reported_at > *at && known.reported_at <= now {
                    continue;
                }
                let is_same = *known == (Window { reported_at: known.reported_at, ..window.clone() });
                if is_same && limit.status != REJECTED {
                    window.reported_at = known.reported_at;
                }
            }
            let is_rejected = limit.status == REJECTED;
            usage.windows.insert(limit.window.clone(), window);
            let is_held = usage.hold.as_ref().is_some_and(|hold| hold.window == limit.window);
            match usage_limit::hold(account, &limit.window, time(limit), now) {
                Ok(hold) if is_rejected => {
                    let is_longer = usage.held(now).is_none_or(|known| is_held || known.until < hold.until);
                    if is_longer {
                        usage.hold = Some(hold);
                    }
                }
                // A limit without a known reset time doesn't change the hold.
                Err(_) if is_rejected => {}
                _ if is_held => usage.hold = None,
                _ => {}
            }
        }
        *usage != before
    }
}

fn time(limit: &RateLimit) -> Option<Timestamp> {
    limit.resets_at.and_then(|seconds| Timestamp::from_second(seconds).ok())
}

/// The summary of a beat that a limit stopped.
#[must_use]
pub fn summary(limit: &RateLimit, hold: &Result<Hold, UnknownReset>) -> String {
    let name = spoken(&limit.window);
    match hold {
        Ok(hold) => {
            format!("the {name} limit is reached; it resets at {}", rfc3339(hold.resets_at))
        }
        Err(why) => format!("the {name} limit is reached; {why}, so the account is not put on hold"),
    }
}

/// Records what a hosted agent reported.
pub fn record_hosted(dir: &DataDir, account: &Account, reports: &Reports, now: Timestamp) -> io::Result<()> {
    update(dir, |limits| reports.record(limits.accounts.entry(account.clone()).or_default(), account, now))
}

/// Records what the agent of a beat reported, and whether the heartbeat `id` has a beat to continue.
pub fn record(
    dir: &DataDir,
    account: &Account,
    reports: &Reports,
    id: &HeartbeatId,
    stopped: Option<StoppedBeat>,
    now: Timestamp,
) -> io::Result<()> {
    // Most accounts have no limits, and no file.
    if reports.is_empty() && !dir.limits().exists() {
        return Ok(());
    }
    update(dir, |limits| {
        let before = limits.stopped.remove(id.as_str());
        let mut is_changed = before != stopped;
        if let Some(stopped) = stopped {
            limits.stopped.insert(id.as_str().to_owned(), stopped);
        }
        if !reports.is_empty() {
            is_changed |= reports.record(limits.accounts.entry(account.clone()).or_default(), account, now);
        }
        is_changed
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_agent::event::{ApiError, RunResult};
    use std::os::unix::fs::FileTypeExt;

    fn report(window: &str, status: &str, resets_at: Option<i64>) -> RateLimit {
        RateLimit { status: status.to_owned(), window: window.to_owned(), resets_at, utilization: Some(0.5) }
    }

    fn dir() -> (tempfile::TempDir, DataDir) {
        let top = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(top.path()), None, None).unwrap();
        (top, dir)
    }

    fn record_one(dir: &DataDir, reports: &[RateLimit], stopped: Option<StoppedBeat>) {
        let mut all = Reports::default();
        reports.iter().for_each(|report| all.add(report, now()));
        let id = HeartbeatId::parse("/w");
        record(dir, &Account::new("claude", "/c", "login"), &all, &id, stopped, now()).unwrap();
    }

    fn now() -> Timestamp {
        "2026-02-03T10:00:00Z".parse().unwrap()
    }

    fn in_hours(hours: i64) -> Option<i64> {
        Some(now().as_second() + 3600 * hours)
    }

    #[test]
    fn an_account_without_limits_leaves_no_file() {
        let (top, dir) = dir();
        record_one(&dir, &[], None);
        assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_replaced() {
        let (_top, dir) = dir();
        // Not even root can read a socket, but anybody can replace it.
        let _socket = std::os::unix::net::UnixListener::bind(dir.limits()).unwrap();
        assert!(update(&dir, |_| true).unwrap_err().to_string().starts_with("cannot read "));
        assert!(dir.limits().metadata().unwrap().file_type().is_socket());
    }

    #[test]
    fn a_reached_limit_holds_the_account_until_another_report_says_otherwise() {
        let (_top, dir) = dir();
        let stopped = StoppedBeat { started_at: now(), session: SessionId::new("s".to_owned()) };
        record_one(&dir, &[report("five_hour", "rejected", in_hours(2))], Some(stopped.clone()));
        let limits = read(&dir).unwrap();
        let usage = limits.accounts.values().next().unwrap();
        assert_eq!(usage.held(now()).unwrap().resets_at.as_second(), in_hours(2).unwrap());
        assert_eq!(limits.stopped.values().collect::<Vec<_>>(), [&stopped]);
        record_one(&dir, &[report("five_hour", "allowed", in_hours(7))], None);
        let limits = read(&dir).unwrap();
        assert_eq!(limits.accounts.values().next().unwrap().held(now()), None);
        assert!(limits.stopped.is_empty());
    }

    #[test]
    fn only_a_newer_report_of_the_same_limit_ends_a_hold() {
        let account = Account::new("claude", "/c", "login");
        let mut usage = Usage::default();
        let second = |seconds: i64| now().checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap();
        let mut seen = |window, status, hours: Option<i64>, at: i64, recorded: i64| {
            let mut reports = Reports::default();
            reports.add(&report(window, status, hours.and_then(in_hours)), second(at));
            reports.record(&mut usage, &account, second(recorded));
            usage.held(second(recorded)).map(|hold| hold.window.clone())
        };
        let five = Some("five_hour".to_owned());
        assert_eq!(seen("five_hour", "rejected", Some(2), 10, 10), five);
        // Seen before that by a beat that ended later.
        assert_eq!(seen("five_hour", "allowed", Some(2), 5, 20), five);
        assert_eq!(seen("seven_day", "allowed", Some(90), 21, 21), five);
        assert_eq!(seen("five_hour", "rejected", None, 22, 22), five);
        assert_eq!(seen("seven_day", "rejected", Some(90), 23, 23), Some("seven_day".to_owned()));
        assert_eq!(seen("five_hour", "rejected", Some(2), 24, 24), Some("seven_day".to_owned()));
        assert_eq!(seen("seven_day", "allowed", Some(90), 25, 25), None);
    }

    fn error(text: &str) -> Event<'static> {
        let result = RunResult { is_error: true, text: Some(text.to_owned()), ..RunResult::default() };
        Event::Result(Box::new(result))
    }

    #[test]
    fn an_error_reports_a_limit_that_no_event_reported() {
        let rejected = |reports: &Reports| reports.rejected().cloned();
        let limit = || report("five_hour", "rejected", in_hours(2));
        let refusal = Event::ApiError(Box::new(ApiError {
            limit: Some(limit()),
            status: Some(429),
            ..ApiError::default()
        }));
        let message = error("You've hit your weekly limit · resets 1pm (UTC)");
        let mut reports = Reports::default();
        assert!(reports.observe(&refusal, now()));
        assert!(!reports.observe(&message, now()), "it is known");
        assert_eq!(rejected(&reports), Some(limit()));
        let mut reports = Reports::default();
        assert!(reports.observe(&message, now()));
        let expected = RateLimit { utilization: None, ..report("seven_day", "rejected", in_hours(3)) };
        assert_eq!(rejected(&reports), Some(expected));
    }

    #[test]
    fn a_limit_of_the_servers_is_none_of_the_account() {
        let mut reports = Reports::default();
        for window in ["", "five_hour"] {
            let status = if window.is_empty() { "rejected" } else { "allowed" };
            reports.observe(&Event::RateLimit(Box::new(report(window, status, in_hours(2)))), now());
        }
        assert!(reports.rejected().is_some());
        assert!(reports.observe(&error("API Error: busy (not your usage limit) · slow down"), now()));
        assert_eq!((reports.rejected(), reports.0.len()), (None, 1));
        assert!(!reports.observe(&error("API Error: Request rejected (429) · limit"), now()));
    }

    #[test]
    fn of_two_reached_limits_the_one_that_lasts_longer_counts() {
        let mut reports = Reports::default();
        for (window, status, hours) in
            [("five_hour", "rejected", 2), ("seven_day", "rejected", 90), ("other", "allowed", 100)]
        {
            reports.add(&report(window, status, in_hours(hours)), now());
        }
        assert_eq!(reports.rejected().unwrap().window, "seven_day");
        reports.add(&report("seven_day", "allowed", in_hours(90)), now());
        assert_eq!(reports.rejected().unwrap().window, "five_hour");
    }

    #[test]
    fn a_limit_with_an_impossible_reset_is_recorded_and_holds_nothing() {
        let (_top, dir) = dir();
        for hours in [Some(-1), Some(24 * 365), None] {
            let report = report("five_hour", "rejected", hours.and_then(in_hours));
            record_one(&dir, std::slice::from_ref(&report), None);
            let limits = read(&dir).unwrap();
            let usage = limits.accounts.values().next().unwrap();
            assert_eq!((usage.hold.as_ref(), usage.windows.len()), (None, 1));
        }
    }

    #[test]
    fn an_invalid_file_is_reported_and_replaced() {
        let (_top, dir) = dir();
        std::fs::write(dir.limits(), "{").unwrap();
        let error = read(&dir).unwrap_err();
        assert!(error.to_string().contains("limits.json has an unknown format or version"), "{error}");
        record_one(&dir, &[report("five_hour", "allowed", in_hours(2))], None);
        assert_eq!(read(&dir).unwrap().accounts.len(), 1);
    }
}
