//! Decides whether a beat is `ok`, `attention`, `error`, `limited` or `skipped`, from facts that others collect: how
//! the run ended, what the agent answered, and what gates and verifiers said. Pure.
//!
//! [`conclude`] decides how a run went. `answer` finds alerts in the agent's text; [`refusals`] and [`servers`] can
//! make an outcome worse. A call that still waits for an answer makes it [`Outcome::Waiting`], which is shown as
//! `attention`. [`early_end`] says which runs murmur ended early, and [`retryable`] which are worth a retry. [`gate`]
//! handles beats that start no agent, which may be `skipped`, and those whose success doesn't count. [`notice`] builds
//! the journal's `attention` lines that belong to no beat. A beat that could not begin is [`not_begun`], and one that
//! did is [`unknown`] until it has an outcome.

mod answer;
pub mod breach;
pub mod gate;
mod interrupted;
pub mod notice;
pub mod refusals;
pub mod refused;
pub mod retryable;
pub mod run;
pub mod servers;

use murmur_agent::event::RunResult;
use run::{Run, RunEnd};
use secrets::mask;
use servers::Servers;
use sys::error::Failure;

pub use murmur_core::outcome::{
    Deferred, EarlyEnd, Outcome, OutcomeKind, SUMMARY, StopReason, first_characters,
};

/// The agent's MCP servers and those that the heartbeat requires.
pub struct Required<'a> {
    /// The servers that the agent reported.
    pub servers: &'a Servers,
    /// The names in `requires`.
    pub names: &'a [String],
    /// Returns why the agent was not given a server, by the server's name.
    pub why: &'a dyn Fn(&str) -> Option<String>,
}

/// Returns the outcome of a beat from its finished `run`, with refusals and MCP servers taken into account.
///
/// `stop` is why the run was stopped, if it was. `deferred` is the agent's call that waits for an answer. `required` is
/// `None` if the agent never listed its servers and none is required. `limit` describes the usage limit that the
/// agent's last report says is reached.
#[must_use]
pub fn conclude(
    run: &Run,
    stop: StopReason,
    deferred: Option<&Deferred>,
    required: Option<&Required<'_>>,
    limit: Option<&str>,
) -> Outcome {
    if run.survivors > 0 {
        return Outcome::Error(format!("could not stop {} of the agent's processes", run.survivors));
    }
    let mut outcome = decide(&run.ending, stop, &run.results, &run.stderr, deferred);
    if let Some(limit) = limit
        && is_limited(&run.ending, &run.results)
    {
        return Outcome::Limited(limit.to_owned());
    }
    if run.unfinished && matches!(run.ending, RunEnd::Exited(0)) && !matches!(outcome, Outcome::Error(_)) {
        outcome = unfinished(outcome);
    }
    // The beat that resumes this one has refusals and servers of its own.
    if matches!(outcome, Outcome::Waiting(_)) {
        return outcome;
    }
    let mut outcome = refusals::apply(outcome, &run.refusals);
    // Otherwise murmur canceled the turn, and the error says why.
    if matches!(run.ending, RunEnd::Exited(_) | RunEnd::Answered | RunEnd::Settled { .. }) {
        outcome = refusals::explain(outcome, &run.results, &run.refusals, &run.denials);
    }
    required.map_or_else(
        || outcome.clone(),
        |required| required.servers.apply(outcome.clone(), required.names, required.why),
    )
}

/// Returns how murmur ended a run early; `stop` is why it was stopped, if it was. A beat that lost its data folder was
/// not stopped by anybody.
#[must_use]
pub fn early_end(ending: &RunEnd, stop: StopReason) -> Option<EarlyEnd> {
    match ending {
        RunEnd::TimedOut { .. } => Some(EarlyEnd::TimedOut),
        RunEnd::Hung { watchdog, .. } => Some(EarlyEnd::Hung(*watchdog)),
        RunEnd::OutOfTurns { .. } | RunEnd::Settled { out_of_turns: true, .. } => Some(EarlyEnd::OutOfTurns),
        RunEnd::Stopped { .. } => stopped(stop),
        RunEnd::Exited(_)
        | RunEnd::Signaled(_)
        | RunEnd::Breach { .. }
        | RunEnd::Answered
        | RunEnd::Settled { out_of_turns: false, .. } => None,
    }
}

