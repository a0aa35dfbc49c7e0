//! Full or read-only disks for captures or records of agents: agents end as usual, and
//! lost output is reported.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::{Daemon, Env, Run, Socket, Workspace, result};

/// Instructions for an agent that prints far more than fits into the store, in turns or as a beat.
fn talks() -> Value {
    json!({ "live": "echo", "burst": "600:900" })
}

/// The capture store.
fn store(env: &Env) -> PathBuf {
    let store = env.root().join("store");
    std::fs::create_dir_all(store.join("sessions")).unwrap();
    store
}

/// `murmur` in its own namespace, in which `script` has mounted something; `$1` is `folder`.
fn where_mounted(env: &Env, script: &str, folder: &Path, args: &[&str]) -> Run {
    let script = format!("{script} && shift && exec \"$@\"");
    let head = ["-rm", "sh", "-c", &script, "sh", folder.to_str().unwrap(), crate::env::MURMUR];
    env.program("unshare", head.into_iter().chain(args.iter().copied())).set("DERUN_STATE_ROOT", store(env))
}

/// Whether this user can mount in its own namespace.
fn may_mount(env: &Env) -> bool {
    let may = where_mounted(env, FULL, &store(env), &["--version"]).output().status.success();
    if !may {
        eprintln!("not tested with a real file system: mounting is not possible here");
    }
    may
}

/// A workspace whose heartbeat runs on a small disk.
fn on_small_disk(env: &Env) -> Workspace {
    let site = env.workspace("site", "Do it.");
    let entry = json!({ "path": site.path(), "interval": "1h", "minFree": "0B" });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    site
}

const FULL: &str = "mount -t tmpfs -o size=256k none \"$1\"";
const READ_ONLY: &str = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\"";

/// Runs one beat of `site` under a daemon that sees `folder` as `script` prepares it; returns its line and the daemon's
/// messages.
fn beat(env: &Env, script: &str, folder: &Path) -> (Value, Vec<String>) {
    let site = on_small_disk(env);
    site.plays(&talks());
    let daemon = Daemon::new(where_mounted(env, script, folder, &["start", "--foreground"]));
    let line = env.wait_for_journal(1).remove(0);
    env.wait_for_no_beats();
    daemon.signal(rustix::process::Signal::TERM);
    let (status, said) = daemon.ended();
    assert!(status.success(), "{said:#?}");
    assert_eq!((env.journal().len(), env.agents_alive()), (1, Vec::new()));
    (line, said)
}

#[test]
fn a_full_store_does_not_change_the_outcome_and_lost_output_is_reported() {
    let env = Env::new();
    if !may_mount(&env) {
        return;
    }
    let (line, _) = beat(&env, FULL, &store(&env));
    assert_eq!((&line["outcome"], &line["exit"]), (&json!("ok"), &json!({ "code": 0 })), "{line}");
    assert!(line["captureLost"].as_str().unwrap().contains("No space left"), "{line}");
}

#[test]
fn a_read_only_store_does_not_change_the_outcome_and_is_reported() {
    let env = Env::new();
    if !may_mount(&env) {
        return;
    }
    let (line, _) = beat(&env, READ_ONLY, &store(&env));
    assert_eq!((&line["outcome"], &line["exit"]), (&json!("ok"), &json!({ "code": 0 })), "{line}");
    assert!(line["captureLost"].as_str().unwrap().contains("Read-only"), "{line}");
    assert_eq!(env.names(&store(&env).join("sessions")), "");
}

