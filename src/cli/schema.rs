//! `murmur schema`: the JSON Schema of config.json.

use crate::config::schema;
use derun::cli::stdout::stdout;
use std::io::Write;
use std::process::ExitCode;

pub(super) fn run() -> anyhow::Result<ExitCode> {
    writeln!(stdout(), "{:#}", schema::schema().as_value())?;
    Ok(ExitCode::SUCCESS)
}
