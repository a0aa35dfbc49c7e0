//! `murmur status`: the same answer from a daemon and from the files.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::{Env, fixture};

/// A workspace that has run, one that has not, a named heartbeat, one that is wrong, one that is gone.
fn configured(env: &Env) {
    let site = env.workspace("site", "---\nname: The site\ninterval: 2h\n---\nDo it.");
    site.named("nightly", "---\ncron: '0 3 1 1 *'\ntz: Europe/Berlin\n---\nCount.");
    let blog = env.workspace("blog", "---\nintervall: 1h\n---\nDo it.");
    let now = murmur::sys::clock::rfc3339(murmur::sys::clock::now());
    // Pretty, so that places in it do not depend on the length of paths.
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
fn every_heartbeat_is_shown_with_what_is_wrong() {
    let env = Env::new();
    configured(&env);
    assert_snapshot!("status", env.run(["status"]));
}

#[test]
fn json_is_one_object() {
    let env = Env::new();
    configured(&env);
    let status = env.murmur(["status", "--json"]).json();
    assert_snapshot!("status-json", serde_json::to_string_pretty(&status).unwrap());
}

#[test]
fn a_daemon_says_the_same_and_more() {
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
    assert_eq!(told, alone);
    daemon.stop();
}

#[test]
fn a_daemon_that_does_not_answer_is_told_from_none() {
    let env = Env::new();
    let daemon = env.daemon();
    std::fs::remove_file(env.data().join("murmur.sock")).unwrap();
    assert_snapshot!(env.run(["status"]), @"
    | error: the daemon holds [ENV]/data/murmur.pid and does not answer: No such file or directory (os error 2)
    | hint: murmur stop, or kill it
    [exit 1]
    ");
    assert_snapshot!(env.run(["stop"]), @"
    murmur stopped (PID [PID])
    [exit 0]
    ");
    assert!(daemon.ended().0.success());
}
