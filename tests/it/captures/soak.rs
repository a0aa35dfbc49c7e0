//! Races and crashes that a few attempts hardly find: a few hundred run in every check, and
//! `MURMUR_SOAK_ROUNDS` (`just soak`) asks for more. Results depend on what was read and written, never on time.

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use derun::log::Log;
use derun::record::{Channel, State};
use derun::retention;
use derun::store::DEFAULT_RETENTION;
use derun::writer::End;
use jiff::SignedDuration;
use rustix::fs::{CWD, RenameFlags};
use sys::clock;
use sys::folder::Folder;

use super::{Vault, contents, create, of_channel};
use crate::env::Env;

const SECRET: &[u8] = b"TOP-SECRET";

/// `few` in a check; otherwise `each` for every requested round.
fn times(few: usize, each: usize) -> usize {
    let asked = std::env::var("MURMUR_SOAK_ROUNDS").ok().and_then(|rounds| rounds.parse::<usize>().ok());
    asked.map_or(few, |rounds| rounds * each)
}

/// Enough for a busy machine.
fn vault() -> Vault {
    Vault::of(Env::for_as_long_as(Duration::from_secs(60 * (1 + times(1, 1) as u64))))
}

/// Signals the end on drop, also if a test fails: otherwise the thread that it waits for would never end.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Keeps swapping two names as fast as possible while `work` runs.
fn swapping(one: &Path, other: &Path, work: impl FnOnce()) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                // One of them may be missing for a moment.
                let _missing = rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
            }
        });
        let _ends = Ends(&over);
        work();
    });
}

fn outside(vault: &Vault) -> PathBuf {
    let folder = vault.env.root().join("outside");
    std::fs::create_dir(&folder).unwrap();
    for file in ["meta.json", "output.bin", "index.jsonl", "final.json", "append.lock"] {
        std::fs::write(folder.join(file), SECRET).unwrap();
    }
    folder
}

#[test]
fn a_reader_never_follows_a_name_however_fast_it_changes() {
    let vault = vault();
    let outside = outside(&vault);
    let before = contents(&outside);
    for file in ["meta.json", "output.bin", "index.jsonl", "final.json", "append.lock"] {
        vault.ended(file);
        let (name, link) = (vault.path(file).join(file), vault.path(file).join("link"));
        symlink(outside.join(file), &link).unwrap();
        let (mut read, mut refused) = (0, 0);
        swapping(&name, &link, || {
            for _ in 0..times(400, 100) {
                let page = vault.store.session(file).and_then(|s| s.read(0, 1000, clock::now()));
                match page {
                    Ok(page) => {
                        assert!(page.bytes.is_empty() || page.bytes == b"out\nerr\nend\n", "{page:?}");
                        read += 1;
                    }
                    Err(error) => {
                        assert!(!error.to_string().contains("SECRET"));
                        refused += 1;
                    }
                }
            }
        });
        assert!(read + refused > 0 && contents(&outside) == before, "{file}");
    }
}

#[test]
fn a_reader_never_enters_another_folder_however_fast_its_own_changes() {
    let vault = vault();
    let outside = outside(&vault);
    vault.ended("s");
    // Another user's session.
    std::fs::copy(vault.path("s/meta.json"), outside.join("meta.json")).unwrap();
    std::fs::copy(vault.path("s/index.jsonl"), outside.join("index.jsonl")).unwrap();
    symlink(&outside, vault.path("link")).unwrap();
    swapping(&vault.path("s"), &vault.path("link"), || {
        for _ in 0..times(400, 100) {
            let page = vault.store.session("s").and_then(|s| s.read(0, 1000, clock::now()));
            assert!(page.is_err() || page.is_ok_and(|page| page.bytes == b"out\nerr\nend\n"));
        }
    });
}

#[test]
fn a_writer_never_follows_a_name_however_fast_it_changes() {
    let vault = vault();
    let outside = outside(&vault);
    let before = contents(&outside);
    for file in ["output.bin", "index.jsonl", "append.lock"] {
        std::fs::create_dir(vault.path("s")).unwrap();
        let (name, link) = (vault.path("s").join(file), vault.path("link"));
        symlink(outside.join(file), &link).unwrap();
        swapping(&name, &link, || {
            for _ in 0..times(130, 35) {
                if let Ok(mut writer) = create(&vault.store, "s") {
                    writer.append(Channel::Stdout, b"ours", clock::now()).unwrap();
                    writer.finish(&End::Exited(0), None, clock::now()).unwrap();
                    std::fs::remove_file(vault.path("s/meta.json")).unwrap();
                    std::fs::remove_file(vault.path("s/final.json")).unwrap();
                }
                // What the thread swaps must exist.
                let _there = symlink(outside.join(file), &name);
            }
        });
        assert_eq!(contents(&outside), before, "{file}");
        std::fs::remove_dir_all(vault.path("s")).unwrap();
        std::fs::remove_file(&link).unwrap();
    }
}

#[test]
fn a_writer_never_creates_a_session_elsewhere_however_fast_its_folder_changes() {
    let vault = vault();
    let outside = vault.env.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir(vault.path("s")).unwrap();
    symlink(&outside, vault.path("link")).unwrap();
    let real = File::open(vault.path("s")).unwrap();
    let inside = PathBuf::from(format!("/proc/self/fd/{}", real.as_raw_fd()));
    swapping(&vault.path("s"), &vault.path("link"), || {
        for _ in 0..times(400, 100) {
            if let Ok(mut writer) = create(&vault.store, "s") {
                writer.append(Channel::Stdout, b"ours", clock::now()).unwrap();
                writer.finish(&End::Exited(0), None, clock::now()).unwrap();
                std::fs::remove_file(inside.join("meta.json")).unwrap();
                std::fs::remove_file(inside.join("final.json")).unwrap();
            }
        }
    });
    assert_eq!(contents(&outside).len(), 0);
}

