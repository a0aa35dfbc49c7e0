//! `murmur inbox`, and `murmur allow`, `murmur deny` and `murmur answer`: a person's answers to requests, named by
//! number, id or id prefix, heartbeat, agent, folder, or `last`.

pub(super) mod entry;
pub(super) mod list;
mod numbers;
pub(super) mod rule;
mod watch;

use super::called::Called;
use super::inbox_args::{Allow, AnswerQuestions, Decision, Deny, Inbox};
use super::requests::{self, Answer, NewRule, only_people};
use super::runtime;
use super::style::{Style, plain_line};
use super::user_env::UserEnv;
use crate::daemon::broker::{RequestKind, RequestRow};
use crate::daemon::instance;
use anyhow::bail;
use derun::cli::is_closed_pipe;
use entry::InboxEntry;
use murmur_core::naming::{self, Candidate};
use murmur_core::permit::question::QuestionSet;
use murmur_core::permit::request::RequestId;
use murmur_store::journal::deferred::Folder;
use numbers::Other;
use serde_json::json;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use sys::error::{Failure, Hinted};
use sys::paths::DataDir;
use sys::text::Styled;
use sys::{clock, failure};

/// Prints `row` with its number and the commands that answer it.
pub(super) fn print(out: &mut impl Write, row: RequestRow, dir: &DataDir, style: Style) -> io::Result<()> {
    let now = clock::now();
    // Without a number, a request still has its id.
    let numbers = numbers::give(dir, &[&row.id], now).unwrap_or_default();
    InboxEntry::request(row).numbered(numbers.first().copied()).print(&mut Styled(out), style, now)
}

/// The name of the request `id` at a terminal: its number. Other output has the id, since it may be read when the
/// number is another request's.
pub(super) fn name_of(dir: &DataDir, id: &str) -> String {
    if !io::stdout().is_terminal() {
        return plain_line(id);
    }
    RequestId::parse(id).map_or_else(|_| plain_line(id), |id| numbered(dir, &[&id]).concat())
}

/// What happened to the request `id`, for which no process waits anymore.
pub(super) fn no_longer_waits(dir: &DataDir, id: &str) -> String {
    let is_deferred = RequestId::parse(id).is_ok_and(|id| Folder::new(dir.approvals()).has(&id));
    let name = name_of(dir, id);
    match is_deferred {
        true => format!("request {name} is deferred: its beat ends now, and continues after your answer"),
        false => format!("request {name} is no longer open"),
    }
}

/// `text`, which names the request `id`, with what people call it.
pub(super) fn named_in(text: &str, dir: &DataDir, id: Option<&RequestId>) -> String {
    match id.map(RequestId::as_str) {
        Some(id) if text.contains(id) => text.replace(id, &name_of(dir, id)),
        _ => text.to_owned(),
    }
}

/// The numbers of requests, in this order. Without a number, a request still has its id.
pub(super) fn numbered(dir: &DataDir, ids: &[&RequestId]) -> Vec<String> {
    let given =
        if ids.is_empty() { Vec::new() } else { numbers::give(dir, ids, clock::now()).unwrap_or_default() };
    let mut given = given.into_iter().map(|number| number.to_string());
    ids.iter().map(|id| given.next().unwrap_or_else(|| id.to_string())).collect()
}

/// The numbers of stuck agents, in this order; `-` without a number.
pub(super) fn numbers_of(dir: &DataDir, entries: &[InboxEntry]) -> Vec<String> {
    let subjects: Vec<_> = entries.iter().map(InboxEntry::subject).collect();
    let given = numbers::give_all(dir, &subjects, |_| false, clock::now()).unwrap_or_default();
    let mut given = given.into_iter().map(|given| given.number.to_string());
    entries.iter().map(|_| given.next().unwrap_or_else(|| "-".to_owned())).collect()
}

/// Gives numbers to all entries that the status has.
pub(super) fn given(dir: &DataDir, entries: Vec<InboxEntry>) -> Vec<InboxEntry> {
    let subjects: Vec<_> = entries.iter().map(InboxEntry::subject).collect();
    let is_listed = |other: &Other| !other.is_stuck();
    let given = numbers::give_all(dir, &subjects, is_listed, clock::now()).unwrap_or_default();
    let mut given = given.into_iter();
    entries.into_iter().map(|entry| entry.given(given.next())).collect()
}

pub(super) fn run(args: &Inbox, env: &UserEnv) -> anyhow::Result<ExitCode> {
    if args.watch {
        runtime()?.block_on(watch::follow(args.json, env))?;
        return Ok(ExitCode::SUCCESS);
    }
    list::run(args.json, env)
}

pub(super) fn allow(args: &Allow, env: &UserEnv) -> anyhow::Result<ExitCode> {
    decide(&args.decision, Answer::Allow, env)
}

