//! Whether a person's own rules deny a call that its agent ran without asking, which can only be noticed afterwards.

use murmur_agent::rule_files::{self, Project};
use murmur_core::permit::deny_list;
use murmur_core::permit::rules::{self, Action, Reading, Rules};
use shell_guard::call::{Call, Place, ProtectedPaths};
use shell_guard::shell;
use std::path::{Path, PathBuf};
use sys::paths::{DataDir, User};

/// The rules and the deny list of one agent.
#[derive(Debug, Clone)]
pub struct OwnDenials {
    dir: DataDir,
    user: User,
    project: Project,
    workspace: PathBuf,
    /// The deny list.
    patterns: Vec<String>,
}

impl OwnDenials {
    /// Those of an agent of `project` in `workspace`. `deny` is added to the built-in deny list; `None` turns it off.
    #[must_use]
    pub fn of(
        dir: &DataDir,
        user: &User,
        project: Project,
        workspace: &Path,
        deny: Option<&[String]>,
    ) -> Self {
        let patterns = deny.map(|own| deny_list::build(own.iter().map(String::as_str)));
        let patterns = patterns.into_iter().flatten().map(|pattern| pattern.to_string()).collect();
        Self { dir: dir.clone(), user: user.clone(), project, workspace: workspace.to_owned(), patterns }
    }

    /// Whether they deny this call, now. Rules that are not readable deny every call.
    pub(super) fn deny(&self, tool: &str, input: &str) -> bool {
        let place = Place {
            workspace: self.workspace.clone(),
            cwd: self.workspace.clone(),
            home: self.user.home.clone(),
            own: ProtectedPaths::default(),
        };
        let input = serde_json::from_str(input).unwrap_or_default();
        let call = Call { tool: tool.to_owned(), input, place };
        let reading = Reading {
            commands: &shell::commands,
            links: &|path| std::fs::read_link(path).ok(),
            doubted: false,
        };
        let denies = |rules: &[&Rules]| {
            rules::decide(rules, &call, reading).is_some_and(|matched| matched.action == Action::Deny)
        };
        let paths = rule_files::files(&self.dir, &self.user.settings, &self.project);
        let Some(files) = paths.ok().and_then(|paths| rule_files::read(paths).ok()) else { return true };
        let files: Vec<&Rules> = files.iter().filter_map(|file| file.rules.as_ref()).collect();
        denies(&files) || denies(&[&Rules::denying(self.patterns.iter().map(String::as_str))])
    }
}