#[test]
fn a_sweep_never_removes_files_elsewhere_however_fast_a_folder_changes() {
    let vault = vault();
    let outside = outside(&vault);
    let before = contents(&outside);
    symlink(&outside, vault.path("b")).unwrap();
    let sessions = Folder::open(&vault.path("")).unwrap();
    let later = clock::now() + SignedDuration::from_hours(48);
    let mut removed = 0;
    swapping(&vault.path("a"), &vault.path("b"), || {
        for _ in 0..times(200, 60) {
            // One of the two is the link: the other is recreated if it was removed.
            for name in ["a", "b"] {
                if sessions.create_folder(name).is_ok() {
                    let folder = sessions.open_folder(name);
                    let _swapped = folder.and_then(|folder| folder.create_file("output.bin"));
                }
            }
            let mut log = Log::open(vault.store.root());
            let go_on = || ControlFlow::Continue(());
            let swept = retention::sweep(&vault.store, DEFAULT_RETENTION, later, &mut log, go_on).unwrap();
            removed += swept.removed;
        }
    });
    assert!(removed > 0);
    assert_eq!(contents(&outside), before);
}

#[test]
fn a_session_created_while_a_sweep_removes_its_predecessor_stays_complete() {
    let vault = vault();
    let later = clock::now() + SignedDuration::from_hours(48);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let mut log = Log::default();
                let go_on = || ControlFlow::Continue(());
                retention::sweep(&vault.store, DEFAULT_RETENTION, later, &mut log, go_on).unwrap();
            }
        });
        let _ends = Ends(&over);
        for _ in 0..times(80, 20) {
            // An unreadable session that the next sweep considers expired.
            let _one_is_left = std::fs::create_dir(vault.path("s"));
            let _swept = std::fs::write(vault.path("s/output.bin"), "old");
            let Ok(mut writer) = create(&vault.store, "s") else { continue };
            writer.append(Channel::Stdout, b"ours", clock::now()).unwrap();
            let page = vault.session("s").read(0, 10, clock::now()).unwrap();
            assert_eq!(page.bytes, b"ours");
            writer.finish(&End::Exited(0), None, clock::now()).unwrap();
            vault.env.wait(&vault.path(""), || (!vault.path("s").exists()).then_some(()));
        }
    });
}

#[test]
fn shown_output_is_kept_when_murmur_is_killed() {
    let vault = vault();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for round in 0..times(20, 2) {
        let id = format!("s{round}");
        let script = "seq 1 9999999 & seq -f 'e%.0f' 1 9999999 >&2";
        let mut command = vault.murmur(["run", "--session-id", &id, "--", "sh", "-c", script]);
        // The other channel goes to a file, which blocks nobody.
        let file = vault.env.root().join("stderr");
        let mut child = command.stdout(Stdio::piped()).stderr(File::create(&file).unwrap()).spawn().unwrap();
        let mut shown = vec![0; 1 + (round * 7919 * 13) % 400_000];
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut shown).unwrap();
        let session = vault.session(&id);
        runtime.block_on(async {
            let woken = async {
                let mut following = session.follow().unwrap();
                child.kill().unwrap();
                while session.status(clock::now()).unwrap().state.is_active() {
                    following.changed().await.unwrap();
                }
            };
            tokio::time::timeout(Duration::from_secs(60), woken).await.unwrap();
        });
        child.wait().unwrap();
        stdout.read_to_end(&mut shown).unwrap();
        assert_eq!(session.status(clock::now()).unwrap().state, State::Failed);
        let page = vault.all(&id);
        assert!(page.eof);
        assert_eq!(page.chunks().map(|(_, bytes)| bytes.len()).sum::<usize>(), page.bytes.len());
        assert!(of_channel(&page, Channel::Stdout).starts_with(&shown), "round {round}");
        let shown = std::fs::read(&file).unwrap();
        let kept = of_channel(&page, Channel::Stderr);
        assert!(kept.starts_with(&shown), "round {round}");
        assert!(kept.split(|byte| *byte == b'\n').all(|line| line.is_empty() || line[0] == b'e'));
        std::fs::remove_dir_all(vault.path(&id)).unwrap();
    }
}

#[test]
fn a_flood_of_output_is_complete_and_uses_little_memory() {
    let vault = vault();
    // The numbers up to this take 64 MiB, or 1 GiB on request.
    let last = if times(0, 1) > 0 { 120_000_000 } else { 8_600_000 };
    let script = r#"
        "$MURMUR" run --session-id s -- sh -c 'seq 1 '$0'; grep -e VmHWM -e RssFile /proc/$PPID/status >memory' | sha256sum
        seq 1 $0 | sha256sum
        "$MURMUR" show s | sha256sum"#;
    let output = vault.command("/bin/sh").args(["-c", script, &last.to_string()]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let sums: Vec<&str> = text.lines().collect();
    assert_eq!(sums.len(), 3, "{text}");
    assert_eq!(sums[0], sums[1], "what was shown is what was written");
    assert_eq!(sums[2], sums[1], "and so is what was kept");
    let memory = std::fs::read_to_string(vault.env.root().join("memory")).unwrap();
    let of = |name: &str| -> u64 {
        let line = memory.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    // Peak memory, without the program itself, which is large in a debug build.
    let kilobytes = of("VmHWM") - of("RssFile");
    assert!(kilobytes < 8 * 1024, "{memory}");
}
