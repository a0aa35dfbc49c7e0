//! Whether the guard or a person's own rules refuse a call that its agent ran without a decision, which can only be
//! noticed afterward.

use murmur_agent::rule_files::{self, Project};
use murmur_core::permit::decision::{DecidedBy, DecisionKind};
use murmur_core::permit::deny_list;
use murmur_core::permit::pipeline::{self, NextStep};
use murmur_core::permit::policy::Policy;
use murmur_core::permit::rules::{self, Action, Reading, Rules};
use murmur_outcome::refused::DeniedBy;
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
