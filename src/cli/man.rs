//! `murmur man`: a manual page for every command, made from the commands themselves; packages install them.

use super::args::Args;
use super::derun::Derun;
use anyhow::Context;
use clap::CommandFactory;
use std::path::Path;
use std::process::ExitCode;

/// Writes `murmur.1`, `murmur-beat.1`, ... and the same of derun into `folder`.
pub(super) fn run(folder: &Path) -> anyhow::Result<ExitCode> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for command in [Args::command(), Derun::command()] {
        let written = clap_mangen::generate_to(command.disable_help_subcommand(true), folder);
        written.with_context(|| format!("cannot write the pages into {}", folder.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
