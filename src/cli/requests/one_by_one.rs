//! Asks a person about all waiting requests in turn, on a terminal.

use super::super::inbox::rule::Rules;
use super::super::runtime;
use super::super::style::Style;
use super::super::user_env::UserEnv;
use super::dialog::{Dialog, Next};
use super::list::nothing;
use super::respond::goes_on;
use super::text::paragraph;
use super::{answer, data_dir, is_open, not_running, only_people, waiting};
use crate::daemon::broker::{RequestKind, RequestRow};
use crate::daemon::instance;
use anyhow::bail;
use derun::cli::is_closed_pipe;
use derun::cli::stdout::stdout;
use derun::cli::wrapped::{Wrapped, output_width, wrapped};
use serde_json::Value;
use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;
use sys::clock;
use sys::failure;
use sys::paths::DataDir;
use sys::text::{Shown, shown_line};

/// What the person decided on a request.
enum Reply {
    Answered,
    Skipped,
    Quit,
}

/// `murmur permission respond` and `murmur question respond` without arguments.
pub(in crate::cli) fn one_by_one(kind: RequestKind, env: &UserEnv) -> anyhow::Result<ExitCode> {
    only_people("answer")?;
    if !io::stdin().is_terminal() {
        bail!(
            failure!("stdin is not a terminal"; "run: murmur {0} respond ID ...; for IDs, see: murmur {0} list", word(kind))
        );
    }
    let dir = data_dir(env)?;
    let rows = runtime()?.block_on(waiting(&dir, kind))?;
    let rows: Vec<RequestRow> = rows.into_iter().filter(is_open).collect();
    if rows.is_empty() {
        writeln!(stdout(), "{}", nothing(kind))?;
    } else if !instance::is_running(&dir)? {
        bail!(not_running());
    }
    for row in rows {
        if matches!(ask(&dir, &row, env, give_or_report)?, Reply::Quit) {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// `murmur answer ID`: asks only the questions of this request, which the user called `typed`.
pub(in crate::cli) fn one(
    dir: &DataDir,
    row: &RequestRow,
    typed: &str,
    env: &UserEnv,
) -> anyhow::Result<ExitCode> {
    if !io::stdin().is_terminal() {
        bail!(failure!("stdin is not a terminal"; "give the answers: murmur answer {typed} ANSWER ..."));
    }
    match ask(dir, row, env, give)? {
        Reply::Answered => Ok(ExitCode::SUCCESS),
        Reply::Skipped | Reply::Quit => {
            writeln!(stdout(), "nothing was answered")?;
            Ok(ExitCode::FAILURE)
        }
    }
}

fn ask(dir: &DataDir, row: &RequestRow, env: &UserEnv, give: Give) -> anyhow::Result<Reply> {
    let mut out = Wrapped::new(stdout().lock(), output_width());
    paragraph(&mut out, Style::of_stdout(), row, clock::now())?;
    out.flush()?;
    drop(out);
    let rules = Rules::new(dir.clone(), env.home());
    Dialog::new(row.clone(), rules).map_or(Ok(Reply::Skipped), |dialog| converse(dir, dialog, give))
}

fn word(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Permission => "permission",
        RequestKind::Question => "question",
    }
}

/// Asks line by line until the request is answered or left open.
fn converse(dir: &DataDir, mut dialog: Dialog, give: Give) -> anyhow::Result<Reply> {
    loop {
        let Some(typed) = prompt(&dialog.prompt())? else { return Ok(Reply::Quit) };
        match dialog.typed(&typed) {
            Next::Ask(text) if text.is_empty() => {}
            Next::Ask(text) => writeln!(Shown(stdout()), "{}", wrapped(&text, output_width()))?,
            Next::Respond(response) => {
                give(dir, response)?;
                return Ok(Reply::Answered);
            }
            Next::Skip => return Ok(Reply::Skipped),
            Next::Quit => return Ok(Reply::Quit),
        }
    }
}

/// Sends an answer.
type Give = fn(&DataDir, Value) -> anyhow::Result<()>;

/// Sends an answer; reports a rejection and continues.
fn give_or_report(dir: &DataDir, response: Value) -> anyhow::Result<()> {
    if let Err(error) = give(dir, response) {
        if is_closed_pipe(&error) {
            return Err(error);
        }
        // Someone else may have answered first, or the agent may have ended.
        writeln!(stdout(), "not accepted: {error:#}")?;
    }
    Ok(())
}

fn give(dir: &DataDir, response: Value) -> anyhow::Result<()> {
    let word = match response.get("decision").and_then(Value::as_str) {
        Some("allow") => "allowed",
        Some(_) => "denied",
        None => "answered",
    };
    let row = runtime()?.block_on(answer(dir, response))?;
    let goes_on = goes_on(&row);
    writeln!(stdout(), "{word} {} for {}{goes_on}", shown_line(&row.tool), shown_line(&row.agent))?;
    Ok(())
}

/// Reads a trimmed line; `None` at the end of input.
fn prompt(text: &str) -> io::Result<Option<String>> {
    let mut out = stdout().lock();
    write!(out, "{text}")?;
    out.flush()?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line)?;
    if read == 0 {
        writeln!(out)?;
    }
    Ok((read > 0).then(|| line.trim().to_owned()))
}
