//! Leftover child processes, to test whether the caller cleans up.
//!
//! Each is fake-claude itself in another role, and exits after a minute in any case.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use sys::error::Failure;

use crate::faults::{Fault, Faults};

const LIFE: Duration = Duration::from_secs(60);

/// The role of a copy of fake-claude.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Stays alive in a session of its own.
    Session,
    /// Starts an orphan: a process that stays while its parent exits.
    Fork,
    /// Stays alive and keeps inherited descriptors open.
    Stay,
}

impl Role {
    const ALL: [Self; 3] = [Self::Session, Self::Fork, Self::Stay];

    fn as_str(self) -> &'static str {
        match self {
            Self::Session => "--fake-claude-session",
            Self::Fork => "--fake-claude-fork",
            Self::Stay => "--fake-claude-stay",
        }
    }
}

/// Returns the role that the first argument names.
pub(crate) fn role(word: &str) -> Option<Role> {
    Role::ALL.into_iter().find(|role| role.as_str() == word)
}

/// Runs the role. Prints the PID of the staying process once it is ready.
pub(crate) fn run(role: Role) -> ExitCode {
    if role != Role::Stay && rustix::process::setsid().is_err() {
        return ExitCode::FAILURE;
    }
    let pid = match role {
        Role::Fork => match start(Role::Stay, true, false) {
            Ok((_, pid)) => pid,
            Err(_) => return ExitCode::FAILURE,
        },
        _ => std::process::id(),
    };
    let said = writeln!(std::io::stdout(), "{pid}");
    if said.is_err() || role == Role::Fork {
        return ExitCode::SUCCESS;
    }
    let start = Instant::now();
    while let Some(left) = LIFE.checked_sub(start.elapsed()) {
        thread::park_timeout(left);
    }
    ExitCode::SUCCESS
}

/// Starts the children that the faults ask for and returns their PIDs.
pub(crate) fn start_all(faults: &Faults) -> Result<Vec<u32>, Failure> {
    let mut pids = Vec::new();
    for fault in &faults.0 {
        let started = match fault {
            Fault::SetsidChild => start(Role::Session, false, false),
            Fault::SetsidChildCleanEnv => start(Role::Fork, true, false),
            Fault::HoldOutput => start(Role::Stay, false, true),
            _ => continue,
        };
        let (mut child, pid) =
            started.map_err(|error| Failure::new("cannot start a child").because(&error))?;
        if *fault == Fault::SetsidChildCleanEnv {
            // The intermediate process has exited.
            drop(child.wait());
        }
        pids.push(pid);
    }
    Ok(pids)
}

/// Starts a copy in `role` and waits until it reports the PID of the staying process.
///
/// It reports through its stdout pipe. To hold the output open, it gets our stdout as its stdin.
fn start(role: Role, clean: bool, hold: bool) -> std::io::Result<(Child, u32)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(role.as_str()).stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null());
    if clean {
        command.env_clear();
    }
    if hold {
        command.stdin(std::io::stdout()).stderr(std::io::stderr());
    }
    let mut child = command.spawn()?;
    let mut line = String::new();
    if let Some(said) = child.stdout.take() {
        BufReader::new(said).read_line(&mut line)?;
    }
    let pid = line.trim().parse().map_err(|_| std::io::Error::other("it did not report its PID"))?;
    Ok((child, pid))
}
