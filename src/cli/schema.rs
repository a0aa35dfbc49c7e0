//! `murmur config schema`: the JSON Schema of config.json, or of config.toml.

use super::config_args::ConfigFile;
use derun::cli::stdout::stdout;
use murmur_core::config::schema;
use std::io::Write;
use std::process::ExitCode;

pub(super) fn run(file: ConfigFile) -> anyhow::Result<ExitCode> {
    let schema = match file {
        ConfigFile::Json => schema::schema(),
        ConfigFile::Toml => schema::settings_schema(),
    };
    writeln!(stdout(), "{:#}", schema.as_value())?;
    Ok(ExitCode::SUCCESS)
}
