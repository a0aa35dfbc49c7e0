//! What keeps a heartbeat from running on its backend, which config.toml may choose: settings that the backend lacks,
//! or an ACP agent that nothing configures.

use super::{Heartbeat, resolve};
use crate::config::approval::{Approval, ApprovalSettings, Checker, Questions};
use crate::config::backend::{Backend, Capability, check_keys, problem_at_key};
use crate::config::limit::{Source, Sourced};
use crate::config::problem::Problem;
use crate::config::settings::Settings;
use crate::config::watchdogs::Watchdogs;
use sys::error::{Failure, Hinted};
use sys::failure;

impl Heartbeat {
    /// The program that runs its agent, given config.toml's `settings`.
    #[must_use]
    pub fn backend<'a>(&'a self, settings: &'a Settings) -> &'a Backend {
        match &self.settings.backend {
            Some(chosen) => &chosen.value,
            None => settings.agent.as_ref().unwrap_or(&Backend::Claude),
        }
    }

    /// Why it can't run, given config.toml's `settings`; `None` if those are not readable.
    #[must_use]
    pub fn problem(&self, settings: Option<&Settings>) -> Option<Problem> {
        let own = self.problem.clone();
        let Some(settings) = settings.filter(|_| own.is_none()) else { return own };
        let backend = self.backend(settings);
        let at_agent = |wrong| problem_at_key("agent", self.places.as_deref(), &self.file, wrong);
        let asked = self.places.as_ref().and_then(|places| places.asked.as_ref());
        if let Some(asked) = asked.filter(|asked| *asked != backend) {
            return Some(at_agent(resolve::not_allowed(asked)));
        }
        self.check_on(backend).err().or_else(|| Some(at_agent(settings.command(backend).err()?.failure())))
    }

    /// Timeouts that can never end a beat because `timeout` does earlier, one line each.
    #[must_use]
    pub fn timeouts_without_effect(&self) -> Vec<String> {
        let Watchdogs { start, idle, tool } = self.settings.watchdogs;
        let all = [("startTimeout", Some(start)), ("idleTimeout", idle), ("toolTimeout", tool)];
        let set = all.into_iter().filter_map(|(key, limit)| Some((key, limit?)));
        let timeout = self.settings.timeout.value;
        set.filter(|(_, limit)| limit.source != Source::Default && limit.value >= timeout)
            .map(|(key, limit)| {
                let Sourced { value, source } = limit;
                format!("{key}: {value} in {source} has no effect; timeout ends beats after {timeout}")
            })
            .collect()
    }

    /// The problem that the budget of all heartbeats can't count its costs, since its agent reports none. `settings`
    /// are config.toml's.
    #[must_use]
    pub fn unreported_cost(&self, settings: &Settings) -> Option<Failure> {
        let budget = self.settings.budgets.as_ref()?.total.as_ref()?;
        let backend = self.backend(settings);
        let is_missing = budget.is_in_money() && !backend.has(Capability::Cost);
        is_missing.then(|| {
            failure!(
                "budget: {budget} in config.json counts its beats as free, since {backend} reports no cost";
                "use a budget in tokens, or an agent that reports costs"
            )
        })
    }

    /// Checks that `backend` can do everything that its files ask for. The error names every key that it doesn't
    /// support.
    pub(super) fn check_on(&self, backend: &Backend) -> Result<(), Problem> {
        check_keys(backend, &self.needs(), self.places.as_deref(), &self.file)
    }

    /// Checks that a hosted agent in its workspace, which runs on `backend`, is as restricted as its files ask for.
    pub fn check_hosted(&self, backend: &Backend) -> Result<(), Problem> {
        let restricts = |key: &str| {
            ["permissions", "permissionsChecker", "mcp"]
                .contains(&key.split([':', '.']).next().unwrap_or(key))
        };
        let needs: Vec<_> = self.needs().into_iter().filter(|(key, ..)| restricts(key)).collect();
        check_keys(backend, &needs, self.places.as_deref(), &self.file)
    }

    /// The keys that not every backend supports: whether each is set, and what it needs.
    fn needs(&self) -> [(&'static str, bool, Capability); 17] {
        let settings = &self.settings;
        let wants = |wanted: &dyn Fn(&ApprovalSettings) -> bool| {
            [&settings.asking, &settings.tighter].into_iter().any(wanted)
        };
        let budgets =
            || settings.budgets.iter().flat_map(|budgets| [&budgets.workspace, &budgets.own]).flatten();
        let checks = |checker| wants(&|asks| asks.checker == Some(checker));
        [
            ("permissions.deny", !settings.permissions.denied().is_empty(), Capability::Asks),
            ("permissionsChecker: llm", checks(Checker::Llm), Capability::Asks),
            ("permissionsChecker: manual", checks(Checker::Manual), Capability::Asks),
            ("permissionsChecker: deny", checks(Checker::Deny), Capability::Asks),
            ("maxTurns", settings.max_turns.is_some(), Capability::MaxTurns),
            ("requires", !settings.requires.0.is_empty(), Capability::McpServers),
            ("mcp", !settings.mcp.value.is_all(), Capability::McpServers),
            ("approval: defer", wants(&|asks| asks.approval == Some(Approval::Defer)), Capability::Defer),
            (
                "questions: broker",
                wants(&|asks| asks.questions == Some(Questions::Broker)),
                Capability::Questions,
            ),
            ("approvalExpiry", wants(&|asks| asks.approval_expiry.is_some()), Capability::Defer),
            ("maxBudgetUsd", settings.max_budget.is_some(), Capability::Budget),
            ("budget", budgets().any(|budget| budget.is_in_money()), Capability::Cost),
            ("budget", budgets().any(|budget| budget.is_in_tokens()), Capability::Tokens),
            ("reserve", settings.reserve.is_some(), Capability::Limits),
            ("onLimit", settings.on_limit.source != Source::Default, Capability::Limits),
            ("backgroundWait", settings.background_wait.source != Source::Default, Capability::Background),
            ("retry", settings.on_failure.retry.is_some(), Capability::Errors),
        ]
    }
}
