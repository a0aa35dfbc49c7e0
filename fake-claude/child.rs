//! The processes that fake-claude leaves behind, to see whether whoever runs it cleans up.
//!
//! Each is fake-claude itself in another role, and ends by itself after a minute, whatever happens.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::faults::{Fault, Faults};
use crate::instructions::Wrong;

const LIFE: Duration = Duration::from_secs(60);

/// What a copy of fake-claude was started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Stays, in a session of its own.
    Session,
    /// Starts one that stays and ends at once, so that it is an orphan.
    Fork,
    /// Stays, holding what it inherited.
    Stay,
}

impl Role {
    const ALL: [Self; 3] = [Self::Session, Self::Fork, Self::Stay];

    fn word(self) -> &'static str {
        match self {
            Self::Session => "--fake-claude-session",
            Self::Fork => "--fake-claude-fork",
            Self::Stay => "--fake-claude-stay",
        }
    }
}

/// The role that the first argument names.
pub(crate) fn role(word: &str) -> Option<Role> {
    Role::ALL.into_iter().find(|role| role.word() == word)
}

/// Plays the role. Prints the pid of what stays, once it is where it should be.
pub(crate) fn stay(role: Role) -> ExitCode {
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

/// Starts what the faults ask for; the pids of what stays.
pub(crate) fn leave(faults: &Faults) -> Result<Vec<u32>, Wrong> {
    let mut pids = Vec::new();
    for fault in &faults.0 {
        let started = match fault {
            Fault::SetsidChild => start(Role::Session, false, false),
            Fault::SetsidChildCleanEnv => start(Role::Fork, true, false),
            Fault::HoldOutput => start(Role::Stay, false, true),
            _ => continue,
        };
        let (mut child, pid) = started.map_err(|error| Wrong(format!("cannot leave a child: {error}")))?;
        if *fault == Fault::SetsidChildCleanEnv {
            // The one in between has ended.
            drop(child.wait());
        }
        pids.push(pid);
    }
    Ok(pids)
}

/// Starts a copy in `role` and waits until it says which pid stays.
///
/// Its stdout is the pipe it says so through; one that holds the output has stdout as its stdin's place.
fn start(role: Role, clean: bool, hold: bool) -> std::io::Result<(Child, u32)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(role.word()).stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null());
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
    let pid = line.trim().parse().map_err(|_| std::io::Error::other("it did not say its pid"))?;
    Ok((child, pid))
}
