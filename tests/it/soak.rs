//! Crashes at random moments: whatever dies, every beat that began has exactly one line in the journal.
//!
//! A few rounds run with every check; `MURMUR_SOAK_ROUNDS` (`just soak`) asks for more. The moments are random and
//! reproducible: the seed is fixed, and what is counted is lines and agents, never time.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::env::{Env, fixture, kill};

/// A generator of small numbers: xorshift, which needs no crate and gives the same moments every time.
struct Moments(u64);

impl Moments {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

const WORKSPACES: usize = 6;

fn rounds() -> usize {
    std::env::var("MURMUR_SOAK_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(4)
}

/// A round takes a second or two; a minute each is for a machine that is busy with other things.
fn patience() -> Duration {
    Duration::from_secs(60) * u32::try_from(rounds()).unwrap()
}

/// The process that a beat's agent belongs to.
fn parent(pid: i64) -> i64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
    parent.trim().parse().unwrap()
}

/// How often each agent is in the journal.
fn lines_of(journal: &[Value]) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for line in journal {
        *lines.entry(line["agent"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    lines
}

#[test]
fn every_beat_has_one_line_however_often_the_daemon_is_killed() {
    let env = Env::for_as_long_as(patience());
    let mut moments = Moments(0x6d75_726d_7572);
    let workspaces: Vec<_> = (0..WORKSPACES).map(|n| env.workspace(&format!("w{n}"), "Look.")).collect();
    let entries: Vec<Value> =
        workspaces.iter().map(|workspace| json!({ "path": workspace.0, "interval": "1s" })).collect();
    env.configure(&json!({ "maxConcurrent": 3, "workspaces": entries }).to_string());
    for _ in 0..rounds() {
        let daemon = env.daemon();
        let begun = env.agents().len();
        // At a moment when some beats are over, some run, and some are about to begin.
        env.wait_for_agents(begun + 1 + usize::try_from(moments.below(8)).unwrap());
        daemon.crash();
    }
    // What still runs writes its own line; a daemon that ends in order leaves nothing open.
    let daemon = env.daemon();
    env.wait_for_agents(env.agents().len() + 1);
    daemon.stop();
    env.wait_for_no_beats();
    check(&env);
}

#[test]
fn every_beat_has_one_line_however_often_its_process_is_killed() {
    let env = Env::for_as_long_as(patience());
    let mut moments = Moments(0x0062_6561_7473);
    let workspaces: Vec<_> = (0..WORKSPACES).map(|n| env.workspace(&format!("w{n}"), "Look.")).collect();
    for workspace in &workspaces {
        workspace.plays(&json!({ "fixture": fixture("ok"), "faults": ["hang", "setsid-child"] }));
    }
    let entries: Vec<Value> =
        workspaces.iter().map(|workspace| json!({ "path": workspace.0, "interval": "1s" })).collect();
    env.configure(&json!({ "maxConcurrent": 3, "workspaces": entries }).to_string());
    let daemon = env.daemon();
    let mut killed = 0;
    for _ in 0..rounds() {
        let agents = env.wait_for_agents(killed + 3);
        // One of the three that hang; its process is the parent of its agent.
        let journal = lines_of(&env.journal());
        let name = |agent: &Value| agent["env"]["MURMUR_AGENT_ID"].as_str().unwrap().to_owned();
        let alive: Vec<&Value> = agents.iter().filter(|agent| !journal.contains_key(&name(agent))).collect();
        let victim = alive[usize::try_from(moments.below(alive.len() as u64)).unwrap()];
        kill(parent(victim["pid"].as_i64().unwrap()), Signal::KILL);
        killed += 1;
        env.wait_for_journal(killed);
        env.wait_until_dead(victim);
    }
    daemon.stop();
    env.wait_for_no_beats();
    check(&env);
    let died =
        env.journal().iter().filter(|line| line["error"].as_str().unwrap().contains("was killed")).count();
    assert_eq!(died, killed);
}

/// Every agent that began has one line, and there is no line but of an agent that began.
fn check(env: &Env) {
    let lines = lines_of(&env.journal());
    let twice: Vec<_> = lines.iter().filter(|(_, count)| **count != 1).collect();
    assert!(twice.is_empty(), "not one line each: {twice:?}");
    for agent in env.agents() {
        let name = agent["env"]["MURMUR_AGENT_ID"].as_str().unwrap();
        assert!(lines.contains_key(name), "{name} began and has no line");
    }
}
