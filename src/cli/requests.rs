//! `murmur permission list|respond`, `murmur question list|respond`: what agents wait for, and a person's answers.

mod list;
mod one_by_one;
mod respond;
mod shown;

use super::place::Place;
use crate::daemon::broker::{Broker, Kind, Page, Row};
use crate::daemon::client;
use crate::error::Hinted;
use crate::failure;
use crate::rpc::asker;
use crate::rpc::client::{AskError, Client};
use crate::sys::paths::DataDir;
use crate::sys::unreadable::unreadable;
use anyhow::bail;
pub(super) use list::list;
pub(super) use one_by_one::one_by_one;
pub(super) use respond::{Verdicts, respond, respond_question};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io;
use std::path::PathBuf;

/// All that waits. Without a daemon, what was put off.
pub(super) async fn all(dir: &DataDir) -> anyhow::Result<Vec<Row>> {
    match client::connect(dir).await {
        Ok(mut client) => ask_rows(&mut client).await,
        // What was put off could not be looked for either.
        Err(AskError::Gone(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(unreadable(dir.root(), error).into())
        }
        Err(AskError::Gone(_)) => Ok(Broker::begin(dir, PathBuf::new(), |_| false).rows()),
        Err(error) => bail!(error.failure().after("cannot reach the daemon: ")),
    }
}

/// What waits, of this kind.
async fn waiting(dir: &DataDir, kind: Kind) -> anyhow::Result<Vec<Row>> {
    let mut rows = all(dir).await?;
    rows.retain(|row| row.kind == kind);
    Ok(rows)
}

async fn ask_rows(client: &mut Client) -> anyhow::Result<Vec<Row>> {
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let page = client.answer("permission.list", json!({ "after": after }), client::PATIENCE).await?;
        let Page { requests, next } = Page::deserialize(page)?;
        rows.extend(requests);
        if next.is_none() {
            return Ok(rows);
        }
        after = next;
    }
}

/// Answers a request.
async fn answer(dir: &DataDir, response: Value) -> anyhow::Result<Row> {
    let mut client = match client::connect(dir).await {
        Ok(client) => client,
        Err(AskError::Gone(_)) => {
            bail!(failure!("murmur is not running, so nothing can be answered"; "run: murmur start"))
        }
        Err(error) => bail!(error.failure().after("cannot reach the daemon: ")),
    };
    let row = client.answer("permission.respond", response, client::PATIENCE).await?;
    Ok(Row::deserialize(row)?)
}

/// That no agent runs this: its answers to its own requests would be worth nothing. `what` is what agents cannot do.
pub(super) fn only_people(what: &str) -> anyhow::Result<()> {
    Ok(asker::require_person_here(what)?)
}

/// The data folder that is there.
fn data_dir(place: &Place) -> anyhow::Result<DataDir> {
    Ok(place.read_data_dir()?)
}
