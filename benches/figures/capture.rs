//! The cost of capturing a command's output and of reading it again, over plain programs that do the same.

mod floor;
// Not part of this program: it is here to be formatted along. See `floor.rs`.
mod pipe;
#[cfg(any())]
mod plain;
mod read;
mod server;
mod startup;
mod stored;
mod terminal;
mod usage;
mod wait;

use super::home::Home;
use super::table::Table;

pub(crate) use terminal::{CHILDREN, child};

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    let home = Home::new("#!/bin/sh\n")?;
    let plain = floor::Plain::make(home.path())?;
    pipe::run(table, &home, &plain)?;
    terminal::run(table, &home, &plain)?;
    startup::run(table, &home, &plain)?;
    let stored = stored::Stored::make(home.path())?;
    read::run(table, &stored)?;
    wait::run(table, &home)?;
    server::run(table, &home, &stored)
}
