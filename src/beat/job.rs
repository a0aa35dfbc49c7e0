//! The job of a beat: the resolved heartbeat, how to start its agent, and its journal line before the outcome is known.

use jiff::Timestamp;
use murmur_agent::backend;
use murmur_agent::invocation::own_env;
use murmur_agent::rule_files::Project;
use murmur_agent::settings::GuardedAgent;
use murmur_core::config::backend::{Backend, Capability, Command};
use murmur_core::config::captures::Captures;
use murmur_core::config::file::{DEFAULT_BACKGROUND_WAIT, DEFAULT_MAX_TURNS};
use murmur_core::config::gate::{Condition, Gate, Verifier};
use murmur_core::config::heartbeat::{BeatSettings, Heartbeat};
use murmur_core::config::mcp::Mcp;
use murmur_core::config::permissions::Permissions;
use murmur_core::config::settings::Settings;
use murmur_core::config::watchdogs::DEFAULT_START_TIMEOUT;
use murmur_core::id::{AgentId, BeatId, SessionId, empty_if_unknown};
use murmur_core::outcome::Outcome;
use murmur_core::permit::policy::{Policy, Role};
use murmur_core::permit::request::{BeatOf, RequestId};
use murmur_core::usage_limit::Account;
use murmur_hook::own;
use murmur_host::beat_limits::{BeatLimits, Turns};
use murmur_host::local_rules::LocalRules;
use murmur_host::protocol::AgentInfo;
use murmur_host::state;
use murmur_host::watchdogs::WatchdogTimeouts;
use murmur_store::journal::entry::JournalEntry;
use murmur_store::journal::unfinished::{BeatRecord, Phase};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::clock;
use sys::error::{Failure, Hinted};
use sys::paths::{DataDir, User, readable};

/// A resolved heartbeat to run. Running it needs no further configuration. The aliases are the keys of earlier daemons.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// The beat's id, a UUIDv7.
    pub beat: BeatId,
    /// The agent's id.
    pub agent: AgentId,
    /// The program that runs the agent.
    #[serde(default)]
    pub backend: Backend,
    /// How to start that program. A daemon that is too old to set it leaves it to config.toml.
    #[serde(default)]
    pub command: Option<Command>,
    /// How large captures may become, and how long they are kept.
    #[serde(default)]
    pub captures: Captures,
    /// The workspace, absolute.
    pub workspace: PathBuf,
    /// The name of a named heartbeat.
    pub name: Option<String>,
    /// Its HEARTBEAT.md.
    pub file: PathBuf,
    /// How many turns the agent may take.
    #[serde(alias = "max_turns")]
    pub max_turns: u32,
    /// Whether `max_turns` is the default.
    #[serde(default, alias = "default_turns")]
    pub default_turns: bool,
    /// How long the beat may run, in seconds.
    pub timeout: u32,
    /// How long background tasks may run after the agent's turn ended, in seconds.
    #[serde(default = "background_wait", alias = "background_wait")]
    pub background_wait: u32,
    /// How long the agent may take to print anything, in seconds.
    #[serde(default = "start_timeout", alias = "start_timeout")]
    pub start_timeout: u32,
    /// How long the agent may print nothing while no tool runs, in seconds.
    #[serde(default, alias = "idle_timeout")]
    pub idle_timeout: Option<u32>,
    /// How long a tool may run, in seconds.
    #[serde(default, alias = "tool_timeout")]
    pub tool_timeout: Option<u32>,
    /// The model, or `None` for the user's default.
    pub model: Option<String>,
    /// The MCP servers that the heartbeat requires.
    #[serde(default)]
    pub requires: Vec<String>,
    /// The MCP servers that the agent may use.
    #[serde(default)]
    pub mcp: Mcp,
    /// The workspace's own deny patterns; `None` means `permissions: "skip"`.
    pub deny: Option<Vec<String>>,
    /// The policy for calls that neither guard nor rules decide.
    pub policy: Policy,
    /// The user that the agent runs for.
    pub user: User,
    /// The PATH to find and run the agent with.
    pub path: PathBuf,
    /// A problem with the heartbeat; if set, nothing is started.
    pub problem: Option<Failure>,
    /// Whether to keep the conversation.
    pub verbose: bool,
    /// Whether a daemon starts it.
    pub scheduled: bool,
    /// Whether `beats/` already has a record for it, to take over.
    #[serde(default)]
    pub announced: bool,
    /// The deferred call to resume with, or `None` for a new conversation.
    #[serde(default)]
    pub resumes: Option<Resumes>,
    /// The session of a beat that a usage limit stopped, to continue.
    #[serde(default)]
    pub continues: Option<SessionId>,
    /// The account that the agent uses.
    #[serde(default)]
    pub account: Account,
    /// What must hold before the agent starts.
    #[serde(default)]
    pub when: Box<[Gate]>,
    /// What must succeed after it reports success.
    #[serde(default)]
    pub verify: Box<[Verifier]>,
    /// How much it may cost, in US dollars.
    #[serde(default, alias = "max_budget")]
    pub max_budget: Option<String>,
    /// Whether a budget in US dollars counts what it costs.
    #[serde(default)]
    pub counts_cost: bool,
    /// How many bytes must be free for the workspace, the data folder and captures.
    #[serde(default, alias = "min_free")]
    pub min_free: u64,
}

