//! Many concurrent hooks of one agent.

use std::collections::HashSet;

use serde_json::json;

use super::called;
use crate::env::Env;

#[test]
fn two_hundred_concurrent_hooks_succeed_without_torn_files() {
    let env = Env::new();
    let hooks: Vec<_> = (0..200)
        .map(|number| {
            let mut told = called("Bash", &json!({ "command": format!("echo {}", "x".repeat(3000)) }));
            told["tool_use_id"] = format!("t{number}").into();
            env.pulse_hook("PostToolUse", told.to_string()).set("MURMUR_AGENT_ID", "busy").start()
        })
        .collect();
    for hook in hooks {
        let output = hook.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stdout, output.stderr), (Some(0), vec![], vec![]));
    }
    // Whole lines, each of another hook.
    let activity = env.activity("busy");
    let ids: HashSet<&str> = activity.iter().map(|line| line["tool_use_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), activity.len());
    assert!((100..=200).contains(&activity.len()), "{}", activity.len());
    assert!(activity.contains(&env.pulse("busy")));
    assert_eq!(env.names(&env.data().join("heartbeats")), "busy.json");
    assert_eq!(env.names(&env.data().join("agents/busy")), "activity.jsonl");
    assert_eq!(env.names(&env.data()), "agents\nheartbeats");
}

#[test]
fn a_held_lock_does_not_block_hooks() {
    let env = Env::new();
    let hook = |id: &str| {
        let mut told = called("Bash", &json!({ "command": "ls" }));
        told["tool_use_id"] = id.into();
        super::is_quiet(env.pulse_hook("PostToolUse", told.to_string()));
    };
    hook("t1");
    let held = std::fs::File::open(env.data().join("agents/claude-s1/activity.jsonl")).unwrap();
    held.lock().unwrap();
    hook("t2");
    assert_eq!(env.pulse("claude-s1")["tool_use_id"], "t2");
    assert_eq!(env.activity("claude-s1").len(), 2);
    assert_eq!(env.noted(), [] as [&str; 0]);
}
