//! Guard and rules, with what they need from disk: what links point to. The same for a hook and for who only asks what a
//! hook would say.

use crate::agent::rule_files::File;
use crate::config::problem::Problem;
use crate::error::Hinted;
use crate::permit::call::Call;
use crate::permit::decision::{By, Decision, Verdict};
use crate::permit::guard;
use crate::permit::pipeline::{self, Step};
use crate::permit::policy::Policy;
use crate::permit::rules::{self, Matched, Reading, Rules};
use crate::permit::shell;
use std::path::{Path, PathBuf};

/// What becomes of `call` by an agent for which `policy` and the rules of `files` hold.
#[must_use]
pub fn step(call: &Call, policy: &Policy, files: Result<&[File], &Problem>) -> Step {
    let files = match files {
        Ok(files) => files,
        Err(problem) => return unreadable(problem),
    };
    let rules: Vec<&Rules> = files.iter().filter_map(|file| file.rules.as_ref()).collect();
    let reading = Reading { commands: &shell::commands, links: &link, doubted: false };
    pipeline::decide(call, policy, &rules, reading, |call| guard::look_through(call, link))
}

/// The rule of `rules` that decides on `call`, if one does. `doubted` is whether the guard could tell what it does.
#[must_use]
pub fn matched(call: &Call, rules: &[&Rules], doubted: bool) -> Option<Matched> {
    rules::decide(rules, call, Reading { commands: &shell::commands, links: &link, doubted })
}

fn link(path: &Path) -> Option<PathBuf> {
    std::fs::read_link(path).ok()
}

/// What a hook does that cannot read what it is to go by.
#[must_use]
pub fn unreadable(error: &(impl Hinted + 'static)) -> Step {
    Step::Decided(Decision { verdict: Verdict::Deny, reason: error.line(), by: By::Failure })
}
