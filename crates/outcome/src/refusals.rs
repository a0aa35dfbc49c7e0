//! Makes an outcome worse because of refused calls. An `ok` becomes `attention` if
//!
//! - the guard or the backend refused a call,
//! - nobody answered the request for a call, or
//! - a call that the guard or rules refuse ran without a decision.
//!
//! Any outcome becomes `error` if a hook failed. The error of a canceled turn names what was refused before.

use super::{Outcome, QUOTE, SUMMARY, first_characters};
use crate::refused::{Refusals, RefusedCalls};
use murmur_agent::event::RunResult;
use murmur_core::permit::request::NO_DAEMON;

/// Returns `outcome` with the refusals taken into account.
#[must_use]
pub fn apply(outcome: Outcome, refusals: &Refusals) -> Outcome {
    if let (Some(failure), false) = (&refusals.failure, matches!(outcome, Outcome::Error(_))) {
        return Outcome::Error(first_characters(&failed(failure), QUOTE));
    }
    let clauses = clauses(refusals);
    if clauses.is_empty() {
        return outcome;
    }
    let refused = format!(", but {}", clauses.join(", and "));
    match outcome {
        Outcome::Ok => Outcome::Attention(first_characters(&format!("HEARTBEAT_OK{refused}"), SUMMARY)),
        Outcome::Attention(summary) => {
            // The agent's answer is recorded elsewhere, too; the refusal only here.
            let room = SUMMARY.saturating_sub(refused.chars().count());
            let summary = first_characters(&summary, room.max(SUMMARY / 2));
            let summary = summary.trim_end_matches([' ', '.']);
            Outcome::Attention(first_characters(&format!("{summary}{refused}"), SUMMARY))
        }
        Outcome::Waiting(_) | Outcome::Error(_) | Outcome::Limited(_) | Outcome::Skipped(_) => outcome,
    }
}

/// Returns `outcome` with the denials after which the agent canceled its turn.
#[must_use]
pub fn explain(
    outcome: Outcome,
    results: &[RunResult],
    refusals: &Refusals,
    denied_tools: &[String],
) -> Outcome {
    let is_canceled = |result: &RunResult| result.stop_reason.as_deref() == Some(RunResult::CANCELED);
    match outcome {
        Outcome::Error(error) if results.iter().any(is_canceled) => {
            let mut clauses = clauses(refusals);
            if clauses.is_empty() {
                let denied = refusals.last_denied.as_ref().map(|call| format!("murmur denied {call}"));
                // A call whose hook failed has no reason.
                let tool = || Some(format!("a call of {} was denied", denied_tools.last()?));
                clauses.extend(denied.or_else(tool));
            }
            let after = if clauses.is_empty() { "" } else { ", after " };
            Outcome::Error(first_characters(&format!("{error}{after}{}", clauses.join(", and ")), QUOTE))
        }
        other => other,
    }
}

fn clauses(refusals: &Refusals) -> Vec<String> {
    let clause = |what, calls: &RefusedCalls| {
        let RefusedCalls { first: call, count } = calls;
        match count - 1 {
            0 => format!("{what} {call}"),
            1 => format!("{what} {call} and another call"),
            others => format!("{what} {call} and {others} other calls"),
        }
    };
    let by_guard = refusals.by_guard.as_ref().map(|calls| clause("the guard refused", calls));
    let unanswered =
        refusals.unanswered.as_ref().map(|calls| clause("nobody answered the request for", calls));
    let by_backend = refusals.by_backend.as_ref().map(|calls| clause("the backend refused", calls));
    // Nobody was asked, so this is noticed only now.
    let ran = [
        (&refusals.undecided.by_guard, "the guard refuses"),
        (&refusals.undecided.by_rules, "your rules deny"),
    ];
    let ran = ran.into_iter().filter_map(|(calls, refuses)| {
        Some(format!("{}, which {refuses}, without a decision", clause("it ran", calls.as_ref()?)))
    });
    by_guard.into_iter().chain(by_backend).chain(unanswered).chain(ran).collect()
}

