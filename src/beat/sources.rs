//! Where each setting of a heartbeat comes from, for people, and which requests of its frontmatter were ignored.

use murmur_core::config::approval::{Approval, ApprovalSettings, Choice};
use murmur_core::config::backend::{Backend, Capability};
use murmur_core::config::budget::{Budget, Budgets};
use murmur_core::config::captures::Captures;
use murmur_core::config::file::DEFAULT_MAX_TURNS;
use murmur_core::config::gate::Gates;
use murmur_core::config::heartbeat::Heartbeat;
use murmur_core::config::interval::Interval;
use murmur_core::config::limit::{Source, Sourced};
use murmur_core::config::on_failure::OnFailure;
use murmur_core::config::permissions::Permissions;
use murmur_core::config::schedule_options::{CatchUp, Overlap, ScheduleOptions};
use murmur_core::config::settings::Settings;
use murmur_core::config::watchdogs::Watchdogs;
use murmur_core::permit::policy::{Policy, Role};
use std::fmt;
use std::sync::Arc;

/// A key, its value, and where it is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingRow {
    /// The key, as in config.json.
    pub key: &'static str,
    /// The value.
    pub value: String,
    /// Where it is set.
    pub source: Source,
}

/// All settings of a beat of `heartbeat`, given config.toml's `settings`.
#[must_use]
pub fn rows(heartbeat: &Heartbeat, settings: &Settings) -> Vec<SettingRow> {
    let mut rows = Rows(Vec::new());
    let schedule = heartbeat.schedule.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    rows.add("schedule", &schedule, heartbeat.scheduled_by);
    let by_default = || match &settings.agent {
        Some(agent) => Sourced { value: agent.clone(), source: Source::ConfigToml },
        None => Sourced::default(Backend::default()),
    };
    let backend = heartbeat.settings.backend.clone().unwrap_or_else(by_default);
    let counts_turns = backend.value.has(Capability::MaxTurns);
    let (defers, asks) = (backend.value.has(Capability::Defer), backend.value.has(Capability::Questions));
    rows.sourced("agent", backend);
    let turns = heartbeat.settings.max_turns.or(counts_turns.then_some(Sourced::default(DEFAULT_MAX_TURNS)));
    turns.into_iter().for_each(|turns| rows.sourced("maxTurns", turns));
    rows.sourced("timeout", heartbeat.settings.timeout);
    rows.sourced("backgroundWait", heartbeat.settings.background_wait);
    match &heartbeat.settings.model {
        Some(model) => rows.add("model", &model.value, model.source),
        None => rows.add("model", &"the agent's own choice", Source::Default),
    }
    match &heartbeat.settings.permissions {
        Permissions::Skip => rows.add("permissions", &"skip", Source::ConfigJson),
        Permissions::Deny(patterns) => {
            rows.joined("permissions", "deny", patterns, heartbeat.settings.denied_by_user)
        }
    }
    let policy = Policy::settled(
        Role::Beat,
        &settings.asking,
        &heartbeat.settings.asking,
        &heartbeat.settings.tighter,
    );
    rows.choice("permissionsChecker", policy.checker);
    // A call is denied where it would be deferred.
    let waits = |chosen: Sourced<Approval>| Sourced { value: Approval::Wait, ..chosen };
    rows.choice("approval", if defers { policy.approval } else { policy.approval.map(waits) });
    if let Some(wait) = policy.approval_wait {
        rows.sourced("approvalWait", wait);
    }
    if let Some(expiry) = policy.approval_expiry.filter(|_| defers) {
        rows.sourced("approvalExpiry", expiry);
    }
    rows.choice("questions", policy.questions.filter(|_| asks));
    if !heartbeat.settings.requires.0.is_empty() {
        rows.joined("requires", "", &heartbeat.settings.requires.0, heartbeat.settings.required_by_user);
    }
    let mcp = &heartbeat.settings.mcp;
    if !mcp.value.is_all() {
        rows.add("mcp", &mcp.value, mcp.source);
    }
    if let Some(reserve) = heartbeat.settings.reserve {
        rows.sourced("reserve", reserve);
    }
    rows.choice("onLimit", Some(heartbeat.settings.on_limit));
    if let Some(most) = heartbeat.settings.max_budget {
        rows.sourced("maxBudgetUsd", most);
    }
    if let Some(budgets) = &heartbeat.settings.budgets {
        rows.budgets(budgets);
    }
    rows.sourced("minFree", heartbeat.settings.min_free);
    rows.options(heartbeat.settings.options.as_deref().unwrap_or(&ScheduleOptions::default()));
    let Gates { when, verify } = &heartbeat.settings.gates;
    let (gates, verifiers) = heartbeat.settings.gates_by_user;
    rows.programs("when", when.0.iter().map(|gate| (&gate.condition, gate.timeout)), gates);
    rows.programs("verify", verify.0.iter().map(|verifier| (&verifier.argv, verifier.timeout)), verifiers);
    rows.choice("gates", Some(heartbeat.settings.gate_source));
    let OnFailure { retry, breaker } = heartbeat.settings.on_failure;
    retry.into_iter().for_each(|retry| rows.sourced("retry", retry));
    rows.sourced("breaker", breaker);
    let Watchdogs { start, idle, tool } = heartbeat.settings.watchdogs;
    rows.sourced("startTimeout", start);
    idle.into_iter().for_each(|idle| rows.sourced("idleTimeout", idle));
    tool.into_iter().for_each(|tool| rows.sourced("toolTimeout", tool));
    rows.captures(&settings.captures);
    rows.0
}

