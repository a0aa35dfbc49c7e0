//! Invalid and misbehaving clients: they get an error or are dropped, and nobody else notices.

use serde_json::{Value, json};

use super::{Live, Peer};
use crate::env::Env;

const PING: &str = "{\"msg_type\":\"ping\",\"id\":\"p\"}\n";

fn complaint(error: &str) -> Value {
    json!({ "msg_type": "", "id": "", "success": false, "error": error })
}

fn complaint_with(error: &str, hint: &str) -> Value {
    json!({ "msg_type": "", "id": "", "success": false, "error": error, "hint": hint })
}

fn begun(env: &Env) -> Live<'_> {
    env.live(&json!({}))
}

#[test]
fn a_line_over_1_mib_is_refused_and_one_of_1_mib_is_not() {
    let env = Env::new();
    let agent = begun(&env);
    let mut peer = agent.peer();
    let frame = |length: usize| {
        let id = "i".repeat(length - r#"{"msg_type":"ping","id":""}"#.len());
        format!("{}\n", format_args!(r#"{{"msg_type":"ping","id":"{id}"}}"#))
    };
    let longest = frame(1 << 20);
    assert!(peer.say(&longest));
    let answer = peer.answer();
    assert_eq!((&answer["success"], answer["id"].as_str().unwrap().len()), (&json!(true), (1 << 20) - 27));
    // It may be disconnected before everything is written.
    peer.say("x".repeat(3 << 20));
    assert_eq!(peer.answer(), complaint("a line has more than 1048576 bytes"));
    assert_eq!(peer.line(), "");
    agent.assert_answers();
}

#[test]
fn an_invalid_request_gets_an_error_and_the_connection_continues() {
    let env = Env::new();
    let agent = begun(&env);
    let mut peer = agent.peer();
    let lines: [&[u8]; 12] = [
        b"",
        b"hello",
        b"{",
        b"7",
        b"null",
        b"[]",
        b"{}",
        b"{\"msg_type\":\"ping\"}",
        b"{\"msg_type\":7,\"id\":\"1\"}",
        b"{\"msg_type\":\"ping\",\"id\":1}",
        b"\0\0\0\0",
        b"{\"msg_type\":\"ping\",\"id\":\"\xff\xfe\"}",
    ];
    for line in lines {
        assert!(peer.say([line, b"\n"].concat()));
        let answer = peer.answer();
        assert!(answer["error"].as_str().unwrap().starts_with("invalid request: "), "{answer}");
        assert_eq!(answer, complaint(answer["error"].as_str().unwrap()));
    }
    assert!(peer.say("{\"msg_type\":\"ping\",\"id\":\"a\\u0000b\",\"more\":[1]}\r\n"));
    assert_eq!(peer.answer()["id"], "a\0b");
    agent.assert_answers();
}

#[test]
fn unknown_requests_and_payloads_of_the_wrong_type_are_refused() {
    let env = Env::new();
    let agent = begun(&env);
    let mut peer = agent.peer();
    let known = "use one of: ping, status, list, attach, detach, interrupt, send, wait, requests and stop";
    for unknown in ["dance", "", "PING", "ping\0"] {
        assert_eq!(peer.refusal(unknown, Value::Null), format!("unknown msg_type {unknown:?}; {known}"));
    }
    for (msg_type, payload) in [
        ("send", json!({})),
        ("send", json!({ "text": 7 })),
        ("send", json!("text")),
        ("send", json!(null)),
        ("attach", json!({ "from": -1 })),
        ("attach", json!({ "from": 1.5 })),
        ("attach", json!({ "from": "0" })),
        ("attach", json!(7)),
        ("stop", json!({ "force": "yes" })),
        ("stop", json!({ "grace": 5 })),
    ] {
        let refused = peer.refusal(msg_type, payload.clone());
        assert!(refused.starts_with("invalid payload: "), "{msg_type} {payload}: {refused}");
    }
    for grace in ["soon", "-1s", "", "2h", "584554531y"] {
        let refused = peer.refusal("stop", json!({ "grace": grace }));
        assert!(refused.starts_with(&format!("grace {grace:?} is ")), "{refused}");
    }
    assert_eq!(agent.status()["state"], "idle");
}

#[test]
fn a_disconnected_client_is_forgotten_at_any_point() {
    let env = Env::new();
    let agent = env.live(&json!({ "burst": "200:1000" }));
    drop(agent.peer());
    let mut half = agent.peer();
    half.say(&PING[..10]);
    drop(half);
    let mut unread = agent.peer();
    unread.say(PING);
    drop(unread);
    let mut attached = agent.follow(0);
    attached.next().unwrap();
    drop(attached);
    let mut busy = agent.follow(0);
    agent.send("one");
    busy.next().unwrap();
    drop(busy);
    let mut staying = agent.follow(0);
    staying.until(|event| super::is_idle_after(event, 1));
    // Its requests are answered, and nothing follows.
    let mut silent = agent.follow(0);
    silent.say(PING);
    silent.stop_sending();
    assert_eq!(silent.answer()["id"], "p");
    silent.rest();
    agent.assert_answers();
}

#[test]
fn bytes_may_arrive_one_by_one_and_requests_all_at_once() {
    let env = Env::new();
    let agent = begun(&env);
    let mut peer = agent.peer();
    for byte in PING.bytes() {
        assert!(peer.say([byte]));
    }
    assert_eq!(peer.answer()["payload"]["pid"], agent.pid);
    assert!(peer.say(PING.repeat(1000)));
    for _ in 0..1000 {
        assert_eq!(peer.answer()["id"], "p");
    }
}

#[test]
fn with_too_many_clients_the_longest_idle_one_is_dropped() {
    let env = Env::new();
    let agent = begun(&env);
    let mut follower = agent.follow(0);
    follower.next().unwrap();
    let mut clients: Vec<Peer> = (0..255).map(|_| agent.peer()).collect();
    // This one was idle for less long than the others.
    clients[0].result("ping", Value::Null);
    let mut newer: Vec<Peer> = (0..40).map(|_| agent.peer()).collect();
    let dropped =
        complaint_with("too many clients are connected, and this one was idle the longest", "connect again");
    for client in &mut clients[1..=40] {
        assert_eq!(client.next(), Some(dropped.clone()));
        assert_eq!(client.line(), "");
    }
    for served in clients[41..].iter_mut().chain(&mut newer).chain([&mut follower]) {
        served.result("ping", Value::Null);
    }
    clients[0].result("ping", Value::Null);
    agent.assert_answers();
}

#[test]
fn if_every_client_follows_events_one_more_is_rejected() {
    let env = Env::new();
    let agent = begun(&env);
    let mut followers: Vec<Peer> = (0..256).map(|_| agent.follow(0)).collect();
    for follower in &mut followers {
        follower.next().unwrap();
    }
    let full = complaint_with(
        "too many clients are connected, and each waits for an answer or for events",
        "try again later",
    );
    let mut refused = agent.peer();
    assert_eq!(refused.next(), Some(full));
    assert_eq!(refused.line(), "");
    followers[7].stop_sending();
    while !followers[7].line().is_empty() {}
    agent.assert_answers();
}
