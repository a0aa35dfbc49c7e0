//! A model decides on agents' calls: in the hook alone, and in a beat.

use std::process::Output;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::provider::{Provider, Reply, anthropic, http, says};
use super::{KEY, ends_without_the_key, key, settle};
use crate::env::{Env, show};

const HOOK: &str = env!("CARGO_BIN_EXE_murmur-hook");

/// The hook's answer to `command` if a model decides.
fn hook(env: &Env, wait: u32, command: &str) -> Output {
    let input = env.root().join("hook.json");
    let call = json!({
        "session_id": "s", "cwd": env.root(), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": "t1",
    });
    std::fs::write(&input, call.to_string()).unwrap();
    let policy = json!({
        "guard": true, "checker": "llm", "approval": "wait", "approvalWait": wait, "approvalExpiry": 86_400,
        "questions": "broker",
    });
    let run = env.program(HOOK, ["PreToolUse"]).set("MURMUR_PERMISSIONS", policy.to_string());
    run.set("MURMUR_AGENT_ID", "site-1").stdin(std::fs::File::open(&input).unwrap()).output()
}

#[test]
fn a_hook_allows_only_calls_that_the_model_allows() {
    let env = Env::new();
    let daemon = env.daemon();
    let provider = Provider::new(|asked| {
        let said = asked.body["messages"][0]["content"].as_str().unwrap();
        Reply::Bytes(match said {
            said if said.contains("make test") => anthropic(&says("allow", "it tests")),
            said if said.contains("make publish") => anthropic(&says("deny", &format!("it publishes {KEY}"))),
            said if said.contains("make later") => return Reply::Silence,
            _ => http("503 Busy", "", ""),
        })
    });
    settle(&env, "anthropic", &provider.url(), &key());
    assert_snapshot!(show(&hook(&env, 20, "make test")), @r#"
    {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"anthropic/small allows it: it tests"}}
    [exit 0]
    "#);
    assert_snapshot!(show(&hook(&env, 20, "make publish")), @r#"
    {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"anthropic/small denies it: it publishes [key]"}}
    [exit 0]
    "#);
    assert_snapshot!(show(&hook(&env, 1, "make later")), @r#"
    {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no model answered within 1s; the call is denied"}}
    [exit 0]
    "#);
    assert_snapshot!(show(&hook(&env, 20, "make more")), @r#"
    {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"cannot ask anthropic/small: HTTP status 503; the call is denied"}}
    [exit 0]
    "#);
    assert_eq!(provider.asked().len(), 4);
    // The model isn't asked about what the guard refuses.
    assert_snapshot!(show(&hook(&env, 20, "sudo make test")), @r#"
    {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"`sudo make test` is refused: it raises privileges; work without them, or ask the user to run it"}}
    [exit 0]
    "#);
    assert_eq!(provider.asked().len(), 4);
    let decisions = std::fs::read_to_string(env.data().join("decisions.jsonl")).unwrap();
    let by: Vec<Value> =
        decisions.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["by"].take()).collect();
    let model = json!({ "kind": "model", "which": "anthropic/small" });
    assert_eq!(by[..4], [model.clone(), model, json!({ "kind": "failure" }), json!({ "kind": "failure" })]);
    ends_without_the_key(&env, daemon);
}

#[test]
fn the_model_in_config_toml_decides_on_a_beats_calls() {
    let env = Env::new();
    let provider = Provider::new(|asked| {
        let said = asked.body["messages"][0]["content"].as_str().unwrap();
        let word = if said.contains("make test") { "allow" } else { "deny" };
        Reply::Bytes(anthropic(&says(word, "so it is")))
    });
    settle(&env, "anthropic", &provider.url(), &key());
    let path = env.data().join("config/config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("permissions-checker = \"llm\"\n{text}")).unwrap();
    let call = |id: &str, command: &str| json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } }]);
    let site = env.workspace("site", "Do it.");
    let said = json!([{ "type": "text", "text": "HEARTBEAT_OK" }]);
    site.plays(&json!({ "script": [call("t1", "make test"), call("t2", "make publish"), said] }));
    let daemon = env.daemon();
    assert_snapshot!(env.run(["beat", "site"]), @"
    ok [S] 1 call denied
    [exit 0]
    ");
    let decisions = std::fs::read_to_string(env.data().join("decisions.jsonl")).unwrap();
    let decided: Vec<String> = decisions
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| format!("{} {} {}", line["toolUseId"], line["decision"], line["by"]["which"]))
        .collect();
    assert_eq!(decided, [r#""t1" "allow" "anthropic/small""#, r#""t2" "deny" "anthropic/small""#]);
    let workspace =
        serde_json::from_str::<Value>(provider.asked()[0].body["messages"][0]["content"].as_str().unwrap())
            .unwrap()["workspace"]
            .take();
    assert_eq!(workspace, json!(site.0));
    ends_without_the_key(&env, daemon);
}
