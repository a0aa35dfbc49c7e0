//! The cost of starting a capture for a command that does nothing, `true`.

use super::super::home::Home;
use super::super::measure::{Size, interleave, time_of};
use super::super::table::{Row, Table, Target};
use super::floor::{Plain, peer};
use derun::store::Store;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const ROUNDS: usize = 150;
/// The number of stored sessions, if there are any.
const STORED: Size<usize> = Size { full: 10_000, tiny: 5 };

pub(super) fn run(table: &mut Table, home: &Home, plain: &Plain) -> anyhow::Result<()> {
    let kept = home.path().join("kept");
    let [empty, full, due] = ["empty", "full", "due"].map(|name| home.path().join(name));
    let capture = |root: &Path| {
        let mut command = home.murmur();
        command.env("DERUN_STATE_ROOT", root).args(["capture", "run", "--", "true"]);
        time_of(&mut command)
    };
    // A sweep that its run interrupts goes on in the next one, so the runs without a sweep have a store of their own.
    for root in [&full, &due] {
        capture(root)?;
        fill(root)?;
    }
    let with_shell = |line: String| time_of(home.command("/bin/sh").args(["-c", &line]));
    let shell = |program: &str, line: String| peer(program, || with_shell(line));
    let kept = kept.display().to_string();
    let [bare, plain, tee, script, asciinema, ours, stored, swept] = interleave(
        ROUNDS,
        [
            &mut || time_of(&mut home.command("/bin/true")),
            &mut || time_of(home.command(plain.path()).args(["keep", &kept, "true"])),
            &mut || shell("tee", format!("true | tee {kept}")),
            &mut || peer("script", || time_of(home.command("script").args(["-qc", "true", &kept]))),
            &mut || {
                let args = ["rec", "--quiet", "--overwrite", "-c", "true", &kept];
                peer("asciinema", || time_of(home.command("asciinema").args(args)))
            },
            &mut || capture(&empty),
            &mut || capture(&full),
            &mut || {
                // Long enough ago for another sweep.
                let swept = fs::File::open(due.join("swept"))?;
                swept.set_modified(SystemTime::UNIX_EPOCH)?;
                capture(&due)
            },
        ],
    )?;
    let row = |over: &str, ours, theirs| {
        Row::time(format!("`murmur capture run -- true`, over {over}"), ours).over(theirs)
    };
    let most = Target::Times(1.29);
    table.add(row("`true` alone", ours, bare));
    table.add(row("a plain loop", ours, plain).target(most));
    table.add(row("`true \\| tee` in a shell", ours, tee));
    table.add(row("`script`", ours, script));
    table.add(row("`asciinema rec`", ours, asciinema));
    table.add(row("a plain loop, with 10,000 stored sessions", stored, plain).target(most));
    table.add(row("a plain loop, when these are swept, once in 10 minutes", swept, plain));
    Ok(())
}

/// Copies the session stored in `root` until there are enough.
fn fill(root: &Path) -> anyhow::Result<()> {
    let store = Store::open(root)?;
    let first = store.list()?.remove(0);
    let sessions = root.join("sessions");
    let files: Vec<PathBuf> = fs::read_dir(sessions.join(first.as_str()))?
        .map(|file| Ok(file?.path()))
        .collect::<anyhow::Result<_>>()?;
    for number in 1..STORED.get() {
        let id = format!("stored-{number:05}");
        fs::create_dir(sessions.join(&id))?;
        for file in &files {
            let text = fs::read_to_string(file)?.replace(first.as_str(), &id);
            fs::write(sessions.join(&id).join(file.file_name().unwrap_or_default()), text)?;
        }
    }
    // Pending writes would delay every measured sync.
    rustix::fs::sync();
    anyhow::ensure!(store.list()?.len() == STORED.get(), "a copied session cannot be read");
    Ok(())
}
