//! One entry of `workspaces`. Each key is parsed by its own type, so that errors name the key and its position.

mod cursor;
mod last_run;
mod schedule_keys;
mod value;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::error::Hinted;
use sys::failure;

use jiff::Timestamp;

use super::{BadWorkspace, SETTINGS, Text};
use crate::config::approval::{Approval, ApprovalSettings, Checker, Choice, Questions};
use crate::config::backend::{Backends, KeyPlaces};
use crate::config::budget::{Budget, Usd};
use crate::config::cron::{Crons, zone_of};
use crate::config::gate::{GateSource, Gates, Verify, When};
use crate::config::interval::Interval;
use crate::config::json::Object;
use crate::config::mcp::{self, Mcp};
use crate::config::on_failure::{Breaker, FailureKeys, Retry};
use crate::config::permissions::Permissions;
use crate::config::problem::{Position, Problem};
use crate::config::requires::Requires;
use crate::config::reserve::{OnLimit, Reserve};
use crate::config::schedule_options::ScheduleKeys;
use crate::config::schema::WorkspaceEntry;
use crate::config::size::Size;
use crate::config::spelling;
use crate::config::timing::Schedule;
use crate::config::watchdogs::WatchdogKeys;
use cursor::Cursor;
pub(super) use value::checked;
pub(in crate::config) use value::is_word;
use value::{SPAN, clean, path, permissions, read, word};

/// The default for how many turns a beat may take.
pub const DEFAULT_MAX_TURNS: NonZeroU32 = NonZeroU32::new(3).unwrap();
/// The default for how long a beat may take.
pub(in crate::config) const DEFAULT_TIMEOUT: Interval = Interval::from_secs(300).unwrap();
/// The default for how long background tasks may run after the agent's turn ended.
pub const DEFAULT_BACKGROUND_WAIT: Interval = Interval::from_secs(10).unwrap();

/// The default for how much space must be free before a beat starts.
pub const DEFAULT_MIN_FREE: Size = Size::mebibytes(256);

/// The keys of an entry.
pub(in crate::config) const KEYS: [&str; 41] = [
    "path",
    "name",
    "interval",
    "cron",
    "tz",
    "maxTurns",
    "timeout",
    "backgroundWait",
    "model",
    "agent",
    "permissions",
    "permissionsChecker",
    "approval",
    "approvalWait",
    "approvalExpiry",
    "questions",
    "requires",
    "mcp",
    "lastRun",
    "lastRuns",
    "reserve",
    "onLimit",
    "enabled",
    "activeHours",
    "except",
    "jitter",
    "catchUp",
    "startDeadline",
    "overlap",
    "on",
    "when",
    "verify",
    "gates",
    "retry",
    "breaker",
    "maxBudgetUsd",
    "budget",
    "minFree",
    "startTimeout",
    "idleTimeout",
    "toolTimeout",
];

