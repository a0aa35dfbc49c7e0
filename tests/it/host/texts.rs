//! The output of the commands (spec 3, CLI Commands), for people and for programs.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{ID, Live, is_idle_after};
use crate::env::Env;

/// An agent that is idle after one turn.
fn idle(env: &Env) -> Live<'_> {
    env.site(&json!({}));
    let options = ["--json", "--project", "myproject", "--role", "coding", "--issue", "#42", "one"];
    let agent = Live::of(env, env.spawning(ID, &options));
    agent.follow(0).until(|event| is_idle_after(event, 1));
    agent
}

/// The keys, without values that differ between runs.
fn keys(value: &Value) -> String {
    let names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.join(" ")
}

#[test]
fn without_agents_the_list_is_empty() {
    let env = Env::new();
    assert_snapshot!(env.run(["host", "list"]), @"
    no agents; start one with: murmur agent start
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "list", "--json"]), @r#"
    {"schema":"hosts/1","agents":[]}
    [exit 0]
    "#);
    assert_snapshot!(env.run(["host", "discover"]), @"
    Discovered 0 running hosts
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "discover", "--json"]), @r#"
    {"schema":"hosts/1","agents":[],"cleaned":{"dead":[],"sockets":0}}
    [exit 0]
    "#);
    assert_snapshot!(env.run(["host", "status", ID]), @r#"
    | error: no hosted agent "site-1"
    | hint: see: murmur agent list --all
    [exit 1]
    "#);
    assert_snapshot!(env.run(["attach", ID]), @r#"
    | error: no hosted agent "site-1"
    | hint: see: murmur agent list --all
    [exit 1]
    "#);
}

#[test]
fn list_status_and_discover_show_agents() {
    let env = Env::new();
    let agent = idle(&env);
    assert_snapshot!(env.run(["host", "list"]), @"
    AGENT   PROJECT    ROLE    STATE
    site-1  myproject  coding  idle
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "status", ID]), @"
    Agent ID: site-1
    Project: myproject
    Role: coding
    State: idle
    Issue: #42
    Stream Offset: 7
    Attached Clients: 0
    Worktree: [ENV]/site
    PID: [PID] (host [PID])
    Session: 00000000-0000-4000-8000-000000000001
    Capture: [SESSION]
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "discover"]), @"
    Discovered 1 running host
    [exit 0]
    ");
    let _follower = agent.follow(0);
    let status = agent.status();
    let mut shown = env.murmur(["host", "status", ID, "--json"]).json();
    assert_eq!(shown.as_object_mut().unwrap().remove("schema"), Some(json!("host/1")));
    assert_eq!(shown, status);
    let listed = env.murmur(["host", "list", "--json"]).json();
    assert_eq!(listed, json!({ "schema": "hosts/1", "agents": [status] }));
    let cleaned = json!({ "dead": [], "sockets": 0 });
    let discovered = env.murmur(["host", "discover", "--json"]).json();
    assert_eq!(discovered, json!({ "schema": "hosts/1", "agents": [status], "cleaned": cleaned }));
}

