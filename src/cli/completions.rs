//! `murmur completions`: what a shell needs to complete the commands, made from the commands themselves.

use super::args::{Args, CalledBy, Completions};
use super::derun::Derun;
use clap::CommandFactory;
use std::io::{self, Write};
use std::process::ExitCode;

pub(super) fn run(args: &Completions) -> anyhow::Result<ExitCode> {
    let (name, mut command) = match args.name {
        CalledBy::Murmur => ("murmur", Args::command()),
        CalledBy::Mm => ("mm", Args::command()),
        CalledBy::Derun => ("derun", Derun::command()),
    };
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
