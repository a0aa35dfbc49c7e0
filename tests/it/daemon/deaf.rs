//! A hosts folder full of sockets that are dead, silent or of another version: they block nobody.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use murmur_core::config::backend::Backend;
use murmur_core::id::AgentId;
use murmur_host::protocol::AgentInfo;
use murmur_host::record::Record;
use murmur_host::state::AgentKind;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use serde_json::{Value, json};
use sys::process_lock::ProcessLock;

use crate::env::Env;

/// How much longer a start may take.
const DELAY: Duration = Duration::from_secs(1);

/// A socket whose listener accepts no connection and whose queue is full.
fn deaf(path: &Path) -> (std::os::fd::OwnedFd, UnixStream) {
    let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    rustix::net::bind(&listener, &SocketAddrUnix::new(path).unwrap()).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    (listener, UnixStream::connect(path).unwrap())
}

/// The record of a host that is this test.
fn held(env: &Env, agent: &str) -> ProcessLock {
    let info = AgentInfo {
        agent_id: AgentId::parse(agent).unwrap(),
        kind: AgentKind::Live,
        project: "site".to_owned(),
        role: "agent".to_owned(),
        backend: Backend::Claude,
        worktree: "/srv/site".into(),
        issue: None,
        beat: None,
        heartbeat: None,
        started_at: "2026-02-03T10:00:00Z".to_owned(),
    };
    Record::ours(info, env.data()).claim(&env.data().join("hosts"), |_| Ok(())).unwrap()
}

/// A host of another version; it answers `ping` and fails on any other request.
fn serve_another_version(socket: &Path, agent: &'static str) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut lines = BufReader::new(stream.unwrap());
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
                let asked: Value = serde_json::from_str(&line).unwrap();
                let pong = json!({ "protocol_version": "9.9.9", "version": "9.9.9", "agent_id": agent,
                    "pid": std::process::id() });
                let is_ping = asked["msg_type"] == "ping";
                let answer = json!({ "msg_type": asked["msg_type"], "id": asked["id"], "success": is_ping,
                    "payload": is_ping.then_some(pong), "error": (!is_ping).then_some("not of your time") });
                let _gone = writeln!(lines.get_mut(), "{answer}");
                line.clear();
            }
        }
    });
}

/// How long `murmur start` takes.
fn start(env: &Env) -> Duration {
    let since = Instant::now();
    let shown = env.run(["start"]);
    assert!(shown.starts_with("murmur is running (PID"), "{shown}");
    // The daemon does its work.
    assert!(env.run(["status"]).starts_with("murmur 0.1.0 is running"));
    since.elapsed()
}

#[test]
fn dead_sockets_silent_hosts_and_other_versions_block_nothing() {
    let env = Env::new();
    env.create_data();
    let usual = start(&env);
    env.run(["stop"]);
    let hosts = env.data().join("hosts");
    for number in 0..100 {
        drop(UnixListener::bind(hosts.join(format!("dead-{number}.sock"))).unwrap());
    }
    // Half of them have a live host.
    let silent: Vec<_> = (0..20).map(|number| deaf(&hosts.join(format!("deaf-{number:02}.sock")))).collect();
    let records: Vec<_> = (0..10).map(|number| held(&env, &format!("deaf-{number:02}"))).collect();
    let _other = held(&env, "other");
    serve_another_version(&hosts.join("other.sock"), "other");
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let taken = start(&env);
    assert!(taken < usual + DELAY, "{taken:?} and not {usual:?}");
    assert_eq!(env.wait_for_journal(1)[0]["outcome"], "ok");
    let is_cleaned = || (!env.names(&hosts).contains("dead-")).then_some(());
    env.wait(&hosts, is_cleaned);
    let since = Instant::now();
    let listed = env.run(["host", "list"]);
    assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
    assert_eq!(listed.matches("unresponsive").count(), 20, "{listed}");
    assert_snapshot!(listed.lines().filter(|line| !line.contains("unresponsive")).collect::<Vec<_>>().join("\n"), @"
    AGENT    PROJECT  ROLE   STATE
    other    site     agent  incompatible
    [exit 0]
    ");
    let told = env.ask("host.list", &Value::Null);
    let states = told["agents"].as_array().unwrap().iter().map(|agent| agent["state"].as_str().unwrap());
    assert_eq!(states.filter(|state| *state == "unresponsive").count(), 20, "{told}");
    assert_snapshot!(env.run(["host", "discover"]), @"
    Discovered 21 running hosts
    [exit 0]
    ");
    let names = env.names(&hosts);
    for command in [&["restart"][..], &["host", "discover"], &["stop"], &["host", "discover"]] {
        let shown = env.run(command);
        assert!(shown.ends_with("[exit 0]"), "{shown}");
        assert_eq!(env.names(&hosts), names, "{command:?}");
    }
    // It still answers, and is still listed.
    let listed = env.run(["host", "list"]);
    assert!(listed.contains("other    site     agent  incompatible"), "{listed}");
    drop((silent, records));
    assert!(env.run(["host", "discover"]).contains("Cleaned up after deaf-00, whose host was killed"));
    assert_eq!(env.names(&hosts).lines().filter(|name| name.ends_with(".sock")).count(), 1);
}