/// How murmur ended a beat that it stopped for this reason.
fn stopped(reason: StopReason) -> Option<EarlyEnd> {
    match reason {
        StopReason::Asked => Some(EarlyEnd::Stopped),
        StopReason::Replaced => Some(EarlyEnd::Replaced),
        StopReason::FolderGone => None,
    }
}

/// The outcome of a beat whose process dies before it can record another.
#[must_use]
pub fn unknown() -> Outcome {
    Outcome::Error("murmur was killed during this beat; its outcome is unknown".to_owned())
}

/// The outcome of a beat that could not begin because of `failure`.
#[must_use]
pub fn not_begun(failure: &Failure) -> Outcome {
    Outcome::Error(failure.line())
}

/// Whether the agent ended the run because of a usage limit. An earlier alert still counts.
fn is_limited(ending: &RunEnd, results: &[RunResult]) -> bool {
    let alert =
        |result: &RunResult| answer::is_alert(answer::trim(result.text.as_deref().unwrap_or_default()));
    gave_up(ending, results) && !results.iter().any(|result| !result.is_error && alert(result))
}

/// Whether the agent ended by itself, without doing its work.
fn gave_up(ending: &RunEnd, results: &[RunResult]) -> bool {
    match ending {
        RunEnd::Exited(0) | RunEnd::Answered | RunEnd::Settled { .. } => {
            results.iter().any(|result| result.is_error)
        }
        RunEnd::Exited(_) => true,
        RunEnd::Signaled(_)
        | RunEnd::TimedOut { .. }
        | RunEnd::Hung { .. }
        | RunEnd::Stopped { .. }
        | RunEnd::OutOfTurns { .. }
        | RunEnd::Breach { .. } => false,
    }
}

/// The outcome of a run that ended in the middle of a turn that the agent had started by itself; `before` is the
/// outcome without that turn.
fn unfinished(before: Outcome) -> Outcome {
    let what = "ended without a result, in a turn that it had started by itself";
    match before {
        Outcome::Attention(summary) => Outcome::Error(format!("{what}; before that, it had said: {summary}")),
        _ => Outcome::Error(what.to_owned()),
    }
}

/// The summary for an agent that gave no answer.
const NO_ANSWER: &str = "the agent said nothing";

/// Maximum length of an error that quotes the agent's output, in characters.
const QUOTE: usize = 2000;

/// Returns the outcome of a run, without the refusals and MCP servers that [`conclude`] adds. If the run was stopped,
/// `stop` is why. `results` are the agent's result messages in order, `stderr` is the end of its stderr, and `deferred`
/// its call that waits for a person's answer.
///
/// What murmur did comes first, then how the process died, then what the agent said. The first result belongs to the
/// turn that the prompt asked for and decides; results of turns that the agent started by itself can only make the
/// outcome worse. An error that would hide an alert quotes it.
#[must_use]
pub fn decide(
    ending: &RunEnd,
    stop: StopReason,
    results: &[RunResult],
    stderr: &str,
    deferred: Option<&Deferred>,
) -> Outcome {
    let text = |result: &RunResult| answer::trim(result.text.as_deref().unwrap_or_default()).to_owned();
    let alert =
        results.iter().filter(|result| !result.is_error).map(text).find(|text| answer::is_alert(text));
    match (by_precedence(ending, stop, results, stderr, deferred), alert) {
        (Outcome::Error(why), Some(alert)) if !why.contains(&alert) => {
            Outcome::Error(format!("{why}; the agent had said: {}", first_words(&alert, SUMMARY)))
        }
        (outcome, _) => outcome,
    }
}

