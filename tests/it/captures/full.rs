//! Disks that are full, read-only or gone: the command runs as if nothing were wrong, and lost output is reported.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use assert_cmd::assert::OutputAssertExt;
use derun::record::{Final, State};
use insta::assert_snapshot;
use sys::clock;

use super::Vault;
use crate::env::show;

/// The output of `seq 1 100000`.
fn numbers() -> String {
    (1..=100_000).map(|n| format!("{n}\n")).collect()
}

/// Whether this user can mount in its own namespace.
fn may_mount(vault: &Vault) -> bool {
    let mount =
        vault.shell("exec unshare -rm mount -t tmpfs -o size=64k none \"$DERUN_STATE_ROOT\"").output();
    let may = mount.is_ok_and(|output| output.status.success());
    if !may {
        eprintln!("not tested with a real file system: mounting is not possible here");
    }
    may
}

/// The end of the only session says what was lost, with the right numbers.
fn check_lost(vault: &Vault, id: &str, total: usize, reason: &str) {
    let session = vault.session(id);
    let status = session.status(clock::now()).unwrap();
    let lost = status.last.unwrap().lost.unwrap();
    assert_eq!(status.state, State::Exited);
    assert_eq!(lost.kept_bytes + lost.lost_bytes, total as u64);
    assert!(lost.kept_bytes > 0 && lost.lost_bytes > 0, "{lost:?}");
    assert!(lost.reason.contains(reason), "{lost:?}");
    let page = vault.all(id);
    assert_eq!(page.bytes.len() as u64, lost.kept_bytes);
    assert!(numbers().as_bytes().starts_with(&page.bytes));
    assert_eq!(page.chunks().map(|(_, bytes)| bytes.len()).sum::<usize>(), page.bytes.len());
    assert!(vault.log().contains(&format!(r#""event":"capture_stopped","session_id":"{id}""#)));
}

#[test]
fn a_file_size_limit_ends_the_recording_but_not_its_writer() {
    let vault = Vault::new();
    // 64 KiB: writes to a pipe don't count.
    let script = "ulimit -f 128; exec \"$MURMUR\" run --session-id s -- seq 1 100000";
    vault.shell(script).assert().success().stdout(numbers()).stderr("");
    check_lost(&vault, "s", numbers().len(), "File too large");
}

#[test]
fn a_command_that_exceeds_its_own_limit_dies_as_it_would_without_murmur() {
    let vault = Vault::new();
    let script = "ulimit -f 1; exec \"$MURMUR\" run -- sh -c 'exec seq 1 100000 >big'";
    assert_eq!(show(&vault.shell(script).output().unwrap()), "[signal Some(25)]");
    let ignoring = format!("trap '' XFSZ; {script}");
    let output = vault.shell(&ignoring).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", show(&output));
}

#[test]
fn a_full_disk_ends_the_capture_but_not_the_command() {
    let vault = Vault::new();
    if !may_mount(&vault) {
        return;
    }
    let script = "mount -t tmpfs -o size=256k none \"$DERUN_STATE_ROOT\" || exit 99
        \"$MURMUR\" run --session-id s -- seq 1 100000; code=$?
        mkdir ../copy; cp -r \"$DERUN_STATE_ROOT\"/. ../copy; exit $code";
    let work = vault.env.root().join("work");
    std::fs::create_dir(&work).unwrap();
    let mut command = vault.command("unshare");
    command.args(["-rm", "sh", "-c", script]).current_dir(&work);
    command.assert().success().stdout(numbers()).stderr("");
    let copy = vault.env.root().join("copy/sessions/s");
    let kept = std::fs::read(copy.join("output.bin")).unwrap();
    assert!(numbers().as_bytes().starts_with(&kept) && kept.len() > 4096);
    let lost = numbers().len() - kept.len();
    // Space for the end was reserved from the beginning.
    let last: Final = serde_json::from_slice(&std::fs::read(copy.join("final.json")).unwrap()).unwrap();
    let said = last.lost.unwrap();
    assert_eq!((said.kept_bytes, said.lost_bytes), (kept.len() as u64, lost as u64));
    assert_eq!(last.exit_code, Some(0));
}

#[test]
fn a_store_on_a_full_disk_does_not_prevent_a_command() {
    let vault = Vault::new();
    if !may_mount(&vault) {
        return;
    }
    let script = "mount --bind \"$DERUN_STATE_ROOT\" \"$DERUN_STATE_ROOT\" || exit 99
        mount -o remount,ro,bind \"$DERUN_STATE_ROOT\" || exit 99
        exec \"$MURMUR\" run --session-id s -- seq 1 100000";
    let mut command = vault.command("unshare");
    let mut output = command.args(["-rm", "sh", "-c", script]).output().unwrap();
    assert!(std::mem::take(&mut output.stdout) == numbers().as_bytes());
    assert_snapshot!(show(&output), @"
    | warning: nothing was captured: session s: its folder: Read-only file system (os error 30)
    [exit 0]
    ");
    assert_eq!(vault.store.list().unwrap().len(), 0);
}

#[test]
fn an_unusable_store_does_not_prevent_a_command() {
    let vault = Vault::new();
    let file = vault.env.root().join("file");
    std::fs::write(&file, "mine").unwrap();
    let mut report = String::new();
    for root in [file.clone(), file.join("below"), "/dev/null".into()] {
        let output =
            vault.murmur(["run", "--", "echo", "hi"]).env("DERUN_STATE_ROOT", root).output().unwrap();
        report.push_str(&show(&output));
        report.push('\n');
    }
    assert_snapshot!(report, @"
    hi
    | warning: nothing was captured: cannot use the state folder [ENV]/file: Not a directory (os error 20); choose another with DERUN_STATE_ROOT
    [exit 0]
    hi
    | warning: nothing was captured: cannot use the state folder [ENV]/file/below: Not a directory (os error 20); choose another with DERUN_STATE_ROOT
    [exit 0]
    hi
    | warning: nothing was captured: cannot use the state folder /dev/null: Not a directory (os error 20); choose another with DERUN_STATE_ROOT
    [exit 0]
    ");
    assert_eq!(std::fs::read(file).unwrap(), b"mine");
}

#[test]
fn a_store_removed_meanwhile_is_reported_at_the_end() {
    let vault = Vault::new();
    // The last sweep was just now, so none writes here meanwhile.
    std::fs::write(vault.store.root().join("swept"), "").unwrap();
    let mut command =
        vault.murmur(["run", "--session-id", "s", "--", "sh", "-c", "echo one; read x; echo $x"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "one\n");
    // meta.json may be written once more while the folder is removed.
    while vault.store.root().exists() {
        let _not_empty = std::fs::remove_dir_all(vault.store.root());
    }
    child.stdin.take().unwrap().write_all(b"two\n").unwrap();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "one\ntwo\n");
    assert_snapshot!(show(&child.wait_with_output().unwrap()), @"
    | warning: session s: its end was not recorded (nothing was captured): No such file or directory (os error 2)
    [exit 0]
    ");
    assert!(!vault.store.root().exists());
}
