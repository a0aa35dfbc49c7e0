//! Hosts of an earlier version, and hosts that can't be used: of another version, or unresponsive.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;

use insta::assert_snapshot;
use murmur_core::config::backend::Backend;
use murmur_core::id::AgentId;
use murmur_host::protocol::AgentInfo;
use murmur_host::record::Record;
use murmur_host::state::AgentKind;
use serde_json::{Value, json};
use sys::process_lock::ProcessLock;

use super::ID;
use crate::env::Env;

/// The record of a host that is this test, which locks it.
fn held(env: &Env) -> ProcessLock {
    env.create_data();
    let info = AgentInfo {
        agent_id: AgentId::parse(ID).unwrap(),
        kind: AgentKind::Live,
        project: "site\u{1b}[31m\n".to_owned(),
        role: "coding".to_owned(),
        backend: Backend::Claude,
        worktree: "/srv/site".into(),
        issue: None,
        beat: None,
        heartbeat: None,
        started_at: "2026-02-03T10:00:00Z".to_owned(),
    };
    Record::ours(info, env.data()).claim(&env.hosts(), |_| Ok(())).unwrap()
}

/// Answers every request on the socket with `payload`.
fn serve(socket: &Path, payload: Value) {
    serve_each(socket, move |_| (payload.clone(), Vec::new()));
}

/// Answers every request on the socket, by its type, with a payload and events.
fn serve_each(socket: &Path, answers: impl Fn(&str) -> (Value, Vec<Value>) + Send + 'static) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut lines = BufReader::new(stream.unwrap());
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
                let asked: Value = serde_json::from_str(&line).unwrap();
                let (payload, events) = answers(asked["msg_type"].as_str().unwrap());
                let answer = json!({ "msg_type": asked["msg_type"], "id": asked["id"], "success": true,
                    "payload": payload });
                for line in [answer].iter().chain(&events) {
                    // A client that has read enough disconnects.
                    let _gone = writeln!(lines.get_mut(), "{line}");
                }
                line.clear();
            }
        }
    });
}

#[test]
fn a_host_of_the_earlier_version_is_used_and_cleaned_up() {
    let env = Env::new();
    let held = held(&env);
    let mut record = env.record(ID);
    let fields = record.as_object_mut().unwrap();
    for (key, earlier) in
        [("protocolVersion", "protocol_version"), ("dataDir", "data_dir"), ("startedAt", "started_at")]
    {
        let value = fields.remove(key).unwrap();
        fields.insert(earlier.to_owned(), value);
    }
    record["protocol_version"] = "0.1.0".into();
    held.rewrite(record.to_string().as_bytes()).unwrap();
    let status = json!({ "agent_id": ID, "kind": "live", "project": "site", "role": "coding",
        "worktree": "/srv/site", "started_at": "2026-02-03T10:00:00Z", "state": "idle", "turns": 1, "pid": 1,
        "agent_pid": 2, "session_id": "s", "capture": null, "stream_offset": 2, "attached_clients": 0 });
    let event = |offset: u64, event_type: &str, payload: Value| json!({ "event_type": event_type, "agent_id": ID, "offset": offset, "payload": payload });
    serve_each(&env.hosts().join("site-1.sock"), move |msg_type| match msg_type {
        "ping" => {
            (json!({ "protocol_version": "0.1.0", "version": "0.1.0", "agent_id": ID, "pid": 1 }), Vec::new())
        }
        "attach" => {
            let result = json!({ "subtype": "success", "is_error": false, "num_turns": 2, "cost_usd": 0.25 });
            let exited = json!({ "state": "exited", "exit": { "code": 0 } });
            let events = vec![event(0, "result", result), event(1, "state", exited)];
            (json!({ "from": 0, "next": 2 }), events)
        }
        _ => (status.clone(), Vec::new()),
    });
    assert_snapshot!(env.run(["host", "list"]), @"
    AGENT   PROJECT  ROLE    STATE
    site-1  site     coding  idle
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "status", ID, "--json"]), @r#"
    {"schema":"host/1","agentPid":2,"agent_id":"site-1","attachedClients":0,"backend":"claude","capture":null,"kind":"live","pid":[PID],"project":"site","role":"coding","sessionId":"s","startedAt":"[TIME]","state":"idle","streamOffset":2,"turns":1,"worktree":"/srv/site"}
    [exit 0]
    "#);
    assert_snapshot!(env.run(["attach", ID, "--from", "0"]), @"
    [turn over] 2 turns, $0.2500
    [state] exited (code 0)
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "discover"]), @"
    Discovered 1 running host
    [exit 0]
    ");
    // Its process ends: what is left of it is found by the record's data folder.
    drop(held);
    assert_snapshot!(env.run(["host", "discover"]), @"
    Discovered 0 running hosts
    Cleaned up after site-1, whose host was killed
    [exit 0]
    ");
    let result = &env.record(ID)["result"];
    assert!(result["endedAt"].is_string() && result["exit"].is_null(), "{result}");
}

