//! `murmur-hook EVENT`: a doorbell, for every call of a tool.

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    murmur::hook::run(std::env::args_os().nth(1).as_deref())
}

/// There are no agents there (docs/guide/windows.md).
#[cfg(windows)]
fn main() -> ExitCode {
    ExitCode::from(2)
}
