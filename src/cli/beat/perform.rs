//! Runs a beat in this process, and shows its progress and its outcome.

use super::super::args::Beat;
use super::super::complaint::advise;
use super::super::daemon_end::DaemonEnds;
use super::super::inbox;
use super::super::reported;
use super::super::style::{Colors, Style, plain_line, ran_out_of_turns, remarks, text_of};
use super::super::user_env::UserEnv;
use super::super::verbose::{self, RESULT_TIMEOUT, Verbose};
use super::super::waits::{Change, Requests, Waits, is_drawable};
use super::progress::Progress;
use crate::beat::{self, Job, Report};
use crate::daemon::instance;
use anyhow::Context;
use derun::cli::captures;
use derun::cli::screen::{Footer, Screen, Wrapping};
use derun::cli::stdout::{is_quiet, warn};
use jiff::{SignedDuration, Timestamp};
use murmur_agent::event::Event;
use murmur_core::config::edit::{self, EditError};
use murmur_core::config::heartbeat::Heartbeat;
use murmur_core::config::limit::Source;
use murmur_host::event::Progress as BeatProgress;
use murmur_outcome::{OutcomeKind, StopReason};
use murmur_rpc::caller::BEAT;
use murmur_store::journal::entry::JournalEntry;
use murmur_store::journal::unfinished::{self, LineKept, Unwritten};
use std::cell::RefCell;
use std::io::{self, Write};
use std::process::ExitCode;
use sys::error::{Failure, Hinted};
use sys::paths::DataDir;
use sys::replace::OpenWriters;
use sys::text;
use sys::unreadable::unwritable;
use sys::{clock, process, shell};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, oneshot};
use tokio::time::sleep;

/// How often a heartbeat's `lastRun` is written at most.
const LAST_RUN_EVERY: SignedDuration = SignedDuration::from_mins(1);

pub(super) async fn perform(
    job: Job,
    heartbeat: &Heartbeat,
    dir: &DataDir,
    args: &Beat,
    env: &UserEnv,
) -> anyhow::Result<ExitCode> {
    // Identifies this process to its agent's processes.
    process::call_ourselves(BEAT);
    process::adopt_orphans().context("cannot adopt orphaned processes")?;
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut hang_up = signal(SignalKind::hangup())?;
    let stop = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
        StopReason::Asked
    };
    // Without a daemon, write the lines of killed beats and lines that could not be written before.
    let _later = unfinished::recover(dir, clock::now());
    let _later = unfinished::allocate(dir);
    let style = Style::of_stdout();
    let shown = Shown::new(&job, dir, args, style);
    let sink = shown.screen.borrow().sink();
    let has_line = shown.progress.is_some();
    let waits = (has_line || shown.verbose.is_some())
        .then(|| Waits::begin(Requests::new(dir, env, sink.clone(), false)));
    let mut watching = Watching {
        job: &job,
        dir,
        shown: &shown,
        daemon_ends: DaemonEnds::new(dir.clone(), has_line.then(|| sink.clone())),
        waits,
    };
    let report = {
        let beat = beat::run(&job, dir, captures::root().ok(), stop, |progress| watching.see(progress));
        tokio::select! {
            report = beat => report?,
            never = shown.release() => match never {},
        }
    };
    drop((watching, sink));
    let is_lost = warn_of(dir, &report)?;
    let (mut screen, verbose) = shown.end();
    screen.show_last(|out| {
        if args.json {
            return out.write_all(report.entry.line()?.as_bytes());
        }
        let named = |text: &str| inbox::named_in(text, dir, report.entry.waiting.as_ref());
        let Some(verbose) = verbose else { return print_text(out, style, &report.entry, named) };
        print_text(out, style, &report.entry, |text| verbose.rest_of(&named(text)))?;
        verbose::summary(out, style, &report.entry)
    });
    let rest = async {
        if let Some(started) = report.entry.started() {
            remember(dir, &job, heartbeat.last_run, started).await;
        }
        screen.finish().await
    };
    tokio::select! {
        written = rest => if let Err(error) = written {
            // Print the outcome for the caller, although the journal lacks it.
            let _full = print_text(&mut io::stderr(), style, &report.entry, str::to_owned);
            return Err(error.into());
        },
        // stdout is closed, or config.json is locked; the beat is in the journal, so there is nothing to wait for.
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hang_up.recv() => {}
    }
    if ran_out_of_turns(&report.entry) && !args.json && !is_quiet() {
        advise(&more_turns(heartbeat, job.max_turns));
    }
    Ok(if is_lost || report.entry.outcome == OutcomeKind::Error {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Shows a beat's progress, and the requests that wait.
struct Watching<'a> {
    job: &'a Job,
    dir: &'a DataDir,
    shown: &'a Shown,
    /// Warns when the daemon that a request waits in ends.
    daemon_ends: DaemonEnds,
    /// Shows waiting requests with the command that answers them, and asks for the answer.
    waits: Option<Waits>,
}

impl Watching<'_> {
    fn see(&mut self, progress: &BeatProgress<'_>) {
        match progress {
            BeatProgress::Untrusted(failure) => self.shown.warn(&format!("warning: {}", failure.line())),
            BeatProgress::Spawned(_)
            | BeatProgress::Message(_)
            | BeatProgress::Denied { .. }
            | BeatProgress::Unrecorded(_) => {}
            BeatProgress::Agent(event) => self.shown.event(self.job, event),
            BeatProgress::Waiting(wait) => {
                let id = wait.request.as_str();
                let tool = wait.call.as_ref().map(|call| &*call.tool).unwrap_or_default();
                self.shown.release_now();
                match &self.waits {
                    Some(waits) => waits.change(Change::Waits { id: id.to_owned(), tool: tool.to_owned() }),
                    None => self.shown.warn(&reported::waiting(id, tool)),
                }
                self.shown.waits(|progress| progress.waits(id, &inbox::name_of(self.dir, id), tool));
                self.daemon_ends.waits(id);
            }
            BeatProgress::Waited(request) => {
                let id = request.as_str();
                if let Some(waits) = &self.waits {
                    waits.change(Change::WaitsNoMore(id.to_owned()));
                }
                self.shown.waits(|progress| progress.waits_no_more(id));
                self.daemon_ends.waits_no_more(id);
            }
        }
    }
}

