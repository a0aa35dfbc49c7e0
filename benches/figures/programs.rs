//! The programs that are measured: those of a release, which packaging/build.sh builds. On Linux they are static, so
//! they start faster than those of `cargo build --release`. With tiny sizes, the programs built with this one.

use super::measure::Size;
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder with murmur and its hook.
static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Builds the programs.
pub(crate) fn build() -> anyhow::Result<()> {
    let folder = (Size { full: released as fn() -> anyhow::Result<PathBuf>, tiny: built }).get()()?;
    FOLDER.get_or_init(|| folder);
    Ok(())
}

/// Returns the path of murmur.
pub(crate) fn murmur() -> PathBuf {
    program("murmur")
}

/// Returns the path of murmur's hook.
pub(crate) fn hook() -> PathBuf {
    program("murmur-hook")
}

fn program(name: &str) -> PathBuf {
    FOLDER.get().map_or_else(|| name.into(), |folder| folder.join(name))
}

fn released() -> anyhow::Result<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    let prefix = sources.join("target/bench");
    let built =
        Command::new(sources.join("packaging/build.sh")).arg(&prefix).current_dir(sources).status()?;
    ensure!(built.success(), "packaging/build.sh failed");
    Ok(prefix.join("bin"))
}

fn built() -> anyhow::Result<PathBuf> {
    Ok(Path::new(env!("CARGO_BIN_EXE_murmur")).parent().context("murmur is in no folder")?.to_path_buf())
}