#[test]
fn an_agent_is_named_by_the_beginning_of_its_id_or_as_the_last() {
    let env = Env::new();
    env.site(&json!({}));
    assert_snapshot!(env.run(["agent", "stop", "last"]), @"
    | error: there is no agent yet
    | hint: see: murmur agent list
    [exit 1]
    ");
    for id in ["site-1", "shop-1"] {
        env.spawning(id, &["--json"]).assert().success();
    }
    assert_snapshot!(env.run(["agent", "send", "s", "one"]), @r#"
    | error: 2 agents begin with "s"
    | hint: use one of: shop-1, site-1
    [exit 1]
    "#);
    assert_snapshot!(env.run(["agent", "send", "si", "one"]), @"
    sent to site-1
    [exit 0]
    ");
    assert!(env.run(["agent", "show", "last"]).starts_with("s"));
    assert_snapshot!(env.run(["host", "stop", "last"]), @"
    agent shop-1 has ended
    [exit 0]
    ");
    assert_snapshot!(env.run(["agent", "stop", "sit"]), @"
    agent site-1 has ended
    [exit 0]
    ");
}

#[test]
fn send_and_stop_report_the_result() {
    let env = Env::new();
    let (pace, gate) = env.gate("gate");
    env.site(&json!({ "pace": pace }));
    assert_snapshot!(env.spawning(ID, &[]).run(), @"
    agent site-1 is running; talk with it: murmur agent chat site-1
    | warning: the daemon is not running, so calls that need your approval are denied; run: murmur start
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "send", ID, "one"]), @"
    sent to site-1
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "send", ID, "two"]), @"
    sent to site-1; it is queued until the current turn ends
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "send", ID, "three"]), @"
    sent to site-1; another message is queued before it
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "send", ID, "four"]), @"
    sent to site-1; 2 other messages are queued before it
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "send", ID, "five", "--json"]), @r#"
    {"schema":"agent-send/1","agent_id":"site-1","queued":4,"state":"running"}
    [exit 0]
    "#);
    assert_snapshot!(env.run(["host", "list"]), @"
    AGENT   PROJECT  ROLE   STATE
    site-1  site     agent  running
    [exit 0]
    ");
    drop(gate);
    let mut peer = super::Peer::connect(&env.hosts().join("site-1.sock"));
    peer.attach(0);
    peer.until(|event| is_idle_after(event, 5));
    assert_snapshot!(env.run(["host", "stop", ID]), @"
    agent site-1 has ended
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "stop", ID]), @"
    | error: agent site-1 has ended
    | hint: see: murmur show site-1
    [exit 1]
    ");
    let shown = env.run(["show", ID]);
    assert!(shown.contains("site-1") && shown.contains("[exit 0]"), "{shown}");
    assert_snapshot!(env.run(["host", "send", ID, "six"]), @"
    | error: agent site-1 has ended
    | hint: see: murmur show site-1
    [exit 1]
    ");
    assert_snapshot!(env.run(["host", "list"]), @"
    no agents; start one with: murmur agent start
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "list", "--all"]), @"
    AGENT   PROJECT  ROLE   STATE
    site-1  site     agent  exited
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "status", ID]), @"
    Agent ID: site-1
    Project: site
    Role: agent
    State: exited
    Exit: code 0
    Ended: [TIME]
    Capture: [SESSION]
    [exit 0]
    ");
    let ended = env.murmur(["host", "status", ID, "--json"]).json();
    assert_snapshot!(keys(&ended), @"agent_id backend capture kind pid project result role schema startedAt state worktree");
    assert_eq!((&ended["state"], &ended["result"]["exit"]), (&json!("exited"), &json!({ "code": 0 })));
    assert_snapshot!(env.run(["attach", ID]), @"
    | error: agent site-1 has ended
    | hint: show its output with: murmur agent attach site-1 --from 0
    [exit 1]
    ");
}

#[test]
fn attach_shows_a_conversation() {
    let env = Env::new();
    let agent = idle(&env);
    agent.stop();
    assert_snapshot!(env.run(["attach", ID, "--from", "0"]), @"
    [state] starting
    [state] running (turn 1)
    [user] one
    [session] fake 00000000-0000-4000-8000-000000000001
    turn 1: one
    [turn over] 1 turn, $0.0000, 1ms
    [state] idle (1 turn)
    [state] stopping
    [state] exited (code 0)
    [exit 0]
    ");
}

#[test]
fn stop_all_ends_every_hosted_agent() {
    let env = Env::new();
    let first = env.live(&json!({}));
    let second = env.spawning("site-2", &["--json"]).output();
    let second: Value = serde_json::from_slice(&second.stdout).unwrap();
    assert_eq!(second["agent_id"], "site-2");
    let stopped = env.murmur(["host", "stop", "--all", "--json"]).assert().success();
    let mut lines: Vec<Value> = stopped
        .get_output()
        .stdout
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    lines.sort_by_key(|line| line["agent_id"].as_str().unwrap().to_owned());
    let ended = |id: &str| json!({ "schema": "agent-stop/1", "agent_id": id, "exit": { "code": 0 } });
    assert_eq!(lines, [ended(ID), ended("site-2")]);
    first.wait_for_end();
}

#[test]
fn a_message_that_is_too_long_is_refused_with_an_error() {
    let env = Env::new();
    let agent = idle(&env);
    let long = env.root().join("long");
    std::fs::write(&long, "x".repeat(3 << 20)).unwrap();
    let stdin = std::fs::File::open(&long).unwrap();
    assert_snapshot!(env.murmur(["host", "send", ID, "-"]).stdin(stdin).run(), @"
    | error: cannot send to site-1: the request has 3145779 bytes, more than the maximum of 1048576
    | hint: put the text into a file and send the file's path
    [exit 1]
    ");
    agent.assert_answers();
}
