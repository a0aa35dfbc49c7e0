//! Whether a beat is `ok`, `attention` or `error`: decided here alone, from how the run ended and what it said.

mod answer;
mod interrupted;
pub mod refusals;
pub mod servers;

use crate::agent::event::RunResult;
use crate::host::process::{Ending, undecided};
use crate::secrets::mask;
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

/// What is said of an agent that gave no answer.
const NOTHING: &str = "the agent said nothing";

/// The most characters of an error that quotes what the agent printed.
const QUOTE: usize = 2000;

/// Decides. `results` are the run's own summaries in order, `stderr` the end of what it wrote there, `waits` what is said
/// of its call that waits for a person's answer.
///
/// The order is the design's: what murmur did comes first, then how the process died, then what it said. The first summary
/// is of the turn that the prompt asked for, and decides; those of turns that the agent began by itself can only make it
/// worse. An alert is quoted in an error that would hide it.
#[must_use]
pub fn decide(ending: &Ending, results: &[RunResult], stderr: &str, waits: Option<&str>) -> Outcome {
    let text = |said: &RunResult| said.text.as_deref().unwrap_or_default().trim().to_owned();
    let alert = results.iter().filter(|said| !said.is_error).map(text).find(|text| answer::is_alert(text));
    match (by_order(ending, results, stderr, waits), alert) {
        (Outcome::Error(why), Some(alert)) if !why.contains(&alert) => {
            Outcome::Error(format!("{why}; the agent had said: {}", first_characters(&alert, SUMMARY)))
        }
        (outcome, _) => outcome,
    }
}

fn by_order(ending: &Ending, results: &[RunResult], stderr: &str, waits: Option<&str>) -> Outcome {
    let died = match ending {
        Ending::TimedOut { limit, waited, doing } => {
            return Outcome::Error(interrupted::timed_out(*limit, *waited, doing));
        }
        Ending::Stopped { after, doing } => return Outcome::Error(interrupted::stopped(*after, doing)),
        Ending::OutOfTurns { limit } => return Outcome::Error(interrupted::out_of_turns(*limit)),
        Ending::Undecided { call } => return Outcome::Error(undecided(call)),
        Ending::Breach { said } => return Outcome::Error(said.clone()),
        Ending::Signaled(signal) => Some(format!("killed by signal {signal}")),
        Ending::Exited(code) if *code != 0 => Some(format!("exited with code {code}")),
        Ending::Exited(_) | Ending::Settled { .. } => None,
    };
    if let Some(how) = died {
        // Claude Code's exit code is that of its last turn; the first that failed says why.
        let said = results.iter().find(|said| said.is_error).or(results.last());
        return Outcome::Error(with_cause(how, said, stderr));
    }
    let mut turns = results.iter().map(|said| of_turn(said, stderr, waits));
    let Some(own) = turns.next() else {
        return Outcome::Error(with_cause("ended without a result".to_owned(), None, stderr));
    };
    // What a later turn leaves unsaid takes nothing back.
    let later = turns.zip(&results[1..]).filter(|(turn, said)| turn.0 != Rank::Attention || !is_empty(said));
    later.fold(own, |worst, (turn, _)| if turn.0 > worst.0 { turn } else { worst }).1
}

/// How bad it is: the worst of several turns counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Ok,
    Attention,
    /// It waits for an answer, and goes on with that.
    Waits,
    Error,
}

/// What one turn comes to, of a run that ended well.
fn of_turn(said: &RunResult, stderr: &str, waits: Option<&str>) -> (Rank, Outcome) {
    if said.is_error {
        return (Rank::Error, Outcome::Error(with_cause("reported an error".to_owned(), Some(said), stderr)));
    }
    if said.stop_reason.as_deref() == Some("tool_deferred") {
        if let Some(waits) = waits {
            return (Rank::Waits, Outcome::Attention(waits.to_owned()));
        }
        let tool = said.deferred_tool.as_deref().unwrap_or("a tool");
        let error = format!("a hook put off {tool}, and nobody is there to decide");
        return (Rank::Error, Outcome::Error(error));
    }
    let text = said.text.as_deref().unwrap_or_default().trim();
    if text.contains("HEARTBEAT_OK") && !answer::is_alert(text) {
        (Rank::Ok, Outcome::Ok)
    } else if text.is_empty() {
        (Rank::Attention, Outcome::Attention(NOTHING.to_owned()))
    } else {
        (Rank::Attention, Outcome::Attention(quoted(text, SUMMARY)))
    }
}

fn is_empty(said: &RunResult) -> bool {
    said.text.as_deref().unwrap_or_default().trim().is_empty()
}

/// `what`, and why: the run's own words, else the last of what it wrote on stderr.
fn with_cause(what: String, said: Option<&RunResult>, stderr: &str) -> String {
    let own = said.and_then(|said| said.text.clone().or_else(|| Some(said.errors.join("; "))));
    let cause = match own.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        Some(own) => quoted(own, QUOTE),
        // More than is kept, so that a secret that the cut goes through is seen to be one.
        None => last_characters(&mask(last_characters(stderr.trim(), 8 * QUOTE)), QUOTE).to_owned(),
    };
    if cause.is_empty() { what } else { format!("{what}: {cause}") }
}

/// The first `most` characters of what an agent said, without what looks like a secret.
fn quoted(text: &str, most: usize) -> String {
    // More than is kept, so that a secret that the cut goes through is seen to be one.
    first_characters(&mask(&first_characters(text, 8 * most)), most)
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
mod tests;
