//! `derun`: runs any command and captures every byte that it writes.

use std::process::ExitCode;

fn main() -> ExitCode {
    derun::cli::run(std::env::args_os())
}
