//! 32 MiB from a pseudoterminal, to our own terminal and to the session.
//!
//! Each subject gets a terminal whose other end a thread of this program drains, 64 KiB at a time. The raw reader
//! does what ours must do as well: it makes the terminal raw, runs the command in its own pseudoterminal,
//! and shows what it reads from that and writes it to a file.

use super::super::home::Home;
use super::super::measure::{Size, Spread, interleave, milliseconds};
use super::super::programs;
use super::super::table::{Row, Table, Target};
use super::floor::{Plain, peer};
use super::usage;
use anyhow::Context;
use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;
use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const BYTES: Size<usize> = Size { full: 32 << 20, tiny: 1 << 20 };
const ROUNDS: usize = 9;
const BLOCK: usize = 64 * 1024;

/// Children of this program on a terminal: with `--on-terminal PATH COMMAND…`, a command becomes the leader of a
/// session on it; the others are raw readers.
pub(crate) const CHILDREN: [&str; 4] = ["--on-terminal", "--raw-read", "--raw-show", "--raw-keep"];

pub(crate) fn child(args: &[String]) -> anyhow::Result<()> {
    let (kind, place, command) = match args {
        [kind, place, command @ ..] if !command.is_empty() => (kind.as_str(), place.as_str(), command),
        _ => anyhow::bail!("a child is missing its arguments"),
    };
    match kind {
        "--on-terminal" => on_terminal(place, command),
        "--raw-read" => raw(None, None, command),
        "--raw-show" => raw(Some(&mut unbuffered()?), None, command),
        _ => raw(Some(&mut unbuffered()?), Some(&mut File::create(place)?), command),
    }
}

fn on_terminal(terminal: &str, command: &[String]) -> anyhow::Result<()> {
    rustix::process::setsid()?;
    // The first terminal that a session's leader opens becomes the session's.
    let terminal = rustix::fs::open(terminal, OFlags::RDWR, Mode::empty())?;
    rustix::stdio::dup2_stdin(&terminal)?;
    rustix::stdio::dup2_stdout(&terminal)?;
    rustix::stdio::dup2_stderr(&terminal)?;
    Err(Command::new(&command[0]).args(&command[1..]).exec().into())
}

fn unbuffered() -> io::Result<File> {
    Ok(rustix::io::dup(rustix::stdio::stdout())?.into())
}

/// The baseline: `command` in a pseudoterminal like ours, which is raw meanwhile.
fn raw(mut shown: Option<&mut File>, mut kept: Option<&mut File>, command: &[String]) -> anyhow::Result<()> {
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
    let modes = tcgetattr(rustix::stdio::stdin())?;
    let (ours, path) = open()?;
    let theirs = rustix::fs::open(&path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    tcsetattr(&theirs, OptionalActions::Now, &modes)?;
    let mut raw = modes.clone();
    raw.make_raw();
    tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &raw)?;
    let stream = || Ok::<_, io::Error>(Stdio::from(theirs.try_clone()?));
    let mut running = {
        let mut command_line = Command::new(&command[0]);
        command_line.args(&command[1..]).stdin(stream()?).stdout(stream()?).stderr(stream()?).spawn()?
    };
    drop(theirs);
    let mut ours = File::from(ours);
    let mut block = vec![0; BLOCK];
    // At the end of a pseudoterminal, a read fails.
    while let Ok(read @ 1..) = ours.read(&mut block) {
        if let Some(kept) = &mut kept {
            kept.write_all(&block[..read])?;
        }
        if let Some(shown) = &mut shown {
            shown.write_all(&block[..read])?;
        }
    }
    tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &modes)?;
    anyhow::ensure!(running.wait()?.success(), "the command failed");
    Ok(())
}

/// A new pseudoterminal, and the path of its other end.
fn open() -> anyhow::Result<(OwnedFd, PathBuf)> {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    let path = rustix::pty::ptsname(&ours, Vec::new())?;
    Ok((ours, OsString::from_vec(path.into_bytes()).into()))
}

