//! The events of recorded and of hostile lines.

use super::{HOOKS, INITIALIZED, MCP_STARTED, TURN_STARTED, thread, turn_completed};
use crate::codex::parse;
use crate::event::{Event, RunResult};
use crate::unknown::Unknown;

/// The events of `lines`, as text.
fn events(lines: &[&str]) -> Vec<String> {
    let mut seen = Vec::new();
    for line in lines {
        parse(line.as_bytes(), &mut |event| seen.push(shown(&event)), &mut Unknown::default());
    }
    seen
}

fn shown(event: &Event<'_>) -> String {
    match event {
        Event::Text { text, .. } => format!("text {text}"),
        Event::ToolUse { id, name, input, .. } => format!("use {id} {name} {}", input.0.get()),
        Event::ToolResult { id, output, is_error, .. } => format!("result {id} {output:?} {is_error}"),
        Event::Result(result) => {
            let RunResult { text, errors, is_error, api_error_status, .. } = &**result;
            format!("end {text:?} {errors:?} {is_error} {api_error_status:?}")
        }
        other => format!("{other:?}"),
    }
}

/// The only result in `line`.
fn result(line: &str) -> RunResult {
    let mut results = Vec::new();
    let mut sink = |event: Event<'_>| {
        if let Event::Result(result) = event {
            results.push(*result);
        }
    };
    parse(line.as_bytes(), &mut sink, &mut Unknown::default());
    assert_eq!(results.len(), 1, "{line}");
    results.remove(0)
}

fn item(method: &str, item: &str) -> String {
    format!(
        r#"{{"method":"item/{method}","params":{{"item":{item},"threadId":"t1","turnId":"u1"}},"emittedAtMs":1}}"#
    )
}

const COMMAND: &str = r#"{"type":"commandExecution","id":"call_A","command":"/bin/bash -lc 'touch ran.txt'","cwd":"/w","processId":null,"source":"agent","status":"inProgress","commandActions":[{"type":"unknown","command":"touch ran.txt"}],"aggregatedOutput":null,"exitCode":null,"durationMs":null}"#;

const PATCH: &str = r#"{"type":"fileChange","id":"call_B","changes":[{"path":"/w/a.txt","kind":{"type":"add"},"diff":"one\n"}],"status":"declined"}"#;

