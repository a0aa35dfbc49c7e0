//! The daemon ends while a hook waits: the next one is asked the same, and its answer counts.

use serde_json::json;

use super::{bash, line, text};
use crate::env::{Daemon, Env};

/// Has the daemon end as `end` does while a call waits, and a person answer the next one.
fn asked_again(end: impl FnOnce(&Env, Daemon)) {
    let env = Env::new();
    env.acting("permissionsChecker: manual", &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let first = env.opened();
    end(&env, daemon);
    assert!(env.run(["permission", "list"]).starts_with("nothing waits for permission\n"));
    let daemon = env.daemon();
    let again = env.opened();
    assert_eq!((&again["id"], &again["input"]), (&first["id"], &first["input"]));
    let listed = env.murmur(["permission", "list", "--json"]).json();
    assert_eq!(listed, json!({ "requests": [again] }));
    env.run(["permission", "respond", text(&first, "id"), "allow"]);
    assert_eq!(line(beat)["outcome"], "ok");
    assert!(env.told_once().ran());
    assert_eq!(env.decisions().len(), 1);
    daemon.stop();
}

#[test]
fn a_daemon_that_is_killed_is_followed_by_one_that_is_asked_the_same() {
    asked_again(|_, daemon| daemon.crash());
}

#[test]
fn a_daemon_that_is_stopped_is_followed_by_one_that_is_asked_the_same() {
    asked_again(|env, daemon| {
        env.run(["stop"]);
        assert!(daemon.ended().0.success());
    });
}