#[test]
fn a_host_of_another_version_is_listed_and_left_alone() {
    let env = Env::new();
    let _held = held(&env);
    let pong =
        json!({ "protocol_version": "9.0.0", "version": "9.9.9", "agent_id": ID, "pid": 1, "more": [] });
    serve(&env.hosts().join("site-1.sock"), pong.clone());
    serve(&env.hosts().join("unknown.sock"), pong);
    assert_snapshot!(env.run(["host", "list"]), @"
    AGENT    PROJECT  ROLE    STATE
    site-1   site     coding  incompatible
    unknown  ?        ?       incompatible
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "status", ID]), @r"
    Agent ID: site-1
    Project: site\u{1b}[31m\n
    Role: coding
    State: incompatible
    Protocol: 9.0.0 (murmur 9.9.9), not compatible with this murmur
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "status", ID, "--json"]), @r#"
    {"schema":"host/1","agent_id":"site-1","backend":"claude","capture":null,"kind":"live","pid":[PID],"project":"site\u001b[31m\n","protocolVersion":"9.0.0","role":"coding","startedAt":"[TIME]","state":"incompatible","version":"9.9.9","worktree":"/srv/site"}
    [exit 0]
    "#);
    for (command, more) in [("send", Some("hello")), ("stop", None)] {
        let shown = env.run(["host", command, ID].into_iter().chain(more));
        assert!(shown.contains("uses protocol version 9.0.0, but this murmur uses 0.2.0"), "{shown}");
    }
    assert!(env.run(["attach", ID, "--from", "0"]).contains("uses protocol version 9.0.0"));
    assert_snapshot!(env.run(["host", "discover"]), @"
    Discovered 2 running hosts
    [exit 0]
    ");
    assert_eq!(env.names(&env.hosts()), "site-1.json\nsite-1.sock\nunknown.sock");
}

#[test]
fn an_unresponsive_host_is_listed_and_left_alone() {
    let env = Env::new();
    let _held = held(&env);
    let _deaf = UnixListener::bind(env.hosts().join("site-1.sock")).unwrap();
    let _alone = UnixListener::bind(env.hosts().join("unknown.sock")).unwrap();
    assert_snapshot!(env.run(["host", "list"]), @"
    AGENT    PROJECT  ROLE    STATE
    site-1   site     coding  unresponsive
    unknown  ?        ?       unresponsive
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "stop", ID]), @"
    | error: the host of site-1 does not answer
    | hint: if it stays unresponsive, run: murmur agent stop --force site-1
    [exit 1]
    ");
    assert_snapshot!(env.run(["host", "discover"]), @"
    Discovered 2 running hosts
    [exit 0]
    ");
    assert_eq!(env.names(&env.hosts()), "site-1.json\nsite-1.sock\nunknown.sock");
}

#[test]
fn a_process_that_answers_nonsense_is_harmless_and_not_a_host() {
    let env = Env::new();
    let _held = held(&env);
    serve(&env.hosts().join("site-1.sock"), json!({ "protocol_version": 7 }));
    let shown = env.run(["host", "list"]);
    assert!(shown.contains("unresponsive"), "{shown}");
    let refused = env.run(["host", "send", ID, "hello"]);
    assert!(refused.starts_with("| error: the host of site-1 does not answer"), "{refused}");
}
