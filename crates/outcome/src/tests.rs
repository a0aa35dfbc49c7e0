//! The outcome of a run.

use super::*;
use crate::run::LastActivity;
use insta::assert_snapshot;
use murmur_core::permit::request::RequestId;
use std::time::Duration;

/// Decides on a run with no deferred call.
fn decide(ending: &RunEnd, results: &[RunResult], stderr: &str) -> Outcome {
    super::decide(ending, StopReason::Asked, results, stderr, None)
}

fn said(text: &str) -> RunResult {
    RunResult { subtype: "success".to_owned(), text: Some(text.to_owned()), ..RunResult::default() }
}

fn done(text: &str) -> Outcome {
    decide(&RunEnd::Exited(0), &[said(text)], "")
}

#[test]
fn what_murmur_stopped_is_an_error_whatever_it_printed() {
    let of = |ending: RunEnd| match decide(&ending, &[said("HEARTBEAT_OK")], "") {
        Outcome::Error(error) => error,
        other => panic!("{other:?}"),
    };
    let (limit, waited, time) = (Duration::from_secs(300), Duration::ZERO, Duration::from_millis(61_900));
    let timed_out = |doing| of(RunEnd::TimedOut { limit, waited, doing });
    let request = RequestId::parse("7ggs733k").unwrap();
    assert_snapshot!(timed_out(LastActivity::Nothing), @"timed out after 5m, after answering");
    assert_snapshot!(timed_out(LastActivity::Model { time }), @"timed out after 5m, while waiting for the model (1m 1s)");
    assert_snapshot!(timed_out(LastActivity::Retries { retries: 1, status: None }), @"timed out after 5m, while retrying the API: 1 retry, the last with no answer");
    assert_snapshot!(timed_out(LastActivity::Retries { retries: 9, status: Some(529) }), @"timed out after 5m, while retrying the API: 9 retries, the last with status 529");
    let tool = |action: &str| LastActivity::Tool { tool: "Bash".to_owned(), action: action.to_owned(), time };
    assert_snapshot!(timed_out(tool("sleep 100")), @"timed out after 5m, while Bash was running (1m 1s): sleep 100");
    assert_snapshot!(timed_out(tool("")), @"timed out after 5m, while Bash was running (1m 1s)");
    let tasks =
        |tasks: &[&str]| LastActivity::Background { tasks: tasks.iter().map(ToString::to_string).collect() };
    let stopped = |doing| of(RunEnd::Stopped { after: time, doing });
    assert_snapshot!(stopped(tasks(&["sleep 100"])), @"stopped after 1m 1s, after answering, while 1 background task was still running: sleep 100");
    assert_snapshot!(stopped(tasks(&["sleep 100", "tail -f x"])), @"stopped after 1m 1s, after answering, while 2 background tasks were still running: sleep 100, tail -f x");
    assert_snapshot!(stopped(LastActivity::Waits { request, time: Duration::from_secs(9) }), @"stopped after 1m 1s, while request 7ggs733k was waiting for an answer (9s)");
    let waited = Duration::from_secs(7200);
    assert_snapshot!(of(RunEnd::TimedOut { limit, waited, doing: tool("ls") }), @"timed out after 5m (plus 2h waiting for answers), while Bash was running (1m 1s): ls");
    assert_snapshot!(of(RunEnd::OutOfTurns { limit: 2 }), @"exceeded its limit of 2 turns and was stopped");
}

