//! The `murmur` program; `murmur::cli` does the work.

use std::process::ExitCode;

fn main() -> ExitCode {
    murmur::cli::run(std::env::args_os())
}