/// The error of a beat whose hook failed. That no daemon runs is not the hook's fault.
fn failed(failure: &str) -> String {
    match failure.split_once(&format!(": {NO_DAEMON}")) {
        Some((call, _)) => format!("{NO_DAEMON} about {call}; run: murmur start"),
        None => format!("murmur's hook failed: {failure}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refused::UndecidedCalls;

    fn refused(count: usize) -> Refusals {
        let first = "Bash(sudo ls)".to_owned();
        Refusals { by_guard: Some(RefusedCalls { first, count }), ..Refusals::default() }
    }

    fn attention(text: &str) -> Outcome {
        Outcome::Attention(text.to_owned())
    }

    #[test]
    fn refused_calls_are_reported_with_the_agents_answer() {
        assert_eq!(apply(Outcome::Ok, &Refusals::default()), Outcome::Ok);
        let one = attention("HEARTBEAT_OK, but the guard refused Bash(sudo ls)");
        assert_eq!(apply(Outcome::Ok, &refused(1)), one);
        let more = attention("2 tests fail, but the guard refused Bash(sudo ls) and 2 other calls");
        assert_eq!(apply(attention("2 tests fail"), &refused(3)), more);
        let Outcome::Attention(long) = apply(attention(&"x".repeat(SUMMARY)), &refused(2)) else { panic!() };
        assert!(long.chars().count() == SUMMARY && long.ends_with("refused Bash(sudo ls) and another call"));
    }

    #[test]
    fn the_error_of_a_canceled_turn_names_what_was_denied() {
        let explained = |stop_reason: &str, refusals: &Refusals, denied: &[String]| {
            let result = RunResult { stop_reason: Some(stop_reason.to_owned()), ..RunResult::default() };
            match explain(Outcome::Error("the turn was canceled".to_owned()), &[result], refusals, denied) {
                Outcome::Error(error) => error,
                other => panic!("{other:?}"),
            }
        };
        let bash = ["Bash".to_owned()];
        let by_guard = "the turn was canceled, after the guard refused Bash(sudo ls)";
        assert_eq!(explained("cancelled", &refused(1), &bash), by_guard);
        let by_person = "the turn was canceled, after a call of Bash was denied";
        assert_eq!(explained("cancelled", &Refusals::default(), &bash), by_person);
        let last_denied = Some("Bash(make): rule 1 of /x.toml denies it".to_owned());
        let by_rule = Refusals { last_denied, ..Refusals::default() };
        let expected = "the turn was canceled, after murmur denied Bash(make): rule 1 of /x.toml denies it";
        assert_eq!(explained("cancelled", &by_rule, &bash), expected);
        let both = Refusals { last_denied: by_rule.last_denied, ..refused(1) };
        assert_eq!(explained("cancelled", &both, &bash), by_guard);
        assert_eq!(explained("cancelled", &Refusals::default(), &[]), "the turn was canceled");
        assert_eq!(explained("refusal", &refused(1), &bash), "the turn was canceled");
    }

    #[test]
    fn calls_that_nobody_answered_about_are_reported() {
        let nobody = Some(RefusedCalls { first: "Bash(git push)".to_owned(), count: 2 });
        let alone = Refusals { unanswered: nobody.clone(), ..Refusals::default() };
        let expected =
            attention("HEARTBEAT_OK, but nobody answered the request for Bash(git push) and another call");
        assert_eq!(apply(Outcome::Ok, &alone), expected);
        let by_backend = Some(RefusedCalls { first: "Bash(touch x)".to_owned(), count: 1 });
        let backend = Refusals { by_backend, ..Refusals::default() };
        let expected = attention("HEARTBEAT_OK, but the backend refused Bash(touch x)");
        assert_eq!(apply(Outcome::Ok, &backend), expected);
        let ran = Some(RefusedCalls { first: "Bash(curl x)".to_owned(), count: 2 });
        let ran = Refusals {
            undecided: UndecidedCalls { by_rules: ran, ..UndecidedCalls::default() },
            ..Refusals::default()
        };
        let expected = attention(
            "HEARTBEAT_OK, but it ran Bash(curl x) and another call, which your rules deny, without a decision",
        );
        assert_eq!(apply(Outcome::Ok, &ran), expected);
        let ran = Some(RefusedCalls { first: "Bash(sudo x)".to_owned(), count: 1 });
        let ran = Refusals {
            undecided: UndecidedCalls { by_guard: ran, ..UndecidedCalls::default() },
            ..Refusals::default()
        };
        let expected =
            attention("HEARTBEAT_OK, but it ran Bash(sudo x), which the guard refuses, without a decision");
        assert_eq!(apply(Outcome::Ok, &ran), expected);
        let both = attention(
            "HEARTBEAT_OK, but the guard refused Bash(sudo ls), and nobody answered the request for Bash(git push) and another call",
        );
        assert_eq!(apply(Outcome::Ok, &Refusals { unanswered: nobody, ..refused(1) }), both);
    }

    #[test]
    fn a_hook_that_failed_is_an_error() {
        let failed = Refusals { failure: Some("Bash(ls): not found".to_owned()), ..refused(1) };
        let error = Outcome::Error("murmur's hook failed: Bash(ls): not found".to_owned());
        assert_eq!(apply(Outcome::Ok, &failed), error);
        let nobody = format!("Bash(ls): {NO_DAEMON}; the call is denied");
        let failed_alone = Refusals { failure: Some(nobody), ..refused(1) };
        let expected = "no daemon is running, so nobody can be asked about Bash(ls); run: murmur start";
        assert_eq!(apply(Outcome::Ok, &failed_alone), Outcome::Error(expected.to_owned()));
        let worse = Outcome::Error("exited with code 1".to_owned());
        assert_eq!(apply(worse.clone(), &failed), worse);
    }
}
