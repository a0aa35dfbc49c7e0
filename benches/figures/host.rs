//! What an agent's host costs while it waits, while it is asked, while its agent says much, and when all is told again.

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
