//! `murmur-hook EVENT`: a doorbell, for every call of a tool.

use std::process::ExitCode;

fn main() -> ExitCode {
    murmur::hook::run(std::env::args_os().nth(1).as_deref())
}
