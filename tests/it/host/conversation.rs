//! Turns: their states, queued messages, and a beat, which has one turn.

use serde_json::{Value, json};

use super::{Live, Peer, brief, briefs, is_idle_after, is_state};
use crate::env::Env;

#[test]
fn a_conversation_of_two_turns_reports_each_state_in_order() {
    let env = Env::new();
    let agent = env.live(&json!({}));
    let mut peer = agent.follow(0);
    assert_eq!(agent.send("one"), json!({ "state": "running", "turn": 1, "queued": 0 }));
    let mut events = peer.until(|event| is_idle_after(event, 1));
    agent.send("two");
    events.extend(peer.until(|event| is_idle_after(event, 2)));
    assert_eq!(agent.stop(), json!({ "state": "exited", "exit": { "code": 0 } }));
    events.extend(peer.rest());
    let expected = [
        "starting",
        "idle 0",
        "running 1 queued 0",
        "user: one",
        "session",
        "assistant: turn 1: one",
        "result turn 1: one",
        "idle 1",
        "running 2 queued 0",
        "user: two",
        "session",
        "assistant: turn 2: two (before: one)",
        "result turn 2: two (before: one)",
        "idle 2",
        "stopping force false grace 5000",
        "exited {\"code\":0}",
    ];
    assert_eq!(briefs(&events), expected);
}

#[test]
fn the_first_message_is_the_first_turn() {
    let env = Env::new();
    env.site(&json!({}));
    let agent = Live::of(&env, env.spawning(super::ID, &["--json", "one"]));
    let events = agent.follow(0).until(|event| is_idle_after(event, 1));
    let expected = ["starting", "running 1 queued 0", "user: one"];
    assert_eq!(briefs(&events)[..3], expected);
}

#[test]
fn a_message_waits_for_the_end_of_the_turn_and_the_65th_is_refused() {
    let env = Env::new();
    let (pace, gate) = env.gate("gate");
    let agent = env.live(&json!({ "pace": pace }));
    let mut events = agent.follow(0);
    let mut peer = agent.peer();
    let mut send = |text: &str| peer.ask("send", json!({ "text": text }));
    assert_eq!(send("message 1")["payload"]["queued"], 0);
    for queued in 1..=64 {
        let state = json!({ "state": "running", "turn": 1, "queued": queued });
        assert_eq!(send(&format!("message {}", queued + 1))["payload"], state);
    }
    let full = "64 messages are already queued";
    let hint = "try again after the current turn";
    let refused = json!({ "msg_type": "send", "id": "66", "success": false, "error": full, "hint": hint });
    assert_eq!(send("one more"), refused);
    drop(gate);
    let told = briefs(&events.until(|event| is_idle_after(event, 65)));
    let said: Vec<&String> = told.iter().filter(|line| line.starts_with("user: ")).collect();
    let sent: Vec<String> = (1..=65).map(|number| format!("user: message {number}")).collect();
    assert_eq!(said, sent.iter().collect::<Vec<_>>());
    assert!(told.contains(&"assistant: turn 65: message 65 (before: message 64)".to_owned()));
    assert!(told.contains(&"running 2 queued 63".to_owned()));
}

#[test]
fn stop_drops_queued_messages_and_accepts_no_more() {
    let env = Env::new();
    let (pace, gate) = env.gate("gate");
    let agent = env.live(&json!({ "pace": pace, "faults": ["ignore-term"] }));
    let mut events = agent.follow(0);
    agent.send("one");
    agent.send("two");
    // Before that it would not ignore SIGTERM yet.
    env.wait_for_agents(1);
    let mut stopping = agent.peer();
    assert!(stopping.say("{\"msg_type\":\"stop\",\"id\":\"s\",\"payload\":{\"grace\":\"1h\"}}\n"));
    events.until(|event| is_state(event, "stopping"));
    let refused = agent.peer().refusal("send", json!({ "text": "three" }));
    assert_eq!(
        refused,
        "the agent is stopping and takes no more messages; start another one with: murmur agent start"
    );
    drop(gate);
    // The running turn is still answered; messages in the agent's own queue are dropped.
    assert_eq!(stopping.answer()["payload"]["exit"], json!({ "code": 0 }));
    let rest = briefs(&events.rest());
    assert!(rest.contains(&"result turn 1: one".to_owned()), "{rest:?}");
    assert!(!rest.iter().any(|line| line.contains("two")), "{rest:?}");
}

#[test]
fn a_blank_message_is_not_sent() {
    let env = Env::new();
    let agent = env.live(&json!({}));
    for text in ["", " \n\t"] {
        let refused = agent.peer().refusal("send", json!({ "text": text }));
        assert_eq!(refused, "the message is empty");
    }
    assert_eq!(agent.status()["state"], "idle");
}

#[test]
fn a_beat_shows_its_prompt_takes_no_messages_and_can_be_replayed() {
    let env = Env::new();
    let workspace = env.workspace("site", "Look at the build.\n");
    let (pace, gate) = env.gate("gate");
    workspace.plays(&json!({ "live": "echo", "pace": pace }));
    let mut beat = env.murmur(["beat", workspace.path()]).start();
    let agent = env.wait_for_agents(1).remove(0);
    let id = agent["env"]["MURMUR_AGENT_ID"].as_str().unwrap().to_owned();
    let socket = env.hosts().join(format!("{id}.sock"));
    let mut peer = Peer::connect(&socket);
    let status = peer.result("status", Value::Null);
    assert_eq!((&status["kind"], &status["state"]), (&json!("beat"), &json!("running")));
    let refused = peer.refusal("send", json!({ "text": "hello" }));
    assert_eq!(
        refused,
        "a beat has one prompt and takes no messages; start a hosted agent with: murmur agent start"
    );
    peer.attach(0);
    drop(gate);
    let lines = peer.rest_lines();
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[2 - 1]["payload"]["text"], agent["stdin"], "{events:#?}");
    assert_eq!(brief(events.last().unwrap()), "exited {\"code\":0}");
    beat.wait().unwrap();
    let entry = env.journal().remove(0);
    assert_eq!((&entry["capture"], &entry["beat"]), (&status["capture"], &status["beat"]));
    assert_eq!(env.told_again(&id), lines);
    assert_eq!(env.names(&env.hosts()), "");
}
