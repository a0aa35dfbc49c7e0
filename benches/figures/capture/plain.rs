//! The baselines of the capture figures: a separate program with only std, which `floor.rs` compiles with `rustc`.
//!
//! `plain produce BYTES` writes so many bytes, in lines and blocks of 64 KiB. `plain keep FILE COMMAND…` runs a
//! command, and copies its output to stdout and a file; `plain keep-durably` syncs the file at the end.

use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::process::{Command, Stdio};

const BLOCK: usize = 64 * 1024;
const LINE: &[u8] = b"the quick brown fox jumps over the lazy dog and then over another lazy dog 1234\n";

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[1..] {
        ["produce", bytes] => produce(bytes.parse().map_err(io::Error::other)?),
        ["keep", file, ref command @ ..] => keep(file, command).map(drop),
        ["keep-durably", file, ref command @ ..] => keep(file, command)?.sync_data(),
        _ => Err(io::Error::other("produce BYTES, keep FILE COMMAND, or keep-durably FILE COMMAND")),
    }
}

/// Stdout without std's buffer.
fn stdout() -> ManuallyDrop<File> {
    // SAFETY: descriptor 1 is open as long as this process lives, and nobody closes it.
    ManuallyDrop::new(unsafe { File::from_raw_fd(1) })
}

fn produce(mut bytes: usize) -> io::Result<()> {
    let block: Vec<u8> = LINE.iter().copied().cycle().take(BLOCK).collect();
    let mut stdout = stdout();
    while bytes > 0 {
        let now = bytes.min(BLOCK);
        stdout.write_all(&block[..now])?;
        bytes -= now;
    }
    Ok(())
}

fn keep(file: &str, command: &[&str]) -> io::Result<File> {
    let mut kept = File::create(file)?;
    let mut child = Command::new(command[0]).args(&command[1..]).stdout(Stdio::piped()).spawn()?;
    let mut from = child.stdout.take().expect("it is piped");
    let mut stdout = stdout();
    let mut block = vec![0; BLOCK];
    loop {
        let read = from.read(&mut block)?;
        if read == 0 {
            break;
        }
        stdout.write_all(&block[..read])?;
        kept.write_all(&block[..read])?;
    }
    let status = child.wait()?;
    if status.success() { Ok(kept) } else { Err(io::Error::other(status.to_string())) }
}
