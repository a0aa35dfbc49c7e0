//! Applies guard and rules to a call, following links on disk. Used by the hook and by commands that preview its
//! decisions.

use murmur_agent::rule_files::RulesFile;
use murmur_core::config::problem::Problem;
use murmur_core::permit::decision::{DecidedBy, Decision, DecisionKind};
use murmur_core::permit::deny_list;
use murmur_core::permit::pipeline::{self, NextStep};
use murmur_core::permit::policy::Policy;
use murmur_core::permit::rules::{self, Action, EntryError, Matched, Proposal, Reading, Rules};
use shell_guard::call::Call;
use shell_guard::guard;
use shell_guard::shell;
use std::path::{Path, PathBuf};
use sys::error::Hinted;

/// Returns the decision on `call` of an agent with `policy` and the rules of `files`.
#[must_use]
pub fn step(call: &Call, policy: &Policy, files: Result<&[RulesFile], &Problem>) -> NextStep {
    let files = match files {
        Ok(files) => files,
        Err(problem) => return unreadable(problem),
    };
    let rules: Vec<&Rules> = files.iter().filter_map(|file| file.rules.as_ref()).collect();
    let reading = Reading { commands: &shell::commands, links: &link, doubted: false };
    pipeline::decide(call, policy, &rules, reading, |call| guard::inspect_call_with_links(call, link))
}

/// Returns the rule that decides on `call`. `doubted` means that the guard could not determine the call's effects.
#[must_use]
pub fn matched(call: &Call, rules: &[&Rules], doubted: bool) -> Option<Matched> {
    rules::decide(rules, call, Reading { commands: &shell::commands, links: &link, doubted })
}

/// Returns the rules that would apply `action` to `call`, narrowest first. `doubted` as above.
#[must_use]
pub fn proposals(call: &Call, action: Action, doubted: bool) -> Vec<Proposal> {
    rules::proposals(call, action, Reading { commands: &shell::commands, links: &link, doubted })
}

/// Returns the patterns of a rule in `file` that is for exactly this call.
///
/// # Errors
///
/// If every possible pattern would match other calls, too.
pub fn only_this(call: &Call, file: &Path) -> Result<Vec<String>, EntryError> {
    rules::only_this(call, file, &link)
}

/// Returns the decision on `call` with the deny list `patterns`, given the decision `step` of guard and rules.
///
/// Claude Code matches the literal text of a call. Here its patterns are interpreted like those of rules, which deny at
/// least as much.
#[must_use]
pub fn over<'a>(step: NextStep, call: &Call, patterns: impl IntoIterator<Item = &'a str>) -> NextStep {
    if matches!(&step, NextStep::Decided(Decision { kind: DecisionKind::Deny, .. })) {
        return step;
    }
    let denies = |pattern: &&str| matched(call, &[&Rules::denying([*pattern])], false).is_some();
    let Some(pattern) = patterns.into_iter().find(denies) else { return step };
    NextStep::Decided(Decision {
        kind: DecisionKind::Deny,
        reason: format!("{pattern:?} in the deny list forbids it; continue without it"),
        by: DecidedBy::Default(deny_list::SETTING.to_owned()),
    })
}

fn link(path: &Path) -> Option<PathBuf> {
    std::fs::read_link(path).ok()
}

/// The decision if the rules are not readable: deny.
#[must_use]
pub fn unreadable(error: &(impl Hinted + 'static)) -> NextStep {
    NextStep::Decided(Decision { kind: DecisionKind::Deny, reason: error.line(), by: DecidedBy::Failure })
}
