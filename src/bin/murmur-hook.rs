//! The `murmur-hook EVENT` program, which Claude Code runs for every tool call; `murmur_hook` does the work.

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    murmur_hook::run(std::env::args_os().nth(1).as_deref())
}

/// Does nothing: murmur runs no agents on Windows (crates/derun/README.md).
#[cfg(windows)]
fn main() -> ExitCode {
    ExitCode::from(2)
}
