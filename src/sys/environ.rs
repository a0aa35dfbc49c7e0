//! The environment that a process was started with, of which the kernel says nothing for a moment while the process becomes
//! another program.

use super::identity::stat_fields;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// How often a process may have become another program while it is looked at.
const LOOKS: usize = 16;

/// The environment of `pid`, each variable ended by a NUL: as `/proc/PID/environ` has it.
///
/// # Errors
/// What the system says; [`io::ErrorKind::WouldBlock`] while the process is becoming another program (execve(2)). What it
/// will have is not known then, and what it had not any more.
pub(super) fn of(pid: u32) -> io::Result<Vec<u8>> {
    look(|| read(pid), || stat_fields(pid).as_deref().map_or(Empty::Is, why_empty))
}

/// Reads until there is something, or it is known why there is nothing.
fn look(
    mut read: impl FnMut() -> io::Result<Vec<u8>>,
    mut why_empty: impl FnMut() -> Empty,
) -> io::Result<Vec<u8>> {
    let mut before = None;
    for _ in 0..LOOKS {
        let variables = read()?;
        if !variables.is_empty() {
            return Ok(variables);
        }
        match why_empty() {
            Empty::Is => return Ok(variables),
            Empty::Becoming => break,
            // Whoever has unmapped what it was given has nothing to read either. One that becomes another program again
            // and again has its environment elsewhere each time.
            now if before == Some(now) => return Ok(variables),
            now => before = Some(now),
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

fn read(pid: u32) -> io::Result<Vec<u8>> {
    let environ = File::open(format!("/proc/{pid}/environ"))?;
    // The file does not say how long it is, and ends early when the process becomes another program between two reads.
    let mut variables = vec![0; 16 << 10];
    loop {
        match environ.read_at(&mut variables, 0) {
            Ok(length) if length < variables.len() => {
                variables.truncate(length);
                return Ok(variables);
            }
            Ok(length) => variables.resize(length * 2, 0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Empty {
    /// There is nothing: it was given nothing, has ended, or is a thread of the kernel.
    Is,
    /// It has become another program since, which has something, between these addresses.
    IsNoMore(u64, u64),
    /// It has the memory of another program already, and in there no environment yet.
    Becoming,
}

/// Told by fields 23, 26, 50 and 51 of `/proc/PID/stat`: how much memory it has, and where in it the code begins, and the
/// environment begins and ends. The kernel sets the end of the environment to its begin before it looks for the end, and
/// the begin of the code only after both (`create_elf_tables` and `load_elf_binary` in its fs/binfmt_elf.c).
fn why_empty(fields: &[String]) -> Empty {
    let field = |number: usize| fields.get(number - 3).map_or("0", String::as_str);
    match (field(23), field(26), field(50), field(51)) {
        ("0", ..) => Empty::Is,
        (_, "0", ..) | (.., "0") => Empty::Becoming,
        (.., begin, end) if begin == end => Empty::Is,
        (.., begin, end) => Empty::IsNoMore(begin.parse().unwrap_or(0), end.parse().unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn why(memory: &str, code: &str, begin: &str, end: &str) -> Empty {
        let mut fields = vec!["0".to_owned(); 50];
        for (number, value) in [(23, memory), (26, code), (50, begin), (51, end)] {
            value.clone_into(&mut fields[number - 3]);
        }
        why_empty(&fields)
    }

    #[test]
    fn nothing_to_read_is_told_from_nothing_there() {
        assert_eq!(why("0", "0", "0", "0"), Empty::Is, "dead, or the kernel's");
        assert_eq!(why("4096", "0", "0", "0"), Empty::Becoming);
        assert_eq!(why("4096", "0", "7000", "7000"), Empty::Becoming, "its end is not known yet");
        assert_eq!(why("8192", "400", "7000", "7000"), Empty::Is);
        assert_eq!(why("8192", "400", "7000", "7100"), Empty::IsNoMore(7000, 7100));
    }

    #[test]
    fn what_becomes_another_program_several_times_while_it_is_looked_at_has_an_environment() {
        let looked = |reads: &[&str], whys: &[Empty]| {
            let (mut reads, mut whys) = (reads.iter(), whys.iter());
            let found = look(|| Ok(reads.next().unwrap().as_bytes().to_vec()), || *whys.next().unwrap());
            assert!(reads.next().is_none() && whys.next().is_none());
            found.map_err(|error| error.kind())
        };
        let (first, second) = (Empty::IsNoMore(7000, 7100), Empty::IsNoMore(8000, 8100));
        assert_eq!(looked(&["A=1\0"], &[]), Ok(b"A=1\0".to_vec()));
        assert_eq!(looked(&["", "", "A=1\0"], &[first, second]), Ok(b"A=1\0".to_vec()));
        assert_eq!(looked(&["", ""], &[first, Empty::Becoming]), Err(io::ErrorKind::WouldBlock));
        assert_eq!(looked(&["", ""], &[first, Empty::Is]), Ok(Vec::new()));
        // It has unmapped what it was given.
        assert_eq!(looked(&["", ""], &[first, first]), Ok(Vec::new()));
        let again: Vec<Empty> = (0..).map(|at| Empty::IsNoMore(at, at + 1)).take(LOOKS).collect();
        assert_eq!(looked(&[""; LOOKS], &again), Err(io::ErrorKind::WouldBlock));
    }

    #[test]
    fn a_long_environment_is_read_in_one_piece() {
        let value = "x".repeat(100_000);
        let mut child = Command::new("sleep").arg("60").env("MURMUR_TEST_LONG", &value).spawn().unwrap();
        let found = settled(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let wanted = format!("MURMUR_TEST_LONG={value}");
        assert!(found.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()));
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