fn by_precedence(
    ending: &RunEnd,
    stop: StopReason,
    results: &[RunResult],
    stderr: &str,
    deferred: Option<&Deferred>,
) -> Outcome {
    let died = match ending {
        RunEnd::TimedOut { limit, waited, doing } => {
            return Outcome::Error(interrupted::timed_out(*limit, *waited, doing));
        }
        RunEnd::Hung { watchdog, limit, doing } => {
            return Outcome::Error(interrupted::hung(*watchdog, *limit, doing));
        }
        RunEnd::Stopped { after, doing } => return Outcome::Error(interrupted::stopped(stop, *after, doing)),
        RunEnd::OutOfTurns { limit } => return Outcome::Error(interrupted::out_of_turns(*limit)),
        RunEnd::Breach { what } => return Outcome::Error(what.clone()),
        RunEnd::Signaled(signal) => Some(format!("killed by signal {signal}")),
        RunEnd::Exited(code) if *code != 0 => Some(format!("exited with code {code}")),
        RunEnd::Exited(_) | RunEnd::Answered | RunEnd::Settled { .. } => None,
    };
    if let Some(result) = results.iter().find(|result| result.subtype == RunResult::OUT_OF_BUDGET) {
        return Outcome::Error(with_cause("exceeded maxBudgetUsd".to_owned(), Some(result), stderr));
    }
    if let Some(how) = died {
        // Claude Code exits with the status of its last turn; the first turn that failed has the cause.
        let result = results.iter().find(|result| result.is_error).or(results.last());
        return Outcome::Error(with_cause(how, result, stderr));
    }
    let mut turns = results.iter().map(|result| of_turn(result, stderr, deferred));
    let Some(own) = turns.next() else {
        return Outcome::Error(with_cause("ended without a result".to_owned(), None, stderr));
    };
    // An empty answer in a later turn doesn't retract an earlier one.
    let later =
        turns.zip(&results[1..]).filter(|(turn, result)| turn.0 != Rank::Attention || !is_empty(result));
    later.fold(own, |worst, (turn, _)| if turn.0 > worst.0 { turn } else { worst }).1
}

/// Severity; the worst of several turns counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Ok,
    Attention,
    /// Waits for an answer, and resumes with it.
    Waiting,
    Error,
}

/// Returns the outcome of one turn of a run that exited normally.
fn of_turn(result: &RunResult, stderr: &str, deferred: Option<&Deferred>) -> (Rank, Outcome) {
    if result.is_error {
        return (
            Rank::Error,
            Outcome::Error(with_cause("reported an error".to_owned(), Some(result), stderr)),
        );
    }
    if result.stop_reason.as_deref() == Some("tool_deferred") {
        if let Some(deferred) = deferred {
            return (Rank::Waiting, Outcome::Waiting(deferred.clone()));
        }
        let tool = result.deferred_tool.as_deref().unwrap_or("a tool");
        let error = format!("a hook deferred {tool}, but there is nobody to decide on it");
        return (Rank::Error, Outcome::Error(error));
    }
    let text = answer::trim(result.text.as_deref().unwrap_or_default());
    if text.contains("HEARTBEAT_OK") && !answer::is_alert(text) {
        (Rank::Ok, Outcome::Ok)
    } else if text.is_empty() {
        (Rank::Attention, Outcome::Attention(NO_ANSWER.to_owned()))
    } else {
        (Rank::Attention, Outcome::Attention(quoted(text, SUMMARY)))
    }
}

fn is_empty(result: &RunResult) -> bool {
    answer::trim(result.text.as_deref().unwrap_or_default()).is_empty()
}

/// Appends the cause to `what`: the result's own text, or else the end of stderr.
fn with_cause(what: String, result: Option<&RunResult>, stderr: &str) -> String {
    let own = result.and_then(|result| {
        result.text.clone().or_else(|| Some(result.errors_for_people().collect::<Vec<_>>().join("; ")))
    });
    let cause = match own.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        Some(own) => quoted(own, QUOTE),
        // Mask more than is kept, so that a secret at the cut is recognized.
        None => last_characters(&mask(last_characters(stderr.trim(), 8 * QUOTE)), QUOTE).to_owned(),
    };
    if cause.is_empty() { what } else { format!("{what}: {cause}") }
}

/// The beginning of an agent's text, in at most `most` characters and with secrets masked.
fn quoted(text: &str, most: usize) -> String {
    // Mask more than is kept, so that a secret at the cut is recognized.
    first_words(&mask(&first_characters(text, 8 * most)), most)
}

/// At most `most` characters of `text`. A longer one is cut between words, with an ellipsis, if that keeps at least
/// half.
fn first_words(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let all = &text[..end];
    // The ellipsis takes the place of a space.
    let words = all.rfind(char::is_whitespace).map_or("", |at| all[..at].trim_end());
    if words.chars().count() * 2 < most { all.to_owned() } else { format!("{words}…") }
}

/// The last `most` characters of `text`; the end of stderr usually has the cause.
fn last_characters(text: &str, most: usize) -> &str {
    let surplus = text.chars().count().saturating_sub(most);
    text.char_indices().nth(surplus).map_or("", |(start, _)| &text[start..])
}

#[cfg(test)]
mod tests;
