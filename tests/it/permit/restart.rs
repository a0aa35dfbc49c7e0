//! The daemon ends while a hook waits: the next one gets the same request, and its answer counts.

use rustix::process::Signal;
use serde_json::json;

use super::{bash, line, text};
use crate::env::{Daemon, Env, kill};

/// Ends the daemon by `end` while a call waits; a person then answers through the next one.
fn asked_again(end: impl FnOnce(&Env, Daemon)) {
    let env = Env::new();
    env.workspace_calling("permissionsChecker: manual", &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let first = env.opened();
    end(&env, daemon);
    let daemon = env.daemon();
    let again = env.opened();
    assert_eq!(
        (&again["id"], &again["input"], &again["askedAt"]),
        (&first["id"], &first["input"], &first["askedAt"])
    );
    let listed = env.murmur(["permission", "list", "--json"]).json();
    assert_eq!(listed, json!({ "schema": "requests/1", "requests": [again] }));
    env.run(["permission", "respond", text(&first, "id"), "allow"]);
    assert_eq!(line(beat)["outcome"], "ok");
    assert!(env.only_tool_result().ran());
    assert_eq!(env.decisions().len(), 1);
    daemon.stop();
}

#[test]
fn the_daemon_after_a_killed_one_gets_the_same_request() {
    asked_again(|_, daemon| daemon.crash());
}

#[test]
fn the_daemon_after_a_stopped_one_gets_the_same_request() {
    asked_again(|env, daemon| {
        env.run(["stop"]);
        assert!(daemon.ended().0.success());
    });
}

#[test]
fn a_request_without_a_daemon_is_shown_and_recorded_when_its_beat_ends() {
    let env = Env::new();
    env.workspace_calling("permissionsChecker: manual", &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let (reader, writer) = std::io::pipe().unwrap();
    let beat = env.murmur(["beat", "site", "--json"]).stderr(writer).start();
    let request = env.opened();
    let id = text(&request, "id");
    let stopped = env.run(["stop"]);
    assert!(daemon.ended().0.success());
    assert_eq!(
        stopped.lines().nth(1),
        Some("1 request is still waiting for you; to answer it, run: murmur start"),
        "{stopped}"
    );
    kill(beat.id().into(), Signal::TERM);
    let line = line(beat);
    assert!(text(&line, "error").contains(&format!("while request {id} was waiting")), "{line}");
    let told = std::io::read_to_string(reader).unwrap();
    let answers = format!("run: murmur allow {id}, or: murmur deny {id} --reason '...'");
    let waits = format!("waiting for your approval of Bash; {answers}\n");
    assert_eq!(told, waits);
    let decisions = env.decisions();
    assert_eq!(decisions.len(), 1, "{decisions:#?}");
    let decision = &decisions[0];
    assert_eq!(
        (text(decision, "decision"), text(decision, "request"), text(decision, "tool")),
        ("deny", id, "Bash")
    );
    assert_eq!(text(decision, "input"), request["input"].to_string());
    assert_eq!(text(decision, "reason"), "the agent ended or was interrupted before anybody answered");
}
