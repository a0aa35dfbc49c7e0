//! How a heartbeat's beats run: what config.json and the frontmatter of a HEARTBEAT.md ask for, combined.

use crate::config::approval::ApprovalSettings;
use crate::config::backend::Backend;
use crate::config::budget::{Budgets, Usd};
use crate::config::file::{DEFAULT_BACKGROUND_WAIT, DEFAULT_MIN_FREE, DEFAULT_TIMEOUT, Workspace};
use crate::config::frontmatter::Frontmatter;
use crate::config::gate::{GateSource, Gates};
use crate::config::interval::Interval;
use crate::config::limit::{MAX_TIME, MAX_TURNS, Notices, Sourced};
use crate::config::mcp::Mcp;
use crate::config::on_failure::OnFailure;
use crate::config::permissions::Permissions;
use crate::config::requires::Requires;
use crate::config::reserve::{OnLimit, Reserve};
use crate::config::schedule_options::ScheduleOptions;
use crate::config::size::Size;
use crate::config::watchdogs::Watchdogs;
use std::num::NonZeroU32;
use std::sync::Arc;

/// How the beats of a heartbeat run. Most heartbeats of a configuration have the same settings, and share them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeatSettings {
    /// How many turns a beat may take; `None` for [`DEFAULT_MAX_TURNS`](crate::config::file::DEFAULT_MAX_TURNS).
    pub max_turns: Option<Sourced<NonZeroU32>>,
    /// How long a beat may take.
    pub timeout: Sourced<Interval>,
    /// How long background tasks may run after the agent's turn ended, in case it takes another turn.
    pub background_wait: Sourced<Interval>,
    /// The model, or `None` for the agent's own choice.
    pub model: Option<Sourced<Arc<str>>>,
    /// The program that runs its agent, or `None` for the user's default.
    pub backend: Option<Sourced<Backend>>,
    /// What its agent may not do.
    pub permissions: Permissions,
    /// How many of those patterns are the user's, who come first; the others are the frontmatter's.
    pub denied_by_user: usize,
    /// Whether the guard checks its agent's calls; off if config.json sets `permissions: "skip"`. Frontmatter, which
    /// the agent can edit, can't change it.
    pub guard: bool,
    /// Who decides on its agent's calls, from config.json.
    pub asking: ApprovalSettings,
    /// The same settings from its frontmatter, which can only be stricter
    /// ([`ResolvedApproval`](crate::config::approval::ResolvedApproval)).
    pub tighter: ApprovalSettings,
    /// The MCP servers that it requires.
    pub requires: Requires,
    /// How many of those are the user's, who come first.
    pub required_by_user: usize,
    /// Settings of its frontmatter that have no effect, except those in `tighter`.
    pub notices: Notices,
    /// The MCP servers that it may use: those that both config.json and its frontmatter allow.
    pub mcp: Sourced<Mcp>,
    /// What it leaves of its account's usage limits.
    pub reserve: Option<Sourced<Reserve>>,
    /// What happens to a beat that a usage limit stopped.
    pub on_limit: Sourced<OnLimit>,
    /// What must hold before a beat starts its agent, and succeed after it. The user's come first.
    pub gates: Gates,
    /// Who may define them.
    pub gate_source: Sourced<GateSource>,
    /// How many gates and verifiers are the user's.
    pub gates_by_user: (usize, usize),
    /// What happens after a beat fails.
    pub on_failure: OnFailure,
    /// How much a beat may cost.
    pub max_budget: Option<Sourced<Usd>>,
    /// How much all beats may cost, its own included.
    pub budgets: Option<Box<Budgets>>,
    /// How much space must be free for the workspace, the data folder and captures before a beat starts.
    pub min_free: Sourced<Size>,
    /// When a beat that seems to hang is ended.
    pub watchdogs: Watchdogs,
    /// The other settings of its schedule, if any is set.
    pub options: Option<Box<ScheduleOptions>>,
}

impl Default for BeatSettings {
    fn default() -> Self {
        Self {
            max_turns: None,
            timeout: Sourced::default(DEFAULT_TIMEOUT),
            background_wait: Sourced::default(DEFAULT_BACKGROUND_WAIT),
            model: None,
            backend: None,
            permissions: Permissions::default(),
            denied_by_user: 0,
            guard: true,
            asking: ApprovalSettings::default(),
            tighter: ApprovalSettings::default(),
            requires: Requires::default(),
            required_by_user: 0,
            notices: Notices::default(),
            mcp: Sourced::default(Mcp::default()),
            reserve: None,
            on_limit: Sourced::default(OnLimit::default()),
            gates: Gates::default(),
            gate_source: Sourced::default(GateSource::Config),
            gates_by_user: (0, 0),
            on_failure: OnFailure::default(),
            max_budget: None,
            budgets: None,
            min_free: Sourced::default(DEFAULT_MIN_FREE),
            watchdogs: Watchdogs::default(),
            options: None,
        }
    }
}