/// How long `args` take on a terminal, and the CPU time of their process alone, both in milliseconds.
fn run_on_terminal(home: &Home, args: &[OsString], least: u64) -> anyhow::Result<(f64, f64)> {
    let (ours, path) = open()?;
    let mut command = home.command(std::env::current_exe()?);
    command.arg("--on-terminal").arg(&path).args(args).env("TERM", "xterm");
    // Kept open, so that the terminal doesn't end before anybody has opened it.
    let held = rustix::fs::open(&path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::termios::tcsetwinsize(
        &held,
        rustix::termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 },
    )?;
    let mut drained = File::from(ours.try_clone()?);
    let drain = std::thread::spawn(move || {
        let (mut block, mut seen) = (vec![0; BLOCK], 0);
        while let Ok(read @ 1..) = drained.read(&mut block) {
            seen += read as u64;
        }
        seen
    });
    let mut cpu = 0.0;
    let wall = milliseconds(|| {
        let mut child = command.spawn()?;
        cpu = usage::of_ended(child.id())?;
        let status = child.wait()?;
        anyhow::ensure!(status.success(), "{args:?}: {status}");
        Ok(())
    })?;
    drop(held);
    let shown = drain.join().ok().context("the drain panicked")?;
    anyhow::ensure!(shown >= least, "{args:?}: {shown} bytes were shown");
    Ok((wall, cpu))
}

pub(super) fn run(table: &mut Table, home: &Home, plain: &Plain) -> anyhow::Result<()> {
    let kept = home.path().join("kept");
    let sessions = home.path().join("sessions-of-terminal");
    let producer = plain.producer(BYTES.get());
    let this = std::env::current_exe()?;
    let words = |words: &[&dyn AsRef<Path>]| -> Vec<OsString> {
        let given = words.iter().map(|word| word.as_ref().as_os_str().to_owned());
        given.chain(producer.iter().map(OsString::from)).collect()
    };
    let reader = |kind: &'static str| words(&[&this, &kind, &kept]);
    let line = producer.join(" ");
    let own = |args: &[&str]| -> Vec<OsString> { args.iter().map(OsString::from).collect() };
    let kept_path = kept.display().to_string();
    let root = format!("DERUN_STATE_ROOT={}", sessions.display());
    let ours = words(&[&"env", &root, &programs::murmur(), &"capture", &"run", &"--"]);
    let cpu = [const { RefCell::new(Vec::new()) }; 4];
    let on_terminal = |place: usize, args: &[OsString], least: usize| {
        let _none = (fs::remove_file(&kept), fs::remove_dir_all(&sessions));
        let (wall, of_it) = run_on_terminal(home, args, least as u64)?;
        if let Some(cpu) = cpu.get(place) {
            cpu.borrow_mut().push(of_it);
        }
        Ok(wall)
    };
    let others = cpu.len();
    let [read, shown, floor, script, asciinema, wall] = interleave(
        ROUNDS,
        [
            &mut || on_terminal(0, &reader("--raw-read"), 0),
            &mut || on_terminal(1, &reader("--raw-show"), BYTES.get()),
            &mut || on_terminal(2, &reader("--raw-keep"), BYTES.get()),
            &mut || {
                let args = own(&["script", "-qc", &line, &kept_path]);
                peer("script", || on_terminal(others, &args, BYTES.get()))
            },
            &mut || {
                let args = own(&["asciinema", "rec", "--quiet", "--overwrite", "-c", &line, &kept_path]);
                peer("asciinema", || on_terminal(others, &args, BYTES.get()))
            },
            &mut || on_terminal(3, &ours, BYTES.get()),
        ],
    )?;
    let [cpu_read, cpu_shown, cpu_floor, cpu] = cpu.map(|cpu| Spread::of(cpu.into_inner()));
    let row = |what: &str, over: &str, ours, theirs| {
        Row::time(format!("capture 32 MiB from a terminal: {what}, over {over}"), ours).over(theirs)
    };
    let reader = "a raw reader that shows and keeps it";
    table.add(row("time", reader, wall, floor).target(Target::Times(1.05)));
    table.add(row("time", "one that shows it", wall, shown));
    table.add(row("time", "one that only reads it", wall, read));
    table.add(row("time", "`script`", wall, script));
    table.add(row("time", "`asciinema rec`", wall, asciinema));
    table.add(row("CPU", reader, cpu, cpu_floor).target(Target::Times(1.1)));
    table.add(row("CPU", "one that shows it", cpu, cpu_shown));
    table.add(row("CPU", "one that only reads it", cpu, cpu_read));
    Ok(())
}
