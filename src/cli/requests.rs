//! `murmur permission list|respond` and `murmur question list|respond`: requests of agents, and a person's answers.

mod dialog;
mod list;
mod one_by_one;
mod respond;
mod text;

use super::user_env::UserEnv;
use crate::daemon::broker::{Broker, Page, RequestKind, RequestRow};
use crate::daemon::{client, instance};
use anyhow::bail;
use derun::cli::stdout::note;
pub(super) use dialog::{Dialog, Next};
use jiff::Timestamp;
pub(super) use list::list;
use murmur_core::id::BeatId;
use murmur_core::permit::request::{ANSWERED, Request, RequestId};
use murmur_host::discover;
use murmur_rpc::caller;
use murmur_rpc::client::{AskError, Client};
pub(super) use one_by_one::{one, one_by_one};
pub(super) use respond::{Answer, NewRule, report, respond, respond_question};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use sys::error::{Failure, Hinted};
use sys::failure;
use sys::paths::DataDir;
use sys::unreadable::unreadable;
pub(super) use text::input;
pub(super) use text::{paragraph, reading};

/// All waiting requests.
pub(super) async fn all(dir: &DataDir) -> anyhow::Result<Vec<RequestRow>> {
    match client::connect(dir).await {
        Ok(mut client) => ask_rows(&mut client).await,
        // The files of deferred calls are unreadable too.
        Err(AskError::Gone(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(unreadable(dir.root(), error).into())
        }
        Err(AskError::Gone(_)) => Ok(without_daemon(dir).await),
        Err(error) => bail!(error.failure().after("cannot reach the daemon: ")),
    }
}

/// Waiting requests without a daemon: deferred calls and requests that hosts report, oldest first.
pub(super) async fn without_daemon(dir: &DataDir) -> Vec<RequestRow> {
    rows_of(dir, &of_hosts(dir).await)
}

/// Requests that hosts report, with their calls.
pub(super) async fn of_hosts(dir: &DataDir) -> Vec<(RequestId, Box<Request>)> {
    let waits = discover::requests(&dir.hosts(), discover::REQUESTS_TIMEOUT).await.into_iter();
    waits.filter_map(|wait| Some((wait.request, wait.call?))).collect()
}

/// The requests of beats.
pub(super) fn by_beat(waits: Vec<(RequestId, Box<Request>)>) -> HashMap<BeatId, RequestId> {
    waits.into_iter().filter_map(|(id, call)| Some((call.beat?.beat, id))).collect()
}

/// Deferred calls and the requests `waits` that hosts report, oldest first.
pub(super) fn rows_of(dir: &DataDir, waits: &[(RequestId, Box<Request>)]) -> Vec<RequestRow> {
    let mut rows = Broker::load(dir, PathBuf::new(), |_| false).rows();
    for (id, call) in waits {
        // A beat may still be running just after its call was deferred.
        if rows.iter().all(|row| row.id != *id) {
            rows.push(RequestRow::waiting(id, call));
        }
    }
    rows.sort_by_cached_key(|row| (row.asked_at.parse::<Timestamp>().ok(), row.id.clone()));
    rows
}

/// Whether `row` is unanswered.
pub(super) fn is_open(row: &RequestRow) -> bool {
    row.state != ANSWERED
}

/// The error if no daemon can take an answer.
pub(super) fn not_running() -> Failure {
    failure!("murmur is not running, so nothing can be answered"; "run: murmur start")
}

/// Prints a note if no daemon can take answers.
pub(super) fn note_no_daemon(dir: &DataDir) -> io::Result<()> {
    if instance::is_running(dir)? {
        return Ok(());
    }
    note("murmur is not running; to answer, run: murmur start")
}

/// Waiting requests of this kind.
async fn waiting(dir: &DataDir, kind: RequestKind) -> anyhow::Result<Vec<RequestRow>> {
    let mut rows = all(dir).await?;
    rows.retain(|row| row.kind == kind);
    Ok(rows)
}

async fn ask_rows(client: &mut Client) -> anyhow::Result<Vec<RequestRow>> {
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let page =
            client.answer("permission.list", json!({ "after": after }), client::ANSWER_TIMEOUT).await?;
        let Page { requests, next } = Page::deserialize(page)?;
        rows.extend(requests);
        if next.is_none() {
            return Ok(rows);
        }
        after = next;
    }
}

/// Sends an answer to the daemon.
pub(super) async fn answer(dir: &DataDir, response: Value) -> anyhow::Result<RequestRow> {
    let mut client = match client::connect(dir).await {
        Ok(client) => client,
        Err(AskError::Gone(_)) => bail!(not_running()),
        Err(error) => bail!(error.failure().after("cannot reach the daemon: ")),
    };
    let row = client.answer("permission.respond", response, client::ANSWER_TIMEOUT).await?;
    Ok(RequestRow::deserialize(row)?)
}

/// Rejects agents, which must not answer their own requests. `what` completes "agents cannot …".
pub(super) fn only_people(what: &str) -> anyhow::Result<()> {
    Ok(caller::require_person_here(what)?)
}

/// The data folder, which must exist.
fn data_dir(env: &UserEnv) -> anyhow::Result<DataDir> {
    Ok(env.read_data_dir()?)
}
