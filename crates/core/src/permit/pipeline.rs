//! The pipeline: guard, rules, policy. The first that decides wins.

use super::decision::{DecidedBy, Decision, DecisionKind};
use super::manager;
use super::policy::{Checker, Policy, Questions};
use super::rules::{self, Action, Matched, Reading, Rules};
use shell_guard::call::Call;
use shell_guard::guard::{Finding, inspect_request, pattern_names_entry};

/// The tool for asking a person.
pub const ASK: &str = "AskUserQuestion";

/// The tools for entering and leaving plan mode. In a beat, Claude Code since 2.1.300 has no way to leave it, and fails
/// every command until then.
pub const PLAN: [&str; 2] = ["EnterPlanMode", "ExitPlanMode"];

/// The next step for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// Apply the decision.
    Decided(Decision),
    /// Ask a person or a model, as the policy says.
    Ask {
        /// Why the guard could not determine the call's effects, for the person. A model is not asked in this case.
        doubt: Option<String>,
    },
    /// Have a person answer the agent's questions.
    Question,
}

/// Returns the next step for a call of an agent with `policy`. `files` are the rules in their order; if one is not
/// readable, callers deny the call themselves. Calls `guard` only if it is on, and sets `reading.doubted`.
#[must_use]
pub fn decide(
    call: &Call,
    policy: &Policy,
    files: &[&Rules],
    reading: Reading<'_>,
    guard: impl FnOnce(&Call) -> Finding,
) -> NextStep {
    let doubt = match if policy.guard { guard(call) } else { inspect_request(call) } {
        Finding::Refused { entry, why } => {
            return decided(DecisionKind::Deny, why, DecidedBy::Guard(entry.to_owned()));
        }
        Finding::Controlled { entry, why } => return controlled(call, policy, files, reading, entry, why),
        Finding::Doubt { why } => Some(why),
        Finding::Clear => None,
    };
    let reading = Reading { doubted: doubt.is_some(), ..reading };
    let matched = rules::decide(files, call, reading);
    match matched {
        Some(matched) if matched.action == Action::Deny => by_rule(matched, DecisionKind::Deny),
        _ if call.tool == ASK => question(policy),
        _ if PLAN.contains(&call.tool.as_str()) => plan_mode(policy),
        _ if policy.manager => manager_call(call, files, reading, doubt),
        Some(matched) if matched.action == Action::Allow => by_rule(matched, DecisionKind::Allow),
        _ => check(policy.checker, call, doubt),
    }
}

/// A call that changes what controls the next run: allowed only by a rule that names it, for shell only by its exact
/// text.
fn controlled(
    call: &Call,
    policy: &Policy,
    files: &[&Rules],
    reading: Reading<'_>,
    entry: &str,
    why: String,
) -> NextStep {
    let doubted = call.command().is_some();
    match rules::decide(files, call, Reading { doubted, ..reading }) {
        Some(matched) if matched.action == Action::Deny => by_rule(matched, DecisionKind::Deny),
        Some(matched)
            if matched.action == Action::Allow
                && !policy.manager
                && matched
                    .pattern
                    .as_deref()
                    .is_some_and(|named| doubted || pattern_names_entry(entry, named)) =>
        {
            by_rule(matched, DecisionKind::Allow)
        }
        _ => decided(DecisionKind::Deny, why, DecidedBy::Guard("control".to_owned())),
    }
}

fn question(policy: &Policy) -> NextStep {
    match policy.questions {
        Questions::Broker => NextStep::Question,
        Questions::Deny => {
            let why =
                "nobody can answer questions here; decide yourself, or stop and say what you need to know";
            decided(DecisionKind::Deny, why.to_owned(), DecidedBy::Default("questions".to_owned()))
        }
    }
}

/// Plan mode grants nothing, since each call is decided as usual; so nobody needs to be asked.
fn plan_mode(policy: &Policy) -> NextStep {
    let by = DecidedBy::Default("plan-mode".to_owned());
    if policy.plan_mode {
        return decided(DecisionKind::Allow, "a hosted agent may enter and leave plan mode".to_owned(), by);
    }
    let why = "plan mode is not available in a beat: nobody can approve a plan, and commands would fail; do the work \
               now, without EnterPlanMode or ExitPlanMode";
    decided(DecisionKind::Deny, why.to_owned(), by)
}

fn manager_call(call: &Call, files: &[&Rules], reading: Reading<'_>, doubt: Option<String>) -> NextStep {
    let patterns = manager::patterns(files);
    let by = DecidedBy::Default("manager".to_owned());
    if manager::is_allowed(&patterns, call, reading) {
        return decided(DecisionKind::Allow, "the manager's patterns allow it".to_owned(), by);
    }
    let why = doubt.map(|why| format!("{why}; ")).unwrap_or_default();
    let may = patterns.join(", ");
    let why = format!("{why}a manager may run only {may}; delegate the rest to another agent");
    decided(DecisionKind::Deny, why, by)
}

fn check(checker: Checker, call: &Call, doubt: Option<String>) -> NextStep {
    let by = DecidedBy::Default("permissions-checker".to_owned());
    match (checker, doubt) {
        (Checker::Manual, doubt) => NextStep::Ask { doubt },
        (_, Some(why)) => {
            let advice = match call.command() {
                Some(_) => "rewrite it in a form that can be checked",
                None => "continue without it, or say what you need",
            };
            let why = format!("{why}; nobody can be asked to approve it; {advice}");
            decided(DecisionKind::Deny, why, DecidedBy::Guard("doubt".to_owned()))
        }
        (Checker::Off, None) => decided(DecisionKind::Allow, "nothing forbids it".to_owned(), by),
        (Checker::Llm, None) => NextStep::Ask { doubt: None },
        (Checker::Deny, None) => decided(
            DecisionKind::Deny,
            "no rule allows it; continue without it, or say what you need".to_owned(),
            by,
        ),
    }
}

fn by_rule(matched: Matched, kind: DecisionKind) -> NextStep {
    let word = if kind == DecisionKind::Deny { "denies" } else { "allows" };
    let pattern = matched.pattern.map(|pattern| format!(" ({pattern:?})")).unwrap_or_default();
    let Matched { file, number, .. } = matched;
    let reason = match kind {
        DecisionKind::Deny => format!("rule {number} of {file} {word} it{pattern}; continue without it"),
        DecisionKind::Allow | DecisionKind::Defer => format!("rule {number} of {file} {word} it{pattern}"),
    };
    decided(kind, reason, DecidedBy::Rule { file, number })
}

fn decided(kind: DecisionKind, reason: String, by: DecidedBy) -> NextStep {
    NextStep::Decided(Decision { kind, reason, by })
}

#[cfg(test)]
mod tests;
