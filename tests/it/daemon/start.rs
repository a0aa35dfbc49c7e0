//! `murmur start` next to a daemon that dies at an inconvenient moment: it never claims that one runs if none does.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Child;

use rustix::event::{PollFd, PollFlags, Timespec};
use serde_json::{Value, json};

use crate::env::{Env, show};

/// Holds the daemon's lock and listens on its socket, like a daemon.
struct Impostor {
    lock: File,
    listener: UnixListener,
}

impl Impostor {
    fn new(env: &Env) -> Self {
        let folder = env.data();
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).unwrap();
        let lock = File::create(folder.join("murmur.pid")).unwrap();
        lock.try_lock().unwrap();
        let listener = UnixListener::bind(folder.join("murmur.sock")).unwrap();
        Self { lock, listener }
    }

    /// Accepts the next connection and reads a `ping`; the client waits for the response.
    fn receive_ping(&self) -> (UnixStream, Value) {
        let mut listener = [PollFd::new(&self.listener, PollFlags::IN)];
        let timeout = Timespec { tv_sec: 20, tv_nsec: 0 };
        assert_eq!(rustix::event::poll(&mut listener, Some(&timeout)).unwrap(), 1, "nobody asks");
        let (stream, _) = self.listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        let request: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(request["msg_type"], "ping");
        (stream, request)
    }

    /// Ends like a killed daemon: its socket's file remains.
    fn die(self) {
        self.lock.unlock().unwrap();
    }
}

fn answer(mut stream: &UnixStream, request: &Value) {
    let ping = json!({
        "pid": std::process::id(), "version": "0.1.0", "startedAt": "2026-02-03T10:00:00Z", "foreground": true,
    });
    let answer = json!({ "msg_type": "ping", "id": request["id"], "success": true, "payload": ping });
    writeln!(stream, "{answer}").unwrap();
}

fn assert_started(env: &Env, start: Child) {
    let said = show(&start.wait_with_output().unwrap());
    let pid = env.ask("ping", &Value::Null)["pid"].clone();
    assert_eq!(said, format!("murmur is running (PID {pid})\n[exit 0]"));
}

#[test]
fn a_daemon_that_dies_after_its_response_is_replaced() {
    let env = Env::new();
    let impostor = Impostor::new(&env);
    let start = env.murmur(["start"]).start();
    let (stream, request) = impostor.receive_ping();
    impostor.die();
    answer(&stream, &request);
    drop(stream);
    assert_started(&env, start);
}

#[test]
fn a_daemon_that_dies_without_a_response_is_replaced() {
    let env = Env::new();
    let impostor = Impostor::new(&env);
    let start = env.murmur(["start"]).start();
    let (stream, _) = impostor.receive_ping();
    impostor.die();
    drop(stream);
    assert_started(&env, start);
}

#[test]
fn start_waits_for_a_daemon_that_hangs_up_but_holds_the_lock() {
    let env = Env::new();
    let impostor = Impostor::new(&env);
    let start = env.murmur(["start"]).start();
    // It hangs up three times and still holds the lock.
    for _ in 0..3 {
        drop(impostor.receive_ping());
    }
    impostor.die();
    assert_started(&env, start);
}

#[test]
fn a_daemon_that_answers_and_holds_the_lock_counts_as_running() {
    let env = Env::new();
    let impostor = Impostor::new(&env);
    let start = env.murmur(["start"]).start();
    let (stream, request) = impostor.receive_ping();
    answer(&stream, &request);
    let said = show(&start.wait_with_output().unwrap());
    assert_eq!(said, format!("murmur is already running (PID {})\n[exit 0]", std::process::id()));
}

#[test]
fn start_waits_for_a_stopping_daemon_and_starts_the_next_one() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    // Its beat ends only when it is killed.
    site.plays(&json!({ "stdout": "", "faults": ["hang", "ignore-term"] }));
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_agents(1);
    let before = env.ask("ping", &Value::Null)["pid"].clone();
    let stop = env.murmur(["stop"]).start();
    let mut seen = std::iter::repeat_with(|| env.run(["status"]));
    let status = seen.find(|status| !status.contains(" is running ")).unwrap();
    assert!(status.starts_with(&format!("murmur 0.1.0 is stopping (PID {before}), up ")), "{status}");
    let said = env.run(["start"]);
    let after = env.ask("ping", &Value::Null)["pid"].clone();
    assert_ne!(before, after);
    assert_eq!(
        said,
        format!(
            "murmur is running (PID {after})\n| waiting for murmur (PID {before}), which is stopping\n[exit 0]"
        )
    );
    assert_eq!(show(&stop.wait_with_output().unwrap()), format!("murmur stopped (PID {before})\n[exit 0]"));
    assert!(daemon.ended().0.success());
    env.run(["stop"]);
}
