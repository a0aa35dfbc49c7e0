//! The cost of an agent's host: idle, on requests, with much output, and on replays.

mod burst;
mod echo;
mod idle;
mod line;
mod live;
mod ping;
mod replay;

use super::table::Table;

pub(crate) use echo::{CHILD, child};

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    idle::run(table)?;
    ping::run(table)?;
    burst::run(table)?;
    replay::run(table)
}