/// A conversation to resume with an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Resumes {
    /// The request that was answered.
    pub request: RequestId,
    /// The session; `None` if the backend did not say.
    #[serde(with = "empty_if_unknown")]
    pub session: Option<SessionId>,
}

impl Job {
    /// How to start its agent.
    pub(super) fn command(&self) -> Result<Command, Failure> {
        if let Some(command) = &self.command {
            return Ok(command.clone());
        }
        let settings = Settings::read(&self.user.settings.settings()).map_err(|error| error.failure())?;
        settings.command(&self.backend).map_err(|error| error.failure())
    }

    /// A beat of `heartbeat` for `user`, who has these `settings`, with `path` as its PATH.
    #[must_use]
    pub fn new(
        heartbeat: &Heartbeat,
        beat: BeatId,
        path: PathBuf,
        user: User,
        settings: &Result<Settings, Failure>,
    ) -> Self {
        // The broken settings could be the ones that forbid something, so start nothing.
        let problem = heartbeat.problem(settings.as_ref().ok()).map(|problem| problem.failure());
        let problem = problem.or_else(|| settings.as_ref().err().cloned());
        let settings = settings.as_ref().map_or_else(|_| Cow::Owned(Settings::default()), Cow::Borrowed);
        let BeatSettings { asking, tighter, guard, .. } = &*heartbeat.settings;
        let backend = heartbeat.backend(&settings).clone();
        Self {
            // An unknown program ends the beat.
            command: settings.command(&backend).ok(),
            captures: settings.captures,
            account: backend::account(&backend, &user.home, &own_env),
            policy: Policy::resolve(Role::Beat, &settings.asking, asking, tighter, *guard).on(&backend),
            user,
            agent: agent(&heartbeat.workspace, heartbeat.name.as_deref(), &beat),
            beat,
            backend,
            workspace: heartbeat.workspace.to_path_buf(),
            name: heartbeat.name.as_deref().map(str::to_owned),
            file: heartbeat.file.clone(),
            max_turns: heartbeat.settings.max_turns.map_or(DEFAULT_MAX_TURNS, |turns| turns.value).get(),
            default_turns: heartbeat.settings.max_turns.is_none(),
            timeout: heartbeat.settings.timeout.value.as_secs(),
            background_wait: heartbeat.settings.background_wait.value.as_secs(),
            start_timeout: heartbeat.settings.watchdogs.start.value.as_secs(),
            idle_timeout: heartbeat.settings.watchdogs.idle.map(|limit| limit.value.as_secs()),
            tool_timeout: heartbeat.settings.watchdogs.tool.map(|limit| limit.value.as_secs()),
            model: heartbeat.settings.model.as_ref().map(|model| model.value.to_string()),
            requires: heartbeat.settings.requires.0.iter().map(ToString::to_string).collect(),
            mcp: heartbeat.settings.mcp.value.clone(),
            deny: match &heartbeat.settings.permissions {
                Permissions::Skip => None,
                Permissions::Deny(patterns) => Some(patterns.iter().map(ToString::to_string).collect()),
            },
            path,
            problem,
            verbose: false,
            scheduled: false,
            announced: false,
            resumes: None,
            continues: None,
            when: heartbeat.settings.gates.when.0.clone(),
            verify: heartbeat.settings.gates.verify.0.clone(),
            counts_cost: heartbeat.settings.budgets.as_ref().is_some_and(|budgets| budgets.count_money()),
            min_free: heartbeat.settings.min_free.value.bytes(),
            max_budget: heartbeat.settings.max_budget.map(|most| most.value.number()),
        }
    }

    /// The record to write before the beat has a process. `before` is the heartbeat's last run.
    #[must_use]
    pub fn announcement(&self, at: Timestamp, before: Option<Timestamp>) -> BeatRecord {
        BeatRecord { entry: self.entry(at), phase: Phase::Announced { before } }
    }

    /// The journal line of a beat that could not begin.
    #[must_use]
    pub fn failed(&self, started: Timestamp, error: &Failure) -> JournalEntry {
        self.entry_of(murmur_outcome::not_begun(error), started)
    }

    /// The journal line of a beat whose process dies before it can write a better one.
    pub(super) fn entry(&self, started: Timestamp) -> JournalEntry {
        self.entry_of(murmur_outcome::unknown(), started)
    }

