//! No daemon runs while a request waits: what happens to the request, who lists it, and what is reported.

use std::io::{BufRead, BufReader};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{acts, bash, call, line, text};
use crate::agents::watch::Lines;
use crate::env::{Daemon, Env, kill};

const MANUAL: &str = "permissionsChecker: manual";

/// Stops the daemon and leaves its beats.
fn leave(env: &Env, daemon: Daemon) {
    env.run(["stop", "--leave-agents"]);
    assert!(daemon.ended().0.success());
}

/// Who decided on each call of `request`.
fn decided(env: &Env, request: &str) -> Vec<(String, Value)> {
    let decisions = env.decisions();
    assert!(decisions.iter().all(|line| line["request"] == request), "{decisions:#?}");
    decisions.iter().map(|line| (text(line, "decision").to_owned(), line["by"]["kind"].clone())).collect()
}

#[test]
fn a_request_that_times_out_without_a_daemon_is_denied_as_unanswered() {
    let env = Env::new();
    env.workspace_calling(&format!("{MANUAL}\napprovalWait: 3s"), &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let id = text(&env.opened(), "id").to_owned();
    leave(&env, daemon);
    let line = line(beat);
    assert_eq!((&line["outcome"], &line["error"]), (&json!("attention"), &Value::Null), "{line}");
    assert_eq!(line["summary"], "HEARTBEAT_OK, but nobody answered the request for Bash(git push)", "{line}");
    assert!(
        env.only_tool_result().text.contains("nobody answered in time, so the call is denied"),
        "{:?}",
        env.tool_results()
    );
    assert_eq!(decided(&env, &id), [("deny".to_owned(), json!("nobody"))], "{:#?}", env.decisions());
}

#[test]
fn a_request_that_times_out_without_a_daemon_is_deferred_and_resumed_by_the_next() {
    let env = Env::new();
    let frontmatter = format!("{MANUAL}\napproval: defer\napprovalWait: 3s");
    let site = env.workspace_calling(&frontmatter, &[bash("t1", "git push")]);
    env.register(&[&site]);
    let daemon = env.daemon();
    let asked = env.opened();
    let id = text(&asked, "id");
    leave(&env, daemon);
    let deferred = env.wait_for_journal(1).remove(0);
    assert_eq!((&deferred["outcome"], &deferred["waiting"]), (&json!("attention"), &json!(id)), "{deferred}");
    let listed = env.murmur(["permission", "list", "--json"]).json();
    assert_eq!(
        (&listed["requests"][0]["id"], &listed["requests"][0]["state"]),
        (&json!(id), &json!("deferred"))
    );
    assert_eq!(listed["requests"][0]["askedAt"], asked["askedAt"]);
    let daemon = env.daemon();
    env.run(["permission", "respond", id, "allow"]);
    let resumed = env.wait_for_journal(2).remove(1);
    assert_eq!((&resumed["outcome"], &resumed["resumes"]), (&json!("ok"), &json!(id)), "{resumed}");
    assert_eq!(
        decided(&env, id),
        [("defer".to_owned(), json!("nobody")), ("allow".to_owned(), json!("person"))]
    );
    daemon.stop();
}

#[test]
fn a_call_that_no_daemon_would_resume_is_not_deferred_without_one() {
    let env = Env::new();
    env.workspace_calling(&format!("{MANUAL}\napproval: defer\napprovalWait: 3s"), &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let id = text(&env.opened(), "id").to_owned();
    leave(&env, daemon);
    let line = line(beat);
    assert_eq!((&line["outcome"], &line["waiting"]), (&json!("attention"), &Value::Null), "{line}");
    assert_eq!(decided(&env, &id), [("deny".to_owned(), json!("nobody"))]);
    assert_eq!(
        env.murmur(["permission", "list", "--json"]).json(),
        json!({ "schema": "requests/1", "requests": [] })
    );
}

#[test]
fn a_request_that_waits_is_listed_without_a_daemon() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let asked = env.opened();
    let id = text(&asked, "id");
    let stopped = env.run(["stop"]);
    assert!(daemon.ended().0.success());
    assert!(
        stopped.contains("\n1 request is still waiting for you; to answer it, run: murmur start\n"),
        "{stopped}"
    );
    let listed = env.run(["permission", "list"]);
    assert!(listed.starts_with(&format!("{id}  Bash  ")), "{listed}");
    let note = "| note: murmur is not running; to answer, run: murmur start\n";
    assert!(listed.contains(note), "{listed}");
    assert_eq!(
        env.murmur(["permission", "list", "--json"]).json(),
        json!({ "schema": "requests/1", "requests": [asked] })
    );
    let status = env.run(["status"]);
    assert!(status.contains("\n1 request is waiting for you; to answer it, run: murmur start\n"), "{status}");
    assert_eq!(env.murmur(["status", "--json"]).json()["requests"], 1);
    let agents = env.run(["agents"]);
    assert!(agents.lines().nth(1).unwrap().ends_with("  waiting") && agents.contains(note), "{agents}");
    let agents = env.murmur(["agents", "--json"]).json();
    assert_eq!(
        (agents["agents"][0]["health"].clone(), &agents["agents"][0]["agent_id"]),
        (json!("waiting"), &asked["agent"])
    );
    kill(beat.id().into(), Signal::TERM);
    beat.wait_with_output().unwrap();
    assert_eq!(
        env.murmur(["permission", "list", "--json"]).json(),
        json!({ "schema": "requests/1", "requests": [] })
    );
}

#[test]
fn a_question_that_waits_is_listed_without_a_daemon() {
    let env = Env::new();
    let questions = json!({ "questions": [{ "question": "Which?", "header": "Q", "multiSelect": false,
        "options": [{ "label": "A", "description": "" }, { "label": "B", "description": "" }] }] });
    env.workspace_calling("model: x", &[call("t1", "AskUserQuestion", &questions)]);
    let daemon = env.daemon();
    let beat = env.beat();
    let asked = env.opened();
    leave(&env, daemon);
    assert_eq!(
        env.murmur(["question", "list", "--json"]).json(),
        json!({ "schema": "requests/1", "requests": [asked] })
    );
    assert_eq!(
        env.murmur(["permission", "list", "--json"]).json(),
        json!({ "schema": "requests/1", "requests": [] })
    );
    kill(beat.id().into(), Signal::TERM);
    beat.wait_with_output().unwrap();
}

#[test]
fn a_waiting_beat_reports_that_the_daemon_has_ended() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let (reader, writer) = std::io::pipe().unwrap();
    let beat = env.murmur(["beat", "site", "--json"]).stderr(writer).start();
    let id = text(&env.opened(), "id").to_owned();
    leave(&env, daemon);
    let mut said = BufReader::new(reader).lines().map(Result::unwrap);
    assert!(said.next().unwrap().starts_with("waiting for your approval of Bash"));
    let told = format!("the daemon has ended; to answer request {id}, run: murmur start");
    assert_eq!(said.next(), Some(told));
    kill(beat.id().into(), Signal::TERM);
    beat.wait_with_output().unwrap();
}

