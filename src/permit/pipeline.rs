//! The pipeline: guard, rules, and what holds where neither decides. The first that decides wins.

use super::call::Call;
use super::decision::{By, Decision, Verdict};
use super::guard::{Finding, control};
use super::manager;
use super::policy::{Checker, Policy, Questions};
use super::rules::{self, Action, Matched, Reading, Rules};

/// The tool with which an agent asks a person.
pub const ASK: &str = "AskUserQuestion";

/// The tools with which an agent enters and leaves plan mode. In a beat, Claude Code from 2.1.300 on can leave it in no
/// way, and fails every command until then.
pub const PLAN: [&str; 2] = ["EnterPlanMode", "ExitPlanMode"];

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// It is decided.
    Decided(Decision),
    /// Whom the policy names is to decide: a person, or a model.
    Ask {
        /// Why the guard could not tell what the call would do, for the person. A model is not asked then.
        doubt: Option<String>,
    },
    /// A person is to answer the agent's questions.
    Question,
}

/// What becomes of a call by an agent for which `policy` holds. `files` are the rules in their order; where one of them
/// cannot be read the call is denied without this being asked. `guard` is asked only if it is on; `reading.doubted` is
/// set here.
#[must_use]
pub fn decide(
    call: &Call,
    policy: &Policy,
    files: &[&Rules],
    reading: Reading<'_>,
    guard: impl FnOnce(&Call) -> Finding,
) -> Step {
    let doubt = match if policy.guard { guard(call) } else { Finding::Clear } {
        Finding::Refused { entry, why } => return decided(Verdict::Deny, why, By::Guard(entry.to_owned())),
        Finding::Controlled { entry, why } => return controlled(call, policy, files, reading, entry, why),
        Finding::Doubt { why } => Some(why),
        Finding::Clear => None,
    };
    let reading = Reading { doubted: doubt.is_some(), ..reading };
    let matched = rules::decide(files, call, reading);
    match matched {
        Some(matched) if matched.action == Action::Deny => by_rule(matched, Verdict::Deny),
        _ if call.tool == ASK => asks(policy),
        _ if PLAN.contains(&call.tool.as_str()) => plans(policy),
        _ if policy.manager => manages(call, files, reading, doubt),
        Some(matched) if matched.action == Action::Allow => by_rule(matched, Verdict::Allow),
        _ => checks(policy.checker, doubt),
    }
}

/// What changes what controls the next run: allowed by a rule alone that names it, a line of shell letter for letter.
fn controlled(
    call: &Call,
    policy: &Policy,
    files: &[&Rules],
    reading: Reading<'_>,
    entry: &str,
    why: String,
) -> Step {
    let doubted = call.command().is_some();
    match rules::decide(files, call, Reading { doubted, ..reading }) {
        Some(matched) if matched.action == Action::Deny => by_rule(matched, Verdict::Deny),
        Some(matched)
            if matched.action == Action::Allow
                && !policy.manager
                && matched
                    .pattern
                    .as_deref()
                    .is_some_and(|named| doubted || control::is_named(entry, named)) =>
        {
            by_rule(matched, Verdict::Allow)
        }
        _ => decided(Verdict::Deny, why, By::Guard("control".to_owned())),
    }
}

fn asks(policy: &Policy) -> Step {
    match policy.questions {
        Questions::Broker => Step::Question,
        Questions::Deny => {
            let why =
                "nobody answers questions here; decide by yourself, or end and say what you need to know";
            decided(Verdict::Deny, why.to_owned(), By::Default("questions".to_owned()))
        }
    }
}

/// Plan mode gives an agent nothing: each of its calls is decided as always. So nobody is asked.
fn plans(policy: &Policy) -> Step {
    let by = By::Default("plan-mode".to_owned());
    if policy.plan_mode {
        return decided(Verdict::Allow, "a live agent may enter and leave plan mode".to_owned(), by);
    }
    let why = "a beat has no plan mode: nobody is there to approve a plan, and commands would fail in it; do the work \
               now, without EnterPlanMode or ExitPlanMode";
    decided(Verdict::Deny, why.to_owned(), by)
}

fn manages(call: &Call, files: &[&Rules], reading: Reading<'_>, doubt: Option<String>) -> Step {
    let patterns = manager::patterns(files);
    let by = By::Default("manager".to_owned());
    if manager::is_allowed(&patterns, call, reading) {
        return decided(Verdict::Allow, "the manager's patterns allow it".to_owned(), by);
    }
    let why = doubt.map(|why| format!("{why}; ")).unwrap_or_default();
    let may = patterns.join(", ");
    let why = format!("{why}a manager runs only {may}, and has others do the rest; hand it to another agent");
    decided(Verdict::Deny, why, by)
}

fn checks(checker: Checker, doubt: Option<String>) -> Step {
    let by = By::Default("permissions-checker".to_owned());
    match (checker, doubt) {
        (Checker::Manual, doubt) => Step::Ask { doubt },
        (_, Some(why)) => {
            let why =
                format!("{why}; nobody can be asked whether it may run; write it so that it can be read");
            decided(Verdict::Deny, why, By::Guard("doubt".to_owned()))
        }
        (Checker::Off, None) => decided(Verdict::Allow, "nothing forbids it".to_owned(), by),
        (Checker::Llm, None) => Step::Ask { doubt: None },
        (Checker::Deny, None) => {
            decided(Verdict::Deny, "no rule allows it; do without, or say what you need".to_owned(), by)
        }
    }
}

fn by_rule(matched: Matched, verdict: Verdict) -> Step {
    let word = if verdict == Verdict::Deny { "denies" } else { "allows" };
    let pattern = matched.pattern.map(|pattern| format!(" ({pattern:?})")).unwrap_or_default();
    let Matched { file, number, .. } = matched;
    let reason = match verdict {
        Verdict::Deny => format!("rule {number} of {file} {word} it{pattern}; do without it"),
        Verdict::Allow | Verdict::Defer => format!("rule {number} of {file} {word} it{pattern}"),
    };
    decided(verdict, reason, By::Rule { file, number })
}

fn decided(verdict: Verdict, reason: String, by: By) -> Step {
    Step::Decided(Decision { verdict, reason, by })
}

#[cfg(test)]
mod tests;
