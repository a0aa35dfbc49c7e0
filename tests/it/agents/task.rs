//! Tasks of agents: set by people, by agents, and by murmur when it starts one.

use insta::assert_snapshot;
use serde_json::json;

use super::pulse;
use crate::env::Env;

#[test]
fn a_task_is_set_shown_and_cleared() {
    let env = Env::new();
    env.beats(&pulse("site-1", 0));
    assert_snapshot!(env.run(["agent", "task", "site-1", "Write the docs\nand more"]), @"
    site-1 is working on: Write the docs
    [exit 0]
    ");
    assert_eq!(env.listed()[0]["current_task"], "Write the docs");
    let task = |words: &[&str]| env.run([&["agent", "task", "site-1", "--json"], words].concat());
    let json = |task: &str| {
        format!("{{\"schema\":\"agent-task/1\",\"agent_id\":\"site-1\",\"task\":{task}}}\n[exit 0]")
    };
    assert_eq!(task(&[]), json("\"Write the docs\""));
    assert_eq!(task(&[""]), json("null"));
    assert_eq!(task(&["Write the docs"]), json("\"Write the docs\""));
    assert_snapshot!(env.run(["agent", "task", "site-1", ""]), @"
    site-1 has no task
    [exit 0]
    ");
    assert_eq!(env.listed()[0]["current_task"], "");
    assert_snapshot!(env.run(["agent", "task", "site-1", "x", "y"]), @r#"
    | error: extra argument "y"
    | hint: see: murmur agent task --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["agent", "task", "", "x"]), @"
    | error: the agent id is empty
    | hint: see: murmur agent list
    [exit 1]
    ");
}

#[test]
fn one_argument_that_names_a_running_agent_shows_its_task() {
    let env = Env::new();
    env.beats(&pulse("site-1", 0));
    env.murmur(["agent", "task", "site-1", "Write the docs"]).assert().success();
    let task = |word: &str| env.murmur(["agent", "task", word]).set("MURMUR_AGENT_ID", "own-1").run();
    assert_eq!(task("site-1"), "Write the docs\n[exit 0]");
    assert_eq!(task("si"), "own-1 is working on: si\n[exit 0]");
    assert_eq!(task("last"), "Write the docs\n[exit 0]");
}

#[test]
fn a_task_for_a_future_agent_is_kept() {
    let env = Env::new();
    assert_snapshot!(env.run(["agent", "task", "../odd", "Mend it"]), @"
    ../odd is working on: Mend it
    | note: there is no agent ../odd now; see: murmur agent list
    [exit 0]
    ");
    env.beats(&json!({ "timestamp": super::ago(1), "agent_id": "odd" }));
    std::fs::rename(env.pulses().join("odd.json"), env.pulses().join("x.json")).unwrap();
    let odd = json!({ "timestamp": super::ago(1), "agent_id": "../odd" });
    std::fs::write(env.pulses().join("x.json"), odd.to_string()).unwrap();
    assert_eq!(env.listed()[0]["current_task"], "Mend it");
    assert!(!env.root().join("odd").exists());
}

#[test]
fn an_agent_sets_its_own_task_under_the_id_of_its_pulses() {
    let env = Env::new();
    assert_snapshot!(env.run(["agent", "task", "Mend it"]), @"
    | error: cannot determine which agent runs this: MURMUR_AGENT_ID and CLAUDE_CODE_SESSION_ID are not set, and this is not a tmux session
    | hint: name the agent: murmur agent task AGENT TASK; to list agents, run: murmur agent list
    [exit 1]
    ");
    let task = |words: &[&str]| {
        let run = env.murmur(["agent", "task"].iter().chain(words));
        run.set("CLAUDE_CODE_SESSION_ID", "s-1")
    };
    assert_snapshot!(task(&[]).run(), @"
    | no task set for claude-s-1
    [exit 0]
    ");
    assert_snapshot!(task(&["Mend it"]).run(), @"
    claude-s-1 is working on: Mend it
    [exit 0]
    ");
    assert_snapshot!(task(&[]).run(), @"
    Mend it
    [exit 0]
    ");
    assert_snapshot!(task(&["Sell it"]).set("MURMUR_AGENT_ID", "site-1").run(), @"
    site-1 is working on: Sell it
    [exit 0]
    ");
    assert_eq!(env.names(&env.data().join("agents")), "claude-s-1\nsite-1");
}

#[test]
fn the_task_of_a_beat_is_its_heartbeat() {
    let env = Env::new();
    let site = env.workspace("site", "Look around.");
    site.named("nightly", "Look around at night.");
    for (name, task) in [(None, "site"), (Some("nightly"), "nightly")] {
        let (pace, mut gate) = env.gate(&format!("gate-of-{task}"));
        site.plays(&json!({ "fixture": crate::env::fixture("ok"), "pace": pace }));
        let args = ["beat", site.path()].into_iter().chain(name.iter().flat_map(|name| ["--name", name]));
        let count = env.agents().len() + 1;
        let mut beat = env.murmur(args).start();
        env.wait_for_agents(count);
        let agents = env.listed();
        let running = agents.iter().find(|agent| agent["state"] == "running");
        let running = running.unwrap_or_else(|| panic!("{agents:?}"));
        assert_eq!(running["current_task"], task, "{running}");
        std::io::Write::write_all(&mut gate, &[b'\n'; 100]).unwrap();
        assert!(beat.wait().unwrap().success());
    }
}
