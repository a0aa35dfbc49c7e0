//! docs/reference/host-protocol.md and host-events.md: every example on them is correct.

use std::collections::BTreeSet;

use murmur_host::ledger::LedgerEntry;
use murmur_host::protocol::{HOST_PROTOCOL_VERSION, REQUEST_TYPES};
use murmur_host::record::Record;
use murmur_rpc::envelope::{Event, GAP, LAGGED, Request, Response};
use serde_json::{Map, Value, json};

use super::{ID, Live, is_idle_after};
use crate::env::Env;

const PAGE: &str = concat!(
    include_str!("../../../docs/reference/host-protocol.md"),
    include_str!("../../../docs/reference/host-events.md")
);

/// The objects in the page's examples.
fn examples() -> Vec<Value> {
    let blocks = PAGE.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.flat_map(str::lines).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The page's requests, each with its response.
fn questions() -> Vec<(Value, Value)> {
    let lines: Vec<Value> = examples().into_iter().filter(|line| line["msg_type"].is_string()).collect();
    assert_eq!(lines.len() % 2, 0);
    lines.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

fn events() -> Vec<Value> {
    examples().into_iter().filter(|line| line["event_type"].is_string()).collect()
}

/// The value with its types instead of its data. What may be `null` has no type.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), shape(field))).collect(),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::String(_) => json!("string"),
        Value::Number(_) => json!("number"),
        Value::Bool(_) => json!("bool"),
        Value::Null => Value::Null,
    }
}

/// Checks that `event` has the keys and types of the page's example of its type.
pub(super) fn assert_shape_of_example(event: &Value) {
    let shapes: Vec<Value> =
        events().iter().filter(|example| example["event_type"] == event["event_type"]).map(shape).collect();
    assert!(shapes.contains(&shape(event)), "{event} is on the page as {shapes:?}");
}

/// The words explained by the list under `head`.
fn terms(head: &str) -> BTreeSet<String> {
    let list = PAGE.split(&format!("{head}\n\n")).nth(1).unwrap().lines().take_while(|line| !line.is_empty());
    let items = list.filter_map(|line| line.strip_prefix("- `"));
    items.map(|item| item.split('`').next().unwrap().to_owned()).collect()
}

/// An agent whose first turn has the page's examples.
fn example_agent(env: &Env) -> Live<'_> {
    let id = "00000000-0000-4000-8000-000000000001";
    let said = |message: &str, parent: Value, content: Value| {
        json!({ "type": "assistant", "parent_tool_use_id": parent,
            "message": { "id": message, "content": [content] } })
    };
    let lines = [
        json!({ "type": "system", "subtype": "init", "session_id": id, "model": "claude-model",
            "claude_code_version": "2.1.329", "permissionMode": "default",
            "mcp_servers": [{ "name": "mail", "status": "failed", "source": "project" }] }),
        json!({ "type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10,
            "retry_delay_ms": 500, "error_status": 529, "error": "overloaded" }),
        said("msg_1", Value::Null, json!({ "type": "text", "text": "Let me look." })),
        said(
            "msg_1",
            Value::Null,
            json!({ "type": "tool_use", "id": "toolu_1", "name": "Task",
            "input": { "prompt": "Look" } }),
        ),
        said("msg_2", json!("toolu_1"), json!({ "type": "text", "text": "Found it." })),
        json!({ "type": "user", "message": { "content": [
            { "type": "tool_result", "tool_use_id": "toolu_1", "content": "Fixed" }] } }),
        json!(7),
        json!({ "type": "result", "subtype": "success", "is_error": false, "result": "Done",
            "stop_reason": "end_turn", "session_id": id, "total_cost_usd": 0.25, "duration_ms": 1200,
            "num_turns": 2, "permission_denials": [{ "tool_name": "Bash" }],
            "usage": { "input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 300,
                "cache_creation_input_tokens": 40, "cache_creation": { "ephemeral_1h_input_tokens": 0 } },
            "modelUsage": { "claude-model": { "inputTokens": 15, "outputTokens": 25,
                "cacheReadInputTokens": 300, "cacheCreationInputTokens": 40, "costUSD": 0.25 } } }),
    ];
    let stdout: String = lines.iter().map(|line| format!("{line}\n")).collect();
    env.setting("config.toml", "permissions-checker = \"off\"\n");
    env.site(&json!({ "live": null, "stdout": stdout, "stderr": "a warning\n" }));
    let options = ["--json", "--project", "site", "--role", "coding", "--issue", "#42", "Fix the build"];
    let agent = Live::of(env, env.spawning(ID, &options));
    agent.follow(0).until(|event| is_idle_after(event, 1));
    agent
}