pub(super) fn deny(args: &Deny, env: &UserEnv) -> anyhow::Result<ExitCode> {
    decide(&args.decision, Answer::Deny, env)
}

fn decide(args: &Decision, answer: Answer, env: &UserEnv) -> anyhow::Result<ExitCode> {
    only_people("answer")?;
    let dir = env.read_data_dir()?;
    let id = id_of(&args.id, &dir, env)?;
    let mut rule = if args.always { NewRule::OnlyThis } else { NewRule::None };
    if args.always && !args.yes {
        let row = chosen(id.as_str(), &dir, env)?;
        match rule::chosen(&row, answer, args.rule, &dir, env)? {
            Some(patterns) => rule = NewRule::Chosen(patterns),
            None => return Ok(ExitCode::FAILURE),
        }
    }
    let answered = requests::respond(id.as_str(), answer, args.reason.as_deref(), rule, env);
    // The answer was given even if nobody reads that it was.
    answered.map_err(|error| if is_closed_pipe(&error) { error } else { renamed(&error, &id, &args.id) })
}

/// The error of an answer to the request `id`. The daemon only knows ids, and the user called it `typed`.
fn renamed(error: &anyhow::Error, id: &RequestId, typed: &str) -> anyhow::Error {
    let failure = super::describe(error);
    let renamed =
        |text: &str| text.replace(&format!("request {id}"), &format!("request {}", plain_line(typed)));
    Failure::new(renamed(&failure.to_string())).or_hint(failure.to_do().map(renamed)).into()
}

pub(super) fn answer(args: &AnswerQuestions, env: &UserEnv) -> anyhow::Result<ExitCode> {
    only_people("answer")?;
    let dir = env.read_data_dir()?;
    if let [json] = args.answers.as_slice()
        && json.trim_start().starts_with('{')
    {
        return requests::respond_question(id_of(&args.id, &dir, env)?.as_str(), json, env);
    }
    let row = chosen(&args.id, &dir, env)?;
    if row.kind == RequestKind::Permission {
        bail!(
            failure!("request {} is not a question", args.id; "run: murmur allow {0}, or: murmur deny {0}", args.id)
        );
    }
    if args.answers.is_empty() {
        return requests::one(&dir, &row, &args.id, env);
    }
    let asked = QuestionSet::parse(&row.input).map_err(|error| error.failure())?;
    let (questions, given) = (asked.questions().len(), args.answers.len());
    if given > questions {
        bail!(
            failure!("{given} answers for {questions} question{}", if questions == 1 { "" } else { "s" }; "give one answer per question, each in quotes")
        );
    }
    let answers = asked.typed(&args.answers).map_err(|error| error.failure())?;
    let row =
        runtime()?.block_on(requests::answer(&dir, json!({ "id": row.id.as_str(), "answers": answers })))?;
    requests::report(&row, "answered")
}

/// The id that `typed` stands for. A full id may be that of a request that is no longer open, which the daemon
/// explains.
fn id_of(typed: &str, dir: &DataDir, env: &UserEnv) -> anyhow::Result<RequestId> {
    if let Some(id) = numbers::request(dir, typed, clock::now())? {
        return Ok(id);
    }
    match (chosen(typed, dir, env), RequestId::parse(typed)) {
        (Ok(row), _) => Ok(row.id),
        (Err(_), Ok(id)) => Ok(id),
        (Err(error), Err(_)) => Err(error),
    }
}

/// The open request that people call `called`.
fn chosen(called: &str, dir: &DataDir, env: &UserEnv) -> anyhow::Result<RequestRow> {
    let numbered = numbers::request(dir, called, clock::now())?;
    let typed = numbered.as_ref().map_or(called, RequestId::as_str);
    let mut rows: Vec<RequestRow> = runtime()?.block_on(requests::all(dir))?;
    rows.retain(requests::is_open);
    if rows.is_empty() && !instance::is_running(dir)? {
        bail!(requests::not_running());
    }
    if let Some(id) = &numbered
        && rows.iter().all(|row| row.id != *id)
    {
        bail!(failure!("request {called} is no longer open"; "see: murmur inbox"));
    }
    let of = Called::of(typed, dir, env);
    let candidate = |row: &RequestRow| {
        let is_it = row.agent == typed || of.is(&row.workspace, row.heartbeat.as_deref());
        Candidate { id: row.id.to_string(), names: is_it.then(|| typed.to_owned()).into_iter().collect() }
    };
    let candidates: Vec<Candidate> = rows.iter().map(candidate).collect();
    // The oldest comes first.
    let last = rows.len().checked_sub(1);
    let index = naming::choose(naming::Noun::Request, typed, &candidates, last)?;
    Ok(rows.swap_remove(index))
}