    fn entry_of(&self, outcome: Outcome, started: Timestamp) -> JournalEntry {
        let mut entry = JournalEntry {
            beat: Some(self.beat.clone()),
            heartbeat: self.name.clone(),
            agent: self.agent.to_string(),
            backend: self.backend.clone(),
            resumes: self.resumes.as_ref().map(|resumes| resumes.request.clone()),
            ..JournalEntry::new(
                clock::rfc3339(started),
                self.workspace.display().to_string(),
                outcome.kind(),
                0,
            )
        };
        entry.set_outcome(outcome);
        entry
    }

    /// What its agent works on, for people: the heartbeat's name, or else the workspace's.
    pub(super) fn task(&self) -> String {
        let folder = || self.workspace.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.name.clone().unwrap_or_else(folder)
    }

    /// The variables of its agent, for the programs of its gates.
    pub(super) fn environment(&self, dir: &DataDir) -> Result<Vec<(&'static str, OsString)>, Failure> {
        let beat = BeatOf { beat: self.beat.clone(), heartbeat: self.name.clone() };
        let guarded = self.guarded(dir, &project(&self.workspace), &beat, &[]).environment();
        let mut variables = guarded.map_err(|error| error.failure())?;
        variables.push(("PATH", self.path.clone().into()));
        Ok(variables)
    }

    /// The files in the workspace, or elsewhere, that its gates run: programs and arguments that are paths.
    pub(super) fn gate_files(&self) -> Vec<PathBuf> {
        let gates = self.when.iter().filter_map(|gate| match &gate.condition {
            Condition::Run(argv) => Some(argv),
            Condition::Changed(_) | Condition::NewCommits | Condition::Url(_) => None,
        });
        let argvs = gates.chain(self.verify.iter().map(|verifier| &verifier.argv));
        let words = argvs
            .flat_map(|argv| std::iter::once(argv.program()).chain(argv.args().iter().map(|arg| &**arg)));
        let path = |word: &str| self.workspace.join(word).components().collect();
        words.filter(|word| word.contains('/') || self.workspace.join(word).is_file()).map(path).collect()
    }

    pub(super) fn guarded<'a>(
        &'a self,
        dir: &'a DataDir,
        project: &'a str,
        beat: &'a BeatOf,
        gates: &'a [PathBuf],
    ) -> GuardedAgent<'a> {
        GuardedAgent {
            agent: &self.agent,
            dir: dir.root(),
            socket_name: dir.socket_name(),
            project,
            workspace: &self.workspace,
            user: &self.user,
            policy: &self.policy,
            beat: Some(beat),
            allow: &[],
            gates,
        }
    }

    /// The guard, the rules and the deny list that apply to it; `None` if its backend asks about every call.
    pub(super) fn local_rules(&self, dir: &DataDir) -> Option<LocalRules> {
        if self.backend.has(Capability::Hooks) {
            return None;
        }
        let own = own::find(dir, &self.user, &self.policy, &self.backend, None);
        let (project, deny) = (Project::of(&self.workspace), self.deny.as_deref());
        Some(LocalRules::of(dir, &self.user, project, &self.workspace, deny, self.policy, own))
    }

    /// Its limits on time and turns.
    pub(super) fn beat_limits(&self) -> BeatLimits {
        let seconds = |limit: u32| Duration::from_secs(limit.into());
        BeatLimits {
            time: seconds(self.timeout),
            turns: Turns { most: self.max_turns.into(), is_set: !self.default_turns },
            background_wait: seconds(self.background_wait),
            watchdogs: WatchdogTimeouts {
                start: seconds(self.start_timeout),
                idle: self.idle_timeout.map(seconds),
                tool: self.tool_timeout.map(seconds),
            },
        }
    }

    pub(super) fn info(&self, started: Timestamp) -> AgentInfo {
        AgentInfo {
            agent_id: self.agent.clone(),
            kind: state::AgentKind::Beat,
            project: project(&self.workspace),
            role: "beat".to_owned(),
            backend: self.backend.clone(),
            worktree: self.workspace.clone(),
            issue: None,
            beat: Some(self.beat.clone()),
            heartbeat: self.name.clone(),
            started_at: clock::rfc3339(started),
        }
    }
}

/// The default for jobs of a daemon that is too old to set it.
fn background_wait() -> u32 {
    DEFAULT_BACKGROUND_WAIT.as_secs()
}

/// The default for jobs that an older version wrote.
fn start_timeout() -> u32 {
    DEFAULT_START_TIMEOUT.as_secs()
}

/// The agent's id: the names of workspace and heartbeat, for people, and the random end of the beat's id.
fn agent(workspace: &Path, name: Option<&str>, beat: &BeatId) -> AgentId {
    let (project, beat) = (project(workspace), beat.as_str());
    let tail = beat.get(beat.len().saturating_sub(8)..).unwrap_or(beat);
    match name {
        Some(name) => AgentId::readable(&[&project, name], tail),
        None => AgentId::readable(&[&project], tail),
    }
}

/// The workspace's name, as in `MURMUR_PROJECT` and in agent ids.
pub(super) fn project(workspace: &Path) -> String {
    readable(&workspace.file_name().unwrap_or_default().to_string_lossy())
}
