//! Every row of the outcome table, from recordings of the real CLI and from literal streams.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::{Env, fixture, result};

/// The output of a beat, and its journal line, for an agent with these instructions.
fn beat(env: &Env, instructions: &Value) -> String {
    env.workspace("site", "Do it.").plays(instructions);
    let before = env.journal_text();
    let shown = env.run(["beat", "site"]);
    assert_eq!(env.agents_alive(), [0; 0]);
    let text = env.journal_text();
    let line = text.strip_prefix(&before).unwrap();
    assert_eq!((line.lines().count(), line.contains("turns\":")), (1, false));
    format!("{shown}\n{line}")
}

fn recorded(env: &Env, name: &str) -> String {
    beat(env, &json!({ "fixture": fixture(name) }))
}

fn said(env: &Env, stdout: &str) -> String {
    beat(env, &json!({ "stdout": stdout }))
}

#[test]
fn ok_is_ok() {
    let env = Env::new();
    assert_snapshot!(recorded(&env, "ok"), @r#"
    ok [S]
    [exit 0]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"ok","durationMs":[MS],"beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00044,"numTurns":1,"exit":{"code":0},"model":"claude-opus-5-5","tokens":{"input":10,"output":20,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}
    "#);
}

#[test]
fn an_alert_needs_attention() {
    let env = Env::new();
    assert_snapshot!(recorded(&env, "attention"), @r#"
    attention [S] ATTENTION: the backup is 9 days old.
    [exit 0]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"attention","durationMs":[MS],"summary":"ATTENTION: the backup is 9 days old.","beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00044,"numTurns":1,"exit":{"code":0},"model":"claude-opus-5-5","tokens":{"input":10,"output":20,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}
    "#);
}

#[test]
fn an_alert_that_also_says_ok_needs_attention() {
    let env = Env::new();
    assert_snapshot!(recorded(&env, "no-attention-but-ok"), @r#"
    attention [S] ATTENTION: disk at 97%. Otherwise HEARTBEAT_OK
    [exit 0]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"attention","durationMs":[MS],"summary":"ATTENTION: disk at 97%.\n\nOtherwise HEARTBEAT_OK","beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00044,"numTurns":1,"exit":{"code":0},"model":"claude-opus-5-5","tokens":{"input":10,"output":20,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}
    "#);
}

#[test]
fn a_denied_tool_is_named_in_the_journal() {
    let env = Env::new();
    assert_snapshot!(recorded(&env, "denied"), @r#"
    attention [S] 1 call denied  ATTENTION: I may not use sudo, but the guard refused Bash(sudo ls /root)
    [exit 0]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"attention","durationMs":[MS],"summary":"ATTENTION: I may not use sudo, but the guard refused Bash(sudo ls /root)","beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00088,"numTurns":2,"exit":{"code":0},"model":"claude-opus-5-5","tokens":{"input":20,"output":40,"cacheRead":0,"cacheWrite":0},"denials":["Bash"],"capture":"[SESSION]"}
    "#);
}

#[test]
fn a_summary_has_no_terminal_control_characters() {
    let env = Env::new();
    assert_snapshot!(recorded(&env, "unicode"), @r#"
    attention [S] ATTENTION: Übergröße – 👩‍👩‍👧‍👦 é evil \0? ŝ 𝔘𝔫𝔦
    [exit 0]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"attention","durationMs":[MS],"summary":"ATTENTION: Übergröße – 👩‍👩‍👧‍👦    é [RLO]evil \\0? ŝ 𝔘𝔫𝔦","beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00088,"numTurns":3,"exit":{"code":0},"model":"claude-opus-5-5","tokens":{"input":20,"output":40,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}
    "#);
}

#[test]
fn the_turn_limit_is_an_error() {
    let env = Env::new();
    assert_snapshot!(recorded(&env, "max-turns"), @r#"
    error [S] exited with code 1: Reached maximum number of turns (3)
    | hint: it reached its limit of 3 turns; to allow more, set maxTurns in [ENV]/site/HEARTBEAT.md
    [exit 1]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"exited with code 1: Reached maximum number of turns (3)","beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00132,"numTurns":4,"exit":{"code":1},"model":"claude-opus-5-5","tokens":{"input":30,"output":60,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}
    "#);
}

#[test]
fn a_beat_over_its_budget_and_a_dead_mcp_server_are_said_to_be_that() {
    let env = Env::new();
    assert_snapshot!(recorded(&env, "budget"), @r#"
    error [S] exceeded maxBudgetUsd: Reached maximum budget ($0.0001)
    [exit 1]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"exceeded maxBudgetUsd: Reached maximum budget ($0.0001)","beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00044,"numTurns":1,"exit":{"code":1},"model":"claude-opus-5-5","tokens":{"input":10,"output":20,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}
    "#);
    assert_snapshot!(recorded(&env, "dead-mcp-server"), @r#"
    attention [S] HEARTBEAT_OK, but the MCP server "mail" did not start
    [exit 0]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"attention","durationMs":[MS],"summary":"HEARTBEAT_OK, but the MCP server \"mail\" did not start","beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00044,"numTurns":1,"exit":{"code":0},"model":"claude-opus-5-5","tokens":{"input":10,"output":20,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}
    "#);
}

#[test]
fn an_api_refusal_is_an_error_although_its_subtype_is_success() {
    let env = Env::new();
    assert_snapshot!(recorded(&env, "api-400"), @r#"
    error [S] exited with code 1: API Error: 400 messages: this is not acceptable
    [exit 1]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"exited with code 1: API Error: 400 messages: this is not acceptable","beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.0,"numTurns":1,"exit":{"code":1},"apiErrorStatus":400,"model":"claude-opus-5-5","tokens":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}
    "#);
    assert_snapshot!(recorded(&env, "api-429"), @r#"
    error [S] exited with code 1: API Error: Request rejected (429) · This request would exceed your account's rate limit.
    [exit 1]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"exited with code 1: API Error: Request rejected (429) · This request would exceed your account's rate limit.","beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.0,"numTurns":1,"exit":{"code":1},"apiErrorStatus":429,"model":"claude-opus-5-5","tokens":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]","retryable":true}
    "#);
}

#[test]
fn an_api_that_recovers_is_no_error() {
    let env = Env::new();
    assert_snapshot!(recorded(&env, "api-error-retry"), @r#"
    ok [S]
    [exit 0]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"ok","durationMs":[MS],"beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00044,"numTurns":1,"exit":{"code":0},"model":"claude-opus-5-5","tokens":{"input":10,"output":20,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}
    "#);
}

#[test]
fn not_being_logged_in_is_an_error() {
    let env = Env::new();
    assert_snapshot!(recorded(&env, "not-logged-in"), @r#"
    error [S] exited with code 1: Not logged in · Please run /login
    [exit 1]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"exited with code 1: Not logged in · Please run /login","beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.0,"numTurns":1,"exit":{"code":1},"model":"claude-opus-5-5","tokens":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}
    "#);
}

#[test]
fn outcomes_with_tools_and_subagents_follow_the_answer() {
    let env = Env::new();
    // That agent ends its own turn while its subagent is working, and what it says later doesn't improve the outcome.
    for (name, outcome) in [("tools", "ok"), ("subagent", "attention"), ("huge-output", "ok")] {
        let shown = recorded(&env, name);
        let expected = format!("\"outcome\":\"{outcome}\"");
        assert!(shown.contains("\n[exit 0]\n") && shown.contains(&expected), "{name}: {shown}");
    }
}

#[test]
fn a_killed_agent_is_an_error_whatever_it_printed() {
    let env = Env::new();
    let ok = result("HEARTBEAT_OK");
    assert_snapshot!(beat(&env, &json!({ "stdout": ok, "faults": ["die:KILL"] })), @r#"
    error [S] killed by signal 9: HEARTBEAT_OK
    [exit 1]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"killed by signal 9: HEARTBEAT_OK","beat":"[BEAT]","agent":"site-[ID]","exit":{"signal":9},"capture":"[SESSION]"}
    "#);
    assert_snapshot!(beat(&env, &json!({ "stdout": ok, "faults": ["die:SEGV"] })), @r#"
    error [S] killed by signal 11: HEARTBEAT_OK
    [exit 1]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"killed by signal 11: HEARTBEAT_OK","beat":"[BEAT]","agent":"site-[ID]","exit":{"signal":11},"capture":"[SESSION]"}
    "#);
    assert_snapshot!(beat(&env, &json!({ "stdout": ok, "exit": 3 })), @r#"
    error [S] exited with code 3: HEARTBEAT_OK
    [exit 1]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"exited with code 3: HEARTBEAT_OK","beat":"[BEAT]","agent":"site-[ID]","exit":{"code":3},"capture":"[SESSION]"}
    "#);
}

#[test]
fn a_failure_without_a_result_is_explained_by_stderr() {
    let env = Env::new();
    let told = json!({ "stdout": "", "stderr": "first\nError: \u{1b}[31mno\u{7} disk\n", "exit": 1 });
    assert_snapshot!(beat(&env, &told), @r#"
    error [S] exited with code 1: first Error: no disk
    [exit 1]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"exited with code 1: first\nError: \u001b[31mno\u0007 disk","beat":"[BEAT]","agent":"site-[ID]","exit":{"code":1},"capture":"[SESSION]"}
    "#);
    assert_snapshot!(beat(&env, &json!({ "stdout": "", "exit": 1 })), @r#"
    error [S] exited with code 1
    [exit 1]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"exited with code 1","beat":"[BEAT]","agent":"site-[ID]","exit":{"code":1},"capture":"[SESSION]"}
    "#);
}

#[test]
fn no_result_is_an_error_even_with_exit_code_0() {
    let env = Env::new();
    assert_snapshot!(said(&env, ""), @r#"
    error [S] ended without a result
    [exit 1]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"ended without a result","beat":"[BEAT]","agent":"site-[ID]","exit":{"code":0},"capture":"[SESSION]"}
    "#);
    assert_snapshot!(said(&env, "HEARTBEAT_OK\n"), @r#"
    error [S] ended without a result
    [exit 1]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"ended without a result","beat":"[BEAT]","agent":"site-[ID]","exit":{"code":0},"capture":"[SESSION]"}
    "#);
}

#[test]
fn is_error_is_an_error_even_with_exit_code_0() {
    let env = Env::new();
    let result =
        json!({ "type": "result", "subtype": "success", "is_error": true, "result": "HEARTBEAT_OK" });
    assert_snapshot!(said(&env, &result.to_string()), @r#"
    error [S] reported an error: HEARTBEAT_OK
    [exit 1]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"reported an error: HEARTBEAT_OK","beat":"[BEAT]","agent":"site-[ID]","exit":{"code":0},"capture":"[SESSION]"}
    "#);
}

#[test]
fn a_deferred_tool_is_not_a_success() {
    let env = Env::new();
    let result = json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "",
        "stop_reason": "tool_deferred", "deferred_tool_use": { "id": "t", "name": "Bash", "input": {} },
    });
    assert_snapshot!(said(&env, &result.to_string()), @r#"
    error [S] a hook deferred Bash, but there is nobody to decide on it
    [exit 1]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"a hook deferred Bash, but there is nobody to decide on it","beat":"[BEAT]","agent":"site-[ID]","exit":{"code":0},"capture":"[SESSION]"}
    "#);
}

#[test]
fn anything_else_needs_attention_with_its_first_200_characters() {
    let env = Env::new();
    let text = format!("{}{}", "ü".repeat(199), "😀x");
    env.workspace("site", "Do it.").plays(&json!({ "stdout": result(&text) }));
    let line = env.murmur(["beat", "site", "--json"]).json();
    assert_eq!(
        (&line["outcome"], &line["summary"]),
        (&json!("attention"), &json!(format!("{}😀", "ü".repeat(199))))
    );
    assert_snapshot!(said(&env, &result("two\nlines")), @r#"
    attention [S] two lines
    [exit 0]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"attention","durationMs":[MS],"summary":"two\nlines","beat":"[BEAT]","agent":"site-[ID]","exit":{"code":0},"capture":"[SESSION]"}
    "#);
    assert_snapshot!(said(&env, &result("")), @r#"
    attention [S] the agent said nothing
    [exit 0]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"attention","durationMs":[MS],"summary":"the agent said nothing","beat":"[BEAT]","agent":"site-[ID]","exit":{"code":0},"capture":"[SESSION]"}
    "#);
}

#[test]
fn output_after_the_result_changes_nothing() {
    let env = Env::new();
    let more = "{\"type\":\"command_lifecycle\"}\n{\"attachment\":1}\nnot json\n\n";
    assert_snapshot!(said(&env, &format!("{}{more}", result("HEARTBEAT_OK"))), @r#"
    ok [S]
    [exit 0]
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"ok","durationMs":[MS],"beat":"[BEAT]","agent":"site-[ID]","exit":{"code":0},"capture":"[SESSION]"}
    "#);
}
