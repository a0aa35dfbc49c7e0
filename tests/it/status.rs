//! `murmur status`: the same output from a daemon and from the files.

mod known;
mod read_only;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use insta::assert_snapshot;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::env::{Env, fixture};
use crate::hostile_text::on_terminal;
use crate::log::terminal::on_a_terminal;

/// A workspace that has run, one that hasn't, a named heartbeat, an invalid one, and a deleted one.
fn configured(env: &Env) {
    let site = env.workspace("site", "---\nname: The site\ninterval: 2h\n---\nDo it.");
    site.named("nightly", "---\ncron: '0 3 1 1 *'\ntz: Europe/Berlin\n---\nCount.");
    let blog = env.workspace("blog", "---\nintervall: 1h\n---\nDo it.");
    let now = sys::clock::rfc3339(sys::clock::now());
    // Pretty-printed, so that positions in it don't depend on the length of paths.
    env.configure(&format!(
        "{:#}",
        json!({ "workspaces": [
            { "path": site.0, "lastRuns": { "nightly": now } },
            { "path": blog.0, "interval": "1h", "lastRun": "2099-01-01T00:00:00Z" },
            { "path": env.root().join("gone"), "interval": "30m" },
            { "path": "relative", "interval": "30m" },
        ] })
    ));
    site.plays(&json!({ "fixture": fixture("attention") }));
    env.run(["beat", "site"]);
}

#[test]
fn every_heartbeat_is_shown_with_its_problem() {
    let env = Env::new();
    configured(&env);
    assert_snapshot!("status", env.run(["status"]));
}

