//! `murmur show`: what a beat did, for a person. A capture's id prints its bytes instead, as `derun` does.
//!
//! The run is read from its capture block by block and printed as it is parsed, so the first screen of a long run
//! appears immediately.

mod choose;
pub(super) mod denials;
mod lines;
pub(super) mod live;
mod pager;

use super::runtime;
use super::show_args::ShowBeat;
use super::style::{Style, plain_line};
use super::user_env::UserEnv;
use choose::{Chosen, Run};
use denials::Denials;
use derun::cli::args::Show as CaptureArgs;
use derun::cli::captures;
use derun::cli::json::print as print_json;
use derun::cli::show as capture;
use derun::cli::wrapped::{Wrapped, output_width};
use derun::record::Channel;
use derun::session::{Following, Session};
use derun::store::StoreError;
use jiff::Timestamp;
pub(super) use lines::{Lines, NOTHING, cost, took, turns};
use memchr::memchr;
use murmur_agent::backend::dialect;
use murmur_agent::event::Event;
use murmur_agent::parser::{Dialect, Parser};
use murmur_agent::transcript::{Call, Item, Transcript};
use murmur_core::permit::request::RequestId;
use murmur_host::event::Derived;
use murmur_rpc::envelope::Event as HostEvent;
use murmur_store::pulse::action;
use pager::Pager;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;
use sys::paths::DataDir;
use sys::{clock, failure};
use tokio::time::sleep;

/// How long a call has to take before its host is asked whether it waits for a person; twice as long the next time.
const PAUSE: Duration = Duration::from_secs(1);

/// How much of a capture is read at once, in bytes.
const BLOCK: usize = 64 << 10;

