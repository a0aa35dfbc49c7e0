//! Heartbeats that come due all the time, and what must be true of their beats in the end.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::env::{Env, Workspace};

/// How often most come due, in milliseconds; every third comes due once.
const INTERVAL: u64 = 1000;

/// Registers so many heartbeats, whose agents follow these instructions.
pub(super) fn register(env: &Env, count: usize, most: usize, instructions: &Value) -> Vec<Workspace> {
    let workspaces: Vec<_> = (0..count).map(|n| env.workspace(&format!("w{n}"), "Look.")).collect();
    workspaces.iter().for_each(|workspace| workspace.plays(instructions));
    let often = |workspace: &Workspace| if is_rare(workspace.path()) { "9d" } else { "1s" };
    let entry = |workspace: &Workspace| json!({ "path": workspace.0, "interval": often(workspace) });
    let entries: Vec<Value> = workspaces.iter().map(entry).collect();
    env.configure(&json!({ "maxConcurrent": most, "workspaces": entries }).to_string());
    workspaces
}

/// Whether this workspace comes due once.
fn is_rare(workspace: &str) -> bool {
    workspace.ends_with(['1', '4', '7'])
}

/// The agents of beats that have started.
pub(super) fn begun(env: &Env) -> Vec<Value> {
    let is_beat =
        |agent: &Value| agent["env"]["MURMUR_AGENT_ID"].as_str().is_some_and(|id| id.starts_with('w'));
    env.agents().into_iter().filter(is_beat).collect()
}

/// Waits until so many more have begun.
pub(super) fn wait_for_more(env: &Env, more: usize) {
    let until = begun(env).len() + more;
    env.wait(&env.root().join("log"), || (begun(env).len() >= until).then_some(()));
}

/// Waits until no beat is running.
pub(super) fn wait_for_none(env: &Env) {
    let beats = env.data().join("beats");
    let is_record = |name: &str| name.ends_with(".json") && !name.starts_with('.');
    env.wait(&beats, || (!env.names(&beats).lines().any(is_record)).then_some(()));
}

/// When a beat was decided on, in milliseconds: the beginning of its id, a UUIDv7.
fn decided(beat: &str) -> u64 {
    let digits: String = beat.chars().filter(|digit| *digit != '-').take(12).collect();
    u64::from_str_radix(&digits, 16).unwrap()
}

/// Checks that every agent of a beat started once and has one line, every line belongs to a beat, and no heartbeat ran
/// twice for one due time. Returns their number.
pub(super) fn check(env: &Env) -> usize {
    let journal = env.journal();
    let text = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    let ids: BTreeSet<String> = journal.iter().map(|line| text(line, "beat")).collect();
    assert_eq!(ids.len(), journal.len(), "a beat has two lines");
    let lines: BTreeSet<String> = journal.iter().map(|line| text(line, "agent")).collect();
    let mut agents: BTreeMap<String, usize> = BTreeMap::new();
    for agent in begun(env) {
        *agents.entry(agent["env"]["MURMUR_AGENT_ID"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    let wrong: Vec<_> =
        agents.iter().filter(|(agent, count)| **count != 1 || !lines.contains(*agent)).collect();
    assert!(wrong.is_empty(), "not one agent and one line: {wrong:?}");
    let mut times: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for line in &journal {
        times.entry(text(line, "workspace")).or_default().push(decided(&text(line, "beat")));
    }
    for (workspace, mut times) in times {
        assert!(times.len() == 1 || !is_rare(&workspace), "{workspace} was run again: {times:?}");
        times.sort_unstable();
        let close: Vec<_> = times.windows(2).filter(|pair| pair[1] - pair[0] + 1 < INTERVAL).collect();
        assert!(close.is_empty(), "{workspace} was run too soon again: {close:?}");
    }
    journal.len()
}

/// The same, and each of them was ok.
pub(super) fn check_all_well(env: &Env) -> usize {
    let count = check(env);
    let ill: Vec<_> = env.journal().into_iter().filter(|line| line["outcome"] != "ok").collect();
    assert!(ill.is_empty(), "{ill:#?}");
    assert_eq!(begun(env).len(), count, "a line without an agent");
    count
}
