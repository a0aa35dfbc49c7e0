//! Runs parts of checks, each in its own process, several at once.
//!
//! Input: the parts. Output: their reports in the order of the parts. The output of a part is captured
//! and shown only if it fails, and no part inherits another's open files.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_current_process_group};

use crate::checks;
use crate::report::Report;

/// How many parts run at once, unless the variable is set: more than there are cores, since most of them wait.
const JOBS: usize = 4;
const JOBS_VARIABLE: &str = "MURMUR_CONFORMANCE_JOBS";

/// Longer than any part takes, even with others running.
const DEADLINE: Duration = Duration::from_secs(240);

/// The first argument of a process that runs one part.
pub(crate) const PART: &str = "part";

/// A part of a check: one case of it, with one Claude Code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) check: String,
    /// The case, or empty if the check has only one part.
    pub(crate) case: String,
    pub(crate) claude: PathBuf,
    /// What `claude --version` prints.
    pub(crate) version: String,
}

impl Part {
    fn args(&self) -> Result<[&str; 5]> {
        let claude = self.claude.to_str().context("a path that is not UTF-8")?;
        Ok([PART, &self.check, &self.case, claude, &self.version])
    }

    fn parse(args: &[String]) -> Result<Self> {
        let [check, case, claude, version] = args else { bail!("a part has 4 arguments") };
        Ok(Self { check: check.clone(), case: case.clone(), claude: claude.into(), version: version.clone() })
    }
}

/// How many parts run at once.
pub(crate) fn jobs() -> Result<usize> {
    match std::env::var(JOBS_VARIABLE) {
        Err(_) => Ok(JOBS),
        Ok(text) => {
            let number = text.parse().ok().filter(|number| *number > 0);
            number.with_context(|| format!("{JOBS_VARIABLE}: {text:?} is not a number from 1"))
        }
    }
}

/// Runs all parts and passes each report to `done`, in the order of the parts.
pub(crate) fn run(parts: &[Part], mut done: impl FnMut(usize, Report)) -> Result<()> {
    let (next, jobs) = (AtomicUsize::new(0), jobs()?);
    // There is room for all, so no sender waits.
    let (to, from) = mpsc::sync_channel(parts.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (to, next) = (to.clone(), &next);
            scope.spawn(move || {
                while let Some((at, part)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, parts.get(at)?)))
                {
                    let report = ask(part).unwrap_or_else(|error| Report::of(Err(error)));
                    drop(to.send((at, report)));
                }
            });
        }
        drop(to);
        let (mut early, mut expected) = (BTreeMap::new(), 0);
        for (at, report) in from {
            early.insert(at, report);
            while let Some(report) = early.remove(&expected) {
                done(expected, report);
                expected += 1;
            }
        }
    });
    Ok(())
}

/// Runs the part in another process of this program.
fn ask(part: &Part) -> Result<Report> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(part.args()?)
        // fake-claude and fake-model are built; another Cargo would only wait for the first.
        .env_remove("CARGO")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("starting a part")?;
    // It ends with this pipe, so that nothing outlives us.
    let _alive = child.stdin.take();
    let mut stderr = child.stderr.take().context("no stderr")?;
    let (mut printed, mut said) = (String::new(), String::new());
    let mut stdout = child.stdout.take().context("no stdout")?;
    std::thread::scope(|scope| {
        scope.spawn(|| drop(stderr.read_to_string(&mut said)));
        drop(stdout.read_to_string(&mut printed));
    });
    let status = child.wait()?;
    let mut report = read(&printed, status)?;
    if !report.facts.is_empty() && !said.trim().is_empty() {
        report.facts.push(format!("stderr: {}", said.trim()));
    }
    Ok(report)
}

fn read(printed: &str, status: ExitStatus) -> Result<Report> {
    if !status.success() {
        bail!("the part ended with {status}; one that takes over {} s is killed", DEADLINE.as_secs());
    }
    serde_json::from_str(printed).with_context(|| format!("the part printed {printed:?}"))
}

/// Runs the part that these arguments name, and prints its report.
pub(crate) fn answer(args: &[String]) -> Result<()> {
    std::thread::spawn(end_in_time);
    let report = checks::run(&Part::parse(args)?);
    io::stdout().write_all(serde_json::to_string(&report)?.as_bytes()).context("printing the report")
}

/// Kills this process and its children when its parent has ended or the deadline has passed.
fn end_in_time() {
    let stdin = io::stdin();
    let deadline = Timespec { tv_sec: i64::try_from(DEADLINE.as_secs()).unwrap_or(i64::MAX), tv_nsec: 0 };
    let _gone_or_late = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&deadline));
    let _killed = kill_current_process_group(Signal::KILL);
}