impl BeatSettings {
    /// Combines everything except the backend and the gates, which can be wrong. Adds to `notices`.
    pub(super) fn combine(workspace: &Workspace, front: &Frontmatter, notices: Notices) -> Self {
        let mut settings = Self {
            denied_by_user: workspace.permissions.denied().len(),
            guard: workspace.permissions != Permissions::Skip,
            asking: workspace.asking,
            tighter: front.asking,
            required_by_user: workspace.requires.0.len(),
            gate_source: match workspace.gate_source {
                GateSource::Config => Sourced::default(GateSource::Config),
                source @ GateSource::Workspace => Sourced::user(source),
            },
            gates_by_user: (workspace.gates.when.0.len(), workspace.gates.verify.0.len()),
            mcp: workspace.mcp.sourced(front.mcp.as_ref()),
            notices,
            ..Self::default()
        };
        settings.set_limits(workspace, front);
        settings.set_permissions(workspace, front);
        settings
    }

    /// Combines what its beats may use: HEARTBEAT.md can ask for less than config.json, never for more.
    fn set_limits(&mut self, workspace: &Workspace, front: &Frontmatter) {
        let notices = &mut self.notices;
        let of_user = workspace.max_turns.map(Sourced::user);
        self.max_turns = notices.lower("maxTurns", of_user, front.max_turns, MAX_TURNS);
        let of_user = workspace.timeout.map(Sourced::user);
        if let Some(timeout) = notices.lower("timeout", of_user, front.timeout, MAX_TIME) {
            self.timeout = timeout;
        }
        let of_user = workspace.background_wait.map(Sourced::user);
        if let Some(wait) = notices.lower("backgroundWait", of_user, front.background_wait, MAX_TIME) {
            self.background_wait = wait;
        }
        let of_user = workspace.model.clone().map(Sourced::user);
        self.model = notices.own("model", of_user, front.model.as_deref().map(Arc::from));
        self.reserve = notices.higher("reserve", workspace.reserve.map(Sourced::user), front.reserve);
        let of_user = workspace.on_limit.map(Sourced::user);
        if let Some(on_limit) = notices.stricter("onLimit", of_user, front.on_limit) {
            self.on_limit = on_limit;
        }
        let of_user = workspace.max_budget.map(Sourced::user);
        self.max_budget = notices.lower("maxBudgetUsd", of_user, front.max_budget, Usd::MAX);
        // Less than the default could fill the disk.
        let of_user = workspace.min_free.map_or(self.min_free, Sourced::user);
        if let Some(min_free) = notices.higher("minFree", Some(of_user), front.min_free) {
            self.min_free = min_free;
        }
        let budgets = Budgets {
            total: workspace.total_budget.clone(),
            workspace: workspace.budget.clone(),
            own: front.budget.clone(),
        };
        self.budgets = budgets.boxed();
        let (of_user, of_front) = (workspace.options.as_deref(), front.options.as_deref());
        self.options = ScheduleOptions::of(of_user, of_front, workspace.schedule.is_some(), notices);
        self.on_failure = workspace.on_failure.resolve(front.on_failure, notices);
        self.watchdogs = workspace.watchdogs.resolve(front.watchdogs, notices);
    }

    /// Combines the deny lists and the required MCP servers: HEARTBEAT.md adds to those of config.json.
    fn set_permissions(&mut self, workspace: &Workspace, front: &Frontmatter) {
        let permissions = front.permissions.as_ref();
        if permissions == Some(&Permissions::Skip) && workspace.permissions != Permissions::Skip {
            let notice = "permissions: skip in HEARTBEAT.md has no effect; only config.json can set it";
            self.notices.add(notice.to_owned());
        }
        self.permissions = match permissions {
            Some(narrower) => workspace.permissions.tightened(narrower),
            None => workspace.permissions.clone(),
        };
        self.requires = match &front.requires {
            Some(more) => workspace.requires.joined(more),
            None => workspace.requires.clone(),
        };
    }
}