/// The settings in the frontmatter of `heartbeat` that have no effect, one line each, given config.toml's `settings`.
#[must_use]
pub fn notices(heartbeat: &Heartbeat, settings: &ApprovalSettings) -> Vec<String> {
    let policy =
        Policy::settled(Role::Beat, settings, &heartbeat.settings.asking, &heartbeat.settings.tighter);
    let all = heartbeat.settings.notices.lines().iter().chain(policy.notices.lines());
    all.map(ToString::to_string).collect()
}

struct Rows(Vec<SettingRow>);

impl Rows {
    fn add(&mut self, key: &'static str, value: &(impl fmt::Display + ?Sized), source: Source) {
        self.0.push(SettingRow { key, value: value.to_string(), source });
    }

    fn sourced(&mut self, key: &'static str, value: Sourced<impl fmt::Display>) {
        self.add(key, &value.value, value.source);
    }

    fn options(&mut self, options: &ScheduleOptions) {
        self.sourced("enabled", options.enabled);
        options.active_hours.iter().for_each(|hours| self.add("activeHours", &hours.value, hours.source));
        options.except.iter().for_each(|except| self.add("except", &except.value, except.source));
        let spans = [("jitter", options.jitter), ("startDeadline", options.start_deadline)];
        spans.into_iter().for_each(|(key, span)| span.into_iter().for_each(|span| self.sourced(key, span)));
        self.sourced("catchUp", options.catch_up.unwrap_or(Sourced::default(CatchUp::Once)));
        self.choice("overlap", Some(options.overlap.unwrap_or(Sourced::default(Overlap::Queue))));
        options.on.iter().for_each(|on| self.add("on", &on.value, on.source));
    }

    fn budgets(&mut self, Budgets { total, workspace, own }: &Budgets) {
        let of = |budget: &Option<Arc<Budget>>, whose: &str| Some(format!("{}, {whose}", budget.as_ref()?));
        let users = [of(total, "for all heartbeats"), of(workspace, "for the workspace")];
        users.iter().flatten().for_each(|budget| self.add("budget", budget, Source::ConfigJson));
        own.iter().for_each(|budget| self.add("budget", budget, Source::Heartbeat));
    }

    fn captures(&mut self, captures: &Captures) {
        let all = captures.pairs().into_iter().zip(Captures::default().pairs());
        let (set, unset): (Vec<_>, Vec<_>) = all.partition(|(own, default)| own != default);
        for (part, source) in [(set, Source::ConfigToml), (unset, Source::Default)] {
            let part: Vec<_> = part.iter().map(|((key, value), _)| format!("{key} {value}")).collect();
            if !part.is_empty() {
                self.add("captures", &part.join(", "), source);
            }
        }
    }

    /// Adds a row for each program; the first `user` are from config.json and the rest from the frontmatter.
    fn programs<'a>(
        &mut self,
        key: &'static str,
        all: impl Iterator<Item = (&'a (impl fmt::Display + 'a), Interval)>,
        user: usize,
    ) {
        for (index, (what, timeout)) in all.enumerate() {
            let source = if index < user { Source::ConfigJson } else { Source::Heartbeat };
            self.add(key, &format_args!("{what}, at most {timeout}"), source);
        }
    }

    fn choice<T: Choice>(&mut self, key: &'static str, value: Option<Sourced<T>>) {
        if let Some(choice) = value {
            self.add(key, choice.value.word(), choice.source);
        }
    }

    /// Adds a list whose first `user` items come from config.json and the rest from the frontmatter.
    fn joined(&mut self, key: &'static str, word: &str, list: &[Box<str>], user: usize) {
        let (users, fronts) = list.split_at(user.min(list.len()));
        if list.is_empty() {
            self.add(key, &"the built-in deny list", Source::Default);
        }
        for (part, source) in [(users, Source::ConfigJson), (fronts, Source::Heartbeat)] {
            if !part.is_empty() {
                self.add(key, format!("{word} {}", part.join(", ")).trim(), source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_core::config::cron::Crons;
    use murmur_core::config::file::File;
    use murmur_core::config::heartbeat::resolve_registered;
    use murmur_core::config::schema::schema;
    use serde_json::json;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_key_of_a_workspace_has_a_row() {
        let config = json!({ "workspaces": [{
            "path": "/a", "interval": "30m", "permissionsChecker": "manual", "approval": "defer",
            "approvalWait": "2m", "approvalExpiry": "24h", "requires": ["mail"], "mcp": ["mail"], "reserve": "30%",
            "activeHours": "08:00-20:00", "except": ["12-25"], "jitter": "5m", "startDeadline": "1h",
            "on": { "path": "src" }, "when": "./changed.sh", "verify": "./check.sh", "retry": { "max": 3 },
            "maxBudgetUsd": 2.5, "budget": { "day": 5 }, "idleTimeout": "1m", "toolTimeout": "1m",
        }] });
        let crons = Crons::new(jiff::tz::TimeZone::UTC);
        let file = File::parse(config.to_string().as_bytes(), Path::new("/config.json"), &crons).unwrap();
        let heartbeat = resolve_registered(&file, Path::new("/a"), &crons).unwrap().remove(0);
        let rows = rows(&heartbeat, &Settings::default());
        let shown: BTreeSet<&str> = rows.iter().map(|row| row.key).collect();
        // The row `schedule` has three of them; the others aren't settings of a beat.
        let others = ["path", "name", "interval", "cron", "tz", "lastRun", "lastRuns"];
        let schema = schema().to_value();
        let keys = schema["$defs"]["WorkspaceEntry"]["properties"].as_object().unwrap().keys();
        let missing: Vec<_> =
            keys.filter(|key| !others.contains(&key.as_str()) && !shown.contains(key.as_str())).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
