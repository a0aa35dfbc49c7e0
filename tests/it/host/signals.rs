//! What a host outlives, and what ends it.

use rustix::process::{Pid, Signal, getpgid, getsid};
use serde_json::{Value, json};

use super::{ID, Live, briefs, is_idle_after};
use crate::env::{Env, MURMUR, kill, wait_for_end};

#[test]
fn sighup_and_sigint_are_ignored_and_sigterm_ends_host_and_agent() {
    let env = Env::new();
    let agent = env.live(&json!({}));
    let mut events = agent.follow(0);
    kill(agent.pid, Signal::HUP);
    kill(agent.pid, Signal::INT);
    agent.send("one");
    events.until(|event| is_idle_after(event, 1));
    agent.assert_answers();
    kill(agent.pid, Signal::TERM);
    assert_eq!(briefs(&events.rest()), ["stopping force false grace 5000", "exited {\"code\":0}"]);
    agent.wait_for_end();
    assert_eq!(env.record(ID)["result"]["exit"], json!({ "code": 0 }));
}

#[test]
fn a_second_sigterm_changes_nothing() {
    let env = Env::new();
    let (pace, gate) = env.gate("gate");
    let agent = env.live(&json!({ "pace": pace, "faults": ["ignore-term"] }));
    let mut events = agent.follow(0);
    agent.send("one");
    // Before that it would not ignore SIGTERM yet.
    env.wait_for_agents(1);
    kill(agent.pid, Signal::TERM);
    events.until(|event| super::is_state(event, "stopping"));
    kill(agent.pid, Signal::TERM);
    agent.assert_answers();
    drop(gate);
    assert_eq!(briefs(&events.rest()).last().unwrap(), "exited {\"code\":0}");
    agent.wait_for_end();
}

#[test]
fn a_host_outlives_the_session_and_process_group_that_started_it() {
    let env = Env::new();
    let site = env.site(&json!({}));
    let script = "\"$@\"; kill -HUP 0; kill -KILL 0";
    let spawn = ["host", "spawn", "--json", "--agent-id", ID, "--worktree", site.to_str().unwrap()];
    let shell = ["--wait", "/bin/sh", "-c", script, "sh", MURMUR].into_iter().chain(spawn);
    let output = env.program("setsid", shell).output();
    assert!(!output.status.success(), "its whole group is killed");
    let spawned: Value = serde_json::from_slice(&output.stdout).unwrap();
    let agent = Live { env: &env, id: ID, pid: spawned["pid"].as_i64().unwrap() };
    agent.send("one");
    agent.follow(0).until(|event| is_idle_after(event, 1));
    let host = Pid::from_raw(i32::try_from(agent.pid).unwrap()).unwrap();
    assert_eq!((getsid(Some(host)).unwrap(), getpgid(Some(host)).unwrap()), (host, host));
}

#[test]
fn a_host_outlives_the_daemon() {
    let env = Env::new();
    let daemon = env.daemon();
    let agent = env.live(&json!({}));
    daemon.stop();
    agent.send("one");
    agent.follow(0).until(|event| is_idle_after(event, 1));
    let daemon = env.daemon();
    daemon.crash();
    agent.assert_answers();
    agent.stop();
    wait_for_end(agent.pid);
}
