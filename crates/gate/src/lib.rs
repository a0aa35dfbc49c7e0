//! Runs what decides whether a beat starts its agent (`when`) and whether its success counts (`verify`).
//!
//! [`mcp_server`] checks that a required MCP server starts, and [`mod@ask`] runs a program until it has answered
//! something.
//!
//! Programs are started without a shell, under this process, and none of their processes is left running. The output of
//! gates and verifiers can reach the prompt and the journal; only their exit codes decide. Built-in conditions compare
//! what they see with what they saw at the end of the last beat that was `ok` or `attention` ([`seen`]).

pub mod ask;
mod blocking;
pub mod capture;
mod changed;
mod commits;
pub mod mcp_server;
mod output;
mod page;
mod program;
pub mod seen;

use capture::GateCapture;
use derun::id::SessionId as CaptureId;
use murmur_core::config::gate::{Argv, Condition, Gate, Verifier};
use murmur_core::config::interval::Interval;
use murmur_core::outcome::{SUMMARY, first_characters};
use program::{Finished, ProgramEnd};
use secrets::mask;
use seen::GateMemory;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::error::{Failure, one_line};
use sys::failure;
use sys::process::Exit;
use sys::signals;
use tokio::sync::watch;

/// The exit code with which a gate says that there is nothing to do.
const NOTHING_TO_DO: i32 = 78;

/// Maximum length of an error that quotes a program's output, in characters.
const QUOTE: usize = SUMMARY;

/// What gates and verifiers need to run.
pub struct GateContext<'a> {
    /// The workspace, their working folder.
    pub workspace: &'a Path,
    /// The PATH on which they are found.
    pub path: &'a Path,
    /// The variables to set in their environment.
    pub env: Vec<(&'static str, OsString)>,
    /// Turns true when the beat should end.
    pub stop: watch::Receiver<bool>,
    /// Captures what programs print.
    pub capture: &'a GateCapture,
    /// Called with the capture's session id once the capture has begun.
    pub note_capture: &'a dyn Fn(&CaptureId),
}

/// Waits until `stop` is true.
pub fn stopped(stop: &watch::Receiver<bool>) -> impl Future<Output = ()> + use<> {
    let mut stop = stop.clone();
    async move {
        if stop.wait_for(|is_stopped| *is_stopped).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The output of a gate that lets the beat start, for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateOutput {
    /// The gate, on one line.
    pub gate: String,
    /// The text, which may be empty.
    pub text: String,
}

/// The answer of a gate.
#[derive(Debug)]
pub enum GateAnswer {
    /// The beat may start; holds the output for the agent.
    Pass(String),
    /// There is nothing to do, and why.
    Skip(String),
}

/// Why a gate or verifier has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// It failed, and how.
    Failed(String),
    /// The beat was stopped after this long.
    Stopped(Duration),
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Self::Failed(mask(&failure.line()))
    }
}

/// Asks `gate`. What it sees is compared with `seen`, and noted in `now`.
pub async fn ask(
    gate: &Gate,
    context: &GateContext<'_>,
    seen: &GateMemory,
    now: &mut GateMemory,
) -> Result<GateAnswer, Problem> {
    let limit = gate.timeout;
    let name = one_line(&gate.condition.to_string());
    let answer = match &gate.condition {
        Condition::Run(argv) => {
            let finished = run("when", argv, context, limit).await?;
            return answered(finished, &name, limit);
        }
        Condition::Changed(paths) => changed::ask(paths, &name, context, limit, seen, now).await,
        Condition::NewCommits => commits::ask(&name, context, limit, seen, now).await,
        Condition::Url(url) => page::ask(url, &name, context, limit, seen, now).await,
    };
    answer.map_err(|problem| problem.in_gate(&name))
}

/// Updates `now` with what `gate` sees at the end of a beat that began when it had seen `begun`: commits during the
/// beat count as its own; a page keeps its state from the start of the beat, since others change it.
pub async fn see_again(
    gate: &Gate,
    context: &GateContext<'_>,
    begun: &GateMemory,
    now: &mut GateMemory,
) -> Result<(), Problem> {
    let (name, limit) = (one_line(&gate.condition.to_string()), gate.timeout);
    match &gate.condition {
        Condition::Run(_) => {}
        Condition::Changed(paths) => {
            let files = changed::see(paths, context, limit, begun.files.get(&name)).await?;
            now.files.insert(name, files);
        }
        Condition::NewCommits => {
            if let Some(mut commits) = commits::see(context, limit).await? {
                let before = begun.commits.get(&name).filter(|before| before.head != commits.head);
                commits.begun = before.map(|before| before.head.clone());
                now.commits.insert(name, commits);
            }
        }
        Condition::Url(_) => {
            now.pages.extend(begun.pages.get(&name).map(|page| (name, page.clone())));
        }
    }
    Ok(())
}

