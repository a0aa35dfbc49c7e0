//! `murmur config schema`: the JSON Schema of config.json.

use derun::cli::stdout::stdout;
use murmur_core::config::schema;
use std::io::Write;
use std::process::ExitCode;

pub(super) fn run() -> anyhow::Result<ExitCode> {
    writeln!(stdout(), "{:#}", schema::schema().as_value())?;
    Ok(ExitCode::SUCCESS)
}