#[test]
fn a_beat_without_a_host_record_runs_and_the_log_says_why() {
    let env = Env::new();
    if !may_mount(&env) {
        return;
    }
    let hosts = env.create_data().join("hosts");
    std::fs::create_dir(&hosts).unwrap();
    std::fs::set_permissions(&hosts, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let (line, said) = beat(&env, READ_ONLY, &hosts);
    assert_eq!((&line["outcome"], &line.get("captureLost")), (&json!("ok"), &None), "{line}");
    let warnings: Vec<&String> = said.iter().filter(|line| line.contains("Read-only")).collect();
    assert_eq!(warnings.len(), 1, "{said:#?}");
    assert_eq!(env.names(&hosts), "");
}

/// Follows the agent on `socket` until `is_last`.
fn until(socket: &mut Socket, is_last: impl Fn(&Value) -> bool) -> Vec<Value> {
    let mut events = Vec::new();
    loop {
        let event = socket
            .receive()
            .unwrap_or_else(|| panic!("the last of these is not the expected one: {:?}", events.last()));
        let is_it = is_last(&event);
        events.push(event);
        if is_it {
            return events;
        }
    }
}

fn is_idle(event: &Value, turns: u64) -> bool {
    event["event_type"] == "state" && event["payload"] == json!({ "state": "idle", "turns": turns })
}

/// Starts a hosted agent where `script` has mounted something; returns a connection that follows it.
fn live(env: &Env, script: &str, folder: &Path) -> Socket {
    env.create_data();
    let site = env.workspace("site", "");
    site.plays(&talks());
    let args = ["host", "spawn", "--agent-id", "live-1", "--worktree", site.path()];
    where_mounted(env, script, folder, &args).assert().success();
    let stream = std::os::unix::net::UnixStream::connect(env.data().join("hosts/live-1.sock")).unwrap();
    let mut socket = Socket::new(stream);
    socket.ask("attach", &json!({ "from": 0 }));
    socket
}

#[test]
fn a_hosted_agent_on_a_full_store_continues_and_reports_the_loss_once() {
    let env = Env::new();
    if !may_mount(&env) {
        return;
    }
    let mut socket = live(&env, FULL, &store(&env));
    for turn in 1..=2 {
        socket.ask("send", &json!({ "text": "go" }));
        let seen = until(&mut socket, |event| is_idle(event, turn));
        let lost: Vec<&Value> = seen.iter().filter(|event| event["event_type"] == "lost").collect();
        assert_eq!(lost.len(), usize::from(turn == 1), "{lost:#?}");
        assert_eq!(seen.iter().filter(|event| event["payload"]["role"] == "assistant").count(), 601);
    }
    assert!(socket.ask("status", &Value::Null)["lost"].as_str().unwrap().contains("No space left"));
    assert_snapshot!(env.run(["host", "stop", "live-1"]), @"
    agent live-1 has ended
    [exit 0]
    ");
    let listed = env.murmur(["host", "list", "--all", "--json"]).json();
    assert_eq!(listed["agents"][0]["result"]["exit"], json!({ "code": 0 }));
    let log = std::fs::read_to_string(env.data().join("hosts/live-1.log")).unwrap();
    assert!(log.contains("output is incomplete: ") && log.contains("No space left"), "{log}");
}

#[test]
fn a_hosted_agent_with_a_read_only_store_works_and_reports_it_first() {
    let env = Env::new();
    if !may_mount(&env) {
        return;
    }
    let mut socket = live(&env, READ_ONLY, &store(&env));
    let lost = socket.event("lost");
    assert!(lost["payload"]["reason"].as_str().unwrap().contains("Read-only"), "{lost}");
    socket.ask("send", &json!({ "text": "go" }));
    until(&mut socket, |event| is_idle(event, 1));
    assert!(env.run(["host", "stop", "live-1"]).ends_with("[exit 0]"));
    assert_eq!(env.names(&store(&env).join("sessions")), "");
}

#[test]
fn a_hosted_agent_without_a_record_is_not_started() {
    let env = Env::new();
    let site = env.workspace("site", "");
    if !may_mount(&env) {
        return;
    }
    let hosts = env.create_data().join("hosts");
    std::fs::create_dir(&hosts).unwrap();
    std::fs::set_permissions(&hosts, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let args = ["host", "spawn", "--agent-id", "live-1", "--worktree", site.path()];
    assert_snapshot!(where_mounted(&env, READ_ONLY, &hosts, &args).run(), @"
    | error: cannot start a host for live-1: Read-only file system (os error 30)
    [exit 1]
    ");
    assert_eq!((env.names(&hosts), env.agents().len(), env.alive()), (String::new(), 0, Vec::new()));
}

#[test]
fn no_line_is_lost_if_journal_and_records_are_on_a_full_disk() {
    let env = Env::new();
    if !may_mount(&env) {
        return;
    }
    let site = on_small_disk(&env);
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
    let config = env.root().join("config.json");
    std::fs::rename(env.data().join("config.json"), &config).unwrap();
    // Fill the disk except for the records of the beat and its host; then free space, and run a second beat.
    let script = format!(
        "mount -t tmpfs -o size=128k,mode=700 none \"$1\" && {{
        cp {} \"$1\"; : >\"$1/heartbeats.jsonl\"; mkdir -m 700 \"$1/hosts\" \"$1/beats\" \"$1/locks\"
        head -c 200000 /dev/zero >\"$1/fill\" 2>/dev/null; truncate -s -{} \"$1/fill\"
        \"$2\" beat site; wc -l <\"$1/heartbeats.jsonl\"; ls \"$1/beats\" | wc -l; rm \"$1/fill\"
        \"$2\" beat site; wc -l <\"$1/heartbeats.jsonl\"; ls \"$1/beats\" | wc -l; }}",
        config.display(),
        "\"$3\""
    );
    // Without space for a line, no beat begins.
    for (room, counts, began) in [
        ("0", ["0", "0", "1", "0"], 1),
        ("20480", ["1", "0", "2", "0"], 2),
        ("40960", ["1", "0", "2", "0"], 2),
    ] {
        let data = env.data();
        let args = ["-rm", "sh", "-c", &script, "sh", data.to_str().unwrap(), crate::env::MURMUR, room];
        let output = env.program("unshare", args).output();
        let (said, warned) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        let counted: Vec<&str> = said.lines().filter(|line| !line.starts_with("ok ")).collect();
        assert_eq!((counted, said.matches("ok ").count()), (counts.to_vec(), began), "{said}{warned}");
        assert_eq!(
            warned.contains("cannot reserve space for a beat's journal line"),
            room == "0",
            "{warned}"
        );
    }
    assert_eq!(env.agents().len(), 5);
}
