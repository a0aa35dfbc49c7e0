//! A read-only data folder, such as a backup: commands that only read work there.

use serde_json::json;

use crate::env::{Env, MURMUR, Run, result};

const READ_ONLY: &str =
    "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && shift && exec \"$@\"";

/// `murmur` in its own namespace, with a read-only data folder.
fn read_only(env: &Env, args: &[&str]) -> Run {
    let data = env.data();
    let head = ["-rm", "sh", "-c", READ_ONLY, "sh", data.to_str().unwrap(), MURMUR];
    env.program("unshare", head.into_iter().chain(args.iter().copied()))
}

/// A data folder with a waiting line and a writable journal.
fn with_a_line_that_waits(env: &Env) {
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
    env.register(&[&site]);
    env.run(["beat", "site"]);
    env.fill_journal();
    env.limited(["beat", "site"]).run();
    std::fs::write(env.data().join("heartbeats.jsonl"), "").unwrap();
}

#[test]
fn read_only_commands_work_in_a_read_only_data_folder() {
    let env = Env::new();
    with_a_line_that_waits(&env);
    if !read_only(&env, &["--version"]).output().status.success() {
        eprintln!("not tested with a real file system: mounting is not possible here");
        return;
    }
    insta::assert_snapshot!(read_only(&env, &["status"]).run(), @"
    murmur is not running; start it with: murmur start
    problem: 1 journal line is not written yet: cannot write [ENV]/data/heartbeats.jsonl: Read-only file system (os error 30); mount that file system read-write

    site  [ENV]/site
      schedule  every 1h
      last      [SPAN] ago; the journal has no line for it
      next      not scheduled: the daemon is not running
    [exit 0]
    ");
    insta::assert_snapshot!(read_only(&env, &["log"]).run(), @"
    no beats to show; see: murmur status
    | warning: 1 journal line is not written yet: cannot write [ENV]/data/heartbeats.jsonl: Read-only file system (os error 30); mount that file system read-write
    [exit 0]
    ");
    let journal = env.data().join("heartbeats.jsonl").display().to_string();
    let doctor = read_only(&env, &["doctor"]).run();
    assert!(doctor.contains("Read-only file system"), "{doctor}");
    let status = read_only(&env, &["status", "--json"]).json();
    assert_eq!(status["waitingLines"], 1);
    assert!(status["waitingReason"].as_str().unwrap().contains(&journal), "{status}");
    for args in [
        &["agents"][..],
        &["host", "list"],
        &["permission", "list"],
        &["permission", "rules"],
        &["question", "list"],
        &["workspaces", "list"],
        &["beat", "site", "--dry-run"],
        &["stop"],
    ] {
        let said = read_only(&env, args).run();
        assert!(said.ends_with("[exit 0]"), "{args:?}: {said}");
    }
}

#[test]
fn a_packed_capture_is_read_where_no_folder_is_writable() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "script": [[{ "type": "text", "text": "HEARTBEAT_OK" }]] }));
    env.run(["beat", site.path()]);
    let shown = env.murmur(["show", "last"]).set("TMPDIR", "/no/such/folder").run();
    assert!(shown.contains("HEARTBEAT_OK") && shown.ends_with("[exit 0]"), "{shown}");
    let bytes = env.murmur(["show", "last", "--raw"]).set("TMPDIR", "/no/such/folder").run();
    assert!(bytes.contains("HEARTBEAT_OK") && bytes.ends_with("[exit 0]"), "{bytes}");
}
