//! Guard and rules, with what they need from disk: the rules' files, and what links point to. The same for a hook and
//! for who only asks what a hook would say.

use crate::config::problem::Problem;
use crate::error::Hinted;
use crate::failure;
use crate::permit::call::Call;
use crate::permit::decision::{By, Decision, Verdict};
use crate::permit::guard;
use crate::permit::pipeline::{self, Step};
use crate::permit::policy::Policy;
use crate::permit::rules::{self, Matched, Reading, Rules};
use crate::permit::shell;
use crate::sys::file;
use crate::sys::paths::{DataDir, PathsError, SettingsDir};
use std::path::{Path, PathBuf};

/// One file of rules.
#[derive(Debug)]
pub struct File {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// What is in it; none where it is not there.
    pub rules: Option<Rules>,
}

/// The files in the order in which they are looked at: the project's, if there is one, and the user's own.
///
/// # Errors
/// That the project's name is none.
pub fn files(
    dir: &DataDir,
    settings: &SettingsDir,
    project: Option<&str>,
) -> Result<Vec<PathBuf>, PathsError> {
    let own = project.map(|project| dir.project_rules(project)).transpose()?;
    Ok(own.into_iter().chain([settings.rules()]).collect())
}

/// What is in the files at `paths`.
///
/// # Errors
/// What is wrong with one of them: then every call is denied.
pub fn read(paths: Vec<PathBuf>) -> Result<Vec<File>, Problem> {
    paths
        .into_iter()
        .map(|path| match file::read_regular(&path) {
            Ok(Some(bytes)) => Ok(File { rules: Some(Rules::parse(&bytes, &path)?), path }),
            Ok(None) => Ok(File { path, rules: None }),
            Err(error) => {
                Err(Problem::with(&path, failure!("cannot be read ({error})"; "check its owner and mode")))
            }
        })
        .collect()
}

/// What becomes of `call` by an agent for which `policy` and the rules of `files` hold.
#[must_use]
pub fn step(call: &Call, policy: &Policy, files: Result<&[File], &Problem>) -> Step {
    let files = match files {
        Ok(files) => files,
        Err(problem) => return unreadable(problem),
    };
    let rules: Vec<&Rules> = files.iter().filter_map(|file| file.rules.as_ref()).collect();
    let links = |path: &Path| std::fs::read_link(path).ok();
    let reading = Reading { commands: &shell::commands, links: &links, doubted: false };
    pipeline::decide(call, policy, &rules, reading, guard::look)
}

/// The rule of `rules` that decides on `call`, if one does. `doubted` is whether the guard could tell what it does.
#[must_use]
pub fn matched(call: &Call, rules: &[&Rules], doubted: bool) -> Option<Matched> {
    let links = |path: &Path| std::fs::read_link(path).ok();
    rules::decide(rules, call, Reading { commands: &shell::commands, links: &links, doubted })
}

/// What a hook does that cannot read what it is to go by.
#[must_use]
pub fn unreadable(error: &(impl Hinted + 'static)) -> Step {
    Step::Decided(Decision { verdict: Verdict::Deny, reason: error.line(), by: By::Failure })
}
