//! `murmur`: a doorbell.

use std::process::ExitCode;

fn main() -> ExitCode {
    murmur::cli::run(std::env::args_os())
}
