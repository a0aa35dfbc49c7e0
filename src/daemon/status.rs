//! The status that `murmur status` shows: the daemon, if one runs, and every heartbeat (docs/reference/json.md).

mod collect;

use super::heartbeats::{HeartbeatHold, HoldKind};
use super::pauses::Pause;
use crate::beat::sources;
use jiff::Timestamp;
use murmur_core::config::backend::Backend;
use murmur_core::config::heartbeat::Heartbeat;
use murmur_core::id::{AgentId, BeatId};
use murmur_core::permit::request::RequestId;
use murmur_core::spending::{Ledger, Spent};
use murmur_outcome::OutcomeKind;
use murmur_store::limits::Limits;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use sys::clock::rfc3339;

pub use collect::heartbeats;

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusRequest {
    /// Whether to list the settings of each heartbeat: most of a long answer.
    #[serde(default = "yes")]
    pub settings: bool,
}

impl StatusRequest {
    /// The status without the settings of heartbeats.
    pub const WITHOUT_SETTINGS: Self = Self { settings: false };
}

impl Default for StatusRequest {
    fn default() -> Self {
        Self { settings: true }
    }
}

/// The whole status.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Why every call of all agents, or of a project's, is denied. Also the first of `problems`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// The daemon; `null` if none runs.
    pub daemon: Option<Daemon>,
    /// Problems beyond a single heartbeat, such as with config.json or the journal.
    pub problems: Vec<String>,
    /// Journal lines that could not be written yet.
    pub waiting_lines: usize,
    /// Why they could not, with a hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_reason: Option<String>,
    /// The ids of hosted agents (`murmur agent`), which run without the daemon.
    #[serde(default)]
    pub live_agents: Vec<AgentId>,
    /// How many requests wait for a person (`murmur inbox`).
    #[serde(default)]
    pub requests: usize,
    /// The accounts on hold: no heartbeat that uses one starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<AccountHold>,
    /// Every heartbeat, in the order of config.json.
    pub heartbeats: Vec<HeartbeatStatus>,
    /// What a person has paused: first all heartbeats, then single ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paused: Vec<Pause>,
}

/// An account on hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountHold {
    /// The account: program, folder and kind of credential.
    pub account: String,
    /// The limit that is reached, such as `five_hour`.
    pub window: String,
    /// When the hold ends, RFC 3339.
    pub until: String,
}

/// The accounts on hold in `limits`, as of `now`.
#[must_use]
pub fn holds(limits: &Limits, now: Timestamp) -> Vec<AccountHold> {
    let all = limits.accounts.iter();
    all.filter_map(|(account, usage)| {
        let hold = usage.held(now)?;
        let (account, window) = (account.to_string(), hold.window.clone());
        Some(AccountHold { account, window, until: rfc3339(hold.until) })
    })
    .collect()
}

/// Why a heartbeat may not start although it may be due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldStatus {
    /// What holds it.
    #[serde(default)]
    pub kind: HoldKind,
    /// Until when, RFC 3339.
    pub until: String,
    /// Why.
    pub why: String,
}

impl HeldStatus {
    /// What holds a heartbeat, unless that is over.
    fn of(held: Option<&HeartbeatHold>, now: Timestamp) -> Option<Self> {
        let HeartbeatHold { kind, until, why } = held.filter(|held| now < held.until)?;
        Some(Self { kind: *kind, until: rfc3339(*until), why: why.clone() })
    }
}

/// The daemon.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Daemon {
    /// Its process id.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// RFC 3339.
    pub started_at: String,
    /// In seconds.
    pub uptime_seconds: i64,
    /// How it learns of edits: `watch`, or `tick` where files cannot be watched.
    pub edits: String,
    /// Whether it is stopping.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopping: bool,
    /// Why some file changes don't start their heartbeats. Also one of `problems`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwatched: Option<String>,
}

/// One heartbeat.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatStatus {
    /// The workspace's path, or `path::heartbeats/<name>/HEARTBEAT.md`.
    pub id: String,
    /// The workspace's path.
    pub workspace: String,
    /// The name of a named heartbeat.
    pub name: Option<String>,
    /// The heartbeat's title for people.
    pub title: String,
    /// The program that runs its agent, unless that is Claude Code.
    #[serde(default, skip_serializing_if = "Backend::is_default")]
    pub backend: Backend,
    /// `every 30m`, or the cron expression and its time zone; `null` if it has none.
    pub schedule: Option<String>,
    /// The paths and globs whose changes start it, besides the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Vec<String>>,
    /// RFC 3339.
    pub last_run: Option<String>,
    /// The last run in config.json if that is in the future, RFC 3339; `lastRun` ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run_ahead: Option<String>,
    /// The outcome of the last beat in the journal.
    pub last: Option<LastBeat>,
    /// RFC 3339; in the past if it is due, 1970 if it never ran; `null` if it is not scheduled or no daemon runs.
    pub next_run: Option<String>,
    /// Why `next_run` is later than the schedule says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_reason: Option<String>,
    /// The runs that were dropped since the daemon started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Dropped>,
    /// The running beat.
    pub running: Option<RunningBeat>,
    /// Whether it is due and waits for another beat to end.
    pub waiting: bool,
    /// The request that its last beat waits for; it is not due meanwhile.
    #[serde(default)]
    pub waits_for: Option<RequestId>,
    /// Why it may not start yet: a usage limit, a reserve, a budget or failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldStatus>,
    /// What else holds it, for a shorter time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also_held: Option<HeldStatus>,
    /// Whether its file is still the template: the daemon does not start it.
    #[serde(default)]
    pub unedited: bool,
    /// Whether it is approved; otherwise the daemon does not start it. A workspace's own heartbeat always is.
    #[serde(default = "yes")]
    pub approved: bool,
    /// Settings in its HEARTBEAT.md that have no effect, one line each.
    #[serde(default)]
    pub notices: Vec<String>,
    /// Whether its agent runs without its repository's Claude files because they are not trusted. The daemon does not
    /// check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repository_untrusted: bool,
    /// Why it cannot run.
    pub problem: Option<String>,
    /// Whether that is because nothing ever starts it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub never_runs: bool,
    /// What it has spent of its budgets in their current periods; only with settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<BudgetStatus>,
    /// Whether the daemon may start it, as the configuration says.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub enabled: bool,
    /// Why it is paused, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Pause>,
    /// How many of its last beats failed in a row.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
    /// All settings that a beat of it would run with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
}

