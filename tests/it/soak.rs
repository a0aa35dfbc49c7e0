//! Crashes at random moments: whatever dies, every beat that began has exactly one line in the journal.
//!
//! A few rounds run in every check; `MURMUR_SOAK_ROUNDS` (`just soak`) asks for more. The moments are random and
//! reproducible: the seed is fixed, or `MURMUR_SOAK_SEED`; lines, events and agents are counted, never time.

mod announced;
mod beats;
mod daemons;
mod edits;
mod follow;
mod full;
mod hosts;
mod load;
mod rotation;
mod starts;

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::env::{Env, fixture, kill};

/// A generator of small numbers: xorshift, which needs no crate and gives the same moments every time.
struct Moments {
    seed: u64,
    state: u64,
}

impl Moments {
    fn new(seed: u64) -> Self {
        let asked = std::env::var("MURMUR_SOAK_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = asked.unwrap_or(seed);
        Self { seed, state: seed }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % limit
    }

    /// One of these.
    fn of<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        &things[usize::try_from(self.below(things.len() as u64)).unwrap()]
    }
}

impl Drop for Moments {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the moments were those of MURMUR_SOAK_SEED={}", self.seed);
        }
    }
}

const WORKSPACES: usize = 6;

/// The requested number of rounds, if any.
fn asked() -> Option<u64> {
    std::env::var("MURMUR_SOAK_ROUNDS").ok().and_then(|rounds| rounds.parse().ok())
}

fn rounds() -> usize {
    asked().map_or(4, |rounds| usize::try_from(rounds).unwrap())
}

/// `few` in a check; if rounds are requested, `many` for each two hundred of them.
fn times(few: u64, many: u64) -> u64 {
    asked().map_or(few, |rounds| (many * rounds).div_ceil(200))
}

/// A round takes a second or two; a minute each is for a busy machine.
fn time_limit() -> Duration {
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
    // Other kinds of lines name a beat's agent, too, such as one about its repeated failures.
    for line in journal.iter().filter(|line| line["kind"].is_null()) {
        *lines.entry(line["agent"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    lines
}

#[test]
fn every_beat_has_one_line_however_often_the_daemon_is_killed() {
    let env = Env::for_as_long_as(time_limit());
    let mut moments = Moments::new(0x6d75_726d_7572);
    let workspaces: Vec<_> = (0..WORKSPACES).map(|n| env.workspace(&format!("w{n}"), "Look.")).collect();
    let entries: Vec<Value> =
        workspaces.iter().map(|workspace| json!({ "path": workspace.0, "interval": "1s" })).collect();
    env.configure(&json!({ "maxConcurrent": 3, "workspaces": entries }).to_string());
    for _ in 0..rounds() {
        let daemon = env.daemon();
        let begun = env.agents().len();
        // At a moment when some beats have ended, some are running, and some are about to start.
        env.wait_for_agents(begun + 1 + usize::try_from(moments.below(8)).unwrap());
        daemon.crash();
    }
    // Running beats write their own lines; a daemon that exits normally leaves nothing open.
    let daemon = env.daemon();
    env.wait_for_agents(env.agents().len() + 1);
    daemon.stop();
    env.wait_for_no_beats();
    check(&env);
}

#[test]
fn every_beat_has_one_line_however_often_its_process_is_killed() {
    let env = Env::for_as_long_as(time_limit());
    let mut moments = Moments::new(0x0062_6561_7473);
    let workspaces: Vec<_> = (0..WORKSPACES).map(|n| env.workspace(&format!("w{n}"), "Look.")).collect();
    for workspace in &workspaces {
        workspace.plays(&json!({ "fixture": fixture("ok"), "faults": ["hang-before", "setsid-child"] }));
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
        let victim = *moments.of(&alive);
        kill(parent(victim["pid"].as_i64().unwrap()), Signal::KILL);
        killed += 1;
        env.wait_for_journal(killed);
        env.wait_until_dead(victim);
    }
    daemon.stop();
    env.wait_for_no_beats();
    check(&env);
    let died = env
        .journal()
        .iter()
        .filter(|line| line["error"].as_str().is_some_and(|error| error.contains("was killed")))
        .count();
    assert_eq!(died, killed);
}

/// Every agent that started has one line, and there is no other line.
fn check(env: &Env) {
    let lines = lines_of(&env.journal());
    let twice: Vec<_> = lines.iter().filter(|(_, count)| **count != 1).collect();
    assert!(twice.is_empty(), "not one line each: {twice:?}");
    for agent in env.agents() {
        let name = agent["env"]["MURMUR_AGENT_ID"].as_str().unwrap();
        assert!(lines.contains_key(name), "{name} began and has no line");
    }
}
