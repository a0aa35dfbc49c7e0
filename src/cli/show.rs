//! `murmur show`: what a beat did, for a person. The id of another command's capture prints its bytes instead, as
//! `derun` does.
//!
//! The run is read from its capture block by block and printed as it is parsed, so the first screen of a long run
//! appears immediately.

mod choose;
pub(super) mod denials;
mod end;
mod input;
mod lines;
pub(super) mod live;
mod own_events;
mod reading;

use super::runtime;
use super::show_args::ShowBeat;
use super::style::{Style, plain_line};
use super::user_env::UserEnv;
use choose::{Chosen, Run};
pub(super) use choose::{hosted_capture, latest, newest_capture};
use denials::Denials;
use derun::cli::args::Show as CaptureArgs;
use derun::cli::captures;
use derun::cli::json::print as print_json;
use derun::cli::pager::Pager;
use derun::cli::show as capture;
use derun::cli::wrapped::{Wrapped, output_width};
use derun::session::Session;
use derun::store::StoreError;
pub(super) use lines::{Lines, NOTHING, cost, took, turns};
use murmur_agent::transcript::Item;
use reading::Reading;
pub(super) use reading::take;
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use sys::failure;
use sys::paths::DataDir;

pub(super) fn run(args: &ShowBeat, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.read_data_dir()?;
    let run = match choose::choose(&args.what, &dir, env)? {
        Chosen::Capture(id) => return of_capture(args, id, Some(&dir)),
        Chosen::Run(run) if args.follow && run.is_running && run.entry.capture.is_none() => {
            runtime()?.block_on(choose::until_captured(*run, &dir))?
        }
        Chosen::Run(run) => *run,
    };
    of_run(args, &run, &dir)
}

fn of_run(args: &ShowBeat, run: &Run, dir: &DataDir) -> anyhow::Result<ExitCode> {
    if args.raw {
        let id = run.entry.capture.as_ref().ok_or_else(|| uncaptured(run))?;
        return bytes(args, id.to_string());
    }
    if args.tail.is_some() || args.plain {
        let flag = if args.plain { "--plain" } else { "--tail" };
        anyhow::bail!(
            failure!("{flag} needs a capture"; "add --raw to print the bytes that the agent wrote")
        );
    }
    let session = match open(run) {
        // What the journal has can be shown.
        Err(error) if !args.json => {
            let mut out = Wrapped::new(derun::cli::stdout::stdout(), output_width());
            Lines { style: Style::of_stdout(), is_full: args.full }.header(&mut out, run, dir)?;
            out.flush()?;
            return Err(error);
        }
        opened => opened?,
    };
    let mut denials = Denials::new(dir, run);
    if !args.follow {
        runtime()?.block_on(denials.look_for_waiting(dir, run));
    }
    if args.json {
        let items = items(run, session.as_ref(), &mut denials, dir)?;
        let object = json!({ "beat": run.entry, "running": run.is_running, "items": items });
        print_json(&mut derun::cli::stdout::stdout(), "show/1", &object)?;
        return Ok(ExitCode::SUCCESS);
    }
    let is_paged = io::stdout().is_terminal() && !args.follow;
    let mut out = Wrapped::new(Pager::new(is_paged)?, output_width());
    let lines = Lines { style: Style::of_stdout(), is_full: args.full };
    let shown = print(run, session.as_ref(), (&mut denials, dir), args.follow, &lines, &mut out);
    let (pager, rest) = out.finish();
    pager.finish(shown.and_then(|()| Ok(rest?)))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a capture: that of an agent as its run, unless the bytes are wanted.
pub(super) fn of_capture(args: &ShowBeat, id: String, dir: Option<&DataDir>) -> anyhow::Result<ExitCode> {
    // Without a journal that can be read, the bytes are shown.
    let wants_bytes = args.raw || args.plain || args.tail.is_some();
    let dir = dir.filter(|_| !wants_bytes);
    match dir.and_then(|dir| Some((choose::captured_as(&id, dir).ok()??, dir))) {
        Some((run, dir)) => of_run(args, &run, dir),
        None => bytes(args, id),
    }
}

/// Prints a capture's bytes.
fn bytes(args: &ShowBeat, id: String) -> anyhow::Result<ExitCode> {
    if args.json {
        return capture::describe(&id);
    }
    if args.full {
        anyhow::bail!(failure!("--full needs a beat"; "{id} is a capture; see: murmur capture show {id}"));
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
        let ended = runtime()?.block_on(async {
            reading.follow(session, |item| lines.item(out, denials, &item)).await?;
            out.flush()?;
            end::until_over(run, dir).await
        })?;
        return match ended {
            Some(ended) => lines.end(out, &ended, dir),
            None => Ok(writeln!(out, "\n{}", lines.style.dim("It has no outcome: its process died."))?),
        };
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
    let (denied, waiting, undecided) = match &item {
        Item::Call(call) | Item::Result(call) => (
            denials.of(call)?.map(|denial| denial.words().into()),
            denials.waiting(call).map(|wait| wait.request.to_string().into()),
            denials.is_undecided(call)?.then_some(Value::Bool(true)),
        ),
        Item::Text { .. } | Item::Message { .. } | Item::Note { .. } => (None, None, None),
    };
    let input = match &item {
        Item::Call(call) => input::masked(call),
        _ => None,
    };
    let mut object = json!(item);
    for (key, value) in [("input", input), ("denied", denied), ("waiting", waiting), ("unguarded", undecided)]
    {
        if let (Some(value), Some(object)) = (value, object.as_object_mut()) {
            object.insert(key.to_owned(), value);
        }
    }
    Ok(object)
}