#[test]
fn every_documented_request_gets_the_documented_response() {
    let env = Env::new();
    let agent = example_agent(&env);
    let asked: BTreeSet<String> =
        questions().iter().map(|(question, _)| question["msg_type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(asked, REQUEST_TYPES.into_iter().chain(["dance"]).map(str::to_owned).collect());
    for (question, answer) in questions() {
        serde_json::from_value::<Request>(question.clone()).unwrap();
        serde_json::from_value::<Response>(answer.clone()).unwrap();
        let mut peer = agent.peer();
        assert!(peer.say(format!("{question}\n")));
        let real = peer.answer();
        // That is a hook's request, and this is not a hook.
        if question["msg_type"] == "wait" && cfg!(target_os = "linux") {
            assert_eq!(real["error"], "only murmur-hook can send wait");
            continue;
        }
        assert_eq!(shape(&real), shape(&answer), "{question}: {real}");
        if question["msg_type"] != "attach" {
            assert_eq!((&real["error"], &real["hint"]), (&answer["error"], &answer["hint"]));
        }
        assert_eq!((&real["id"], &real["msg_type"]), (&question["id"], &question["msg_type"]));
    }
}

#[test]
fn every_documented_event_is_emitted_by_a_host() {
    let env = Env::new();
    let agent = example_agent(&env);
    agent.stop();
    agent.wait_for_end();
    let mut told: Vec<Value> =
        env.told_again(ID).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    told.extend(reports());
    for example in events() {
        serde_json::from_value::<Event>(example.clone()).unwrap();
        let of_its_own = [
            "oversized",
            "problem",
            "waiting",
            "waited",
            "lost",
            "hold",
            "hold_over",
            "permission_asked",
            "permission_withdrawn",
            "usage",
            "cost",
            "warning",
            "blocked",
            GAP,
            LAGGED,
        ];
        if of_its_own.contains(&example["event_type"].as_str().unwrap()) {
            continue;
        }
        let is_it = |event: &&Value| {
            event["event_type"] == example["event_type"] && event["payload"] == example["payload"]
        };
        let event = told.iter().find(is_it).unwrap_or_else(|| panic!("{example} is not in {told:#?}"));
        assert_eq!(shape(event), shape(&example));
    }
}

/// The events for an agent's session reports, in the form of Claude Code 2.1.330.
fn reports() -> Vec<Value> {
    use murmur_agent::parser::Parser;
    use murmur_host::event::Derived;
    let system = |subtype: &str, fields: Value| {
        let mut line = json!({ "type": "system", "subtype": subtype, "uuid": "u", "session_id": "s" });
        line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        line
    };
    let task =
        json!({ "task_id": "b1", "run_id": "r", "task_type": "local_bash", "description": "Run the tests" });
    let lines = [
        json!({ "type": "rate_limit_event", "rate_limit_info": { "status": "allowed_warning",
            "resetsAt": 1_795_420_000, "rateLimitType": "five_hour", "utilization": 0.9,
            "unifiedWindows": { "five_hour": { "utilization": 1, "status": "rejected" } } } }),
        system("background_tasks_changed", json!({ "tasks": [task] })),
        system(
            "task_started",
            json!({ "task_id": "b1", "run_id": "r", "tool_use_id": "toolu_1",
            "description": "Run the tests", "is_backgrounded": true, "task_type": "local_bash" }),
        ),
        system(
            "task_progress",
            json!({ "task_id": "a1", "tool_use_id": "toolu_2", "description": "Look around",
            "usage": { "total_tokens": 31, "tool_uses": 1 }, "last_tool_name": "Read" }),
        ),
        system("status", json!({ "status": null, "permissionMode": "plan" })),
        system("status", json!({ "status": "compacting" })),
        system(
            "status",
            json!({ "status": null, "compact_result": "failed",
            "compact_error": "Not enough messages to compact." }),
        ),
        system("status", json!({ "status": null, "compact_result": "success" })),
        system(
            "compact_boundary",
            json!({ "compact_metadata": { "trigger": "auto", "pre_tokens": 160_000,
            "post_tokens": 2500, "duration_ms": 495 } }),
        ),
        system("task_updated", json!({ "task_id": "b1", "patch": { "status": "completed", "end_time": 1 } })),
        system(
            "task_notification",
            json!({ "task_id": "b1", "tool_use_id": "toolu_1", "status": "completed",
            "output_file": "/tmp/b1", "summary": "Background command \"Run the tests\" completed (exit code 0)" }),
        ),
        system("background_tasks_changed", json!({ "tasks": [] })),
        json!({ "type": "assistant", "error": "rate_limit", "api_error_status": 429,
            "message": { "id": "m", "content": [] } }),
        json!({ "type": "result", "subtype": "success", "is_error": true, "api_error_status": 429,
            "result": "You've hit your 5-hour limit", "origin": { "kind": "task-notification" } }),
    ];
    let mut told = Vec::new();
    let mut parser = Parser::default();
    for line in lines {
        parser.feed(format!("{line}\n").as_bytes(), &mut |event| {
            told.push(serde_json::from_slice(&Derived::Agent(&event).line(ID, 0)).unwrap());
        });
    }
    told
}

#[test]
fn rare_events_match_the_page() {
    use murmur_agent::event::{Event as Agent, PermissionRequest, Tokens};
    use murmur_host::event::{Derived, MurmurEvent};
    let own = |own: MurmurEvent| serde_json::from_slice(&own.line("a", 0)).unwrap();
    assert_shape_of_example(&own(MurmurEvent::Lost { reason: "full".to_owned() }));
    assert_shape_of_example(&own(MurmurEvent::Problem { text: "deaf".to_owned() }));
    let tokens = Tokens { input: 60, output: 20, cache_read: 40, cache_write: 0 };
    for event in [
        Agent::Usage(tokens),
        Agent::Cost { usd: 0.01 },
        Agent::Warning { text: "the model is slow".into() },
        Agent::Blocked { id: "call_1".into(), reason: "no rule allows it".into() },
    ] {
        let line = Derived::Agent(&event).line("a", 0);
        assert_shape_of_example(&serde_json::from_slice(&line).unwrap());
    }
    let oversized = Derived::Agent(&Agent::Oversized { bytes: 17_000_000 }).line("a", 0);
    assert_shape_of_example(&serde_json::from_slice(&oversized).unwrap());
    let asks = PermissionRequest {
        request_id: "r1".to_owned(),
        tool: "AskUserQuestion".to_owned(),
        input: json!({ "questions": [] }),
        tool_use_id: "t1".to_owned(),
        cwd: None,
    };
    let withdrawn = Agent::PermissionRequestCancelled { request_id: "r1".to_owned() };
    for event in [Agent::PermissionRequest(Box::new(asks)), withdrawn] {
        let line = Derived::Agent(&event).line("a", 0);
        assert_shape_of_example(&serde_json::from_slice(&line).unwrap());
    }
}

#[test]
fn the_page_lists_every_event_type_and_state() {
    let code = include_str!("../../../crates/host/src/event.rs");
    let mut types: BTreeSet<String> = [GAP, LAGGED].map(str::to_owned).into();
    for call in ["write_event(out, \"", "event_line(\""] {
        types.extend(code.split(call).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()));
    }
    assert_eq!(terms("Event types with their payloads:"), types);
    let shown: BTreeSet<String> =
        events().iter().map(|event| event["event_type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(shown, types);
    let states = terms("States of a `state` event:");
    let examples =
        events().into_iter().filter_map(|event| Some(event["payload"]["state"].as_str()?.to_owned()));
    assert_eq!(states, examples.collect());
    let headings: Vec<&str> = PAGE.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert_eq!(headings[..REQUEST_TYPES.len()], REQUEST_TYPES);
}

#[test]
fn the_documented_record_is_valid_and_has_the_real_shape() {
    let example = examples().into_iter().find(|line| line["format"].is_number()).unwrap();
    let read = Record::parse(example.to_string().as_bytes()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), example);
    assert_eq!(example["protocolVersion"], HOST_PROTOCOL_VERSION);
    let env = Env::new();
    let agent = example_agent(&env);
    let unended = without(&example, "result");
    assert_eq!(shape(&env.record(ID)), shape(&unended));
    agent.stop();
    agent.wait_for_end();
    assert_eq!(shape(&env.record(ID)), shape(&example));
    assert_eq!(std::fs::metadata(env.hosts().join("site-1.json")).unwrap().len(), 16 << 10);
    let fields = terms("Fields of the record:");
    for field in example.as_object().unwrap().keys() {
        assert!(
            fields.iter().any(|listed| listed == field) || PAGE.contains(&format!("`{field}`")),
            "{field}"
        );
    }
}

fn without(object: &Value, key: &str) -> Value {
    let mut fields: Map<String, Value> = object.as_object().unwrap().clone();
    fields.remove(key);
    fields.into()
}

#[test]
fn the_documented_ledger_is_valid_and_has_the_real_shape() {
    let examples: Vec<Value> = examples().into_iter().filter(|line| line["begins"].is_object()).collect();
    for example in &examples {
        let read: LedgerEntry = serde_json::from_value(example.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), *example);
    }
    let env = Env::new();
    env.site(&json!({ "burst": 1100 }));
    let agent = Live::of(&env, env.spawning(ID, &["--json", "Fix the build"]));
    agent.follow(0).until(|event| is_idle_after(event, 1));
    let capture = agent.status()["capture"].as_str().unwrap().to_owned();
    agent.stop();
    agent.wait_for_end();
    let file = env.home().join(".local/state/derun/sessions").join(capture).join("events.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    let shapes: Vec<Value> = text.lines().map(|line| shape(&serde_json::from_str(line).unwrap())).collect();
    for example in examples {
        assert!(shapes.contains(&shape(&example)), "{example} in {text}");
    }
}