/// Runs the program that `key` names.
async fn run(
    key: &str,
    argv: &Argv,
    context: &GateContext<'_>,
    limit: Interval,
) -> Result<Finished, Problem> {
    let program = program::find(argv.program(), context)
        .map_err(|failure| Problem::from(failure.after(format!("{key}: "))))?;
    let command = std::iter::once(argv.program()).chain(argv.args().iter().map(|arg| &**arg));
    let title = format!("{key}: {}", one_line(&argv.to_string()));
    let captured =
        context.capture.program(&title, command.map(str::to_owned).collect(), context.note_capture);
    Ok(program::run(&program, argv.args(), context, limit, Some(captured)).await)
}

impl Problem {
    /// Adds the gate's name to the error.
    fn in_gate(self, name: &str) -> Self {
        match self {
            Self::Failed(what) => Self::Failed(mask(&format!("when: {name}: {what}"))),
            stopped @ Self::Stopped(_) => stopped,
        }
    }
}

/// The answer of a gate's program.
fn answered(finished: Finished, name: &str, limit: Interval) -> Result<GateAnswer, Problem> {
    match finished.ending {
        ProgramEnd::Exited(Exit::Code(0)) => Ok(GateAnswer::Pass(finished.output.text())),
        ProgramEnd::Exited(Exit::Code(NOTHING_TO_DO)) => {
            Ok(GateAnswer::Skip(match finished.output.last_line() {
                line if line.is_empty() => format!("{name} exited with code {NOTHING_TO_DO}"),
                line => line,
            }))
        }
        ProgramEnd::Stopped(after) => Err(Problem::Stopped(after)),
        ending => {
            let how = described(&ending, limit);
            let end = finished.output.end(QUOTE);
            Err(Problem::Failed(joined(&format!("when: {name} {how}"), &end)))
        }
    }
}

/// Runs `verifier`. Returns why the beat's success doesn't count, or `None` if it does.
pub async fn verify(verifier: &Verifier, context: &GateContext<'_>) -> Result<Option<String>, Problem> {
    let limit = verifier.timeout;
    let name = one_line(&verifier.to_string());
    let finished = run("verify", &verifier.argv, context, limit).await?;
    match finished.ending {
        ProgramEnd::Exited(Exit::Code(0)) => Ok(None),
        ProgramEnd::Exited(_) => {
            let what = format!("verify: {name} {}", described(&finished.ending, limit));
            let what = mask(&what);
            let room = SUMMARY.saturating_sub(what.chars().count() + 2);
            Ok(Some(first_characters(&joined(&what, &finished.output.end(room)), SUMMARY)))
        }
        ProgramEnd::Stopped(after) => Err(Problem::Stopped(after)),
        ending => {
            let what = format!("verify: {name} {}", described(&ending, limit));
            Err(Problem::Failed(joined(&what, &finished.output.end(QUOTE))))
        }
    }
}

/// `what` and the end of the output, if there is any.
fn joined(what: &str, end: &str) -> String {
    let what = mask(what);
    if end.is_empty() { what } else { format!("{what}: {end}") }
}

/// How a program ended, as the end of a sentence.
fn described(ending: &ProgramEnd, limit: Interval) -> String {
    let processes =
        |count: usize| if count == 1 { "1 process".to_owned() } else { format!("{count} processes") };
    match ending {
        ProgramEnd::Exited(Exit::Code(code)) => format!("exited with code {code}"),
        ProgramEnd::Exited(Exit::Signal(signal)) => format!("was killed by {}", signals::name(*signal)),
        ProgramEnd::TimedOut => format!("timed out after {limit}"),
        ProgramEnd::LeftRunning(count) => {
            format!("exited, but left {} running, killed after {limit}", processes(*count))
        }
        ProgramEnd::Unkillable(count) => format!("left {} that could not be killed", processes(*count)),
        ProgramEnd::Stopped(after) => {
            let whole_seconds = Duration::from_secs(after.as_secs());
            format!("was stopped after {}", humantime::format_duration(whole_seconds))
        }
        ProgramEnd::NotStarted(failure) => format!("cannot be started: {}", failure.line()),
    }
}

/// Says that `program` can't be used.
fn unusable(file: &Path, what: &str, hint: String) -> Failure {
    failure!("{} {what}", file.display()).hint(hint)
}

/// A path without `.` and doubled slashes.
fn clean(path: &Path) -> PathBuf {
    path.components().collect()
}