pub(super) fn run(args: &ShowBeat, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.read_data_dir()?;
    let run = match choose::choose(&args.what, &dir, env)? {
        Chosen::Capture(id) => return of_capture(args, id),
        Chosen::Run(run) if args.follow && run.is_running && run.entry.capture.is_none() => {
            runtime()?.block_on(choose::until_captured(*run, &dir))?
        }
        Chosen::Run(run) => *run,
    };
    if args.raw {
        let id = run.entry.capture.as_ref().ok_or_else(|| uncaptured(&run))?;
        return of_capture(args, id.to_string());
    }
    if args.tail.is_some() || args.plain {
        let flag = if args.plain { "--plain" } else { "--tail" };
        anyhow::bail!(
            failure!("{flag} needs a capture"; "add --raw to print the bytes that the agent wrote")
        );
    }
    let session = open(&run)?;
    let mut denials = Denials::new(&dir, &run);
    if !args.follow {
        runtime()?.block_on(denials.look_for_waiting(&dir, &run));
    }
    if args.json {
        let items = items(&run, session.as_ref(), &mut denials, &dir)?;
        let object = json!({ "beat": run.entry, "running": run.is_running, "items": items });
        print_json(&mut derun::cli::stdout::stdout(), "show/1", &object)?;
        return Ok(ExitCode::SUCCESS);
    }
    let is_paged = io::stdout().is_terminal() && !args.follow;
    let mut out = Wrapped::new(Pager::new(is_paged)?, output_width());
    let lines = Lines { style: Style::of_stdout(), is_full: args.full };
    let shown = print(&run, session.as_ref(), (&mut denials, &dir), args.follow, &lines, &mut out);
    let (pager, rest) = out.finish();
    pager.finish(shown.and_then(|()| Ok(rest?)))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a capture's bytes.
fn of_capture(args: &ShowBeat, id: String) -> anyhow::Result<ExitCode> {
    if args.full || args.json {
        let flag = if args.full { "--full" } else { "--json" };
        anyhow::bail!(failure!("{flag} needs a beat"; "{id} is a capture; see: murmur capture list --json"));
    }
    capture::run(&CaptureArgs { id, tail: args.tail, follow: args.follow, plain: args.plain })
}

fn uncaptured(run: &Run) -> anyhow::Error {
    let why = run.entry.capture_lost.as_deref().map_or_else(
        || "its agent did not run, or its output was not captured".to_owned(),
        |why| format!("its output was not captured: {}", plain_line(why)),
    );
    let hint = match &run.entry.gate_capture {
        Some(id) => format!("see what its gates printed with: murmur capture show {id}"),
        None => "see its journal line with: murmur log --json".to_owned(),
    };
    failure!("nothing to show: {why}").hint(hint).into()
}

/// The capture of the run; `None` if there is none, or it was removed.
fn open(run: &Run) -> anyhow::Result<Option<Session>> {
    let (Some(id), Some(store)) = (&run.entry.capture, captures::existing()?) else { return Ok(None) };
    match store.session(id.as_str()) {
        Ok(session) => Ok(Some(session)),
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn print(
    run: &Run,
    session: Option<&Session>,
    (denials, dir): (&mut Denials, &DataDir),
    follow: bool,
    lines: &Lines,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    lines.header(out, run, dir)?;
    let Some(session) = session else {
        let why = match (&run.entry.capture, &run.entry.capture_lost) {
            (_, Some(why)) => format!("Its output was not captured: {}", plain_line(why)),
            (Some(_), None) => "Its output was removed: captures are kept for a limited time.".to_owned(),
            (None, None) if run.is_running => "Its agent has not started yet.".to_owned(),
            (None, None) => "Its agent did not run.".to_owned(),
        };
        writeln!(out, "\n{}", lines.style.dim(why))?;
        return Ok(());
    };
    writeln!(out)?;
    let mut reading = Reading::new(run, dir);
    if follow && run.is_running {
        return runtime()?.block_on(reading.follow(session, |item| lines.item(out, denials, &item)));
    }
    reading.read(session, |item| lines.item(out, denials, &item))
}

fn items(
    run: &Run,
    session: Option<&Session>,
    denials: &mut Denials,
    dir: &DataDir,
) -> anyhow::Result<Vec<Value>> {
    let mut items = Vec::new();
    if let Some(session) = session {
        Reading::new(run, dir).read(session, |item| {
            items.push(explained(item, denials)?);
            Ok(())
        })?;
    }
    Ok(items)
}

/// An item for programs.
fn explained(mut item: Item, denials: &mut Denials) -> io::Result<Value> {
    if let Item::Call(call) = &mut item
        && let Some(completed) = denials.completed(call)?
    {
        *call = completed;
    }
    let (denied, waiting) = match &item {
        Item::Call(call) | Item::Result(call) => (
            denials.of(call)?.map(|denial| denial.words()),
            denials.waiting(call).map(|wait| wait.request.to_string()),
        ),
        Item::Text { .. } | Item::Note { .. } => (None, None),
    };
    let mut object = json!(item);
    for (key, value) in [("denied", denied), ("waiting", waiting)] {
        if let (Some(value), Some(object)) = (value, object.as_object_mut()) {
            object.insert(key.to_owned(), value.into());
        }
    }
    Ok(object)
}

/// Reads a run from its capture.
struct Reading {
    dialect: Dialect,
    parser: Parser,
    transcript: Transcript,
    /// The beginning of a line of stderr.
    stderr: Vec<u8>,
    /// Whether the rest of a line comes first, whose beginning was not kept.
    is_inside_line: bool,
    at: u64,
    dir: DataDir,
    agent: String,
    /// The requests that were noted while following.
    noted: HashSet<RequestId>,
}

impl Reading {
    fn new(run: &Run, dir: &DataDir) -> Self {
        let dialect = dialect(&run.entry.backend);
        let parser = Parser::new(dialect);
        Self {
            dialect,
            parser,
            transcript: Transcript::default(),
            stderr: Vec::new(),
            is_inside_line: false,
            at: 0,
            dir: dir.clone(),
            agent: run.entry.agent.clone(),
            noted: HashSet::new(),
        }
    }

    /// Passes the items of the output so far to `sink`.
    fn read(
        &mut self,
        session: &Session,
        mut sink: impl FnMut(Item) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        while self.block(session, &mut sink)?.is_some_and(|is_over| !is_over) {}
        self.end(sink)
    }

    /// Passes items to `sink` until the run ends.
    async fn follow(
        &mut self,
        session: &Session,
        mut sink: impl FnMut(Item) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let mut following = session.follow()?;
        loop {
            match self.block(session, &mut sink)? {
                Some(true) => return self.end(sink),
                Some(false) => {}
                None => {
                    self.transcript.take_all().into_iter().try_for_each(&mut sink)?;
                    self.idle(&mut following, &mut sink).await?;
                }
            }
        }
    }

    /// Waits until there may be more to read. Notes calls that wait for a person meanwhile.
    async fn idle(
        &mut self,
        following: &mut Following,
        sink: &mut impl FnMut(Item) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let mut pause = PAUSE;
        loop {
            tokio::select! {
                changed = following.changed() => return Ok(changed?),
                () = sleep(pause), if self.transcript.has_open_call() => {
                    for wait in denials::waits(&self.dir, &self.agent).await {
                        let text = super::reported::waiting_for(&wait.name, &wait.tool);
                        if self.noted.insert(wait.request) {
                            sink(Item::Note { tag: "waiting".to_owned(), text })?;
                        }
                    }
                    pause *= 2;
                }
            }
        }
    }

    /// Reads one block. Returns whether it is the last one, `None` if there is nothing to read now.
    fn block(
        &mut self,
        session: &Session,
        sink: &mut impl FnMut(Item) -> io::Result<()>,
    ) -> anyhow::Result<Option<bool>> {
        let page = session.read(self.at, BLOCK, clock::now())?;
        for stretch in &page.stretches {
            let from = usize::try_from(stretch.offset - page.cursor)?;
            let to = usize::try_from(stretch.end() - page.cursor)?;
            let Some(bytes) = page.bytes.get(from..to) else { continue };
            match stretch.channel {
                Channel::Stderr => self.stderr(bytes),
                Channel::Stdout | Channel::Pty => {
                    let bytes = match (self.is_inside_line, memchr(b'\n', bytes)) {
                        (false, _) => bytes,
                        (true, None) => continue,
                        (true, Some(end)) => &bytes[end..],
                    };
                    self.is_inside_line = false;
                    let (parser, transcript) = (&mut self.parser, &mut self.transcript);
                    parser.feed(bytes, &mut |event| take(transcript, &event, Some(stretch.timestamp)));
                }
            }
            while let Some(item) = self.transcript.complete() {
                sink(item)?;
            }
        }
        if let Some(gap) = page.gap {
            self.parser = Parser::new(self.dialect);
            self.is_inside_line = true;
            let bytes = gap.end() - page.end();
            self.transcript.note("gap", format!("{bytes} bytes of output were not kept"));
        }
        let is_idle = page.next() == self.at;
        self.at = page.next();
        Ok(match (page.eof, is_idle) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        })
    }

    /// Adds what the agent wrote to stderr, line by line.
    fn stderr(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.stderr.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.stderr.len() > BLOCK {
                self.end_stderr();
            }
        }
    }

    fn end_stderr(&mut self) {
        let line = std::mem::take(&mut self.stderr);
        let line = plain_line(&String::from_utf8_lossy(&line));
        if !line.is_empty() {
            self.transcript.note("stderr", line);
        }
    }

    fn end(&mut self, mut sink: impl FnMut(Item) -> io::Result<()>) -> anyhow::Result<()> {
        let transcript = &mut self.transcript;
        self.parser.finish(&mut |event| take(transcript, &event, None));
        self.end_stderr();
        Ok(self.transcript.finish().try_for_each(&mut sink)?)
    }
}

/// Adds an event to the transcript.
pub(super) fn take(transcript: &mut Transcript, event: &Event<'_>, at: Option<Timestamp>) {
    match event {
        Event::Text { parent, text, is_chunk, .. } => transcript.text(parent, text, *is_chunk),
        Event::ToolUse { parent, id, name, input, .. } => transcript.call(Call {
            id: id.clone().into_owned(),
            parent: parent.clone().into_owned(),
            tool: plain_line(name),
            subject: action::of(name, input.0.get()),
            result: None,
            at,
        }),
        Event::ToolResult { id, output, is_error, .. } => transcript.result(id, output, *is_error, at),
        Event::Blocked { id, reason } => transcript.blocked(id, reason, at),
        Event::Retry { attempt, of, delay_ms, status, .. } => {
            let status = status.map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"));
            transcript.note("retry", format!("{attempt} of {of} in {delay_ms} ms ({status})"));
        }
        Event::Oversized { bytes } => transcript.note("note", format!("skipped a line of {bytes} bytes")),
        Event::Garbled => transcript.note("note", "skipped a line that is not JSON".to_owned()),
        Event::Result(result) => {
            for error in &result.errors {
                transcript.note("error", plain_line(error));
            }
        }
        Event::Session { .. } | Event::Cost { .. } | Event::Usage(_) | Event::MessageTokens { .. } => {}
        other => {
            let line = Derived::Agent(other).line("", 0);
            if let Ok(told) = serde_json::from_slice::<HostEvent>(&line)
                && let Some((tag, text)) = super::reported::words(&told)
            {
                transcript.note(tag, text);
            }
        }
    }
}
