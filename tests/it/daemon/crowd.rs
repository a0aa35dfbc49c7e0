//! Clients that connect and send nothing.

use std::time::Duration;

use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::json;

use crate::env::{Daemon, Env, Socket, kill};

fn idle(env: &Env, count: usize) -> Vec<Socket> {
    (0..count).map(|_| env.connect()).collect()
}

#[test]
fn a_hundred_idle_clients_do_not_make_the_daemon_unreachable() {
    // As few file descriptors as a shell or service manager may allow.
    let env = Env::new();
    env.create_data();
    let run = env.program("sh", ["-c", "ulimit -n 64 && exec \"$0\" start --foreground", crate::env::MURMUR]);
    let daemon = Daemon::new(run);
    let mut clients = idle(&env, 100);
    let status = env.run(["status"]);
    assert!(status.starts_with("murmur 0.1.0 is running"), "{status}");
    let dropped = clients[0].receive().unwrap();
    assert_snapshot!(dropped["error"].as_str().unwrap(), @"too many clients are connected, and this one was idle the longest");
    assert_eq!(dropped["hint"], "connect again");
    assert_eq!(clients[0].receive(), None);
    // The newest are dropped last.
    clients[99].ask("ping", &json!({}));
    // Beats still get file descriptors.
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    assert_eq!(env.wait_for_journal(1)[0]["outcome"], "ok");
    daemon.stop();
}

#[test]
fn a_hundred_simultaneous_clients_leave_the_daemon_enough_file_descriptors() {
    let env = Env::new();
    env.create_data();
    let run = env.program("sh", ["-c", "ulimit -n 64 && exec \"$0\" start --foreground", crate::env::MURMUR]);
    let daemon = Daemon::new(run);
    env.connect().ask("ping", &json!({}));
    // It finds all of them, and the heartbeat, when it continues.
    kill(daemon.pid(), Signal::STOP);
    let clients = idle(&env, 100);
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    kill(daemon.pid(), Signal::CONT);
    assert_eq!(env.wait_for_journal(1)[0]["outcome"], "ok");
    drop(clients);
    daemon.stop();
}

#[test]
fn a_client_that_waits_for_events_or_a_response_is_not_idle() {
    let env = Env::for_as_long_as(Duration::from_secs(120));
    let site = env.workspace("site", "---\ninterval: 1000h\n---\nDo it.");
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_journal(1);
    let mut follower = env.connect();
    follower.ask("attach", &json!({}));
    let mut asking = env.connect();
    let call = json!({ "agent": "site-1", "session": "s", "toolUseId": "t1", "tool": "Bash",
        "input": { "command": "git push" }, "cwd": site.0, "workspace": site.0, "project": "site",
        "whom": "person", "wait": 120, "expiry": 86400, "hook": "00c0ffee00c0ffee" });
    let request = json!({ "msg_type": "permission.request", "id": "1", "payload": call });
    asking.say(format!("{request}\n"));
    let id = follower.event("request_opened")["payload"]["id"].clone();
    let _clients = idle(&env, 300);
    let respond = json!({ "id": id, "decision": "allow" });
    env.ask("permission.respond", &respond);
    assert_eq!(asking.receive().unwrap()["payload"]["decision"], "allow");
    follower.event("request_closed");
    env.connect().ask("beat", &json!({ "workspace": site.0 }));
    follower.event("beat_started");
    follower.event("beat_ended");
    daemon.stop();
}
