//! `murmur beat --verbose`: what is shown of a recorded run, and what is kept.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::{Env, fixture, result};

/// The output of a verbose beat of the fixture.
fn shown(env: &Env, name: &str) -> String {
    env.workspace("site", "Do it.").plays(&json!({ "fixture": fixture(name) }));
    let shown = env.run(["beat", "site", "--verbose"]);
    regex::Regex::new(r"(?m), \d+(ms|\.\ds)$").unwrap().replace_all(&shown, ", [S]").into_owned()
}

#[test]
fn tool_calls_are_shown_as_they_happen() {
    let env = Env::new();
    assert_snapshot!("tools", shown(&env, "tools"));
}

#[test]
fn a_denied_tool_is_shown_as_failed() {
    let env = Env::new();
    assert_snapshot!("denied", shown(&env, "denied"));
}

#[test]
fn a_call_without_a_result_is_shown_as_one() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let call = json!({ "type": "assistant", "message": { "id": "m", "content": [
        { "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": "ls" } },
    ] } });
    site.plays(&json!({ "stdout": format!("{call}\n{}", result("HEARTBEAT_OK")) }));
    let shown = env.run(["beat", "site", "-V"]);
    assert!(shown.starts_with("  Bash(ls)\nok "), "{shown}");
}

#[test]
fn a_subagents_actions_are_indented() {
    let env = Env::new();
    assert_snapshot!("subagent", shown(&env, "subagent"));
}

#[test]
fn huge_output_is_counted_instead_of_shown() {
    let env = Env::new();
    let shown = shown(&env, "huge-output");
    assert!(shown.len() < 2000);
    assert_snapshot!("huge-output", shown);
}

#[test]
fn api_retries_are_shown() {
    let env = Env::new();
    assert_snapshot!("api-error-retry", shown(&env, "api-error-retry"));
}

#[test]
fn an_error_shows_what_happened_before() {
    let env = Env::new();
    assert_snapshot!("max-turns", shown(&env, "max-turns"));
}

#[test]
fn tools_are_shown_while_the_agent_is_running() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let call = json!({ "type": "assistant", "message": { "id": "m", "content": [
        { "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": "ls\u{1b}[2J -la" } },
    ] } });
    let (pace, mut gate) = env.gate("gate");
    site.plays(&json!({ "stdout": format!("{call}\n{}", result("HEARTBEAT_OK")), "pace": pace }));
    let mut beat = env.murmur(["beat", "site", "-V"]).start();
    let mut stdout = std::io::BufReader::new(beat.stdout.take().unwrap());
    let mut line = String::new();
    std::io::Write::write_all(&mut gate, b".").unwrap();
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    assert_eq!(line, "  Bash(ls\\u{1b}[2J -la)\n");
    assert!(beat.try_wait().unwrap().is_none());
    std::io::Write::write_all(&mut gate, b".").unwrap();
    assert!(beat.wait().unwrap().success());
}

#[test]
fn the_conversation_is_kept_in_the_journal_and_in_its_own_file() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "fixture": fixture("denied") }));
    env.run(["beat", "site"]);
    assert_snapshot!(env.names(&env.data()), @"
    beats
    beats.reserve
    config.lock
    decisions.jsonl
    heartbeats.jsonl
    hosts
    journal.reserve
    locks
    ");
    env.run(["beat", "site", "--verbose"]);
    assert_snapshot!(env.names(&env.data()), @"
    beats
    beats.reserve
    config.lock
    decisions.jsonl
    heartbeats.jsonl
    hosts
    journal.reserve
    last-beat-site-[HASH].json
    locks
    ");
    let [quiet, verbose] = &env.journal()[..] else { panic!("not two lines") };
    assert_eq!(quiet["turns"], Value::Null);
    let names = env.names(&env.data());
    let name = names.lines().find(|name| name.starts_with("last-beat-")).unwrap();
    let kept = std::fs::read_to_string(env.data().join(name)).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), *verbose);
    assert_snapshot!("last-beat", kept);
}

#[test]
fn a_named_heartbeat_keeps_its_own_last_beat() {
    let env = Env::new();
    env.workspace("site", "Do it.").named("nightly", "Count.");
    env.run(["beat", "site", "--verbose"]);
    env.run(["beat", "site", "--verbose", "--name", "nightly"]);
    let names = env.names(&env.data());
    let kept: Vec<&str> = names.lines().filter(|name| name.starts_with("last-beat-")).collect();
    assert_snapshot!(kept.join("\n"), @"
    last-beat-site-[HASH].json
    last-beat-site-nightly-[HASH].json
    ");
}

#[test]
fn an_unknown_version_of_claude_code_is_reported_and_run() {
    let env = Env::new();
    let init =
        json!({ "type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "3.0.1" });
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": format!("{init}\n{}", result("HEARTBEAT_OK")) }));
    assert_snapshot!(env.run(["beat", "site"]), @"
    ok [S]
    | warning: Claude Code 3.0.1 was not tested with murmur (tested: 2.1.x)
    [exit 0]
    ");
}
