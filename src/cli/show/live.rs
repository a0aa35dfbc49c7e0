//! A run for `murmur watch`: its header and its lines, as they are read.

use super::choose::{Chosen, choose, of_agent, until_captured};
use super::denials::Denials;
use super::lines::Lines;
use super::{Reading, open};
use crate::cli::style::Style;
use crate::cli::user_env::UserEnv;
use murmur_agent::transcript::Item;
use std::io;
use sys::failure;
use sys::paths::DataDir;

/// What to show.
#[derive(Debug, Clone)]
pub(in crate::cli) enum Wanted {
    /// A beat or a heartbeat, by id.
    Beat(String),
    /// A hosted agent.
    Agent(String),
}

/// A piece of a run.
pub(in crate::cli) enum Piece {
    /// What is known of it.
    Header(String),
    /// What the agent wrote.
    Text(String),
    /// A call.
    Call(String),
    /// A call that failed or was denied.
    Failed(String),
    /// Something else.
    Note(String),
}

/// Passes the run to `sink`, until it ends or `sink` fails.
pub(in crate::cli) async fn stream(
    wanted: &Wanted,
    dir: &DataDir,
    env: &UserEnv,
    mut sink: impl FnMut(Piece) -> io::Result<()>,
) -> anyhow::Result<()> {
    let lines = Lines { style: Style::none(), is_full: false };
    let mut run = match wanted {
        Wanted::Agent(agent) => of_agent(agent, dir)?.ok_or_else(|| {
            failure!("there is no transcript of {agent}: no host of murmur runs it"; "see: murmur agent show {agent}")
        })?,
        Wanted::Beat(what) => match choose(what, dir, env)? {
            Chosen::Run(run) => *run,
            Chosen::Capture(id) => anyhow::bail!(failure!("{id} is a capture, not a beat"; "run: murmur capture show {id} --follow")),
        },
    };
    let mut header = Vec::new();
    lines.header(&mut header, &run, dir)?;
    sink(Piece::Header(String::from_utf8_lossy(&header).into_owned()))?;
    if run.is_running && run.entry.capture.is_none() {
        run = until_captured(run, dir).await?;
    }
    let Some(session) = open(&run)? else {
        return Ok(sink(Piece::Note("its output was not captured, or was removed".to_owned()))?);
    };
    let mut denials = Denials::new(dir, &run);
    let mut show = |item: Item| {
        let mut text = Vec::new();
        lines.item(&mut text, &mut denials, &item)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        sink(match &item {
            Item::Text { .. } | Item::Message { .. } => Piece::Text(text),
            Item::Note { .. } => Piece::Note(text),
            Item::Call(call) | Item::Result(call) => match &call.result {
                Some(result) if result.is_error => Piece::Failed(text),
                _ => Piece::Call(text),
            },
        })
    };
    let mut reading = Reading::new(&run, dir);
    if run.is_running { reading.follow(&session, show).await } else { reading.read(&session, &mut show) }
}
