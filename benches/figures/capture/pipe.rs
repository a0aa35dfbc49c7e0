//! 1 GiB through pipes, to stdout, which is a file, and to the session.
//!
//! The baseline is a loop that reads, writes to stdout and writes to a file, 64 KiB at a time. It leaves the file to
//! the kernel; ours syncs it to disk every second and at the end. So there are two places: an in-memory file system,
//! where only the work counts, and the disk, with a baseline that syncs as well.

use super::super::home::Home;
use super::super::measure::{Size, Spread, interleave, time_of};
use super::super::table::{Row, Table, Target, Unit};
use super::floor::{Plain, peer};
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

const BYTES: Size<usize> = Size { full: 1 << 30, tiny: 1 << 20 };
const ROUNDS: usize = 5;

pub(super) fn run(table: &mut Table, home: &Home, plain: &Plain) -> anyhow::Result<()> {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        in_room(table, "in memory", home, plain, memory)?;
    }
    in_room(table, "on disk", home, plain, &std::env::temp_dir())
}

fn in_room(table: &mut Table, room: &str, home: &Home, plain: &Plain, folder: &Path) -> anyhow::Result<()> {
    let folder = tempfile::Builder::new().prefix("murmur-figures-").tempdir_in(folder)?;
    let (shown, kept) = (folder.path().join("shown"), folder.path().join("kept"));
    let sessions = folder.path().join("sessions");
    let source = folder.path().join("source");
    let producer = plain.producer(BYTES.get());
    // The previous run's files are removed before the next begins, and the disk is idle.
    let run = |command: &mut Command| {
        for file in [&shown, &kept] {
            let _none = fs::remove_file(file);
        }
        let _none = fs::remove_dir_all(&sessions);
        rustix::fs::sync();
        let milliseconds = time_of(command.stdout(File::create(&shown)?))?;
        let captured = match sessions.is_dir() {
            true => shown.metadata()?.len(),
            false => BYTES.get() as u64,
        };
        anyhow::ensure!(captured == BYTES.get() as u64, "{command:?}: {captured} bytes");
        Ok(milliseconds)
    };
    anyhow::ensure!(
        home.command(plain.path()).args(&producer[1..]).stdout(File::create(&source)?).status()?.success(),
        "the producer failed"
    );
    let keep = |how: &str| {
        let mut command = home.command(plain.path());
        command.arg(how).arg(&kept).args(&producer);
        command
    };
    let [copied, loops, durable, tee, ours] = interleave(
        ROUNDS,
        [
            &mut || run(home.command("/bin/cp").arg(&source).arg(&kept)),
            &mut || run(&mut keep("keep")),
            &mut || run(&mut keep("keep-durably")),
            &mut || {
                let line = format!("{} | cat | tee {}", producer.join(" "), kept.display());
                peer("tee", || run(home.command("/bin/sh").args(["-c", &line])))
            },
            &mut || {
                let mut command = home.murmur();
                command.env("DERUN_STATE_ROOT", &sessions).args(["capture", "run", "--"]).args(&producer);
                run(&mut command)
            },
        ],
    )?;
    let speed = |times: Spread| times.map(|time| BYTES.get() as f64 / 1000.0 / time);
    let captured = |over: &str, theirs| {
        let figure = format!("capture 1 GiB from a pipe to a file, {room}, over {over}");
        Row::new(figure, Unit::Speed, speed(ours)).over(speed(theirs))
    };
    let (most, over_tee) = (Target::Times(1.11), Target::Times(0.62));
    let in_memory = room == "in memory";
    table.add(captured("`cp`", copied));
    let (plain, durable) =
        (captured("a plain loop", loops), captured("a plain loop that syncs at the end", durable));
    let tee = captured("`cat \\| tee`", tee);
    if in_memory {
        table.add(plain.target(most));
        table.add(durable);
        table.add(tee.target(over_tee));
    } else {
        table.add(plain);
        table.add(durable.target(most));
        table.add(tee);
    }
    Ok(())
}
