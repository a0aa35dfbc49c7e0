//! Claude Code's hooks: one event on stdin, one JSON object on stdout, or exit code 2 and a reason on stderr.
//!
//! This is the door that guards what agents do, so it fails closed: whatever cannot be read, decided, asked or written
//! down is refused. A hook that prints anything else, or ends in any other way, would let the call run
//! (docs/permissions.md, The hook). It starts for every call of a tool, so it has no runtime, no threads and no
//! command line to speak of.
//!
//! Of events that are not decided on it writes the agent's pulse, prints nothing, and ends with 0 whatever happens
//! (docs/pulses.md). An event that nobody here knows is refused: it may be one that decides, misspelled, and only
//! settings that name an event call this for it.

mod answer;
mod ask;
pub mod audit;
mod breach;
mod decide;
mod event;
pub mod judge;
mod moment;
pub mod own;
mod pulse;
mod surroundings;
mod transcript;
mod trouble;

use crate::agent::settings::{DECIDING, PULSE_EVENTS};
use crate::error::{Failure, Hinted};
use crate::failure;
use answer::Answer;
use event::{Event, EventError, Input};
use moment::Moment;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::panic::UnwindSafe;
use std::process::ExitCode;
use surroundings::Surroundings;
pub use transcript::DEFERS;

/// The exit code that blocks a call; what stands on stderr reaches the model.
const BLOCK: u8 = 2;

/// Answers the event called `event`, which stdin describes.
#[must_use]
pub fn run(event: Option<&OsStr>) -> ExitCode {
    crate::sys::signals::survive_file_size_limit();
    if let Some(told) = event.and_then(OsStr::to_str).and_then(told) {
        let _gone = io::stdout().lock().write_all(told.as_bytes());
        return ExitCode::SUCCESS;
    }
    if let Some(moment) = event.and_then(OsStr::to_str).and_then(Moment::parse) {
        pulse::write(moment);
        return ExitCode::SUCCESS;
    }
    match unless_it_panics(|| answer(event, &mut io::stdin().lock())) {
        Ok(answer) => match print(&answer) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => block(&format!("murmur's answer could not be written: {error}")),
        },
        Err(refused) => block(&refused.line()),
    }
}

/// What is answered to who asks about this program.
fn told(word: &str) -> Option<String> {
    match word {
        "--version" | "-V" => Some(concat!("murmur-hook ", env!("CARGO_PKG_VERSION"), "\n").to_owned()),
        "--help" | "-h" => Some(help()),
        _ => None,
    }
}

fn help() -> String {
    format!(
        "Answers one of Claude Code's hooks; its JSON stands on stdin. `murmur setup hooks` has Claude Code call it.\n\n\
         Usage: murmur-hook EVENT\n\n\
         Events that are decided on:\n  {}\n\
         Events at which the agent's pulse is written:\n  {}\n",
        DECIDING.join("\n  "),
        PULSE_EVENTS.map(|(event, _)| event).join("\n  "),
    )
}

/// What `answer` says. A panic is a refusal; it has said on stderr what it was about.
fn unless_it_panics<T>(answer: impl FnOnce() -> Result<T, Refused> + UnwindSafe) -> Result<T, Refused> {
    let answered = std::panic::catch_unwind(answer);
    answered.unwrap_or_else(|_| Err(Refused::new("murmur's hook failed", "the call is refused")))
}

/// Why a hook has no answer, and what that means for the call.
#[derive(Debug)]
struct Refused {
    why: Failure,
    so: Option<&'static str>,
}

impl Refused {
    fn new(why: impl Into<Failure>, so: &'static str) -> Self {
        Self { why: why.into(), so: Some(so) }
    }

    /// All of it in one line, as the agent reads it.
    fn line(&self) -> String {
        let why = self.why.line();
        self.so.map_or_else(|| why.clone(), |so| format!("{why}; {so}"))
    }
}

impl From<Failure> for Refused {
    fn from(why: Failure) -> Self {
        Self { why, so: None }
    }
}

/// What is answered.
fn answer(name: Option<&OsStr>, stdin: &mut impl Read) -> Result<Answer, Refused> {
    const SO: &str = "murmur refuses the call";
    let Some(name) = name else {
        return Err(Failure::new(
            "which event is it? murmur-hook takes its name, as: murmur-hook PreToolUse",
        )
        .into());
    };
    let Some(event) = name.to_str().and_then(Event::parse) else {
        return Err(failure!("{name:?} is no event that murmur-hook knows"; "see: murmur-hook --help").into());
    };
    let surroundings = Surroundings::read().map_err(|error| Refused::new(error.failure(), SO))?;
    surroundings.limit_time();
    let refused = |error: EventError| Refused::new(error.to_string(), SO);
    let input = Input::read(stdin).map_err(refused)?;
    let decision = decide::decide(input, &surroundings, event == Event::PermissionRequest)?;
    Ok(Answer::of(event, decision))
}

/// One object, in one write: Claude Code takes nothing else for an answer.
fn print(answer: &Answer) -> io::Result<()> {
    let line = answer.line();
    match io::stdout().lock().write(&line) {
        Ok(written) if written == line.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(error) => Err(error),
    }
}

fn block(reason: &str) -> ExitCode {
    // Without a reader the code alone blocks.
    let _told = writeln!(io::stderr(), "{reason}");
    ExitCode::from(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_refusal() {
        let said = unless_it_panics(|| -> Result<Answer, Refused> { panic!("oh") });
        assert_eq!(said.unwrap_err().line(), "murmur's hook failed; the call is refused");
    }
}
