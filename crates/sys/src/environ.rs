//! The environment of a process. It is briefly not readable while the process runs execve(2).

use super::identity::{open_proc, stat_fields};
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// Number of execs to tolerate during one read.
const LOOKS: usize = 16;

/// Returns the environment of `pid` in the format of `/proc/PID/environ`: each variable ends with a NUL.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] during an exec, when neither the old nor the new environment is readable.
pub(super) fn of(pid: u32) -> io::Result<Vec<u8>> {
    look(|| read(pid), || stat_fields(pid).as_deref().map_or(Empty::Is, why_empty))
}

/// Retries until there is something to read or the reason for an empty result is known.
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
            // A process that has unmapped its environment reads as empty too. A process that keeps calling exec
            // has its environment at a different address each time.
            now if before == Some(now) => return Ok(variables),
            now => before = Some(now),
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

fn read(pid: u32) -> io::Result<Vec<u8>> {
    let environ = open_proc(&format!("/proc/{pid}/environ"))?;
    // The file reports no size, and a read ends early if the process calls exec between two reads.
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

/// Like [`of`], but waits up to 1 s for an exec to finish.
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

/// The reason for an empty environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Empty {
    /// It is empty: the process was given none, has ended, or is a kernel thread.
    Is,
    /// The process has called exec meanwhile; its new environment is between these addresses.
    IsNoMore(u64, u64),
    /// An exec is in progress and has not set up the environment yet.
    Becoming,
}

/// Uses fields 23, 26, 50 and 51 of `/proc/PID/stat`: memory size, start of the code, start and end of the
/// environment. During an exec the kernel sets the environment's end to its start before it computes the end, and
/// the start of the code last (`create_elf_tables` and `load_elf_binary` in fs/binfmt_elf.c).
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
    use crate::test_processes::start;
    use std::process::{Command, Stdio};

    fn why(memory: &str, code: &str, begin: &str, end: &str) -> Empty {
        let mut fields = vec!["0".to_owned(); 50];
        for (number, value) in [(23, memory), (26, code), (50, begin), (51, end)] {
            value.clone_into(&mut fields[number - 3]);
        }
        why_empty(&fields)
    }

    #[test]
    fn an_empty_environment_differs_from_one_being_set_up() {
        assert_eq!(why("0", "0", "0", "0"), Empty::Is, "dead, or a kernel thread");
        assert_eq!(why("4096", "0", "0", "0"), Empty::Becoming);
        assert_eq!(why("4096", "0", "7000", "7000"), Empty::Becoming, "its end is not set yet");
        assert_eq!(why("8192", "400", "7000", "7000"), Empty::Is);
        assert_eq!(why("8192", "400", "7000", "7100"), Empty::IsNoMore(7000, 7100));
    }

    #[test]
    fn repeated_execs_during_a_read_are_tolerated() {
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
        // It has unmapped its environment.
        assert_eq!(looked(&["", ""], &[first, first]), Ok(Vec::new()));
        let again: Vec<Empty> = (0..).map(|at| Empty::IsNoMore(at, at + 1)).take(LOOKS).collect();
        assert_eq!(looked(&[""; LOOKS], &again), Err(io::ErrorKind::WouldBlock));
    }

    #[test]
    fn a_long_environment_is_read_completely() {
        let value = "x".repeat(100_000);
        let mut child = start(Command::new("sleep").arg("60").env("MURMUR_TEST_LONG", &value)).unwrap();
        let found = settled(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let wanted = format!("MURMUR_TEST_LONG={value}");
        assert!(found.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()));
    }

    #[test]
    fn reads_our_environment_and_an_empty_one() {
        let ours = of(std::process::id()).unwrap();
        assert!(ours.split(|byte| *byte == 0).any(|variable| variable.starts_with(b"PATH=")));
        let mut bare =
            start(Command::new("/bin/sh").env_clear().stdin(Stdio::piped()).stdout(Stdio::piped())).unwrap();
        // `spawn` returns after the exec.
        assert_eq!(settled(bare.id()).unwrap(), b"");
        bare.kill().unwrap();
        bare.wait().unwrap();
    }
}