/// A valid entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// The folder: absolute, without `.` and trailing slashes, links not resolved.
    pub path: Arc<Path>,
    /// Its display name.
    pub name: Option<Box<str>>,
    /// The schedule of heartbeats that don't set their own.
    pub schedule: Option<Schedule>,
    /// How many turns a beat may take.
    pub max_turns: Option<NonZeroU32>,
    /// How long a beat may take.
    pub timeout: Option<Interval>,
    /// How long background tasks may run after the agent's turn ended, in case it takes another turn.
    pub background_wait: Option<Interval>,
    /// The model, or `None` for the agent's own choice.
    pub model: Option<Arc<str>>,
    /// The programs that may run its agents, or `None` for the user's default.
    pub agents: Option<Backends>,
    /// What its agents may not do.
    pub permissions: Permissions,
    /// Who decides on its agents' calls.
    pub asking: ApprovalSettings,
    /// The MCP servers that its heartbeats require.
    pub requires: Requires,
    /// The MCP servers that its heartbeats may use.
    pub mcp: Mcp,
    /// What its heartbeats leave of their account's usage limits.
    pub reserve: Option<Reserve>,
    /// What happens to a beat that a usage limit stopped.
    pub on_limit: Option<OnLimit>,
    /// The other keys about its schedule.
    pub options: Option<Box<ScheduleKeys>>,
    /// When the workspace's own heartbeat last ran.
    pub last_run: Option<Timestamp>,
    /// When the named heartbeats last ran, sorted by name.
    pub last_runs: Box<[(Box<str>, Timestamp)]>,
    /// What must hold before a beat starts its agent, and succeed after it.
    pub gates: Gates,
    /// Who may define gates.
    pub gate_source: GateSource,
    /// What happens after a beat fails.
    pub on_failure: FailureKeys,
    /// How much a beat may cost.
    pub max_budget: Option<Usd>,
    /// How much all its beats may cost.
    pub budget: Option<Arc<Budget>>,
    /// How much the beats of all workspaces may cost.
    pub total_budget: Option<Arc<Budget>>,
    /// How much space must be free before a beat starts.
    pub min_free: Option<Size>,
    /// When a beat that seems to hang is ended.
    pub watchdogs: WatchdogKeys,
    /// The position of the entry in config.json.
    pub place: Position,
    /// config.json, and where keys are set in it that not every backend can fulfill.
    pub(in crate::config) key_places: (Arc<Path>, KeyPlaces),
}

impl Workspace {
    /// A workspace that is not in config.json: defaults and no schedule.
    #[must_use]
    pub fn unregistered(path: &Path) -> Self {
        Self {
            path: path.components().collect::<PathBuf>().into(),
            name: None,
            schedule: None,
            max_turns: None,
            timeout: None,
            background_wait: None,
            model: None,
            agents: None,
            permissions: Permissions::default(),
            asking: ApprovalSettings::default(),
            requires: Requires::default(),
            mcp: Mcp::default(),
            reserve: None,
            on_limit: None,
            options: None,
            last_run: None,
            last_runs: Box::default(),
            gates: Gates::default(),
            gate_source: GateSource::default(),
            on_failure: FailureKeys::default(),
            max_budget: None,
            budget: None,
            total_budget: None,
            min_free: None,
            watchdogs: WatchdogKeys::default(),
            place: Position { line: 1, column: 1 },
            key_places: (Path::new("").into(), KeyPlaces::default()),
        }
    }

    pub(super) fn to_bad(&self, problem: Problem) -> BadWorkspace {
        BadWorkspace {
            problem,
            path: Some(Arc::clone(&self.path)),
            schedule: self.schedule.clone(),
            options: self.options.clone(),
            last_run: self.last_run,
        }
    }
}

/// Parses entries one after another.
pub(super) struct Reader<'a, 'b> {
    text: &'b Text<'a>,
    crons: &'b Crons,
    warnings: &'b mut Vec<Problem>,
    cursor: Cursor,
    file: Arc<Path>,
}

impl<'a, 'b> Reader<'a, 'b> {
    pub(super) fn new(text: &'b Text<'a>, crons: &'b Crons, warnings: &'b mut Vec<Problem>) -> Self {
        let cursor = Cursor::new(text.source.len() - text.body().len());
        Self { text, crons, warnings, cursor, file: text.path.into() }
    }