#[test]
fn followers_of_a_waiting_agent_learn_that_the_daemon_has_ended() {
    let env = Env::new();
    let site = env.workspace("site", "");
    site.plays(&acts(&[bash("t1", "git push")]));
    let daemon = env.daemon();
    env.run(["host", "spawn", "--agent-id", "pusher", "--worktree", site.path(), "Go."]);
    let id = text(&env.opened(), "id").to_owned();
    let mut child = env.murmur(["attach", "pusher", "--from", "0"]).start();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let waits = lines.find(|line| line.starts_with("[waiting] ")).unwrap();
    assert_eq!(
        waits,
        format!(
            "[waiting] for your approval of Bash; run: murmur allow {id}, or: murmur deny {id} --reason '...'"
        )
    );
    leave(&env, daemon);
    let told = format!("[waiting] the daemon has ended; to answer request {id}, run: murmur start");
    assert_eq!(lines.next(), Some(told));
    env.run(["host", "stop", "pusher"]);
    child.wait().unwrap();
}

#[test]
fn watching_shows_an_agent_waiting_without_a_daemon_until_it_ends() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let agent = text(&env.opened(), "agent").to_owned();
    leave(&env, daemon);
    let mut child = env.murmur(["agents", "--watch", "--json"]).start();
    let mut lines = Lines::of(&mut child);
    let health = |line: &Value| line["agent"]["health"].clone();
    let seen = lines.until(|line| line["agent"].is_object());
    assert_eq!((health(&seen), &seen["agent"]["agent_id"]), (json!("waiting"), &json!(agent)));
    kill(beat.id().into(), Signal::TERM);
    beat.wait_with_output().unwrap();
    lines.until(|line| health(line) == "exited");
    child.kill().unwrap();
    child.wait().unwrap();
}
