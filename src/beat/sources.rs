//! Where what holds for a heartbeat comes from, for people: each value with its file, and what was asked for in vain.

use crate::config::asking::{Asking, Choice};
use crate::config::file::DEFAULT_MAX_TURNS;
use crate::config::heartbeat::Heartbeat;
use crate::config::limit::{Source, Sourced};
use crate::config::permissions::Permissions;
use crate::permit::policy::{Policy, Role};
use std::fmt;

/// A key, its value, and the place that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The key, as config.json has it.
    pub key: &'static str,
    /// What it is.
    pub value: String,
    /// Who says it.
    pub source: Source,
}

/// All that holds for a beat of `heartbeat`, where config.toml says `settings`.
#[must_use]
pub fn rows(heartbeat: &Heartbeat, settings: &Asking) -> Vec<Row> {
    let mut rows = Rows(Vec::new());
    let schedule = heartbeat.schedule.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    rows.add("schedule", &schedule, heartbeat.scheduled_by);
    rows.sourced("maxTurns", heartbeat.max_turns.unwrap_or(Sourced::default(DEFAULT_MAX_TURNS)));
    rows.sourced("timeout", heartbeat.timeout);
    rows.sourced("backgroundWait", heartbeat.background_wait);
    match &heartbeat.model {
        Some(model) => rows.add("model", &model.value, model.source),
        None => rows.add("model", &"the agent's own choice", Source::Default),
    }
    match &heartbeat.permissions {
        Permissions::Skip => rows.add("permissions", &"skip", Source::ConfigJson),
        Permissions::Deny(patterns) => rows.joined("permissions", "deny", patterns, heartbeat.denied_by_user),
    }
    let said = Policy::settled(Role::Beat, settings, &heartbeat.asking, &heartbeat.tighter);
    rows.word("permissionsChecker", said.checker);
    rows.word("approval", said.approval);
    if let Some(wait) = said.approval_wait {
        rows.sourced("approvalWait", wait);
    }
    if let Some(expiry) = said.approval_expiry {
        rows.sourced("approvalExpiry", expiry);
    }
    rows.word("questions", said.questions);
    if !heartbeat.requires.0.is_empty() {
        rows.joined("requires", "", &heartbeat.requires.0, heartbeat.required_by_user);
    }
    rows.0
}

/// What the frontmatter of `heartbeat` asks for and does not get, a line each, where config.toml says `settings`.
#[must_use]
pub fn notices(heartbeat: &Heartbeat, settings: &Asking) -> Vec<String> {
    let said = Policy::settled(Role::Beat, settings, &heartbeat.asking, &heartbeat.tighter);
    let all = heartbeat.notices.lines().iter().chain(said.notices.lines());
    all.map(ToString::to_string).collect()
}

struct Rows(Vec<Row>);

impl Rows {
    fn add(&mut self, key: &'static str, value: &(impl fmt::Display + ?Sized), source: Source) {
        self.0.push(Row { key, value: value.to_string(), source });
    }

    fn sourced(&mut self, key: &'static str, value: Sourced<impl fmt::Display>) {
        self.add(key, &value.value, value.source);
    }

    fn word<T: Choice>(&mut self, key: &'static str, value: Option<Sourced<T>>) {
        if let Some(said) = value {
            self.add(key, said.value.word(), said.source);
        }
    }

    /// A list whose first `user` come from config.json and whose others from the frontmatter.
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