/// What was spent of a budget in its current period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetStatus {
    /// Whose beats count.
    pub scope: String,
    /// `day`, `week` or `month`.
    pub period: String,
    /// How much may be spent, such as `5 USD`.
    pub limit: String,
    /// How much was.
    pub spent: String,
    /// How many beats should have reported a cost, but didn't.
    #[serde(rename = "costUnknown", default, skip_serializing_if = "is_zero")]
    pub cost_unknown: u64,
    /// When the period ends, RFC 3339.
    pub until: String,
}

impl BudgetStatus {
    /// What was spent of the budgets of `heartbeat`, as of `now`.
    fn all(ledger: &Ledger, heartbeat: &Heartbeat, now: Timestamp) -> Vec<Self> {
        let status = |spent: Spent| Self {
            scope: spent.scope.to_string(),
            period: spent.period.name().to_owned(),
            limit: spent.limit.to_string(),
            spent: spent.amount,
            cost_unknown: spent.cost_unknown,
            until: rfc3339(spent.until),
        };
        ledger.spent(heartbeat, now).into_iter().map(status).collect()
    }
}

/// Runs that did not start, because they were late or the previous one was still running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// How many.
    pub count: u32,
    /// When the last one was due, RFC 3339.
    pub last: String,
    /// Why the last one was dropped.
    pub why: String,
}

/// A setting of a heartbeat.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Setting {
    /// The key, as in config.json. A list whose parts come from several files has several.
    pub key: String,
    /// The value, for people.
    pub value: String,
    /// Where it is set: `default`, `config.toml`, `config.json` or `HEARTBEAT.md`.
    pub source: String,
}

impl From<sources::SettingRow> for Setting {
    fn from(sources::SettingRow { key, value, source }: sources::SettingRow) -> Self {
        Self { key: key.to_owned(), value, source: source.to_string() }
    }
}

fn is_zero<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}

/// The default for fields that an older daemon doesn't send.
fn yes() -> bool {
    true
}

/// A heartbeat's last beat.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastBeat {
    /// Its outcome.
    pub outcome: OutcomeKind,
    /// Whether it was stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// When it ended, RFC 3339.
    pub ended_at: String,
    /// Its summary or its error.
    pub text: Option<String>,
    /// How many calls its agent ran without a decision.
    #[serde(default, rename = "unguarded", skip_serializing_if = "is_zero")]
    pub undecided: usize,
    /// The text to print after its outcome.
    #[serde(skip)]
    pub text_after_outcome: Option<String>,
}

/// A running beat.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningBeat {
    /// The beat's id.
    pub beat: BeatId,
    /// RFC 3339.
    pub since: String,
    /// The request that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<RequestId>,
}

impl HeartbeatStatus {
    /// Clears the schedule, as no daemon runs.
    pub fn not_scheduled(&mut self) {
        self.next_run = None;
        self.next_reason = None;
        self.waiting = false;
    }

    /// Records a run that started at this time, unless a later one is known.
    pub fn learn_run(&mut self, began: Option<Timestamp>) {
        let known = self.last_run.as_ref().and_then(|at| at.parse::<Timestamp>().ok());
        if let Some(began) = began.filter(|began| known.is_none_or(|known| known < *began)) {
            self.last_run = Some(rfc3339(began));
        }
    }

    /// When the last run started, if the journal has no line for it.
    #[must_use]
    pub fn unjournaled_run(&self) -> Option<&str> {
        let began =
            self.last_run.as_deref().filter(|_| self.running.is_none() && self.waits_for.is_none())?;
        let at = |text: &str| text.parse::<Timestamp>().ok();
        let is_known = self.last.as_ref().and_then(|last| at(&last.ended_at)) >= at(began);
        (!is_known).then_some(began)
    }
}

/// Marks running beats that wait for a person: `waits` has their requests.
pub fn mark_waiting(heartbeats: &mut [HeartbeatStatus], waits: &HashMap<BeatId, RequestId>) {
    for running in heartbeats.iter_mut().filter_map(|heartbeat| heartbeat.running.as_mut()) {
        running.waits_for = waits.get(&running.beat).cloned();
    }
}

/// Says that `count` lines are not in the journal yet, and why, if known. `runs` is whether a daemon runs.
#[must_use]
pub fn waiting(count: usize, reason: Option<&str>, runs: bool) -> String {
    let lines =
        if count == 1 { "1 journal line is".to_owned() } else { format!("{count} journal lines are") };
    match reason {
        Some(reason) => format!("{lines} not written yet: {reason}"),
        None if runs => format!("{lines} not written yet; the daemon retries every 10s"),
        None => format!("{lines} not written yet; run: murmur start"),
    }
}
