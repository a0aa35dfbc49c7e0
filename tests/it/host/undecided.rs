//! Calls that a hosted agent runs without a decision, which only some backends do.

use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::json;

use super::{ID, Live, is_idle_after};
use crate::env::{Env, kill};

/// Configures `acp:mine`: OpenCode under another name, which murmur doesn't make ask. Returns the folder of settings.
fn unasking(env: &Env) -> PathBuf {
    let program = env.agent("opencode");
    let folder = env.data().join("config");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = format!("[acp.mine]\ncommand = {program:?}\nargs = [\"acp\"]\n");
    std::fs::write(folder.join("config.toml"), settings).unwrap();
    folder
}

/// An agent that has run `ls` without a decision, and now waits for a message.
fn after_ls(env: &Env) -> Live<'_> {
    let call = json!([{ "type": "tool_use", "id": "call_1", "name": "Bash", "input": { "command": "ls" } }]);
    env.site(&json!({ "live": null, "script": [call, [{ "type": "text", "text": "Done" }]] }));
    let agent = Live::of(env, env.spawning(ID, &["--backend", "acp:mine", "--json", "Look"]));
    agent.follow(0).until(|event| is_idle_after(event, 1));
    agent
}

#[test]
fn calls_that_a_hosted_agent_ran_without_a_decision_are_journaled_when_it_ends() {
    let env = Env::new();
    unasking(&env);
    let agent = after_ls(&env);
    assert_eq!(env.journal(), [json!(null); 0]);
    agent.stop();
    agent.wait_for_end();
    let [line] = &env.journal()[..] else { panic!("{}", env.journal_text()) };
    let keys = ["kind", "outcome", "agent", "backend", "unguarded"].map(|key| &line[key]);
    let expected =
        [&json!("unguarded"), &json!("attention"), &json!(ID), &json!("acp:mine"), &json!(["Bash(ls)"])];
    assert_eq!(keys, expected);
    let log = env.run(["log"]);
    assert!(
        log.contains(
            "no decision: 1 call ran without a decision  agent site-1 ran calls without a decision: Bash(ls)\n"
        ),
        "{log}"
    );
    let shown = env.run(["show", ID]);
    assert!(shown.contains("Bash(ls)  no decision  "), "{shown}");
    let items = env.murmur(["show", ID, "--json"]).json()["items"].clone();
    let marked = items.as_array().unwrap().iter().filter(|item| item["unguarded"] == true).count();
    assert_eq!(marked, 1, "{items}");
}

#[test]
fn a_call_of_a_hosted_agent_that_rules_deny_is_named() {
    let env = Env::new();
    let folder = unasking(&env);
    let rule = "[[rules]]\ntool = \"Bash\"\naction = \"deny\"\npattern = \"ls\"\n";
    std::fs::write(folder.join("permissions.toml"), rule).unwrap();
    let agent = after_ls(&env);
    agent.stop();
    agent.wait_for_end();
    let summary = "agent site-1 ran calls without a decision: Bash(ls); your rules deny Bash(ls)";
    assert_eq!(env.journal()[0]["summary"], summary);
}

#[test]
fn calls_that_ran_without_a_decision_are_journaled_even_if_the_host_is_killed() {
    let env = Env::new();
    unasking(&env);
    let agent = after_ls(&env);
    kill(agent.pid, Signal::KILL);
    agent.wait_for_end();
    for _ in 0..2 {
        env.murmur(["host", "discover"]).run();
        let [line] = &env.journal()[..] else { panic!("{}", env.journal_text()) };
        let keys = ["kind", "agent", "backend", "unguarded", "summary"].map(|key| &line[key]);
        let summary = "agent site-1 ran calls without a decision: Bash(ls)";
        let expected =
            [&json!("unguarded"), &json!(ID), &json!("acp:mine"), &json!(["Bash(ls)"]), &json!(summary)];
        assert_eq!(keys, expected);
    }
    let shown = env.run(["show", ID]);
    assert!(shown.contains("Bash(ls)  no decision  "), "{shown}");
}

#[test]
fn what_a_killed_host_left_is_recorded_once_the_journal_is_writable() {
    let env = Env::new();
    unasking(&env);
    let agent = after_ls(&env);
    let journal = env.data().join("heartbeats.jsonl");
    std::fs::create_dir(&journal).unwrap();
    kill(agent.pid, Signal::KILL);
    agent.wait_for_end();
    let said = env.run(["host", "discover"]);
    assert!(said.contains("heartbeats.jsonl") && said.contains("[exit 1]"), "{said}");
    std::fs::remove_dir(&journal).unwrap();
    for _ in 0..2 {
        env.murmur(["host", "discover"]).run();
        let [line] = &env.journal()[..] else { panic!("{}", env.journal_text()) };
        assert_eq!(line["unguarded"], json!(["Bash(ls)"]));
    }
}