#[test]
fn an_error_quotes_the_alert_it_would_hide() {
    let alert = || said("ATTENTION: the backup is gone");
    let refused = RunResult { is_error: true, ..said("API Error: 400") };
    let of = |ending: RunEnd, results: &[RunResult]| match decide(&ending, results, "") {
        Outcome::Error(error) => error,
        other => panic!("{other:?}"),
    };
    let (limit, waited) = (Duration::from_secs(2), Duration::ZERO);
    assert_snapshot!(of(RunEnd::TimedOut { limit, waited, doing: LastActivity::Nothing }, &[alert()]), @"timed out after 2s, after answering; the agent had said: ATTENTION: the backup is gone");
    assert_snapshot!(of(RunEnd::OutOfTurns { limit: 2 }, &[alert()]), @"exceeded its limit of 2 turns and was stopped; the agent had said: ATTENTION: the backup is gone");
    assert_snapshot!(of(RunEnd::Exited(1), &[alert(), refused.clone()]), @"exited with code 1: API Error: 400; the agent had said: ATTENTION: the backup is gone");
    assert_snapshot!(of(RunEnd::Exited(0), &[alert(), refused]), @"reported an error: API Error: 400; the agent had said: ATTENTION: the backup is gone");
    assert_snapshot!(of(RunEnd::Exited(3), &[alert()]), @"exited with code 3: ATTENTION: the backup is gone");
}

#[test]
fn a_death_is_an_error_whatever_it_printed() {
    let outcome = decide(&RunEnd::Signaled(9), &[said("HEARTBEAT_OK")], "oops");
    assert_eq!(outcome, Outcome::Error("killed by signal 9: HEARTBEAT_OK".to_owned()));
    let outcome = decide(&RunEnd::Exited(143), &[], "\nTerminated\n");
    assert_eq!(outcome, Outcome::Error("exited with code 143: Terminated".to_owned()));
    assert_eq!(decide(&RunEnd::Exited(1), &[], ""), Outcome::Error("exited with code 1".to_owned()));
    assert_eq!(decide(&RunEnd::Exited(0), &[], ""), Outcome::Error("ended without a result".to_owned()));
}

#[test]
fn a_long_stderr_is_cut_at_its_start() {
    let stderr = format!("{}Error: no disk\n", "ü".repeat(5000));
    let Outcome::Error(error) = decide(&RunEnd::Exited(1), &[], &stderr) else { panic!("no error") };
    assert!(error.starts_with("exited with code 1: üü") && error.ends_with("üError: no disk"), "{error}");
}

#[test]
fn an_error_that_calls_itself_success_is_an_error() {
    let refused = RunResult { is_error: true, ..said("API Error: 429 · HEARTBEAT_OK") };
    let outcome = decide(&RunEnd::Exited(0), &[refused], "");
    assert_eq!(outcome, Outcome::Error("reported an error: API Error: 429 · HEARTBEAT_OK".to_owned()));
    let turns = RunResult {
        is_error: true,
        errors: vec!["Reached maximum number of turns (3)".to_owned()],
        ..RunResult::default()
    };
    let outcome = decide(&RunEnd::Exited(1), &[turns], "");
    assert_eq!(outcome, Outcome::Error("exited with code 1: Reached maximum number of turns (3)".to_owned()));
}

#[test]
fn an_alert_is_never_swallowed() {
    assert_eq!(done("ATTENTION: not HEARTBEAT_OK").kind(), OutcomeKind::Attention);
    assert_eq!(done("\n ATTENTION: x").kind(), OutcomeKind::Attention);
    assert_eq!(done("All is well. HEARTBEAT_OK"), Outcome::Ok);
    assert_eq!(done("2 tests fail"), Outcome::Attention("2 tests fail".to_owned()));
    assert_eq!(done("**ATTENTION:** not HEARTBEAT_OK").kind(), OutcomeKind::Attention);
    assert_eq!(done(" \n"), Outcome::Attention("the agent said nothing".to_owned()));
}

