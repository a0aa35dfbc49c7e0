//! Whether a beat is `ok`, `attention` or `error`: decided here alone, from how the run ended and what it said.

use crate::agent::event::RunResult;
use crate::host::process::Ending;
use serde::{Deserialize, Serialize};

/// The kind of an outcome, as the journal writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Nothing to report.
    Ok,
    /// A person should look.
    Attention,
    /// The beat did not do its work.
    Error,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(match self {
            Self::Ok => "ok",
            Self::Attention => "attention",
            Self::Error => "error",
        })
    }
}

/// What came of a beat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to report.
    Ok,
    /// A person should look; the text is the agent's first [`SUMMARY`] characters.
    Attention(String),
    /// The beat did not do its work, and why.
    Error(String),
}

/// The most characters of a summary (spec 0, Log Format).
pub const SUMMARY: usize = 200;

/// The most characters of an error that quotes what the agent printed.
const QUOTE: usize = 2000;

/// Decides. `results` are the run's own summaries in order, `stderr` the end of what it wrote there, `waits` what is said
/// of its call that waits for a person's answer.
///
/// The order is the design's: what murmur did comes first, then how the process died, then what it said. Of several
/// summaries the last one counts, but an alert in one before it is not swallowed.
#[must_use]
pub fn decide(ending: &Ending, results: &[RunResult], stderr: &str, waits: Option<&str>) -> Outcome {
    let said = results.last();
    match ending {
        Ending::TimedOut { limit } => {
            return Outcome::Error(format!(
                "timed out after {} and was stopped",
                humantime::format_duration(*limit)
            ));
        }
        Ending::Stopped { after } => {
            let after = humantime::format_duration(std::time::Duration::from_secs(after.as_secs()));
            return Outcome::Error(format!("stopped after {after}, before it was done"));
        }
        Ending::Signaled(signal) => {
            return Outcome::Error(with_cause(format!("killed by signal {signal}"), said, stderr));
        }
        Ending::Exited(code) if *code != 0 => {
            return Outcome::Error(with_cause(format!("exited with code {code}"), said, stderr));
        }
        Ending::Exited(_) => {}
    }
    let Some(said) = said else {
        return Outcome::Error(with_cause("ended without a result".to_owned(), None, stderr));
    };
    if said.is_error {
        return Outcome::Error(with_cause("reported an error".to_owned(), Some(said), stderr));
    }
    if said.stop_reason.as_deref() == Some("tool_deferred") {
        if let Some(waits) = waits {
            return Outcome::Attention(waits.to_owned());
        }
        let tool = said.deferred_tool.as_deref().unwrap_or("a tool");
        return Outcome::Error(format!("a hook put off {tool}, and nobody is there to decide"));
    }
    let mut texts = results.iter().map(|result| result.text.as_deref().unwrap_or_default().trim());
    if let Some(alert) = texts.clone().find(|text| text.starts_with("ATTENTION:")) {
        return Outcome::Attention(first_characters(alert, SUMMARY));
    }
    let text = texts.next_back().unwrap_or_default();
    if text.contains("HEARTBEAT_OK") {
        Outcome::Ok
    } else {
        Outcome::Attention(first_characters(text, SUMMARY))
    }
}

/// `what`, and why: the run's own words, else the last of what it wrote on stderr.
fn with_cause(what: String, said: Option<&RunResult>, stderr: &str) -> String {
    let own = said.and_then(|said| said.text.clone().or_else(|| Some(said.errors.join("; "))));
    let cause = match own.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        Some(own) => first_characters(own, QUOTE),
        None => last_characters(stderr.trim(), QUOTE).to_owned(),
    };
    if cause.is_empty() { what } else { format!("{what}: {cause}") }
}

/// The last `most` characters of `text`: a program's last words say why it died.
fn last_characters(text: &str, most: usize) -> &str {
    let surplus = text.chars().count().saturating_sub(most);
    text.char_indices().nth(surplus).map_or("", |(start, _)| &text[start..])
}