    pub(super) fn read(&mut self, entry: &'a str) -> Result<Workspace, Box<BadWorkspace>> {
        let place = self.cursor.place(self.text.source, entry);
        let Ok(object) = Object::parse(entry) else {
            let problem = self.text.wrong(
                "workspaces",
                entry,
                "write an object such as {\"path\": \"/home/me/project\", \"interval\": \"30m\"}",
            );
            return Err(Box::new(BadWorkspace::unknown(problem)));
        };
        let (mut problems, mut wrong) = (Vec::new(), Vec::new());
        let (mut keys, mut key_places) = (WorkspaceEntry::default(), KeyPlaces::default());
        for member in &object.0 {
            if KeyPlaces::has(&member.name()) {
                key_places.add(&member.name(), self.cursor.place(self.text.source, member.value));
            }
            if let Err(problem) = self.key(&mut keys, &member.name(), member.value, member.key) {
                problems.push(problem);
                wrong.push(member.name());
            }
        }
        let path =
            keys.path.as_deref().filter(|path| path.starts_with('/')).map(|path| Arc::from(clean(path)));
        let schedule =
            Schedule::from_keys(keys.interval, keys.cron.as_deref(), keys.tz.as_deref(), self.crons);
        // Keys that aren't readable are missing here.
        let is_whole = !wrong.iter().any(|key| ["interval", "cron", "tz"].contains(&&**key));
        if let (Err(error), true) = (&schedule, is_whole) {
            let value = object.get(error.key()).map_or(entry, |member| member.value);
            problems.push(Problem::at(
                self.text.path,
                self.text.place(value),
                error.failure().after(format_args!("{:?}: ", error.key())),
            ));
        }
        if !wrong.iter().any(|key| *key == "path") && keys.path.is_none() {
            problems.push(Problem::at(
                self.text.path,
                place,
                failure!("\"path\" is missing"; "write the folder's absolute path"),
            ));
        }
        let first = Problem::first_of(problems);
        let schedule = schedule.unwrap_or_default();
        let asking = keys.asking();
        let last_run = keys.last_run.map(|moment| moment.0);
        let zone = keys.tz.as_deref().and_then(|name| zone_of(name).ok());
        let zone = zone.as_ref().unwrap_or(self.crons.zone());
        let budget = keys.budget.map(|budget| Arc::new(budget.in_zone(zone)));
        let options = keys.options.boxed(zone);
        let gates = Gates { when: keys.when.unwrap_or_default(), verify: keys.verify.unwrap_or_default() };
        let gate_source = keys.gates.map(|word| word.0).unwrap_or_default();
        match (path, first) {
            (Some(path), None) => Ok(Workspace {
                path,
                name: keys.name.map(Into::into),
                schedule,
                max_turns: keys.max_turns,
                timeout: keys.timeout,
                background_wait: keys.background_wait,
                model: keys.model.map(Into::into),
                agents: keys.agent,
                permissions: keys.permissions.unwrap_or_default(),
                asking,
                requires: keys.requires.unwrap_or_default(),
                mcp: keys.mcp.unwrap_or_default().0,
                reserve: keys.reserve,
                on_limit: keys.on_limit.map(|word| word.0),
                options,
                last_run,
                last_runs: keys
                    .last_runs
                    .into_iter()
                    .flatten()
                    .filter_map(|(name, at)| Some((name.into(), at?.0)))
                    .collect(),
                gates,
                gate_source,
                on_failure: keys.on_failure,
                max_budget: keys.max_budget_usd,
                budget,
                total_budget: None,
                min_free: keys.min_free,
                watchdogs: keys.watchdogs,
                place,
                key_places: (Arc::clone(&self.file), key_places),
            }),
            (path, first) => {
                let problem = first.unwrap_or_else(|| {
                    Problem::at(
                        self.text.path,
                        place,
                        failure!("\"path\" is wrong"; "write the folder's absolute path"),
                    )
                });
                Err(Box::new(BadWorkspace { problem, path, schedule, options, last_run }))
            }
        }
    }

