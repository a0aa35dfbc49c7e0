//! Asks a person about all waiting requests in turn, on a terminal.

use super::super::runtime;
use super::super::style::{Style, plain_text};
use super::super::user_env::UserEnv;
use super::list::nothing;
use super::respond::Answer;
use super::text::paragraph;
use super::{answer, data_dir, is_open, not_running, only_people, waiting};
use crate::daemon::broker::{Kind, Row};
use crate::daemon::instance;
use anyhow::bail;
use derun::cli::stdout::stdout;
use murmur_core::permit::question::QuestionSet;
use serde_json::{Map, Value, json};
use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;
use sys::clock;
use sys::error::Hinted;
use sys::failure;
use sys::paths::DataDir;

/// What the person decided on a request.
enum Reply {
    Answered,
    Skipped,
    Quit,
}

/// `murmur permission respond` and `murmur question respond` without arguments.
pub(in crate::cli) fn one_by_one(kind: Kind, env: &UserEnv) -> anyhow::Result<ExitCode> {
    only_people("answer")?;
    if !io::stdin().is_terminal() {
        bail!(
            failure!("stdin is not a terminal"; "run: murmur {0} respond ID ...; for IDs, see: murmur {0} list", word(kind))
        );
    }
    let dir = data_dir(env)?;
    let rows = runtime()?.block_on(waiting(&dir, kind))?;
    let rows: Vec<Row> = rows.into_iter().filter(is_open).collect();
    if rows.is_empty() {
        writeln!(stdout(), "{}", nothing(kind))?;
    } else if !instance::is_running(&dir)? {
        bail!(not_running());
    }
    for row in rows {
        if matches!(ask(&dir, &row)?, Reply::Quit) {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// `murmur answer ID`: asks only the questions of this request.
pub(in crate::cli) fn one(dir: &DataDir, row: &Row) -> anyhow::Result<ExitCode> {
    if !io::stdin().is_terminal() {
        bail!(failure!("stdin is not a terminal"; "give the answers: murmur answer {} ANSWER ...", row.id));
    }
    ask(dir, row)?;
    Ok(ExitCode::SUCCESS)
}

fn ask(dir: &DataDir, row: &Row) -> anyhow::Result<Reply> {
    paragraph(&mut stdout().lock(), Style::of_stdout(), row, clock::now())?;
    match row.kind {
        Kind::Permission => permission(dir, row),
        Kind::Question => question(dir, row),
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Permission => "permission",
        Kind::Question => "question",
    }
}

fn permission(dir: &DataDir, row: &Row) -> anyhow::Result<Reply> {
    loop {
        let Some(typed) = prompt("allow it? [y]es, [n]o, [a]lways, ne[v]er, [s]kip, [q]uit: ")? else {
            return Ok(Reply::Quit);
        };
        let (decision, always) = match typed.to_lowercase().as_str() {
            "y" | "yes" => (Answer::Allow, false),
            "n" | "no" => (Answer::Deny, false),
            "a" | "always" => (Answer::Allow, true),
            "v" | "never" => (Answer::Deny, true),
            "" | "s" | "skip" => return Ok(Reply::Skipped),
            "q" | "quit" => return Ok(Reply::Quit),
            _ => {
                writeln!(stdout(), "{typed:?} is not one of the choices; type y, n, a, v, s or q")?;
                continue;
            }
        };
        let mut response = json!({ "id": row.id.as_str(), "verdict": decision.word(), "always": always });
        if decision == Answer::Deny {
            let Some(reason) = prompt("reason for the agent, or Enter for none: ")? else {
                return Ok(Reply::Quit);
            };
            if !reason.is_empty() {
                response["reason"] = reason.into();
            }
        }
        give(dir, response)?;
        return Ok(Reply::Answered);
    }
}

fn question(dir: &DataDir, row: &Row) -> anyhow::Result<Reply> {
    let Ok(asked) = QuestionSet::parse(&row.input) else { return Ok(Reply::Skipped) };
    let mut answers = Map::new();
    for (index, question) in asked.questions().iter().enumerate() {
        let several =
            if question.multi_select { "numbers or labels, with commas" } else { "a number or a label" };
        let what = match question.options.is_empty() {
            true => "a text".to_owned(),
            false => format!("{several}, or a text of your own"),
        };
        let answer = loop {
            let Some(typed) = prompt(&format!("q{}: {what}, or Enter to skip: ", index + 1))? else {
                return Ok(Reply::Quit);
            };
            if typed.is_empty() {
                return Ok(Reply::Skipped);
            }
            let answer = question.typed(&typed);
            // Report mistakes here, so that only this answer has to be given again.
            match asked.check(index, &answer) {
                Ok(()) => break answer,
                Err(error) => writeln!(stdout(), "{}", error.line())?,
            }
        };
        answers.insert(format!("q{}", index + 1), answer);
    }
    give(dir, json!({ "id": row.id.as_str(), "answers": answers }))?;
    Ok(Reply::Answered)
}

/// Sends an answer; reports a rejection and continues.
fn give(dir: &DataDir, response: Value) -> anyhow::Result<()> {
    match runtime()?.block_on(answer(dir, response)) {
        Ok(row) => writeln!(stdout(), "answered {}", row.id)?,
        // Someone else may have answered first, or the agent may have ended.
        Err(error) => writeln!(stdout(), "not accepted: {error:#}")?,
    }
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

/// A call's questions, formatted for people.
pub(super) fn questions_text(row: &Row) -> String {
    match QuestionSet::parse(&row.input) {
        Ok(asked) => asked.printed(),
        Err(_) => plain_text(&row.input.to_string()),
    }
}
