//! fake-claude playing API errors: what is retried, and the final message.

use serde_json::{Value, json};

use super::Stage;
use super::acted::{Run, beat, command, text};

fn error(status: u16, message: &str) -> Value {
    json!({"status": status, "error": {"type": "some_error", "message": message}})
}

fn act(script: &Value, env: &[(&str, &str)]) -> Run {
    let stage = Stage::new();
    let mut command = command(&stage, script, &json!({}), &[]);
    command.envs(env.iter().copied());
    beat(command, "Go.\n")
}

/// The statuses, attempts and errors of `api_retry` lines.
fn retries(run: &Run) -> Vec<(u64, u64, &str)> {
    let lines = run.lines.iter().filter(|line| line["subtype"] == "api_retry");
    lines
        .map(|line| {
            let number = |key: &str| line[key].as_u64().unwrap();
            (number("error_status"), number("attempt"), line["error"].as_str().unwrap())
        })
        .collect()
}

#[test]
fn every_temporary_status_is_retried_ten_times_quickly() {
    for (status, label) in
        [(401, "authentication_failed"), (429, "rate_limit"), (500, "server_error"), (529, "overloaded")]
    {
        let acted = act(&json!([error(status, "no")]), &[("FAKE_CLAUDE_SCALE", "0")]);
        let wanted: Vec<_> = (1..=10).map(|attempt| (u64::from(status), attempt, label)).collect();
        assert_eq!(retries(&acted), wanted);
        let delays: Vec<&Value> = acted
            .lines
            .iter()
            .filter(|line| line["attempt"].is_u64())
            .map(|line| &line["retry_delay_ms"])
            .collect();
        assert_eq!((delays[0], delays[9]), (&json!(500), &json!(32000)));
        assert_eq!(
            (acted.result()["api_error_status"].as_u64(), acted.code),
            (Some(u64::from(status)), Some(1))
        );
    }
}

#[test]
fn a_variable_sets_the_number_of_retries_and_a_success_ends_them() {
    let two = [("CLAUDE_CODE_MAX_RETRIES", "2")];
    assert_eq!(retries(&act(&json!([error(529, "no")]), &two)).len(), 2);
    let mut passes = error(529, "no");
    passes["times"] = 2.into();
    passes["content"] = json!([text("HEARTBEAT_OK")]);
    let acted = act(&json!([passes]), &two);
    assert_eq!(retries(&acted).len(), 2);
    assert_eq!((&acted.result()["result"], acted.code), (&json!("HEARTBEAT_OK"), Some(0)));
}

#[test]
fn permanent_errors_are_reported_at_once_with_claude_codes_messages() {
    for (status, message, said, kind) in [
        (401, "invalid x-api-key", "Invalid API key · Fix external API key", "authentication_failed"),
        (403, "no", "Failed to authenticate. API Error: 403 no", "authentication_failed"),
        (404, "no", "There's an issue with the selected model (claude-opus-5-5). ", "model_not_found"),
        (413, "no", "Request too large (max 32MB). ", "invalid_request"),
        (400, "Your credit balance is too low to go on", "Credit balance is too low", "billing_error"),
        (
            400,
            "prompt is too long: 250000 tokens > 200000 maximum",
            "Prompt is too long · the request is ~250000 tokens (limit 200000) ",
            "invalid_request",
        ),
        (
            500,
            "Oh no!",
            "API Error: 500 Oh no. This is a server-side issue, usually temporary — try again in a moment. \
             If it persists, check your inference gateway (localhost:1).",
            "server_error",
        ),
        (400, "no", "API Error: 400 no", "unknown"),
    ] {
        let mut refused = error(status, message);
        refused["headers"] = json!({"x-should-retry": "false"});
        let acted = act(&json!([refused]), &[("ANTHROPIC_BASE_URL", "http://localhost:1/v1")]);
        assert_eq!(acted.kinds(), ["system", "text", "result"], "{status}");
        let line = &acted.lines[1];
        assert_eq!((&line["error"], &line["is_api_error_message"]), (&json!(kind), &json!(true)));
        let result = acted.result()["result"].as_str().unwrap();
        assert!(result.starts_with(said), "{result}");
        assert_eq!(line["message"]["content"][0]["text"], result);
    }
}

#[test]
fn without_a_login_the_api_is_not_called() {
    let acted = act(&json!([[text("never said")]]), &[("FAKE_CLAUDE_FAULT", "not-logged-in")]);
    assert_eq!(acted.lines[0]["apiKeySource"], "none");
    assert_eq!(acted.lines[1]["error"], "authentication_failed");
    let result = acted.result();
    assert_eq!(
        (&result["result"], &result["api_error_status"]),
        (&json!("Not logged in · Please run /login"), &Value::Null)
    );
    assert_eq!((result["is_error"].as_bool(), acted.code), (Some(true), Some(1)));
}

#[test]
fn an_invalid_time_scale_is_refused() {
    for (scale, said) in
        [("-1", "invalid scale: -1 (must be at least 0)"), ("fast", "FAKE_CLAUDE_SCALE: not a number: fast")]
    {
        let acted = act(&json!([[text("ok")]]), &[("FAKE_CLAUDE_SCALE", scale)]);
        assert_eq!((acted.stderr, acted.code), (format!("fake-claude: {said}\n"), Some(70)));
    }
}

#[test]
fn an_empty_answer_is_requested_once_more() {
    let told = "[Your previous response had no visible output. Please continue and produce a user-visible response.]";
    for (content, kinds) in [
        (json!([text("")]), &["system", "text", "result"][..]),
        (json!([]), &["system", "text", "result"]),
        (
            json!([{"type": "thinking", "thinking": "Hm."}]),
            &["system", "system", "thinking", "text", "system", "thinking", "result"],
        ),
    ] {
        let acted = act(&json!([content]), &[]);
        assert_eq!(acted.kinds(), kinds);
        let asked = acted.lines.iter().find(|line| line["isSynthetic"] == true).unwrap();
        assert_eq!(asked["message"]["content"][0]["text"], told);
        let result = acted.result();
        assert_eq!((&result["result"], &result["num_turns"], acted.code), (&json!(""), &json!(2), Some(0)));
    }
}

#[test]
fn thinking_tokens_are_counted_before_thoughts_are_shown() {
    let script = json!([[{"type": "thinking", "thinking": "12345678 "}, text("HEARTBEAT_OK")]]);
    let acted = act(&script, &[]);
    assert_eq!(acted.kinds(), ["system", "system", "thinking", "text", "result"]);
    assert_eq!(
        (&acted.lines[1]["subtype"], &acted.lines[1]["estimated_tokens"]),
        (&json!("thinking_tokens"), &json!(3))
    );
    assert_eq!(acted.result()["result"], "HEARTBEAT_OK");
    let old = act(&script, &[("FAKE_CLAUDE_VERSION", "2.1.110")]);
    assert_eq!(old.kinds(), ["system", "thinking", "text", "result"]);
}