/// The first `most` characters of `text`: characters, not bytes.
#[must_use]
pub fn first_characters(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

impl Outcome {
    /// Its kind, without the words.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Ok => Kind::Ok,
            Self::Attention(_) => Kind::Attention,
            Self::Error(_) => Kind::Error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Decides on a run that waits for nobody.
    fn decide(ending: &Ending, results: &[RunResult], stderr: &str) -> Outcome {
        super::decide(ending, results, stderr, None)
    }

    fn said(text: &str) -> RunResult {
        RunResult { subtype: "success".to_owned(), text: Some(text.to_owned()), ..RunResult::default() }
    }

    fn done(text: &str) -> Outcome {
        decide(&Ending::Exited(0), &[said(text)], "")
    }

    #[test]
    fn what_murmur_stopped_is_an_error_whatever_it_printed() {
        let limit = Duration::from_secs(300);
        let outcome = decide(&Ending::TimedOut { limit }, &[said("HEARTBEAT_OK")], "");
        assert_eq!(outcome, Outcome::Error("timed out after 5m and was stopped".to_owned()));
        let outcome =
            decide(&Ending::Stopped { after: Duration::from_millis(61_900) }, &[said("HEARTBEAT_OK")], "");
        assert_eq!(outcome, Outcome::Error("stopped after 1m 1s, before it was done".to_owned()));
    }

    #[test]
    fn a_death_is_an_error_whatever_it_printed() {
        let outcome = decide(&Ending::Signaled(9), &[said("HEARTBEAT_OK")], "oops");
        assert_eq!(outcome, Outcome::Error("killed by signal 9: HEARTBEAT_OK".to_owned()));
        let outcome = decide(&Ending::Exited(143), &[], "\nTerminated\n");
        assert_eq!(outcome, Outcome::Error("exited with code 143: Terminated".to_owned()));
        assert_eq!(decide(&Ending::Exited(1), &[], ""), Outcome::Error("exited with code 1".to_owned()));
        assert_eq!(decide(&Ending::Exited(0), &[], ""), Outcome::Error("ended without a result".to_owned()));
    }

    #[test]
    fn of_a_long_stderr_the_end_is_told() {
        let stderr = format!("{}Error: no disk\n", "ü".repeat(5000));
        let Outcome::Error(error) = decide(&Ending::Exited(1), &[], &stderr) else { panic!("no error") };
        assert!(error.starts_with("exited with code 1: üü") && error.ends_with("üError: no disk"), "{error}");
    }

    #[test]
    fn an_error_that_calls_itself_success_is_an_error() {
        let refused = RunResult { is_error: true, ..said("API Error: 429 · HEARTBEAT_OK") };
        let outcome = decide(&Ending::Exited(0), &[refused], "");
        assert_eq!(outcome, Outcome::Error("reported an error: API Error: 429 · HEARTBEAT_OK".to_owned()));
        let turns = RunResult {
            is_error: true,
            errors: vec!["Reached maximum number of turns (3)".to_owned()],
            ..RunResult::default()
        };
        let outcome = decide(&Ending::Exited(1), &[turns], "");
        assert_eq!(
            outcome,
            Outcome::Error("exited with code 1: Reached maximum number of turns (3)".to_owned())
        );
    }

    #[test]
    fn an_alert_is_never_swallowed() {
        assert_eq!(done("ATTENTION: not HEARTBEAT_OK").kind(), Kind::Attention);
        assert_eq!(done("\n ATTENTION: x").kind(), Kind::Attention);
        assert_eq!(done("All is well. HEARTBEAT_OK"), Outcome::Ok);
        assert_eq!(done("2 tests fail"), Outcome::Attention("2 tests fail".to_owned()));
        assert_eq!(done(""), Outcome::Attention(String::new()));
    }

    #[test]
    fn the_last_of_several_results_counts_unless_one_before_it_is_an_alert() {
        let of = |results: &[RunResult]| decide(&Ending::Exited(0), results, "");
        assert_eq!(of(&[said("Waiting for a task."), said("HEARTBEAT_OK")]), Outcome::Ok);
        assert_eq!(of(&[said("HEARTBEAT_OK"), said("2 tests fail")]).kind(), Kind::Attention);
        let alert = said("ATTENTION: the disk is full");
        assert_eq!(
            of(&[alert, said("HEARTBEAT_OK")]),
            Outcome::Attention("ATTENTION: the disk is full".to_owned())
        );
    }

    #[test]
    fn a_summary_is_200_characters_not_bytes() {
        let Outcome::Attention(summary) = done(&"ü".repeat(300)) else { panic!("not attention") };
        assert_eq!(summary, "ü".repeat(200));
    }

    #[test]
    fn a_deferred_tool_is_no_success() {
        let deferred = RunResult {
            stop_reason: Some("tool_deferred".to_owned()),
            deferred_tool: Some("Bash".to_owned()),
            ..said("")
        };
        let outcome = decide(&Ending::Exited(0), &[deferred], "");
        assert_eq!(outcome, Outcome::Error("a hook put off Bash, and nobody is there to decide".to_owned()));
    }
}