/// What is shown while the beat runs.
struct Shown {
    screen: RefCell<Screen>,
    verbose: Option<RefCell<Verbose>>,
    /// The line at the bottom of a terminal.
    progress: Option<RefCell<Progress>>,
    /// Tells that the transcript has changed.
    changed: Notify,
}

impl Shown {
    fn new(job: &Job, dir: &DataDir, args: &Beat, style: Style) -> Self {
        let now = clock::now();
        let is_verbose = args.verbose && !args.json;
        let verbose = is_verbose.then(|| RefCell::new(Verbose::new(dir, job.agent.as_str(), style, now)));
        let has_line = !args.json && !is_quiet() && is_drawable();
        let progress = has_line.then(|| RefCell::new(Progress::new(now)));
        let wraps = if args.json { Wrapping::Nothing } else { Wrapping::Words };
        let shown =
            Self { screen: RefCell::new(Screen::new(wraps)), verbose, progress, changed: Notify::new() };
        shown.draw();
        shown
    }

    fn event(&self, job: &Job, event: &Event<'_>) {
        if let Some(note) = verbose::unknown_version(event, &job.backend) {
            self.warn(&format!("warning: {note}"));
        }
        if let Some(verbose) = &self.verbose {
            self.screen.borrow_mut().show(|out| verbose.borrow_mut().event(out, event));
            self.changed.notify_one();
        }
        if self.progress.as_ref().is_some_and(|progress| progress.borrow_mut().see(event)) {
            self.draw();
        }
    }

    /// Shows in the line which requests wait.
    fn waits(&self, change: impl FnOnce(&mut Progress)) {
        if let Some(progress) = &self.progress {
            change(&mut progress.borrow_mut());
            self.draw();
        }
    }

    fn draw(&self) {
        if let Some(progress) = &self.progress {
            self.screen.borrow().sink().below(progress.borrow().bottom());
        }
    }

    /// Writes a line to stderr.
    fn warn(&self, line: &str) {
        if self.progress.is_some() {
            self.screen.borrow().sink().error(line);
        } else {
            // Doesn't wait for stdout.
            let _closed = writeln!(text::Shown(io::stderr()), "{line}");
        }
    }

    /// Prints calls without their results, so that what follows doesn't come before them.
    fn release_now(&self) {
        if let Some(verbose) = &self.verbose {
            self.screen.borrow_mut().show(|out| verbose.borrow_mut().release(out));
        }
    }