    fn key(
        &mut self,
        keys: &mut WorkspaceEntry,
        name: &str,
        value: &str,
        raw_key: &str,
    ) -> Result<(), Problem> {
        let text = self.text;
        match name {
            "path" => keys.path = Some(path(text, value)?),
            "name" => keys.name = word(text, name, value)?,
            "interval" => {
                keys.interval = checked(text, name, value, "write a string such as \"30m\" or \"1h30m\"")?
            }
            "cron" => keys.cron = read(text, name, value, "write a string such as \"0 9 * * MON-FRI\"")?,
            "tz" => keys.tz = read(text, name, value, "write an IANA name such as \"Europe/Berlin\"")?,
            "maxTurns" => {
                keys.max_turns = read(text, name, value, "write a whole number of at least 1, such as 3")?
            }
            "timeout" => keys.timeout = checked(text, name, value, SPAN)?,
            "backgroundWait" => {
                keys.background_wait = checked(text, name, value, "write a string such as \"10s\"")?
            }
            "model" => keys.model = word(text, name, value)?,
            "agent" => keys.agent = checked(text, name, value, Backends::ACCEPTED)?,
            "permissions" => keys.permissions = Some(permissions(text, value)?),
            "permissionsChecker" => keys.permissions_checker = checked(text, name, value, Checker::ACCEPTED)?,
            "approval" => keys.approval = checked(text, name, value, Approval::ACCEPTED)?,
            "approvalWait" => {
                keys.approval_wait = checked(text, name, value, "write a string such as \"2m\"")?
            }
            "approvalExpiry" => {
                keys.approval_expiry = checked(text, name, value, "write a string such as \"24h\"")?
            }
            "questions" => keys.questions = checked(text, name, value, Questions::ACCEPTED)?,
            "requires" => keys.requires = checked(text, name, value, Requires::ACCEPTED)?,
            "mcp" => keys.mcp = checked::<mcp::Written>(text, name, value, Mcp::ACCEPTED)?,
            "reserve" => keys.reserve = checked(text, name, value, Reserve::ACCEPTED)?,
            "onLimit" => keys.on_limit = checked(text, name, value, OnLimit::ACCEPTED)?,
            "lastRun" => {
                keys.last_run =
                    read(text, name, value, "write null, or a time such as \"2026-02-03T10:00:00Z\"")?
            }
            "lastRuns" => {
                keys.last_runs = read::<BTreeMap<_, _>>(
                    text,
                    name,
                    value,
                    "write {}, or names with times such as {\"nightly\": \"2026-02-03T10:00:00Z\"}",
                )?;
            }
            known if ScheduleKeys::NAMES.contains(&known) => {
                schedule_keys::key(text, &mut keys.options, name, value)?;
            }
            "when" => keys.when = checked(text, name, value, When::ACCEPTED)?,
            "verify" => keys.verify = checked(text, name, value, Verify::ACCEPTED)?,
            "gates" => keys.gates = checked(text, name, value, GateSource::ACCEPTED)?,
            "retry" => keys.on_failure.retry = checked(text, name, value, Retry::ACCEPTED)?,
            "breaker" => keys.on_failure.breaker = checked(text, name, value, Breaker::ACCEPTED)?,
            "maxBudgetUsd" => keys.max_budget_usd = checked(text, name, value, Usd::ACCEPTED)?,
            "budget" => keys.budget = checked(text, name, value, Budget::ACCEPTED)?,
            "minFree" => keys.min_free = checked(text, name, value, Size::ACCEPTED)?,
            "startTimeout" => keys.watchdogs.start_timeout = checked(text, name, value, SPAN)?,
            "idleTimeout" => keys.watchdogs.idle_timeout = checked(text, name, value, SPAN)?,
            "toolTimeout" => keys.watchdogs.tool_timeout = checked(text, name, value, SPAN)?,
            moved if SETTINGS.contains(&moved) => self.warnings.push(text.key_of_settings(raw_key, moved)),
            unknown => {
                let problem = text.unknown_key(raw_key, unknown, &KEYS, "rules go into \"permissions\"");
                if spelling::is_about_permission(unknown) || spelling::is_about_limits(unknown, &KEYS) {
                    return Err(problem);
                }
                self.warnings.push(problem);
            }
        }
        Ok(())
    }
}
