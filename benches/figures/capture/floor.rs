//! The comparisons for captures: the baselines of `plain.rs`, and other programs that are installed.

use anyhow::Context;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program of `plain.rs`.
#[derive(Debug)]
pub(super) struct Plain(PathBuf);

impl Plain {
    /// Compiles it in `folder`: with only std, it starts as fast as a Rust program can.
    pub(super) fn make(folder: &Path) -> anyhow::Result<Self> {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/figures/capture/plain.rs");
        let plain = folder.join("plain");
        let made = Command::new("rustc")
            .args(["--edition", "2024", "-O", "-D", "warnings", source, "-o"])
            .arg(&plain)
            .status()
            .context("cannot build the baseline with rustc")?;
        anyhow::ensure!(made.success(), "rustc: {made}");
        Ok(Self(plain))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// `plain produce BYTES`, also for a shell.
    pub(super) fn producer(&self, bytes: usize) -> [String; 3] {
        [self.0.display().to_string(), "produce".to_owned(), bytes.to_string()]
    }
}

/// The result of `run`, or NaN if `program` is not installed.
pub(super) fn peer(program: &str, run: impl FnOnce() -> anyhow::Result<f64>) -> anyhow::Result<f64> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_installed = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if is_installed { run() } else { Ok(f64::NAN) }
}