    /// Prints calls whose results take long.
    async fn release(&self) -> std::convert::Infallible {
        let Some(verbose) = &self.verbose else { return std::future::pending().await };
        loop {
            self.changed.notified().await;
            while verbose.borrow().is_holding() {
                tokio::select! {
                    () = self.changed.notified() => {}
                    () = sleep(RESULT_TIMEOUT) => self.release_now(),
                }
            }
        }
    }

    /// Prints the rest of the transcript, and removes the line.
    fn end(self) -> (Screen, Option<Verbose>) {
        let (mut screen, mut verbose) = (self.screen.into_inner(), self.verbose.map(RefCell::into_inner));
        if let Some(verbose) = &mut verbose {
            screen.show(|out| verbose.finish(out));
        }
        if self.progress.is_some() {
            screen.sink().below(Footer::Nothing);
        }
        (screen, verbose)
    }
}

/// How to allow more than `turns` turns.
fn more_turns(heartbeat: &Heartbeat, turns: u32) -> String {
    let is_set = heartbeat.settings.max_turns.is_some_and(|turns| turns.source == Source::ConfigJson);
    let how = if is_set {
        let more = turns.saturating_mul(2);
        format!("run: murmur set {} --max-turns {more}", shell::path(&heartbeat.workspace))
    } else {
        format!("set maxTurns in {}", heartbeat.file.display())
    };
    plain_line(&format!("it reached its limit of {turns} turns; to allow more, {how}"))
}

/// Warns about problems that are not the beat's own. Returns whether its line is lost.
fn warn_of(dir: &DataDir, report: &Report) -> anyhow::Result<bool> {
    // stderr may be a file on the same full disk.
    if let Some(error) = &report.unreachable {
        let _full = warn(format_args!("clients could not follow the agent: {error}"));
    }
    for failure in [&report.gates_unreadable, &report.uncounted].into_iter().flatten() {
        let _full = warn(failure.line());
    }
    let Some(Unwritten { error, kept }) = &report.unwritten else { return Ok(false) };
    let failure = unwritable(&dir.journal(), error);
    let hint = failure.to_do().map(str::to_owned);
    let with = |what: String| Failure::new(format!("{failure}; {what}")).or_hint(hint);
    match kept {
        LineKept::OnDisk => {
            let _full = warn(with("the line was kept and will be written later".to_owned()).line());
        }
        LineKept::Nowhere => {
            let failure = with(format!("the line is: {}", report.entry.line()?.trim_end()));
            // Not wrapped, so that the line can be copied.
            let _full = writeln!(text::Shown(io::stderr()), "{}", failure.shown());
        }
    }
    Ok(*kept == LineKept::Nowhere)
}

/// Writes `lastRun` if the workspace is registered, unless a daemon runs, which does so, or it was written less than a
/// minute ago: the journal has this run, too.
async fn remember(dir: &DataDir, job: &Job, before: Option<Timestamp>, at: Timestamp) {
    let is_recent = before.is_some_and(|before| before <= at && at.duration_since(before) < LAST_RUN_EVERY);
    if is_recent || instance::is_running(dir).unwrap_or(false) {
        return;
    }
    let (config, lock) = (dir.config(), dir.config_lock());
    let (workspace, name) = (job.workspace.clone(), job.name.clone());
    let set = move |source: &str| {
        let run = edit::LastRun { workspace: &workspace, name: name.as_deref(), at };
        edit::set_last_run(source, &[run], clock::now())
    };
    let written = match edit::apply_at_once(&config, &lock, OpenWriters::Refuse, &set) {
        // A separate thread waits, so that the other program doesn't keep this process from exiting.
        Err(EditError::Busy { .. } | EditError::Open { .. }) => {
            let (sender, answered) = oneshot::channel();
            std::thread::spawn(move || sender.send(edit::apply(&config, &lock, set)));
            answered.await.unwrap_or(Ok(()))
        }
        written => written.map(drop),
    };
    if let Err(error) = written {
        let _closed = warn(format_args!("cannot write lastRun: {}", error.line()));
    }
}

/// Prints the outcome and what `part` leaves of the agent's message.
fn print_text(
    out: &mut impl Write,
    style: Style,
    entry: &JournalEntry,
    part: impl FnOnce(&str) -> String,
) -> io::Result<()> {
    let seconds = entry.duration_ms as f64 / 1000.0;
    let text = part(&text_of(entry));
    let (outcome, took) =
        (style.outcome_of(entry.outcome, entry.is_stopped()), style.dim(format_args!("{seconds:.1}s")));
    let line = format!("{outcome} {took} {}{text}", remarks(entry));
    writeln!(out, "{}", line.trim_end())
}
