//! `murmur schema`: the JSON Schema of config.json.

use crate::config::schema;
use std::io::{self, Write};
use std::process::ExitCode;

pub(super) fn run() -> anyhow::Result<ExitCode> {
    writeln!(io::stdout(), "{:#}", schema::schema().as_value())?;
    Ok(ExitCode::SUCCESS)
}
