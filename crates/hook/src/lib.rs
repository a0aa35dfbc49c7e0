//! Answers Claude Code's hooks: one event on stdin, one JSON object on stdout, or exit code 2 and a reason on stderr.
//!
//! The hook fails closed: it denies every call that it can't read, decide on, ask about or record in time. Claude Code
//! would run the call after any other output or exit code (docs/reference/hook.md), so `murmur_agent::settings` also
//! appends `|| exit 2` to its command, and `murmur_host::audit` ends a run in which a call ran without a decision. The
//! hook runs for every tool call, so it has no async runtime, no threads and a minimal command line.
//!
//! For events that need no decision, it writes the agent's pulse, prints nothing, and always exits with 0
//! (crates/store/pulses.md). It denies unknown events, since one may be a misspelled event that decides.

mod answer;
mod ask;
mod audit;
mod breach;
mod context;
mod decide;
pub mod evaluate;
mod event;
mod failure_log;
mod keys;
pub mod own;
mod pulse;
mod pulse_event;
mod transcript;
mod without_daemon;

use answer::HookOutput;
use context::HookContext;
pub use decide::PERSON_DENIED;
use event::{Event, EventError, Input};
use murmur_agent::backend;
use murmur_agent::settings::{DECIDING, PULSE_EVENTS};
use murmur_core::permit::decision::DecisionKind;
use pulse_event::PulseEvent;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::panic::UnwindSafe;
use std::process::ExitCode;
use sys::error::{Failure, Hinted};
use sys::failure;
pub use transcript::MIN_DEFER_VERSION;

/// The exit code that blocks a call; the model sees what is on stderr.
const BLOCK: u8 = 2;

/// Answers `event`, which stdin describes.
#[must_use]
pub fn run(event: Option<&OsStr>) -> ExitCode {
    sys::signals::survive_file_size_limit();
    if let Some(info) = event.and_then(OsStr::to_str).and_then(info) {
        let _closed = io::stdout().lock().write_all(info.as_bytes());
        return ExitCode::SUCCESS;
    }
    if let Some(event) = event.and_then(OsStr::to_str).and_then(PulseEvent::parse) {
        pulse::write(event);
        return ExitCode::SUCCESS;
    }
    match catch_panic(|| answer(event, &mut io::stdin().lock())) {
        Ok(answer) => match print(&answer) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => block(&format!("cannot write murmur's answer: {error}")),
        },
        Err(denied) => block(&denied.line()),
    }
}

/// The output for an option, such as `--version`.
fn info(option: &str) -> Option<String> {
    match option {
        "--version" | "-V" => Some(concat!("murmur-hook ", env!("CARGO_PKG_VERSION"), "\n").to_owned()),
        "--help" | "-h" => Some(help()),
        _ => None,
    }
}

fn help() -> String {
    format!(
        "Answer a Claude Code hook event, read from stdin as JSON.\n\n\
         murmur adds this hook to the agents it starts. For your own sessions, `murmur setup hooks` installs it\n\
         for the events that update a pulse, the file that says what the agent did last.\n\n\
         Usage: murmur-hook EVENT\n\n\
         Events answered with a decision:\n  {}\n\
         Events that update the agent's pulse:\n  {}\n",
        DECIDING.join("\n  "),
        PULSE_EVENTS.map(|(event, _)| event).join("\n  "),
    )
}

/// Runs `answer` and turns a panic, whose message is on stderr, into a denial.
fn catch_panic<T>(answer: impl FnOnce() -> Result<T, Denied> + UnwindSafe) -> Result<T, Denied> {
    let answered = std::panic::catch_unwind(answer);
    answered.unwrap_or_else(|_| Err(Denied::new("murmur's hook failed", "the call is denied")))
}

/// Why a hook could not decide, and what that means for the call.
#[derive(Debug)]
struct Denied {
    why: Failure,
    consequence: Option<&'static str>,
}

impl Denied {
    fn new(why: impl Into<Failure>, consequence: &'static str) -> Self {
        Self { why: why.into(), consequence: Some(consequence) }
    }

    /// The whole text in one line, for the agent.
    fn line(&self) -> String {
        let why = self.why.line();
        self.consequence.map_or_else(|| why.clone(), |consequence| format!("{why}; {consequence}"))
    }
}

impl From<Failure> for Denied {
    fn from(why: Failure) -> Self {
        Self { why, consequence: None }
    }
}

/// Decides on the event called `name`.
fn answer(name: Option<&OsStr>, stdin: &mut impl Read) -> Result<HookOutput, Denied> {
    const CONSEQUENCE: &str = "murmur denies the call";
    let Some(name) = name else {
        return Err(failure!("no event given"; "pass its name, for example: murmur-hook PreToolUse").into());
    };
    let Some(event) = name.to_str().and_then(Event::parse) else {
        return Err(failure!("unknown event {name:?}"; "see: murmur-hook --help").into());
    };
    let context = HookContext::read().map_err(|error| Denied::new(error.failure(), CONSEQUENCE))?;
    context.limit_time();
    let denied = |error: EventError| Denied::new(Failure::of(&error).to_string(), CONSEQUENCE);
    let input = Input::read(stdin).map_err(denied)?;
    let decided = decide::decide(input, &context, event == Event::PermissionRequest)?;
    if decided.decision.kind == DecisionKind::Allow && backend::allows_by_silence(&context.backend) {
        return Ok(HookOutput::silent());
    }
    Ok(HookOutput::of(event, decided))
}

/// Prints the answer as one object, in one write, as Claude Code requires.
fn print(answer: &HookOutput) -> io::Result<()> {
    let line = answer.line();
    match io::stdout().lock().write(&line) {
        Ok(written) if written == line.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(error) => Err(error),
    }
}

fn block(reason: &str) -> ExitCode {
    // Without a reader, the exit code alone blocks.
    let _closed = writeln!(io::stderr(), "{reason}");
    ExitCode::from(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_denies_the_call() {
        let denied = catch_panic(|| -> Result<HookOutput, Denied> { panic!("oh") });
        assert_eq!(denied.unwrap_err().line(), "murmur's hook failed; the call is denied");
    }
}