#[test]
fn a_terminal_shows_one_line_per_heartbeat_and_problems_first() {
    let env = Env::new();
    configured(&env);
    env.run(["pause", "nightly"]);
    let shown = on_a_terminal(env.murmur(["status"]).set("NO_COLOR", "1"));
    let (_, table) = shown.split_once("\n\n").unwrap();
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    // Where a path is cut depends on its length.
    let root = env.root().to_str().unwrap();
    let lines: Vec<&str> = table.lines().map(|line| line.split(root).next().unwrap().trim_end()).collect();
    assert_snapshot!(lines.join("\n"), @"
    blog      problem
    gone      problem
    The site  attention  [SPAN] ago  ATTENTION: the backup is 9 days old.
    nightly   paused

    for details, run: murmur status -v
    ");
}

#[test]
fn json_is_one_object() {
    let env = Env::new();
    configured(&env);
    let status = env.murmur(["status", "--json"]).json();
    assert_snapshot!("status-json", serde_json::to_string_pretty(&status).unwrap());
}

#[test]
fn status_from_a_daemon_has_the_same_and_more() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.configure(&json!({ "workspaces": [{ "path": site.0, "interval": "1d" }] }).to_string());
    env.run(["beat", "site"]);
    let alone = env.murmur(["status", "--json"]).json();
    let daemon = env.daemon();
    let mut told = env.murmur(["status", "--json"]).json();
    assert_eq!(told["daemon"]["pid"], daemon.pid());
    assert_snapshot!(serde_json::to_string(&told["daemon"]).unwrap(), @r#"{"edits":"watch","pid":[PID],"startedAt":"[TIME]","uptimeSeconds":[S],"version":"0.1.0"}"#);
    told["daemon"] = Value::Null;
    // Only a daemon starts due heartbeats.
    assert!(told["heartbeats"][0]["nextRun"].take().is_string());
    assert_eq!(told, alone);
    daemon.stop();
}

#[test]
fn an_unresponsive_daemon_is_distinguished_from_none() {
    let env = Env::new();
    std::fs::create_dir_all(env.data()).unwrap();
    std::fs::set_permissions(env.data(), PermissionsExt::from_mode(0o700)).unwrap();
    let lock = std::fs::File::create(env.data().join("murmur.pid")).unwrap();
    lock.try_lock().unwrap();
    assert_snapshot!(env.run(["status"]), @"
    | error: the daemon holds [ENV]/data/murmur.pid and does not answer: No such file or directory (os error 2)
    | hint: if it stays unresponsive, run: murmur restart --force
    [exit 1]
    ");
}

/// Accepts every connection to the daemon's socket, and never responds.
fn silenced(env: &Env) -> UnixListener {
    let socket = env.data().join("murmur.sock");
    std::fs::remove_file(&socket).unwrap();
    let silent = UnixListener::bind(&socket).unwrap();
    silent.set_nonblocking(true).unwrap();
    silent
}

#[test]
fn check_waits_once_for_an_unresponsive_daemon() {
    let env = Env::new();
    let daemon = env.daemon();
    let silent = silenced(&env);
    assert_snapshot!(env.run(["status", "--check"]), @"
    | error: the daemon holds [ENV]/data/murmur.pid and does not answer: no answer within 5s
    | hint: if it stays unresponsive, run: murmur restart --force
    [exit 1]
    ");
    assert_eq!(std::iter::from_fn(|| silent.accept().ok()).count(), 1);
    daemon.signal(rustix::process::Signal::TERM);
    assert!(daemon.ended().0.success());
}

#[test]
fn start_does_not_take_an_unresponsive_daemon_for_a_running_one() {
    let env = Env::new();
    let daemon = env.daemon();
    let _silent = silenced(&env);
    assert_snapshot!(env.run(["start"]), @"
    | error: the daemon holds [ENV]/data/murmur.pid and does not answer: no answer within 5s
    | hint: if it stays unresponsive, run: murmur restart --force
    [exit 1]
    ");
    daemon.signal(rustix::process::Signal::TERM);
    assert!(daemon.ended().0.success());
}

#[test]
fn a_starting_daemon_reports_heartbeats_it_cannot_run() {
    let env = Env::new();
    env.configure(r#"{ "workspaces": [{ "path": "site" }] }"#);
    let shown = env.run(["start"]);
    assert!(shown.contains("config.json:1:28: \"path\" is \"site\", which is not absolute"), "{shown}");
    env.run(["stop"]);
}

#[test]
fn nothing_runs_with_an_unusable_config_json() {
    let env = Env::new();
    env.configure("{\n  nothing\n}\n");
    assert_snapshot!(env.run(["start"]), @"
    murmur is running (PID [PID])
    | warning: [ENV]/data/config.json:2:3: this is not JSON: key must be a string; correct it there or just before; nothing runs until then
    [exit 0]
    ");
    assert_snapshot!(env.run(["status"]), @"
    murmur 0.1.0 is running (PID [PID]), up [SPAN]
    problem: [ENV]/data/config.json:2:3: this is not JSON: key must be a string; correct it there or just before; nothing runs until then
    no heartbeats
    [exit 0]
    ");
    let shown = env.run(["restart"]);
    assert_snapshot!(shown.split_once('\n').unwrap().1, @"
    | warning: [ENV]/data/config.json:2:3: this is not JSON: key must be a string; correct it there or just before; nothing runs until then
    [exit 0]
    ");
    env.run(["stop"]);
    assert_snapshot!(env.run(["status"]), @"
    murmur is not running; start it with: murmur start
    problem: [ENV]/data/config.json:2:3: this is not JSON: key must be a string; correct it there or just before
    no heartbeats
    [exit 0]
    ");
}

#[test]
fn check_fails_without_a_daemon() {
    let env = Env::new();
    assert_snapshot!(env.run(["status", "--check"]), @"
    murmur is not running; start it with: murmur start
    no heartbeats; create one with: murmur init PATH
    [exit 1]
    ");
    let daemon = env.daemon();
    assert_snapshot!(env.run(["status", "--check"]), @"
    murmur 0.1.0 is running (PID [PID]), up [SPAN]
    no heartbeats; create one with: murmur init PATH
    [exit 0]
    ");
    daemon.stop();
}

#[test]
fn check_only_asks_whether_the_daemon_answers() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.configure(&json!({ "workspaces": [{ "path": site.0, "interval": "1d" }] }).to_string());
    env.run(["beat", "site"]);
    let daemon = env.daemon();
    for name in ["heartbeats.jsonl", "beats", "hosts"] {
        let (path, other) = (env.data().join(name), env.root().join(name));
        if path.is_dir() {
            std::fs::write(&other, "").unwrap();
        } else {
            std::fs::create_dir(&other).unwrap();
        }
        // In one step: the daemon recreates a missing folder.
        let exchange = || renameat_with(CWD, &path, CWD, &other, RenameFlags::EXCHANGE).unwrap();
        exchange();
        let checked = env.run(["status", "--check"]);
        assert!(checked.ends_with("[exit 0]"), "{name}: {checked}");
        // Problems are reported as without the flag.
        let shown = env.run(["status"]);
        let is_wrong = shown.starts_with("| error: ");
        assert_eq!(checked.starts_with("| error: "), is_wrong, "{name}: {checked} {shown}");
        // The daemon may have noticed the others by now.
        let problems = shown.matches("\nproblem: ").count();
        assert!((usize::from(name == "heartbeats.jsonl")..=1).contains(&problems), "{shown}");
        exchange();
    }
    // It has reported what happened to its files, so it didn't end silently.
    env.run(["stop"]);
    assert!(daemon.ended().0.success());
}

#[test]
fn what_is_urgent_is_repeated_below_a_list_that_is_longer_than_the_screen() {
    let env = Env::new();
    let workspaces: Vec<_> =
        (0..30).map(|number| env.workspace(&format!("site{number}"), "Do it.")).collect();
    env.register(&workspaces.iter().collect::<Vec<_>>());
    std::fs::remove_file(workspaces[7].0.join("HEARTBEAT.md")).unwrap();
    let long = on_terminal(&env, (24, 80), &["status"]);
    let end = long.lines().rev().take(3).collect::<Vec<_>>();
    assert_eq!(end[0], "murmur is not running; start it with: murmur start", "{long}");
    assert_eq!(&end[1..], ["for details, run: murmur status -v", "1 has a problem: site7"], "{long}");
    let whole = on_terminal(&env, (60, 80), &["status"]);
    assert!(whole.starts_with("murmur is not running"), "{whole}");
    assert!(!whole.contains("has a problem"), "{whole}");
    let listed = on_terminal(&env, (24, 80), &["list"]);
    assert!(listed.starts_with("site0  every 1h"), "{listed}");
}