#[test]
fn a_turn_with_a_command_and_an_answer() {
    let failed = COMMAND
        .replace(r#""aggregatedOutput":null"#, r#""aggregatedOutput":"no\n""#)
        .replace("inProgress", "failed")
        .replace(r#""source":"agent""#, r#""source":"unifiedExecStartup""#);
    let message = r#"{"type":"agentMessage","id":"msg_1","text":"done","phase":null}"#;
    let usage = r#"{"method":"thread/tokenUsage/updated","params":{"threadId":"t1","turnId":"u1","tokenUsage":{"total":{"totalTokens":241,"inputTokens":201,"cachedInputTokens":80,"cacheWriteInputTokens":0,"outputTokens":40,"reasoningOutputTokens":10},"last":{"totalTokens":121,"inputTokens":101,"cachedInputTokens":40,"cacheWriteInputTokens":1,"outputTokens":20,"reasoningOutputTokens":5},"modelContextWindow":258400}}}"#;
    let lines = [
        INITIALIZED,
        HOOKS,
        &thread("untrusted", "dangerFullAccess"),
        TURN_STARTED,
        r#"{"method":"turn/started","params":{"threadId":"t1","turn":{"id":"u1"}}}"#,
        &item("started", r#"{"type":"userMessage","id":"x","content":[{"type":"text","text":"Do it."}]}"#),
        &item("started", COMMAND),
        r#"{"method":"item/commandExecution/requestApproval","id":0,"params":{"itemId":"call_A"}}"#,
        &item("completed", &failed),
        &item("started", message),
        r#"{"method":"item/agentMessage/delta","params":{"delta":"do"}}"#,
        &item("completed", message),
        usage,
        &turn_completed("completed", "null", message),
    ];
    assert_eq!(
        events(&lines),
        [
            r#"Session { id: "t1", model: "gpt-5.5", version: "0.169.0", permission_mode: "", mcp_servers: [] }"#,
            r#"use call_A Bash {"command":"touch ran.txt"}"#,
            r#"result call_A "no\n" true"#,
            "text done",
            "Usage(Tokens { input: 60, output: 20, cache_read: 40, cache_write: 1 })",
            r#"end Some("done") [] false None"#,
        ]
    );
}

#[test]
fn calls_are_in_the_vocabulary_of_the_rules() {
    let two = r#"{"type":"fileChange","id":"c","changes":[{"path":"/w/a","kind":{"type":"update","move_path":null},"diff":"@@\n"},{"path":"/w/b","kind":{"type":"delete"},"diff":""}],"status":"inProgress"}"#;
    let image = r#"{"type":"imageView","id":"v","path":"/w/x.png"}"#;
    let refused = r#"{"type":"mcpToolCall","id":"m","server":"t","tool":"poke","status":"failed","arguments":{},"result":null,"error":{"message":"user rejected MCP tool call"}}"#;
    let answered = r#"{"type":"mcpToolCall","id":"m","server":"t","tool":"poke","status":"completed","arguments":{},"result":{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]},"error":null}"#;
    let lines = [
        &item("started", PATCH),
        &item("completed", PATCH),
        &item("started", two),
        MCP_STARTED,
        &item("completed", refused),
        &item("completed", answered),
        &item("started", image),
        &item("completed", image),
    ];
    assert_eq!(
        events(&lines),
        [
            r#"use call_B Write {"content":"one\n","file_path":"/w/a.txt"}"#,
            r#"result call_B "declined" true"#,
            r#"use c apply_patch {"changes":[{"input":{"file_path":"/w/a","patch":"@@\n"},"tool":"Edit"},{"input":{"delete":true,"file_path":"/w/b"},"tool":"Edit"}],"description":"/w/a, /w/b"}"#,
            r#"use call_M mcp__t__poke {"x":"1"}"#,
            r#"result m "user rejected MCP tool call" true"#,
            r#"result m "a\nb" false"#,
            r#"use v Read {"file_path":"/w/x.png"}"#,
            r#"result v "" false"#,
        ]
    );
}

#[test]
fn items_that_no_hook_sees_are_not_calls() {
    for kind in ["reasoning", "plan", "sleep", "contextCompaction", "hookPrompt", "somethingNew"] {
        let line = item("started", &format!(r#"{{"type":"{kind}","id":"x"}}"#));
        assert!(events(&[&line, &line.replace("started", "completed")]).is_empty(), "{kind}");
    }
    let typed = COMMAND.replace(r#""agent""#, r#""unifiedExecInteraction""#);
    assert!(events(&[&item("started", &typed), &item("completed", &typed)]).is_empty());
}

#[test]
fn retries_and_failures_have_the_status_and_the_cause() {
    let retry = r#"{"method":"error","params":{"error":{"message":"Reconnecting... 2/5","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":401}},"additionalDetails":"unexpected status 401 Unauthorized"},"willRetry":true,"threadId":"t1","turnId":"u1"}}"#;
    let error = r#"{"message":"unexpected status 401 Unauthorized: bad key","codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":401}},"additionalDetails":null}"#;
    let last = format!(r#"{{"method":"error","params":{{"error":{error},"willRetry":false}}}}"#);
    assert_eq!(
        events(&[retry, &last, &turn_completed("failed", error, "")]),
        [
            r#"Retry { attempt: 2, of: 5, delay_ms: 0, status: Some(401), error: "responseStreamDisconnected" }"#,
            r#"ApiError(ApiError { error: "httpConnectionFailed", status: Some(401), limit: None })"#,
            r#"end None ["unexpected status 401 Unauthorized: bad key"] true Some(401)"#,
        ]
    );
    let body = r#"{"message":"{\"error\":{\"message\":\"no such model\"}}","codexErrorInfo":"other"}"#;
    assert_eq!(result(&turn_completed("failed", body, "")).errors, ["no such model"]);
    let limit = r#"{"message":"You’ve hit your usage limit.","codexErrorInfo":"usageLimitExceeded"}"#;
    assert_eq!(result(&turn_completed("failed", limit, "")).api_error_status, Some(429));
    let limit = format!(r#"{{"method":"error","params":{{"error":{limit},"willRetry":false}}}}"#);
    let rejected =
        r#"Some(RateLimit { status: "rejected", window: "", resets_at: None, utilization: None })"#;
    let expected = |status: &str, limit: &str| {
        format!(r#"ApiError(ApiError {{ error: "usageLimitExceeded", status: {status}, limit: {limit} }})"#)
    };
    assert_eq!(events(&[&limit]), [expected("Some(429)", rejected)]);
    // A used-up budget doesn't pass by itself.
    let quota = limit.replace("You’ve hit your usage limit.", "Quota exceeded.");
    assert_eq!(events(&[&quota]), [expected("None", "None")]);
    for (kind, status) in
        [("internalServerError", Some(500)), ("serverOverloaded", Some(503)), ("other", None)]
    {
        let error = format!(r#"{{"message":"no","codexErrorInfo":"{kind}"}}"#);
        assert_eq!(result(&turn_completed("failed", &error, "")).api_error_status, status, "{kind}");
    }
    assert_eq!(result(&turn_completed("interrupted", "null", "")).errors, ["the turn was interrupted"]);
    assert_eq!(result(&turn_completed("somethingNew", "null", "")).errors, ["the turn is somethingNew"]);
}

#[test]
fn a_refused_handshake_ends_the_turn_and_other_refusals_do_not() {
    let unknown = r#"{"error":{"code":-32600,"message":"no rollout found for thread id x"},"id":"thread"}"#;
    assert_eq!(
        result(unknown).errors,
        [r#"Codex refused the request "thread": no rollout found for thread id x"#]
    );
    assert!(events(&[&unknown.replace(r#""id":"thread""#, r#""id":"interrupt""#)]).is_empty());
    assert!(events(&[&unknown.replace(r#""id":"thread""#, r#""id":7"#)]).is_empty());
}

#[test]
fn a_codex_that_would_not_ask_is_not_used() {
    let events = events(&[&thread("on-request", "dangerFullAccess")]);
    assert!(events[1].contains(r#"its approval policy is \"on-request\", not \"untrusted\""#), "{events:?}");
}

#[test]
fn a_codex_that_would_run_calls_elsewhere_is_not_used() {
    let elsewhere = thread("untrusted", "dangerFullAccess")
        .replace(r#""turns":[]"#, r#""turns":[],"environments":[{"environmentId":"remote"}]"#);
    let events = events(&[&elsewhere]);
    assert!(events[1].contains(r#"in the environment \"remote\" of Codex"#), "{events:?}");
}

#[test]
fn a_codex_that_would_not_run_the_hooks_is_not_used() {
    assert!(events(&[HOOKS]).is_empty());
    let untrusted = HOOKS.replace(r#""trusted""#, r#""untrusted""#);
    assert!(result(&untrusted).errors[0].starts_with("Codex would not run murmur's hooks"));
}

#[test]
fn limits_are_reported_by_window() {
    let line = r#"{"method":"account/rateLimits/updated","params":{"rateLimits":{"limitId":"codex","primary":{"usedPercent":100,"windowDurationMins":300,"resetsAt":1795585745},"secondary":{"usedPercent":40,"windowDurationMins":10080,"resetsAt":1795672145},"credits":null}}}"#;
    assert_eq!(
        events(&[line]),
        [
            r#"RateLimit(RateLimit { status: "rejected", window: "five_hour", resets_at: Some(1795585745), utilization: Some(1.0) })"#,
            r#"RateLimit(RateLimit { status: "allowed", window: "seven_day", resets_at: Some(1795672145), utilization: Some(0.4) })"#,
        ]
    );
    let unknown =
        line.replace(r#"{"usedPercent":100,"windowDurationMins":300,"resetsAt":1795585745}"#, "null");
    assert_eq!(events(&[&unknown]).len(), 1);
}

#[test]
fn limits_that_were_asked_for_are_the_same_events() {
    let general = r#"{"limitId":"codex","primary":{"usedPercent":12,"windowDurationMins":300,"resetsAt":1795585745},"secondary":null}"#;
    let spark = r#"{"limitId":"spark","primary":{"usedPercent":100,"windowDurationMins":10080},"secondary":{"usedPercent":1,"windowDurationMins":60}}"#;
    // Those of a model that may not be in use don't count.
    let line = format!(
        r#"{{"id":"limits","result":{{"rateLimits":{general},"rateLimitsByLimitId":{{"codex":{general},"spark":{spark}}}}}}}"#
    );
    assert_eq!(
        events(&[&line]),
        [
            r#"RateLimit(RateLimit { status: "allowed", window: "five_hour", resets_at: Some(1795585745), utilization: Some(0.12) })"#
        ]
    );
    let line = format!(r#"{{"method":"account/rateLimits/updated","params":{{"rateLimits":{spark}}}}}"#);
    assert_eq!(
        events(&[&line]),
        [
            r#"RateLimit(RateLimit { status: "rejected", window: "seven_day_spark", resets_at: None, utilization: Some(1.0) })"#,
            r#"RateLimit(RateLimit { status: "allowed", window: "60_minutes_spark", resets_at: None, utilization: Some(0.01) })"#,
        ]
    );
    // Without a login.
    let refused = r#"{"id":"limits","error":{"code":-32600,"message":"codex account authentication required to read rate limits"}}"#;
    assert!(events(&[refused]).is_empty());
    assert_eq!(events(&[r#"{"id":"limits","result":{}}"#]), ["Garbled"]);
}

#[test]
fn a_call_that_a_hook_blocked_and_a_hook_that_failed_are_reported() {
    let line = r#"{"method":"hook/completed","params":{"threadId":"t1","turnId":"u1","run":{"id":"pre-tool-use:0:/<session-flags>/config.toml:call_A","eventName":"preToolUse","sourcePath":"/<session-flags>/config.toml","status":"blocked","entries":[{"kind":"feedback","text":"not allowed"}]}}}"#;
    let failed = line.replace("blocked", "failed").replace("not allowed", "hook exited with code 1");
    assert_eq!(
        events(&[line, &failed, &line.replace("blocked", "completed")]),
        [
            r#"Blocked { id: "call_A", reason: "not allowed" }"#,
            r#"Warning { text: "the preToolUse hook of /<session-flags>/config.toml failed: hook exited with code 1" }"#,
        ]
    );
    let users = line.replace("/<session-flags>/config.toml", "/home/u/.codex/hooks.json");
    assert!(events(&[&users]).is_empty());
}

#[test]
fn hostile_lines_are_skipped() {
    let deep = format!(r#"{{"method":"item/started","params":{}{}}}"#, "[".repeat(5000), "]".repeat(5000));
    let garbled = ["{", "[]", "null", "\"turn/completed\"", "{}}", deep.as_str()];
    for line in garbled {
        assert_eq!(events(&[line]), ["Garbled"], "{line:.40}");
    }
    let odd = [
        r#"{"method":"item/started","params":{"item":7}}"#,
        r#"{"method":"item/started"}"#,
        r#"{"method":"turn/completed","params":{"turn":{}}}"#,
        r#"{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"last":{"inputTokens":-1}}}}"#,
        r#"{"id":"thread","result":{}}"#,
    ];
    for line in odd {
        assert_eq!(events(&[line]), ["Garbled"], "{line}");
    }
    let ignored =
        ["{}", r#"{"method":7}"#, r#"{"id":{},"result":1}"#, r#"{"method":"new/thing","params":[]}"#];
    for line in ignored {
        assert!(events(&[line]).is_empty(), "{line}");
    }
    let huge = r#"{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"last":{"inputTokens":1,"cachedInputTokens":18446744073709551615,"cacheWriteInputTokens":9}}}}"#;
    assert!(events(&[huge])[0].contains("input: 0"));
}

#[test]
fn quoted_text_does_not_end_a_turn() {
    let quoted = r#"{"type":"agentMessage","id":"m","text":"{\"method\":\"turn/completed\",\"params\":{\"turn\":{\"status\":\"failed\"}}}"}"#;
    assert!(events(&[&item("completed", quoted)])[0].starts_with("text {"));
    assert!(!item("completed", quoted).contains("\"turn/completed\""));
}

#[test]
fn unknown_methods_and_items_are_counted() {
    let mut unknown = Unknown::default();
    for line in [
        r#"{"method":"thread/new","params":{}}"#,
        r#"{"method":"item/new/requestApproval","id":3,"params":{}}"#,
        r#"{"method":"turn/started","params":{"of":"tomorrow"}}"#,
        r#"{"method":"item/fileChange/requestApproval","id":4,"params":{}}"#,
        r#"{"id":9,"result":{}}"#,
        &item("completed", r#"{"type":"newCall","id":"x"}"#),
        &item("started", r#"{"type":"newCall","id":"y"}"#),
        &item("completed", r#"{"type":"newCall","id":"y"}"#),
        &item("started", r#"{"type":"newCall","id":"y"}"#),
        &item("started", r#"{"type":"reasoning","id":"x"}"#),
        &item("completed", r#"{"type":"reasoning","id":"x"}"#),
        "{}",
    ] {
        parse(line.as_bytes(), &mut |_| {}, &mut unknown);
    }
    let seen: Vec<(&str, u64)> = unknown.iter().collect();
    let expected = [
        ("item/completed/newCall", 1),
        ("item/new/requestApproval", 1),
        ("item/started/newCall", 2),
        ("no-method", 1),
        ("thread/new", 1),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn unknown_fields_of_lines_that_are_read_are_counted() {
    let mut unknown = Unknown::default();
    let command = COMMAND.replace(r#""exitCode":null"#, r#""exitCode":null,"zest":1"#);
    for line in [
        item("started", &command).as_str(),
        &item("completed", &command).replace(r#""turnId":"u1""#, r#""turnId":"u1","mood":2"#),
        &item("completed", r#"{"type":"newCall","id":"x","other":1}"#),
        r#"{"method":"turn/completed","params":{"threadId":"t1","turn":{"id":"u","status":"failed","tone":1,"error":{"message":"x","blame":1}}}}"#,
        r#"{"method":"thread/tokenUsage/updated","params":{"threadId":"t1","tokenUsage":{"last":{"dreamTokens":1},"total":{}}}}"#,
        r#"{"id":"thread","result":{"thread":{"id":"t1","soul":1},"sandbox":{"type":"dangerFullAccess","x":1}}}"#,
        r#"{"id":"limits","result":{"rateLimits":{"primary":{"usedPercent":1,"color":1}}}}"#,
        r#"{"id":"hooks","result":{"x":1}}"#,
        r#"{"method":"item/fileChange/requestApproval","id":4,"params":{"itemId":"x","forEver":true},"via":1}"#,
        r#"{"method":"turn/started","params":{"of":"tomorrow"}}"#,
        &item(
            "completed",
            r#"{"type":"mcpToolCall","id":"m","environmentId":null,"result":{"content":[{"type":"text","text":"x"},{"type":"smell"}]}}"#,
        ),
        &item(
            "completed",
            r#"{"type":"fileChange","id":"f","changes":[{"path":"/a","kind":{"type":"fold"}},{"path":"/b","kind":{"type":"add"}}]}"#,
        ),
        r#"{"method":"mcpServer/elicitation/request","id":5,"params":{"serverName":"t","environmentId":null,"mode":"openai/userVerification","challenge":"x","description":"x","title":"x","_meta":null}}"#,
    ] {
        parse(line.as_bytes(), &mut |_| {}, &mut unknown);
    }
    let seen: Vec<String> = unknown.iter().map(|(name, count)| format!("{name} {count}")).collect();
    insta::assert_snapshot!(seen.join("\n"), @"
    account/rateLimits/read.rateLimits.primary.color 1
    item/completed.mood 1
    item/completed/commandExecution.zest 1
    item/completed/fileChange.changes/fold 1
    item/completed/mcpToolCall.result.content/smell 1
    item/completed/newCall 1
    item/fileChange/requestApproval.forEver 1
    item/started/commandExecution.zest 1
    line.via 1
    thread/start.thread.soul 1
    thread/tokenUsage/updated.tokenUsage.last.dreamTokens 1
    turn/completed.turn.error.blame 1
    turn/completed.turn.tone 1
    ");
}
