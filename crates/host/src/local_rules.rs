//! Whether the guard or a person's own rules refuse a call that its agent ran without a decision, which can only be
//! noticed afterward.

use crate::audit::RefusedCalls;
use murmur_agent::rule_files::{self, Project};
use murmur_core::permit::decision::{DecidedBy, DecisionKind};
use murmur_core::permit::deny_list;
use murmur_core::permit::pipeline::{self, NextStep};
use murmur_core::permit::policy::Policy;
use murmur_core::permit::rules::{self, Action, Reading, Rules};
use secrets::mask;
use serde::{Deserialize, Serialize};
use shell_guard::call::{Call, CallPlace, ProtectedPaths};
use shell_guard::{guard, shell};
use std::path::{Path, PathBuf};
use sys::paths::{DataDir, User};

/// The guard, the rules and the deny list of one agent.
#[derive(Debug, Clone)]
pub struct LocalRules {
    dir: DataDir,
    user: User,
    project: Project,
    workspace: PathBuf,
    /// The deny list.
    patterns: Vec<String>,
    policy: Policy,
    /// What the guard protects.
    own: ProtectedPaths,
}

/// Calls that ran without a decision.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndecidedCalls {
    /// The first 20.
    pub calls: Vec<String>,
    /// How many more there are.
    pub more: usize,
    /// All calls that the guard refuses, named or not.
    pub by_guard: Option<RefusedCalls>,
    /// All calls that the rules or the deny list deny, named or not.
    pub by_rules: Option<RefusedCalls>,
}

/// How many calls to name.
const NAMED: usize = 20;

impl UndecidedCalls {
    /// How many calls there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.calls.len() + self.more
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds a call.
    pub(super) fn add(&mut self, call: &str) {
        if self.calls.len() < NAMED {
            self.calls.push(mask(call));
        } else {
            self.more += 1;
        }
    }

    /// Counts a call that `denier` refuses.
    pub(super) fn add_refused(&mut self, denier: DeniedBy, call: &str) {
        let counted = match denier {
            DeniedBy::Guard => &mut self.by_guard,
            DeniedBy::Rules => &mut self.by_rules,
        };
        counted.get_or_insert_with(|| RefusedCalls { first: mask(call), count: 0 }).count += 1;
    }
}

/// What refuses a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeniedBy {
    /// The guard.
    Guard,
    /// The rules or the deny list.
    Rules,
}

impl LocalRules {
    /// For an agent of `project` in `workspace` with `policy`. `deny` is added to the built-in deny list; `None`
    /// turns it off. The guard protects `own`.
    #[must_use]
    pub fn of(
        dir: &DataDir,
        user: &User,
        project: Project,
        workspace: &Path,
        deny: Option<&[String]>,
        policy: Policy,
        own: ProtectedPaths,
    ) -> Self {
        let patterns = deny.map(|own| deny_list::build(own.iter().map(String::as_str)));
        let patterns = patterns.into_iter().flatten().map(|pattern| pattern.to_string()).collect();
        let (dir, user) = (dir.clone(), user.clone());
        Self { dir, user, project, workspace: workspace.to_owned(), patterns, policy, own }
    }

    /// Which of them refuses this call, now. Rules that are not readable deny every call.
    pub(super) fn denied_by(&self, tool: &str, input: &str) -> Option<DeniedBy> {
        let place = CallPlace {
            workspace: self.workspace.clone(),
            cwd: self.workspace.clone(),
            home: self.user.home.clone(),
            own: self.own.clone(),
        };
        let input = serde_json::from_str(input).unwrap_or_default();
        let call = Call { tool: tool.to_owned(), input, place };
        let reading = Reading { commands: &shell::commands, links: &link, doubted: false };
        let paths = rule_files::files(&self.dir, &self.user.settings, &self.project);
        let Some(files) = paths.ok().and_then(|paths| rule_files::read(paths).ok()) else {
            return Some(DeniedBy::Rules);
        };
        let files: Vec<&Rules> = files.iter().filter_map(|file| file.rules.as_ref()).collect();
        let step = pipeline::decide(&call, &self.policy, &files, reading, |call| {
            guard::inspect_call_with_links(call, link)
        });
        if let NextStep::Decided(decision) = step
            && decision.kind == DecisionKind::Deny
        {
            match decision.by {
                DecidedBy::Guard(_) => return Some(DeniedBy::Guard),
                DecidedBy::Rule { .. } => return Some(DeniedBy::Rules),
                _ => {}
            }
        }
        let listed = Rules::denying(self.patterns.iter().map(String::as_str));
        let matched = rules::decide(&[&listed], &call, reading);
        matched.filter(|matched| matched.action == Action::Deny).map(|_| DeniedBy::Rules)
    }
}

fn link(path: &Path) -> Option<PathBuf> {
    std::fs::read_link(path).ok()
}
