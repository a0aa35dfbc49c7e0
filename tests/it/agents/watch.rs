//! `--watch` without a terminal: a line for each change.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout};

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{dead, pulse, with};
use crate::env::{Env, Run};

/// The output of a child, line by line.
pub(crate) struct Lines(BufReader<ChildStdout>);

impl Lines {
    pub(crate) fn of(child: &mut Child) -> Self {
        Self(BufReader::new(child.stdout.take().unwrap()))
    }

    pub(super) fn text(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }

    fn next(&mut self) -> Value {
        let line = self.text();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    pub(crate) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.next();
            if is_it(&line) {
                return line;
            }
        }
    }
}

impl Run {
    /// Its first line; then it is ended.
    pub(super) fn start_and_read_a_line(self) -> String {
        let mut child = self.start();
        let line = Lines::of(&mut child).text();
        child.kill().unwrap();
        child.wait().unwrap();
        line
    }
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn each_change_is_one_line() {
    let env = Env::new();
    env.beats(&pulse("site-1", 450));
    let mut child = env.murmur(["agents", "--watch"]).start();
    let mut lines = Lines::of(&mut child);
    let mut shown = lines.text();
    env.beats(&pulse("site-1", 0));
    shown += &lines.text();
    env.beats(&with(pulse("site-2", 7500), &json!({ "state": "idle", "tool_name": "" })));
    shown += &lines.text();
    std::fs::remove_file(env.pulses().join("site-1.json")).unwrap();
    shown += &lines.text();
    end(child);
    assert_snapshot!(shown);
}

#[test]
fn watching_one_agent_prints_only_its_changes() {
    let env = Env::new();
    env.beats(&pulse("site-1", 450));
    let mut child = env.murmur(["agents", "site-2", "--watch", "--json"]).start();
    let mut lines = Lines::of(&mut child);
    env.beats(&pulse("site-2", 0));
    assert_eq!(lines.next()["agent"]["agent_id"], "site-2");
    env.beats(&pulse("site-1", 0));
    std::fs::remove_file(env.pulses().join("site-2.json")).unwrap();
    assert_eq!(lines.next(), json!({ "gone": { "agent_id": "site-2" } }));
    end(child);
}

#[test]
fn watching_waits_for_missing_folders() {
    let env = Env::new();
    let mut child = env.murmur(["agents", "--watch", "--json"]).start();
    let mut lines = Lines::of(&mut child);
    // Neither the data folder nor Claude Code's folder exists.
    env.beats(&pulse("site-1", 0));
    assert_eq!(lines.next()["agent"]["agent_id"], "site-1");
    env.session("s-1", std::process::id(), 1, &json!({ "status": "busy" }));
    lines.until(|line| line["agent"]["agent_id"] == "site-1" || line["agent"]["agent_id"] == "claude-s-1");
    std::fs::remove_dir_all(env.pulses()).unwrap();
    lines.until(|line| line["gone"]["agent_id"] == "site-1");
    env.beats(&pulse("site-3", 0));
    lines.until(|line| line["agent"]["agent_id"] == "site-3");
    end(child);
}

#[test]
fn a_dead_process_a_new_task_and_a_health_that_changes_with_time_are_changes() {
    let env = Env::new();
    let mut sleeper = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    env.beats(&with(pulse("site-1", 0), &json!({ "pid": sleeper.id() })));
    // Five minutes will have passed in a second.
    env.beats(&pulse("site-2", 299));
    let mut child = env.murmur(["agents", "--watch", "--json"]).start();
    let mut lines = Lines::of(&mut child);
    lines.until(|line| line["agent"]["agent_id"] == "site-2" && line["agent"]["health"] == "stale");
    env.run(["agent", "task", "site-1", "Sleep well"]);
    lines.until(|line| line["agent"]["current_task"] == "Sleep well");
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let line = lines.until(|line| line["agent"]["health"] == "dead");
    assert_eq!(line["agent"]["agent_id"], "site-1");
    end(child);
}

#[test]
fn a_thousand_agents_and_each_of_their_changes_are_shown_once() {
    let env = Env::new();
    for number in 0..1000 {
        env.beats(&pulse(&format!("agent-{number:03}"), 30));
    }
    let mut child = env.murmur(["agents", "--watch", "--json"]).start();
    let mut lines = Lines::of(&mut child);
    let first: std::collections::BTreeSet<String> =
        (0..1000).map(|_| lines.next()["agent"]["agent_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(first.len(), 1000);
    for number in [7, 0, 999, 500] {
        let id = format!("agent-{number:03}");
        env.beats(&with(pulse(&id, 0), &json!({ "last_action": "once" })));
        let line = lines.next();
        assert_eq!((&line["agent"]["agent_id"], &line["agent"]["last_action"]), (&json!(id), &json!("once")));
    }
    for number in 0..1000 {
        env.beats(&with(pulse(&format!("agent-{number:03}"), 0), &json!({ "pid": dead_once() })));
    }
    let mut dead = std::collections::BTreeSet::new();
    while dead.len() < 1000 {
        let line = lines.until(|line| line["agent"]["health"] == "dead");
        dead.insert(line["agent"]["agent_id"].as_str().unwrap().to_owned());
    }
    end(child);
}

/// The same dead process each time.
fn dead_once() -> u32 {
    static DEAD: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *DEAD.get_or_init(dead)
}
