//! Hosts that are killed at random moments while their agents work: this is noticed, and nothing of
//! them is left.

use std::collections::BTreeSet;
use std::process::Child;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::load::{Agent, Load, hosts};
use super::{Moments, beats, parent, times};
use crate::env::{Env, fixture, is_agent, kill, wait_for_end};

fn env() -> Env {
    Env::for_as_long_as(Duration::from_secs(60 + times(0, 3600)))
}

fn name(agent: &Value) -> &str {
    agent["env"]["MURMUR_AGENT_ID"].as_str().unwrap()
}

/// Kills `host`, and waits for the end of its agent, and of the agent's child in another session.
fn kill_host(host: i64, logged: &Value) {
    kill(host, Signal::KILL);
    let child = logged["children"][0].as_i64().unwrap();
    assert_ne!(child, 0);
}

fn logged(env: &Env, id: &str) -> Value {
    env.agents().into_iter().find(|agent| name(agent) == id).unwrap()
}

/// What `murmur host list --all` shows of them.
fn list(env: &Env) -> Vec<Value> {
    env.murmur(["host", "list", "--all", "--json"]).json()["agents"].as_array().unwrap().clone()
}

fn is_reported_killed(agents: &[Value], id: &str) -> bool {
    agents.iter().any(|agent| {
        agent["agent_id"] == id
            && agent["state"] == "exited"
            && agent["result"]["error"] == "its host was killed"
            && agent["result"]["exit"] == Value::Null
    })
}

#[test]
fn leftovers_of_a_killed_host_are_killed_and_reported() {
    let env = env();
    let mut moments = Moments::new(0x686f_7374_7300_0001);
    // Before its answer: `backgroundWait` ends one that hangs after it.
    let hanging = json!({ "fixture": fixture("ok"), "faults": ["hang-before", "setsid-child"] });
    beats::register(&env, 8, 4, &hanging);
    let mut load = Load::new(&env, 4, &["setsid-child"]);
    let daemon = env.daemon();
    let (mut live, mut killed) = (BTreeSet::new(), BTreeSet::new());
    for round in 0..times(16, 400) {
        load.wait(moments.below(200));
        let victim;
        if moments.below(2) == 0 {
            let agent: Agent = moments.of(&load.agents).clone();
            load.agents.retain(|other| *other != agent);
            victim = logged(&env, &agent.id);
            kill_host(agent.host, &victim);
            live.insert(agent.id);
            load.add(&format!("live-more-{round}"), &["setsid-child"]);
        } else {
            // Not for more to start: the maximum may be running already.
            let running =
                |agent: &Value| !killed.contains(name(agent)) && is_agent(agent["pid"].as_i64().unwrap());
            let agents = env.wait(&env.root().join("log"), || {
                Some(beats::begun(&env).into_iter().filter(running).collect::<Vec<_>>())
                    .filter(|all| !all.is_empty())
            });
            victim = moments.of(&agents).clone();
            kill_host(parent(victim["pid"].as_i64().unwrap()), &victim);
            killed.insert(name(&victim).to_owned());
        }
        env.wait_until_dead(&victim);
    }
    load.stop_sending();
    env.wait(&hosts(&env), || {
        let agents = list(&env);
        live.iter().all(|id| is_reported_killed(&agents, id)).then_some(())
    });
    load.assert_same();
    // Those that hang are stopped with the daemon.
    daemon.stop();
    beats::wait_for_none(&env);
    beats::check(&env);
    let has_died = |line: &Value| {
        let error = line["error"].as_str().unwrap_or_else(|| panic!("not an error: {line}"));
        error.contains("was killed")
    };
    let died = env.journal().into_iter().filter(has_died);
    let died: BTreeSet<String> = died.map(|line| line["agent"].as_str().unwrap().to_owned()).collect();
    assert_eq!(died, killed);
    let alive: BTreeSet<i64> = env.agents_alive().into_iter().collect();
    let expected = load
        .agents
        .iter()
        .flat_map(|agent| [agent.pid, logged(&env, &agent.id)["children"][0].as_i64().unwrap()]);
    assert_eq!(alive, expected.collect());
    eprintln!("killed hosts: {} of hosted agents, {} of beats", live.len(), killed.len());
}

#[test]
fn without_a_daemon_discover_kills_and_reports_leftovers() {
    let env = env();
    let mut moments = Moments::new(0x686f_7374_7300_0002);
    let mut load = Load::new(&env, 4, &["setsid-child"]);
    for round in 0..times(5, 100) {
        load.wait(moments.below(200));
        let agent: Agent = moments.of(&load.agents).clone();
        load.agents.retain(|other| *other != agent);
        let victim = logged(&env, &agent.id);
        kill_host(agent.host, &victim);
        wait_for_end(agent.host);
        wait_for_end(agent.pid);
        assert!(is_agent(victim["children"][0].as_i64().unwrap()));
        // Two at once don't conflict.
        let discover: Vec<Child> = (0..2).map(|_| env.murmur(["host", "discover"]).start()).collect();
        for child in discover {
            crate::env::ended(child).success();
        }
        env.wait_until_dead(&victim);
        assert!(is_reported_killed(&list(&env), &agent.id), "{:#?}", list(&env));
        load.add(&format!("live-more-{round}"), &["setsid-child"]);
    }
    load.stop_sending();
    load.assert_same();
    // The newest may be about to report its start.
    env.wait_for_agents(4 + usize::try_from(times(5, 100)).unwrap());
    assert_eq!(env.agents_alive().len(), 2 * load.agents.len());
}
