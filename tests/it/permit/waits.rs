//! An agent that waits for a person is shown as waiting: in the list, in JSON, and by `--watch`.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{bash, text};
use crate::agents::watch::Lines;
use crate::env::{Env, kill};

const MANUAL: &str = "permissionsChecker: manual";

/// Each agent's id and health, in the order of the list.
fn listed(env: &Env) -> Vec<(String, String)> {
    let agents = env.murmur(["agents", "--json"]).json()["agents"].as_array().unwrap().clone();
    agents
        .iter()
        .map(|agent| (text(agent, "agent_id").to_owned(), text(agent, "health").to_owned()))
        .collect()
}

#[test]
fn an_agent_waiting_for_approval_is_listed_first() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    env.beats(&crate::agents::pulse("stuck", 2730));
    let beat = env.beat();
    let row = env.opened();
    let (agent, stuck) = (text(&row, "agent").to_owned(), ("stuck".to_owned(), "stuck".to_owned()));
    assert_eq!(listed(&env), [(agent.clone(), "waiting".to_owned()), stuck.clone()]);
    let table = env.run(["agents"]);
    assert!(table.lines().nth(1).unwrap().ends_with("  waiting"), "{table}");
    assert!(env.run(["agents", &agent]).starts_with(&format!("{agent}  running, waiting\n")));
    env.run(["permission", "respond", text(&row, "id"), "allow"]);
    super::line(beat);
    // Its beat was ok, so nothing is left of it.
    assert_eq!(listed(&env), [stuck]);
    daemon.stop();
}

#[test]
fn an_agent_stopped_while_waiting_has_exited() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let agent = text(&env.opened(), "agent").to_owned();
    kill(beat.id().into(), Signal::TERM);
    assert_eq!(beat.wait_with_output().unwrap().status.code(), Some(1));
    assert_eq!(listed(&env), [(agent, "exited".to_owned())]);
    daemon.stop();
}

#[test]
fn watching_shows_an_agent_wait_and_continue_even_if_the_daemon_starts_later() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let mut child = env.murmur(["agents", "--watch", "--json"]).start();
    let mut lines = Lines::of(&mut child);
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    let health = |line: &Value| line["agent"]["health"].clone();
    let line = lines.until(|line| health(line) == "waiting");
    assert_eq!(line["agent"]["agent_id"], row["agent"]);
    env.run(["permission", "respond", text(&row, "id"), "deny"]);
    lines.until(|line| line["agent"].is_object() && health(line) != "waiting");
    super::line(beat);
    child.kill().unwrap();
    child.wait().unwrap();
    daemon.stop();
}

#[test]
fn an_agent_with_a_deferred_call_is_waiting_even_without_a_daemon() {
    let env = Env::new();
    let site = env.workspace_calling(
        "permissionsChecker: manual\napproval: defer\napprovalWait: 1s",
        &[bash("t1", "git push")],
    );
    env.register(&[&site]);
    let daemon = env.daemon();
    let line = env.events().until("beat_ended");
    let waits = [(text(&line, "agent").to_owned(), "waiting".to_owned())];
    assert_eq!(listed(&env), waits);
    daemon.stop();
    assert_eq!(listed(&env), waits);
}

#[test]
fn agents_are_shown_if_the_daemons_response_is_invalid() {
    let env = Env::new();
    env.beats(&crate::agents::pulse("site-1", 0));
    let socket = std::os::unix::net::UnixListener::bind(env.data().join("murmur.sock")).unwrap();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = socket.accept().unwrap();
        std::io::Write::write_all(&mut stream, b"what?\n").unwrap();
        stream
    });
    let output = env.murmur(["agents", "--json"]).start().wait_with_output().unwrap();
    drop(answering.join().unwrap());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("warning: cannot show which agents wait for you: "), "{said}");
    assert!(said.ends_with("; see: murmur status\n"), "{said}");
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(listed["agents"][0]["health"], json!("active"));
}

#[test]
fn a_daemon_of_an_earlier_version_is_asked_with_its_keys() {
    use std::io::{BufRead, BufReader, Write};
    let env = Env::new();
    env.create_data();
    let daemon = std::os::unix::net::UnixListener::bind(env.data().join("murmur.sock")).unwrap();
    let asking = std::thread::spawn(move || {
        let answer = json!({ "decision": "allow", "by": { "kind": "person" }, "id": "00000000" });
        let refusal = "invalid payload: missing field `tool_use_id`";
        let mut asked = Vec::new();
        for answer in
            [json!({ "success": false, "error": refusal }), json!({ "success": true, "payload": answer })]
        {
            let mut lines = BufReader::new(daemon.accept().unwrap().0);
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            let request: Value = serde_json::from_str(&line).unwrap();
            let mut answer = answer;
            answer["msg_type"] = request["msg_type"].clone();
            answer["id"] = request["id"].clone();
            writeln!(lines.get_mut(), "{answer}").unwrap();
            asked.push(request["payload"].clone());
        }
        asked
    });
    let policy = json!({ "guard": true, "checker": "manual", "approval": "wait", "approvalWait": 9,
        "approvalExpiry": 9, "questions": "deny" });
    let input = super::told_to_hook("Bash", &json!({ "command": "git push" }));
    let hook = env.hook("PreToolUse", input.to_string()).set("MURMUR_PERMISSIONS", policy.to_string());
    let said = hook.output();
    assert!(String::from_utf8_lossy(&said.stdout).contains(r#""permissionDecision":"allow""#), "{said:?}");
    let asked = asking.join().unwrap();
    assert_eq!((&asked[0]["toolUseId"], &asked[0]["tool_use_id"]), (&json!("t1"), &Value::Null));
    assert_eq!((&asked[1]["toolUseId"], &asked[1]["tool_use_id"]), (&Value::Null, &json!("t1")));
    assert!(asked[0]["askedAt"].is_string());
    assert_eq!(asked[0]["askedAt"], asked[1]["asked_at"]);
}

#[test]
fn an_agent_that_waits_for_a_person_is_not_stuck() {
    let env = Env::new();
    env.setting("config.toml", "[quiet]\nstale = \"1s\"\nwarning = \"2s\"\nstuck = \"3s\"\n");
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    env.opened();
    // Last heard from after the waiting one, so it would be stuck by then, too.
    let hanging = env.program("sleep", ["infinity"]).start();
    let pulse = |name: &str| {
        let mut pulse = crate::agents::pulse(name, 0);
        pulse["pid"] = hanging.id().into();
        env.beats(&pulse);
    };
    pulse("hanging");
    let stuck = |count: usize| {
        let lines = env.wait_for_journal(count);
        lines.iter().map(|line| text(line, "agent").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(stuck(1), ["hanging"]);
    // The next daemon scans before the hook has found it.
    daemon.crash();
    env.beats(&crate::agents::pulse("silent", 2730));
    let daemon = env.daemon();
    assert_eq!(stuck(2), ["hanging", "silent"]);
    daemon.stop();
    kill(beat.id().into(), Signal::TERM);
    beat.wait_with_output().unwrap();
    let mut hanging = hanging;
    hanging.kill().unwrap();
    hanging.wait().unwrap();
    assert_eq!(env.journal().iter().filter(|line| line["kind"] == "stuck").count(), 2);
}
