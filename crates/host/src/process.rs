//! An agent's process: how it starts, and how much of its stderr is kept.

use super::pipes::Pipes;
use murmur_agent::invocation::Invocation;
use std::ffi::OsStr;
use std::io;
use std::process::Stdio;
use sys::process;
use tokio::process::{Child, Command};

/// How much of the end of stderr to keep, in bytes.
const STDERR_KEPT: usize = 16 << 10;

/// Starts `invocation` with pipes for stdin, stdout and stderr. On Linux, it dies with this process.
pub(super) fn spawn(invocation: &Invocation) -> io::Result<(Child, Pipes)> {
    let mut command = in_environment_of(invocation, &invocation.program);
    command.args(&invocation.args).current_dir(&invocation.cwd).stdin(Stdio::piped());
    Pipes::spawn(command)
}

/// A command that runs `program` with the variables of the agent of `invocation`. On Linux, it dies with this process.
pub(super) fn in_environment_of(invocation: &Invocation, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    process::without_git_place(&mut command);
    command.envs(invocation.env.iter().map(|(name, value)| (name, value)));
    command.envs(invocation.program_env.iter().map(|(name, value)| (name, value)));
    process::bind_to_us(&mut command);
    command
}

/// Appends `bytes` to `kept`, then truncates the front to [`STDERR_KEPT`] bytes.
pub(super) fn keep_end(kept: &mut Vec<u8>, bytes: &[u8]) {
    kept.extend_from_slice(bytes);
    let surplus = kept.len().saturating_sub(STDERR_KEPT);
    kept.drain(..surplus);
}
