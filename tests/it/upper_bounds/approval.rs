//! A new named heartbeat runs once a person has approved it.

use serde_json::{Value, json};

use crate::env::Env;

/// The status of the heartbeat `name`.
fn standing(env: &Env, name: &str) -> Option<Value> {
    let status = env.murmur(["status", "--json"]).json();
    let mut heartbeats = status["heartbeats"].as_array().unwrap().clone().into_iter();
    heartbeats.find(|heartbeat| heartbeat["name"] == name)
}

#[test]
fn a_named_heartbeat_created_by_an_agent_needs_approval() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_journal(1);
    site.unapproved("new", "---\ninterval: 1h\n---\nDo more.");
    // A later one shows that this one was seen.
    site.named("seen", "---\ninterval: 1h\n---\nDo more.");
    let line = env.wait_for_journal(2).remove(1);
    assert_eq!(line["heartbeat"], "seen");
    let new = standing(&env, "new").unwrap();
    assert_eq!((&new["approved"], &new["nextRun"]), (&json!(false), &json!(null)), "{new}");
    let shown = env.run(["status"]);
    let hint = format!("murmur approve {} --name new", site.path());
    assert!(shown.contains("\n  next      when it is approved\n"), "{shown}");
    assert!(
        shown.contains(&format!("\n  approval  not approved yet; review it, then run: {hint}\n")),
        "{shown}"
    );
    let listed = env.run(["workspaces", "list"]);
    assert!(listed.contains(&format!("  not approved yet; review it, then run: {hint}\n")), "{listed}");
    // Nor if the daemon is asked to run it.
    let answer = env.connect().answer("beat", &json!({ "workspace": site.path(), "name": "new" }));
    assert!(answer["error"].as_str().unwrap().contains("is not approved yet"), "{answer}");
    let approved = env.murmur(["workspaces", "approve", "site", "--name", "new"]).quiet();
    assert_eq!(approved, format!("approved {}/heartbeats/new/HEARTBEAT.md  every 1h\n", site.path()));
    let line = env.wait_for_journal(3).remove(2);
    assert_eq!(line["heartbeat"], "new");
    assert_eq!(
        env.murmur(["workspaces", "approve", "site"]).quiet(),
        format!("nothing to approve in {}\n", site.path())
    );
    daemon.stop();
}

#[test]
fn an_agent_can_neither_approve_nor_run_unapproved_heartbeats() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    site.unapproved("new", "---\ninterval: 1h\n---\nDo more.");
    for args in [
        &["workspaces", "approve", "site"][..],
        &["workspaces", "approve", "site", "--name", "new"],
        &["beat", "site", "--name", "new"],
        &["init", "site", "--name", "made", "--interval", "1h"],
    ] {
        let refused = env.murmur(args).set("MURMUR_AGENT_ID", "site-1").run();
        assert!(refused.contains("and agents cannot "), "{args:?}: {refused}");
        // Parent processes are checked as well.
        let hidden = format!("env -u MURMUR_AGENT_ID {} {}; true", crate::env::MURMUR, args.join(" "));
        let refused = env.program("/bin/sh", ["-c", &hidden]).set("MURMUR_AGENT_ID", "site-1").run();
        assert!(refused.contains("and agents cannot "), "{args:?}: {refused}");
    }
    assert_eq!(standing(&env, "new").unwrap()["approved"], false);
    assert!(env.journal().is_empty());
}

#[test]
fn heartbeats_that_a_person_creates_or_runs_or_that_ran_before_are_approved() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.unapproved("old", "Do more.");
    let runs = json!({ "old": "2026-02-03T10:00:00Z" });
    env.configure(
        &json!({ "workspaces": [{ "path": site.0, "interval": "1h", "lastRuns": runs }] }).to_string(),
    );
    site.unapproved("run", "Do more.");
    env.murmur(["beat", "site", "--name", "run"]).assert().success();
    env.murmur(["init", "site", "--name", "made", "--interval", "1h"]).assert().success();
    site.unapproved("new", "Do more.");
    let approved = |name| standing(&env, name).unwrap()["approved"].clone();
    assert_eq!(
        ["old", "run", "made", "new"].map(approved),
        [json!(true), json!(true), json!(true), json!(false)]
    );
    // One with the same name in another workspace is different.
    let other = env.workspace("other", "Do it.");
    other.unapproved("made", "Do more.");
    env.register(&[&other]);
    assert_eq!(standing(&env, "made").unwrap()["approved"], false);
}
