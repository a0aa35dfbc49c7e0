//! The environment that a process was started with, of which the kernel says nothing for a moment while the process becomes
//! another program.

use super::identity::stat_fields;
use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

/// The environment of `pid`, each variable ended by a NUL: as `/proc/PID/environ` has it.
///
/// # Errors
/// What the system says; [`io::ErrorKind::WouldBlock`] while the process is becoming another program (execve(2)). What it
/// will have is not known then, and what it had not any more.
pub(super) fn of(pid: u32) -> io::Result<Vec<u8>> {
    let variables = read(pid)?;
    if !variables.is_empty() {
        return Ok(variables);
    }
    match stat_fields(pid).as_deref().map_or(Empty::Is, why_empty) {
        Empty::Is => Ok(variables),
        // Once more only: whoever has unmapped what it was given has nothing to read either.
        Empty::IsNoMore => read(pid),
        Empty::Becoming => Err(io::ErrorKind::WouldBlock.into()),
    }
}

fn read(pid: u32) -> io::Result<Vec<u8>> {
    // Files of this kind do not say how long they are.
    let mut variables = Vec::with_capacity(16 << 10);
    File::open(format!("/proc/{pid}/environ"))?.read_to_end(&mut variables)?;
    Ok(variables)
}

/// The same of a process that has some time to become what it becomes.
///
/// # Errors
/// What [`of`] says, and of a process that is still becoming another after 1 s.
pub(super) fn settled(pid: u32) -> io::Result<Vec<u8>> {
    let mut looks = 0;
    loop {
        match of(pid) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && looks < 1000 => {
                looks += 1;
                super::pause::pause(Duration::from_millis(1));
            }
            known => return known,
        }
    }
}

/// What it means that nothing was read.
#[derive(Debug, PartialEq, Eq)]
enum Empty {
    /// There is nothing: it was given nothing, has ended, or is a thread of the kernel.
    Is,
    /// It has become another program since, which has something.
    IsNoMore,
    /// It has the memory of another program already, and in there no environment yet.
    Becoming,
}

/// Told by fields 23, 50 and 51 of `/proc/PID/stat`: how much memory it has, and where in it the environment begins and ends.
fn why_empty(fields: &[String]) -> Empty {
    let field = |number: usize| fields.get(number - 3).map_or("0", String::as_str);
    match (field(23), field(50), field(51)) {
        ("0", ..) => Empty::Is,
        (_, _, "0") => Empty::Becoming,
        (_, begin, end) if begin == end => Empty::Is,
        _ => Empty::IsNoMore,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn why(memory: &str, begin: &str, end: &str) -> Empty {
        let mut fields = vec!["0".to_owned(); 50];
        for (number, value) in [(23, memory), (50, begin), (51, end)] {
            value.clone_into(&mut fields[number - 3]);
        }
        why_empty(&fields)
    }

    #[test]
    fn nothing_to_read_is_told_from_nothing_there() {
        assert_eq!(why("0", "0", "0"), Empty::Is, "dead, or the kernel's");
        assert_eq!(why("4096", "0", "0"), Empty::Becoming);
        assert_eq!(why("8192", "7000", "7000"), Empty::Is);
        assert_eq!(why("8192", "7000", "7100"), Empty::IsNoMore);
    }

    #[test]
    fn of_ourselves_and_of_one_without_any_it_is_known() {
        let ours = of(std::process::id()).unwrap();
        assert!(ours.split(|byte| *byte == 0).any(|variable| variable.starts_with(b"PATH=")));
        let mut bare =
            Command::new("/bin/sh").env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // `spawn` returns when it has become that program.
        assert_eq!(settled(bare.id()).unwrap(), b"");
        bare.kill().unwrap();
        bare.wait().unwrap();
    }
}
