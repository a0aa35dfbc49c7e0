//! Calls that an agent runs without a decision, although the guard or a person's own rules refuse them: murmur can only
//! notice them afterwards.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{follow_beat, said};
use crate::env::{Env, kill};

/// The journal line of a beat whose agent runs `ls` and `curl x` without a decision, with these rules of the user.
fn ran(env: &Env, rules: &str, answer: &str) -> Value {
    ran_all(env, rules, &["ls", "curl x"], &json!({}), answer)
}

/// That of one whose agent runs these commands, and whose entry in config.json has `keys`.
fn ran_all(env: &Env, rules: &str, commands: &[&str], keys: &Value, answer: &str) -> Value {
    let calls = commands.iter().enumerate().map(|(at, command)| call(&format!("c{at}"), command));
    set_up(env, rules, keys, &calls.chain([said(answer)]).collect::<Vec<_>>());
    env.run(["beat", "site"]);
    env.journal().pop().unwrap()
}

fn call(id: &str, command: &str) -> Value {
    json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } }])
}

/// A workspace whose beats play `script` without a decision.
fn set_up(env: &Env, rules: &str, keys: &Value, script: &[Value]) {
    // Under another name, murmur doesn't make it ask.
    let program = env.agent("opencode");
    let folder = env.data().join("config");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = format!("[acp.mine]\ncommand = {program:?}\nargs = [\"acp\"]\n");
    std::fs::write(folder.join("config.toml"), settings).unwrap();
    std::fs::write(folder.join("permissions.toml"), rules).unwrap();
    let site = env.workspace("site", "Look.");
    let mut entry = json!({ "path": site.0, "interval": "30m", "agent": "acp:mine" });
    entry.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    site.plays(&json!({ "script": script }));
}

#[test]
fn a_call_that_ran_without_a_decision_and_that_rules_deny_needs_attention() {
    let deny = "[[rules]]\ntool = \"Bash\"\naction = \"deny\"\npattern = \"curl:*\"\n";
    for (answer, summary) in [
        ("HEARTBEAT_OK", "HEARTBEAT_OK, but it ran Bash(curl x), which your rules deny, without a decision"),
        (
            "ATTENTION: wet",
            "ATTENTION: wet, but it ran Bash(curl x), which your rules deny, without a decision",
        ),
    ] {
        let env = Env::new();
        let line = ran(&env, deny, answer);
        assert_eq!((&line["outcome"], &line["summary"]), (&json!("attention"), &json!(summary)), "{line}");
        assert_eq!(line["unguarded"], json!(["Bash(ls)", "Bash(curl x)"]));
    }
    // A rule that lets it run comes first.
    let env = Env::new();
    let line = ran(
        &env,
        &format!("[[rules]]\ntool = \"Bash\"\naction = \"allow\"\npattern = \"curl:*\"\n{deny}"),
        "HEARTBEAT_OK",
    );
    assert_eq!((&line["outcome"], &line["summary"]), (&json!("ok"), &Value::Null), "{line}");
}

#[test]
fn a_call_that_ran_without_a_decision_and_that_the_guard_refuses_needs_attention() {
    let allow = "[[rules]]\ntool = \"Bash\"\naction = \"allow\"\npattern = \"git:*\"\n";
    // Dangerous by itself, or because it changes what belongs to murmur.
    for command in ["git -c core.hooksPath=x push --force", "tee ~/.murmur/config.json"] {
        let env = Env::new();
        let line = ran_all(&env, allow, &["ls", command], &json!({}), "HEARTBEAT_OK");
        let summary =
            format!("HEARTBEAT_OK, but it ran Bash({command}), which the guard refuses, without a decision");
        assert_eq!((&line["outcome"], &line["summary"]), (&json!("attention"), &json!(summary)), "{line}");
    }
    // Without the guard, nothing refuses it.
    let env = Env::new();
    let skip = json!({ "permissions": "skip" });
    let line = ran_all(&env, "", &["tee ~/.murmur/config.json"], &skip, "HEARTBEAT_OK");
    assert_eq!(line["outcome"], "ok", "{line}");
}

#[test]
fn all_calls_that_ran_without_a_decision_are_counted() {
    let env = Env::new();
    let line = ran_all(&env, "", &["ls"; 25], &json!({}), "HEARTBEAT_OK");
    assert_eq!(line["unguarded"].as_array().unwrap().len(), 20);
    assert_eq!(line["unguardedMore"], 5);
    let log = env.run(["log"]);
    assert!(log.contains("25 calls ran without a decision"), "{log}");
    let status = env.murmur(["status", "--json"]).json();
    assert_eq!(status["heartbeats"][0]["last"]["unguarded"], 25, "{status}");
}

#[test]
fn calls_that_ran_without_a_decision_are_in_the_line_of_a_beat_whose_host_was_killed() {
    let env = Env::new();
    let mut endless = call("c1", "tail -f log");
    endless[0]["ends_after_ms"] = Value::Null;
    // Late enough that the host reads it separately, and has noted the first call by then.
    let script = [call("c0", "ls"), json!({ "delay_ms": 200, "content": endless })];
    set_up(&env, "", &json!({}), &script);
    let daemon = env.daemon();
    let (pid, mut follow, mut events) = follow_beat(&env);
    assert!(events.any(|event| event.unwrap().contains("\"c1\"")));
    kill(pid, Signal::KILL);
    follow.wait().unwrap();
    let line = env.wait_for_journal(1).remove(0);
    daemon.stop();
    assert_eq!(line["error"], "murmur was killed during this beat; its outcome is unknown");
    assert_eq!((&line["outcome"], &line["unguarded"]), (&json!("error"), &json!(["Bash(ls)"])), "{line}");
    assert!(line["capture"].is_string() && env.journal().len() == 1, "{}", env.journal_text());
    let shown = env.run(["show", "site"]);
    assert!(shown.contains("Bash(ls)  no decision  "), "{shown}");
}
