//! A killed host: its agent's processes are killed, its events can still be seen, its id can be used again.

use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;

use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};
use murmur_host::reap;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{ID, Live, is_idle_after};
use crate::env::{Env, is_agent, kill, wait_for_end};

/// An agent after a turn, with a child in another session; that child, and a client's events so far.
fn begun(env: &Env) -> (Live<'_>, i64, Vec<Value>) {
    env.site(&json!({ "faults": ["setsid-child"] }));
    let agent = Live::of(env, env.spawning(ID, &["--json", "--project", "site", "--role", "coding", "one"]));
    let seen = agent.follow(0).until(|event| is_idle_after(event, 1));
    let child = env.wait_for_agents(1)[0]["children"][0].as_i64().unwrap();
    (agent, child, seen)
}

/// Kills the host and waits until the agent is dead, too.
fn kill_host(agent: &Live<'_>) {
    let agent_pid = agent.agent_pid();
    kill(agent.pid, Signal::KILL);
    agent.wait_for_end();
    wait_for_end(agent_pid);
}

#[test]
fn discover_kills_leftovers_and_events_can_still_be_replayed() {
    let env = Env::new();
    let (agent, child, seen) = begun(&env);
    kill_host(&agent);
    assert!(is_agent(child), "it is in a session of its own");
    assert_snapshot!(env.run(["host", "list"]), @"
    no agents; start one with: murmur agent start
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "list", "--all"]), @"
    AGENT   PROJECT  ROLE    STATE
    site-1  site     coding  dead
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "send", ID, "two"]), @"
    | error: the host of site-1 was killed
    | hint: clean up with: murmur agent stop site-1
    [exit 1]
    ");
    let before = env.murmur(["attach", ID, "--from", "0", "--json"]).output();
    assert!(!before.status.success());
    // What the hint says cleans up.
    assert_snapshot!(env.run(["agent", "stop", ID]), @"
    agent site-1 has ended
    | note: the host of site-1 was already dead; remaining processes of the agent were killed
    [exit 0]
    ");
    wait_for_end(child);
    assert_eq!(env.alive(), Vec::<i64>::new());
    assert_eq!(env.names(&env.hosts()), "site-1.json\nsite-1.log");
    let result = &env.record(ID)["result"];
    assert_eq!((&result["exit"], &result["error"]), (&Value::Null, &json!("its host was killed")));
    assert_snapshot!(env.run(["host", "status", ID]), @"
    Agent ID: site-1
    Project: site
    Role: coding
    State: exited
    Error: its host was killed
    Ended: [TIME]
    Capture: [SESSION]
    [exit 0]
    ");
    // It was not a clean end, then as now.
    let again = env.murmur(["attach", ID, "--from", "0", "--json"]).output();
    assert_eq!(String::from_utf8_lossy(&again.stderr), "error: agent site-1: its host was killed\n");
    assert_eq!(again.stdout, before.stdout);
    let told = String::from_utf8(again.stdout).unwrap();
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(told == seen, "{told:#?}");
    assert_snapshot!(env.run(["host", "discover", "--json"]), @r#"
    {"schema":"hosts/1","agents":[],"cleaned":{"dead":[],"sockets":0}}
    [exit 0]
    "#);
}

#[test]
fn force_kills_an_unresponsive_host_and_its_agent() {
    let env = Env::new();
    let (agent, child, _) = begun(&env);
    let agent_pid = agent.agent_pid();
    kill(agent.pid, Signal::STOP);
    assert_snapshot!(env.run(["host", "stop", ID]), @"
    | error: the host of site-1 does not answer
    | hint: if it stays unresponsive, run: murmur agent stop --force site-1
    [exit 1]
    ");
    assert_snapshot!(env.run(["host", "stop", ID, "--force"]), @"
    agent site-1 has ended
    [exit 0]
    ");
    agent.wait_for_end();
    wait_for_end(agent_pid);
    wait_for_end(child);
    assert_snapshot!(env.run(["host", "list"]), @"
    no agents; start one with: murmur agent start
    [exit 0]
    ");
    assert_eq!(env.record(ID)["result"]["error"], "its host was killed");
}

#[test]
fn a_starting_daemon_removes_a_stale_socket_without_a_record() {
    let env = Env::new();
    env.create_data();
    std::fs::DirBuilder::new().mode(0o700).create(env.hosts()).unwrap();
    let bind = |name: &str| UnixListener::bind(env.hosts().join(name)).unwrap();
    drop(bind("dead-1.sock"));
    // Somebody listens here, and this is not an agent's name.
    let (_alive, foreign) = (bind("alive-1.sock"), "not an agent.sock");
    drop(bind(foreign));
    let daemon = env.daemon();
    env.wait(&env.hosts(), || (!env.names(&env.hosts()).contains("dead-1")).then_some(()));
    assert_eq!(env.names(&env.hosts()), format!("alive-1.sock\n{foreign}"));
    daemon.stop();
}

#[test]
fn a_starting_daemon_cleans_up_too() {
    let env = Env::new();
    let (agent, child, _) = begun(&env);
    kill_host(&agent);
    let daemon = env.daemon();
    env.wait(&env.hosts(), || (env.names(&env.hosts()) == "site-1.json\nsite-1.log").then_some(()));
    wait_for_end(child);
    daemon.stop();
}

#[test]
fn a_new_agent_with_the_same_id_cleans_up() {
    let env = Env::new();
    let (agent, child, _) = begun(&env);
    kill_host(&agent);
    let again = Live::of(&env, env.spawning(ID, &["--json", "three"]));
    wait_for_end(child);
    let events = again.follow(0).until(|event| is_idle_after(event, 1));
    assert_eq!(events[2]["payload"]["text"], "three");
    assert_eq!(again.stop()["exit"], json!({ "code": 0 }));
    let third = Live::of(&env, env.spawning(ID, &["--json"]));
    assert_eq!(third.status()["state"], "idle");
}

#[test]
fn ended_agents_are_removed_after_a_day() {
    let env = Env::new();
    let agent = env.live(&json!({}));
    agent.stop();
    agent.wait_for_end();
    std::fs::write(env.hosts().join("site-1.log"), "what a host had to say\n").unwrap();
    let ended: Timestamp = env.record(ID)["result"]["endedAt"].as_str().unwrap().parse().unwrap();
    for (hours, left) in [(24, "site-1.json\nsite-1.log"), (25, "")] {
        let cleaned = reap::reap_dead(&env.hosts(), ended + SignedDuration::from_hours(hours)).unwrap();
        assert_eq!(cleaned, reap::Reaped::default());
        assert_eq!(env.names(&env.hosts()), left);
    }
    assert_snapshot!(env.run(["attach", ID, "--from", "0"]), @r#"
    | error: no hosted agent "site-1"
    | hint: see: murmur agent list --all
    [exit 1]
    "#);
}

#[test]
fn a_socket_without_a_process_is_removed() {
    let env = Env::new();
    env.create_data();
    let agent = env.live(&json!({}));
    for name in ["stale.sock", "another.sock"] {
        drop(UnixListener::bind(env.hosts().join(name)).unwrap());
    }
    let _other = UnixListener::bind(env.hosts().join("not an id.sock")).unwrap();
    std::fs::write(env.hosts().join("broken.json"), "{").unwrap();
    assert_snapshot!(env.run(["host", "list", "--all"]), @"
    AGENT    PROJECT  ROLE   STATE
    another  ?        ?      dead
    site-1   site     agent  idle
    stale    ?        ?      dead
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "discover"]), @"
    Discovered 1 running host
    Removed 2 stale sockets
    [exit 0]
    ");
    assert_snapshot!(env.run(["host", "discover"]), @"
    Discovered 1 running host
    [exit 0]
    ");
    agent.assert_answers();
}

/// Where the system announces removals (sys/anchor.rs).
#[cfg(target_os = "linux")]
#[test]
fn a_host_recreates_its_record_and_socket_without_a_daemon() {
    let env = Env::new();
    let agent = env.live(&json!({}));
    // More than once, and also after the folder was moved.
    for round in 0..3 {
        if round == 1 {
            std::fs::rename(env.hosts(), env.root().join("hosts")).unwrap();
        } else {
            std::fs::remove_dir_all(env.hosts()).unwrap();
        }
        env.wait(&env.data(), || env.hosts().exists().then_some(()));
        let is_back = || env.names(&env.hosts()).contains("site-1.json\nsite-1.sock").then_some(());
        env.wait(&env.hosts(), is_back);
        agent.assert_answers();
    }
    agent.stop();
    agent.wait_for_end();
    assert_eq!(env.names(&env.hosts()), "site-1.json");
}

#[test]
fn a_host_recreates_its_deleted_record_and_socket() {
    let env = Env::new();
    let agent = env.live(&json!({}));
    let daemon = env.daemon();
    // By its first response it has found all hosts.
    assert_eq!(env.ask("status", &Value::Null)["liveAgents"], json!(["site-1"]));
    let mut follower = agent.follow(0);
    follower.next().unwrap();
    let is_back = || {
        (env.names(&env.hosts()).contains("site-1.json\n") && env.names(&env.hosts()).contains("site-1.sock"))
            .then_some(())
    };
    // The whole folder, and then only the socket.
    std::fs::remove_dir_all(env.hosts()).unwrap();
    env.wait(&env.data(), || env.hosts().exists().then_some(()));
    env.wait(&env.hosts(), is_back);
    assert_snapshot!(env.run(["host", "list"]), @"
    AGENT   PROJECT  ROLE   STATE
    site-1  site     agent  idle
    [exit 0]
    ");
    std::fs::remove_file(env.hosts().join("site-1.sock")).unwrap();
    env.wait(&env.hosts(), is_back);
    // Its follower still follows it.
    agent.send("one");
    follower.until(|event| is_idle_after(event, 1));
    agent.stop();
    agent.wait_for_end();
    daemon.stop();
    assert_eq!(env.names(&env.hosts()), "site-1.json");
}