#[test]
fn the_turn_of_the_prompt_decides_and_later_ones_only_make_it_worse() {
    let of = |results: &[RunResult]| decide(&RunEnd::Exited(0), results, "");
    let attention = |text: &str| Outcome::Attention(text.to_owned());
    let ok = || said("HEARTBEAT_OK");
    assert_eq!(of(&[said("Waiting for a task."), ok()]), attention("Waiting for a task."));
    assert_eq!(of(&[ok(), said("2 tests fail")]), attention("2 tests fail"));
    assert_eq!(of(&[ok(), said(" \n"), ok()]), Outcome::Ok);
    let alert = said("ATTENTION: the disk is full");
    assert_eq!(of(&[alert.clone(), ok()]), attention("ATTENTION: the disk is full"));
    assert_eq!(of(&[ok(), alert.clone(), ok()]), attention("ATTENTION: the disk is full"));
    assert_eq!(of(&[said("Look at this."), alert]), attention("Look at this."));
    let failed = || RunResult { is_error: true, ..said("API Error: 529") };
    let error = Outcome::Error("reported an error: API Error: 529".to_owned());
    assert_eq!(of(&[failed(), ok()]), error);
    assert_eq!(of(&[ok(), failed(), ok()]), error);
    // The exit code is that of the last turn.
    let exited = decide(&RunEnd::Exited(1), &[failed(), RunResult { is_error: true, ..said("other") }], "");
    assert_eq!(exited, Outcome::Error("exited with code 1: API Error: 529".to_owned()));
}

#[test]
fn a_run_ended_after_its_turn_is_decided_by_its_answer() {
    let of = |results: &[RunResult]| {
        decide(&RunEnd::Settled { background: 2, out_of_turns: true }, results, "Terminated")
    };
    assert_eq!(of(&[said("HEARTBEAT_OK")]), Outcome::Ok);
    assert_eq!(of(&[said("2 tests fail")]), Outcome::Attention("2 tests fail".to_owned()));
    assert_eq!(of(&[said("HEARTBEAT_OK"), said("ATTENTION: no")]).kind(), OutcomeKind::Attention);
}

#[test]
fn a_later_turn_that_waits_for_an_answer_waits() {
    let deferred = RunResult { stop_reason: Some("tool_deferred".to_owned()), ..said("") };
    let request = RequestId::parse("7ggs733k").unwrap();
    let call = Deferred { request, text: "waits for an answer".to_owned() };
    let waits = |first: &str| {
        super::decide(
            &RunEnd::Exited(0),
            StopReason::Asked,
            &[said(first), deferred.clone()],
            "",
            Some(&call),
        )
    };
    assert_eq!(waits("HEARTBEAT_OK"), Outcome::Waiting(call.clone()));
    assert_eq!(waits("2 tests fail"), Outcome::Waiting(call.clone()));
}

#[test]
fn a_long_summary_is_cut_between_words() {
    let Outcome::Attention(summary) = done(&"two tests fail ".repeat(20)) else { panic!("not attention") };
    assert_eq!(summary, format!("{}two…", "two tests fail ".repeat(13)));
    assert!(summary.chars().count() <= SUMMARY);
}

#[test]
fn a_summary_is_200_characters_not_bytes() {
    let Outcome::Attention(summary) = done(&"ü".repeat(300)) else { panic!("not attention") };
    assert_eq!(summary, "ü".repeat(200));
}

#[test]
fn a_deferred_tool_is_not_a_success() {
    let deferred = RunResult {
        stop_reason: Some("tool_deferred".to_owned()),
        deferred_tool: Some("Bash".to_owned()),
        ..said("")
    };
    let outcome = decide(&RunEnd::Exited(0), &[deferred], "");
    assert_eq!(
        outcome,
        Outcome::Error("a hook deferred Bash, but there is nobody to decide on it".to_owned())
    );
}

#[test]
fn a_replaced_run_says_so_and_was_not_stopped() {
    let ending = RunEnd::Stopped { after: Duration::from_secs(3), doing: LastActivity::Nothing };
    let of = |reason| (super::decide(&ending, reason, &[], "", None), early_end(&ending, reason));
    let error = |text: &str| Outcome::Error(text.to_owned());
    let stopped = error("stopped after 3s, after answering");
    assert_eq!(of(StopReason::Asked), (stopped.clone(), Some(EarlyEnd::Stopped)));
    assert_eq!(of(StopReason::FolderGone), (stopped, None));
    let replaced = error("replaced by the next run after 3s, after answering");
    assert_eq!(of(StopReason::Replaced), (replaced, Some(EarlyEnd::Replaced)));
}
