//! A data folder that is really deleted, file by file like `rm -rf`, while beats and hosts run.

use serde_json::{Value, json};

use super::{wait_until_begun, waits_at};
use crate::env::{Daemon, Env, wait_for_end};

/// Two beats that never end by themselves, started by a daemon, and a hosted agent.
fn begun(env: &Env) -> (Daemon, Vec<Value>, i64) {
    let (pace, gate) = env.gate("gate");
    let [one, two] = ["one", "two"].map(|name| env.workspace(name, "Do it."));
    for workspace in [&one, &two] {
        workspace.plays(&waits_at(&pace));
    }
    // Agents would continue if it were closed.
    std::mem::forget(gate);
    env.register(&[&one, &two]);
    let daemon = env.daemon();
    let agents = env.wait_for_agents(2);
    // Its messages about these are written.
    env.wait(&env.data(), || (env.config().matches("\"lastRun\":\"").count() == 2).then_some(()));
    let host = live(env);
    (daemon, agents, host)
}

/// Starts a hosted agent; its host's PID.
fn live(env: &Env) -> i64 {
    let site = env.root().join("live");
    std::fs::create_dir_all(&site).unwrap();
    std::fs::write(site.join(".fake-claude.json"), json!({ "live": "echo" }).to_string()).unwrap();
    let spawn = ["host", "spawn", "--agent-id", "live-1", "--json", "--worktree", site.to_str().unwrap()];
    let spawned: Value = serde_json::from_slice(&env.murmur(spawn).output().stdout).unwrap();
    spawned["pid"].as_i64().unwrap()
}

/// Deletes the data folder like a person.
fn delete(env: &Env) {
    let shown = env.program("rm", [std::ffi::OsStr::new("-rf"), env.data().as_os_str()]).run();
    assert_eq!(shown, "[exit 0]");
}

#[test]
fn nothing_is_recreated_and_the_daemon_its_beats_and_all_agents_end() {
    let env = Env::new();
    let (daemon, agents, host) = begun(&env);
    delete(&env);
    let (status, said) = daemon.ended();
    assert_eq!(status.code(), Some(1), "{said:#?}");
    let why =
        format!("the daemon cannot continue: the data folder {} was moved or deleted", env.data().display());
    assert!(said.iter().any(|line| line.contains(&why)), "{said:#?}");
    // The outcomes are reported where that is still possible.
    let lost = said.iter().filter(|line| line.contains("a journal line is lost: {")).count();
    assert_eq!(lost, 2, "{said:#?}");
    agents.iter().for_each(|agent| env.wait_until_dead(agent));
    wait_for_end(host);
    assert_eq!(env.agents_alive(), Vec::<i64>::new());
    assert!(!env.data().exists(), "{}", env.names(&env.data()));
}

#[test]
fn beats_of_an_earlier_daemon_end_too() {
    let env = Env::new();
    let (daemon, agents, host) = begun(&env);
    daemon.crash();
    let daemon = env.daemon();
    wait_until_begun(&env);
    delete(&env);
    // Beats hold the first daemon's stderr, not this one's.
    assert_eq!(daemon.ended().0.code(), Some(1));
    agents.iter().for_each(|agent| env.wait_until_dead(agent));
    wait_for_end(host);
    assert!(!env.data().exists(), "{}", env.names(&env.data()));
}

#[test]
fn beats_and_agents_end_without_a_daemon_and_a_new_folder_is_left_alone() {
    let env = Env::new();
    let (daemon, agents, host) = begun(&env);
    daemon.crash();
    delete(&env);
    env.create_data();
    agents.iter().for_each(|agent| env.wait_until_dead(agent));
    wait_for_end(host);
    assert_eq!(env.names(&env.data()), "");
}

#[test]
fn beats_of_an_earlier_daemon_end_in_a_moved_folder_and_keep_their_lines() {
    let env = Env::new();
    let (daemon, agents, host) = begun(&env);
    daemon.crash();
    let daemon = env.daemon();
    wait_until_begun(&env);
    let moved = env.root().join("moved");
    std::fs::rename(env.data(), &moved).unwrap();
    assert_eq!(daemon.ended().0.code(), Some(1));
    agents.iter().for_each(|agent| env.wait_until_dead(agent));
    assert!(!env.data().exists());
    std::fs::rename(&moved, env.data()).unwrap();
    let daemon = env.daemon();
    let lines = env.wait_for_journal(2);
    assert!(lines.iter().all(|line| line["outcome"] == "error"), "{lines:#?}");
    assert!(lines.iter().all(|line| line.get("stopped").is_none()), "{lines:#?}");
    // The hosted agent moved along with its folder.
    assert_eq!(env.ask("status", &Value::Null)["liveAgents"], json!(["live-1"]));
    env.murmur(["host", "stop", "live-1"]).output();
    wait_for_end(host);
    daemon.stop();
}
