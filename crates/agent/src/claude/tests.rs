use super::super::event::{Event, Json};
use super::super::parser::Parser;
use proptest::prelude::*;
use std::borrow::Cow;

/// Every event of `chunks`, as owned text.
fn events(chunks: &[&[u8]]) -> Vec<String> {
    let mut seen = Vec::new();
    let mut sink = |event: Event<'_>| seen.push(format!("{event:?}"));
    let mut parser = Parser::default();
    for chunk in chunks {
        parser.feed(chunk, &mut sink);
    }
    parser.finish(&mut sink);
    seen
}

fn of(text: &str) -> Vec<String> {
    events(&[text.as_bytes()])
}

const STREAM: &str = concat!(
    r#"{"type":"system","subtype":"init","session_id":"s1","model":"m","claude_code_version":"2.1.329"}"#,
    "\n",
    r#"{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"Zwei \"Wörter\"\n"}]}}"#,
    "\r\n\n",
    r#"{"message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"id":"a"},"type":"assistant"}"#,
    "\n",
    r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":[{"type":"text","text":"x"},{"type":"image"},{"type":"text","text":"y"}],"is_error":true}]},"tool_use_result":"any"}"#,
    "\n",
    r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":512.7,"error_status":529}"#,
    "\n",
    r#"{"total_cost_usd":0.5,"num_turns":2,"is_error":false,"subtype":"success","result":"HEARTBEAT_OK","type":"result","permission_denials":[{"tool_name":"Bash"}]}"#,
);

#[test]
fn a_stream_becomes_events_in_order() {
    insta::assert_snapshot!(of(STREAM).join("\n"), @r#"
    Session { id: "s1", model: "m", version: "2.1.329", permission_mode: "", mcp_servers: [] }
    Text { message: "a", parent: "", text: "Zwei \"Wörter\"\n", is_chunk: false }
    ToolUse { message: "a", parent: "", id: "t1", name: "Bash", input: Json(RawValue({"command":"ls"})) }
    ToolResult { parent: "", id: "t1", output: "x\ny", is_error: true }
    Retry { attempt: 1, of: 10, delay_ms: 512, status: Some(529), error: "" }
    Result(RunResult { subtype: "success", is_error: false, text: Some("HEARTBEAT_OK"), errors: [], stop_reason: None, session_id: None, cost_usd: Some(0.5), duration_ms: None, num_turns: Some(2), denials: ["Bash"], deferred_tool: None, api_error_status: None, origin: None, models: [], usage: None, total_usage: None })
    "#);
}

#[test]
fn unknown_types_fields_and_shapes_are_skipped() {
    for line in [
        r#"{"type":"command_lifecycle","x":[1,{"y":2}]}"#,
        r#"{"attachment":{"deep":[[[]]]}}"#,
        r#"{"type":7,"message":3}"#,
        r#"{"type":"assistant","message":null,"parent_tool_use_id":{}}"#,
        r#"{"type":"assistant","message":{"id":"a","content":"just text"}}"#,
        r#"{"type":"assistant","message":{"id":"a","content":[{"type":"thinking","thinking":"hm"}]}}"#,
        r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"the prompt"}]}}"#,
    ] {
        assert_eq!(of(line), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn unknown_types_and_fields_are_counted_and_known_ones_are_not() {
    let lines = [
        r#"{"type":"command_lifecycle","uuid":"u","session_id":"s"}"#,
        r#"{"type":"system","subtype":"thinking_tokens","estimated_tokens":3}"#,
        r#"{"attachment":{"deep":1}}"#,
        r#"{"type":"assistant","message":{"id":"a","usage":{"input_tokens":1,"speed":"x"},"content":[{"type":"thinking","thinking":"hm","signature":"x"}]}}"#,
        r#"{"type":"dawn","session_id":"s"}"#,
        r#"{"type":"system","subtype":"dusk"}"#,
        r#"{"type":"system","subtype":"dusk"}"#,
        r#"{"x":7}"#,
        r#"{"new":7,"type":"system","subtype":"init"}"#,
        r#"{"type":"assistant","new":7,"message":{"id":"a","fresh":7,"content":[{"type":"song"},{"type":"text","text":"x","rhyme":7}]}}"#,
        r#"{"type":"control_request","request_id":"1","request":{"subtype":"sing"}}"#,
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","moon":"full","overageStatus":"x","unifiedWindows":{"new_window":{"status":"x","star":1},"five_hour":null}}}"#,
        r#"{"type":"assistant","parent_tool_use_id":"t","message":{"usage":{"new":1}}}"#,
        r#"{"type":"assistant","error":"rate_limit","api_error_params":{"rate_limit_info":{"sun":1}},"message":{}}"#,
        r#"{"type":"result","usage":{"new":1},"modelUsage":{"m":{"inputTokens":1,"new":1},"n":{"new":1}},"permission_denials":[{"tool_name":"Bash","tool_input":{},"new":1}],"deferred_tool_use":{"id":"t","new":1},"origin":{"kind":"x","runId":"r","new":1}}"#,
        r#"{"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"new":1},"tool_use_id":"t","title":"x","new":1}}"#,
        r#"{"type":"system","subtype":"init","mcp_servers":[{"name":"a","source":"project","new":1}]}"#,
        r#"{"type":"system","subtype":"task_updated","task_id":"b","patch":{"status":"x","end_time":1,"new":1}}"#,
        r#"{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b","run_id":"r","new":1}]}"#,
        r#"{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"x","duration_ms":1,"new":1}}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x","rhyme":7},{"type":"smell"},{"type":"image","source":{"new":1}},{"type":"tool_reference","tool_name":"x"}]}]}}"#,
    ];
    let mut parser = Parser::default();
    parser.feed(lines.join("\n").as_bytes(), &mut |_| {});
    parser.finish(&mut |_| {});
    let seen: Vec<String> = parser.unknown().iter().map(|(name, count)| format!("{name} {count}")).collect();
    insta::assert_snapshot!(seen.join("\n"), @r"
    .x 1
    assistant.api_error_params.rate_limit_info.sun 1
    assistant.content/song 1
    assistant.content/text.rhyme 1
    assistant.message.fresh 1
    assistant.message.usage.new 1
    assistant.new 1
    control_request/can_use_tool.new 1
    control_request/sing 1
    dawn 1
    no-type 1
    rate_limit_event.rate_limit_info.moon 1
    rate_limit_event.rate_limit_info.unifiedWindows.star 1
    result.deferred_tool_use.new 1
    result.modelUsage.new 2
    result.origin.new 1
    result.permission_denials.new 1
    result.usage.new 1
    system/background_tasks_changed.tasks.new 1
    system/compact_boundary.compact_metadata.new 1
    system/dusk 2
    system/init.mcp_servers.new 1
    system/init.new 1
    system/task_updated.patch.new 1
    user.content/tool_result.content.rhyme 1
    user.content/tool_result.content/smell 1
    ");
}

#[test]
fn a_result_keeps_its_other_fields_when_one_has_an_unexpected_shape() {
    let line = r#"{"type":"result","is_error":true,"result":["no"],"num_turns":"many","errors":["boom",3],"subtype":null}"#;
    insta::assert_snapshot!(of(line).join("\n"), @r#"Result(RunResult { subtype: "", is_error: true, text: None, errors: ["boom"], stop_reason: None, session_id: None, cost_usd: None, duration_ms: None, num_turns: None, denials: [], deferred_tool: None, api_error_status: None, origin: None, models: [], usage: None, total_usage: None })"#);
}

#[test]
fn session_reports_become_events() {
    let lines = [
        r#"{"type":"system","subtype":"init","session_id":"s1","model":"m","claude_code_version":"2.1.330","permissionMode":"plan","mcp_servers":[{"name":"mail","status":"failed","source":"project"},{"name":7},"x"]}"#,
        r#"{"type":"system","subtype":"task_started","task_id":"b1","run_id":"r","tool_use_id":"toolu_1","description":"wait","is_backgrounded":true,"task_type":"local_bash"}"#,
        r#"{"type":"system","subtype":"task_updated","task_id":"b1","patch":{"status":"completed","end_time":1795393717008}}"#,
        r#"{"type":"system","subtype":"task_progress","task_id":7,"last_tool_name":"Read","is_backgrounded":"yes","patch":{"status":"x"}}"#,
        r#"{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b1","task_type":"local_bash","description":"wait"}]}"#,
        r#"{"type":"system","subtype":"background_tasks_changed","tasks":null}"#,
        r#"{"type":"system","subtype":"status","status":"compacting"}"#,
        r#"{"type":"system","subtype":"status","status":null,"compact_result":"success"}"#,
        r#"{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"manual","pre_tokens":30,"post_tokens":"x"}}"#,
        r#"{"type":"system","subtype":"status","status":null,"permissionMode":"plan"}"#,
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795420000.5,"rateLimitType":"five_hour","unifiedWindows":{"five_hour":{"status":"allowed"}}}}"#,
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1795420000,"rateLimitType":"five_hour","unifiedWindows":{"five_hour":{"status":"allowed","utilization":0.25,"resetsAt":1795420000},"seven_day":{"status":"rejected","utilization":0.5,"resetsAt":1795990000}}}}"#,
        r#"{"type":"assistant","error":"rate_limit","api_error_status":429,"message":{"id":"a","content":[{"type":"text","text":"No."}]}}"#,
        r#"{"type":"assistant","error":"rate_limit","api_error_params":{"x":[],"rate_limit_info":{"status":"rejected","resetsAt":1795420000,"rateLimitType":"five_hour"}},"message":{"id":"a","content":[]}}"#,
        r#"{"type":"assistant","error":"rate_limit","api_error_params":"none","message":{"id":"a","content":[]}}"#,
        r#"{"type":"assistant","error":null,"message":{"id":"a","content":[]}}"#,
        r#"{"type":"system","subtype":"of tomorrow"}"#,
        r#"{"type":"result","api_error_status":429,"origin":{"kind":"task-notification"},"usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4},"modelUsage":{"m":{"inputTokens":5,"outputTokens":"x"},"n":{"inputTokens":6,"cacheReadInputTokens":7},"o":null}}"#,
    ];
    insta::assert_snapshot!(of(&lines.join("\n")).join("\n"), @r#"
    Session { id: "s1", model: "m", version: "2.1.330", permission_mode: "plan", mcp_servers: [McpServer { name: "mail", status: "failed" }] }
    Task(Task { stage: Started, id: "b1", tool_use_id: "toolu_1", kind: "local_bash", description: "wait", is_background: Some(true), status: "", summary: "", last_tool: "" })
    Task(Task { stage: Updated, id: "b1", tool_use_id: "", kind: "", description: "", is_background: None, status: "completed", summary: "", last_tool: "" })
    Task(Task { stage: Progress, id: "", tool_use_id: "", kind: "", description: "", is_background: None, status: "", summary: "", last_tool: "Read" })
    Background { tasks: [BackgroundTask { id: "b1", kind: "local_bash", description: "wait" }] }
    Compaction(Started)
    Compaction(Done { trigger: "manual", pre_tokens: Some(30), post_tokens: None })
    PermissionMode { mode: "plan" }
    RateLimit(RateLimit { status: "rejected", window: "five_hour", resets_at: Some(1795420000), utilization: None })
    RateLimit(RateLimit { status: "allowed", window: "seven_day", resets_at: Some(1795990000), utilization: Some(0.5) })
    RateLimit(RateLimit { status: "allowed", window: "five_hour", resets_at: Some(1795420000), utilization: Some(0.25) })
    ApiError(ApiError { error: "rate_limit", status: Some(429), limit: None })
    Text { message: "a", parent: "", text: "No.", is_chunk: false }
    ApiError(ApiError { error: "rate_limit", status: None, limit: Some(RateLimit { status: "rejected", window: "five_hour", resets_at: Some(1795420000), utilization: None }) })
    ApiError(ApiError { error: "rate_limit", status: None, limit: None })
    Result(RunResult { subtype: "", is_error: false, text: None, errors: [], stop_reason: None, session_id: None, cost_usd: None, duration_ms: None, num_turns: None, denials: [], deferred_tool: None, api_error_status: Some(429), origin: Some("task-notification"), models: ["m", "n", "o"], usage: Some(Tokens { input: 1, output: 2, cache_read: 3, cache_write: 4 }), total_usage: Some(Tokens { input: 11, output: 0, cache_read: 7, cache_write: 0 }) })
    "#);
}

#[test]
fn a_line_that_is_not_json_is_garbled_and_the_next_one_counts() {
    let seen = of("not json\n[1]\n{\"type\":\"result\"");
    assert_eq!(seen, ["Garbled", "Garbled", "Garbled"]);
    let seen = of("{\"type\":\"assi\n{\"type\":\"result\",\"result\":\"x\"}");
    assert_eq!(seen[0], "Garbled");
    assert!(seen[1].starts_with("Result("), "{}", seen[1]);
}

#[test]
fn invalid_utf8_replaces_only_its_own_characters() {
    let mut line =
        br#"{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"caf"#.to_vec();
    line.extend_from_slice(b"\xff\xfe\"}]}}");
    assert_eq!(
        events(&[&line]),
        ["Text { message: \"a\", parent: \"\", text: \"caf\u{fffd}\u{fffd}\", is_chunk: false }"]
    );
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let line = format!(r#"{{"type":"user","message":{}"#, "[".repeat(1_000_000));
    assert_eq!(of(&line), ["Garbled"]);
}

#[test]
fn escapes_are_decoded_and_half_a_surrogate_pair_is_replaced() {
    let line = r#"{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"\"\/\b\f\\\u00e9\ud83d\ude00\ud83dx\ude00\ud83d\u0041\u12"}]}}"#;
    let said = "\"/\u{8}\u{c}\\é😀\u{fffd}x\u{fffd}\u{fffd}A\u{fffd}12";
    assert_eq!(
        of(line),
        [format!("Text {{ message: \"a\", parent: \"\", text: {said:?}, is_chunk: false }}")]
    );
}

#[test]
fn a_result_whose_text_was_cut_within_a_character_counts() {
    let seen = of(r#"{"type":"result","result":"HEARTBEAT_OK \ud83d"}"#);
    assert!(seen[0].contains("HEARTBEAT_OK \u{fffd}"), "{seen:?}");
}

/// Values that look like a message, and other values.
fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let names = [
        "type",
        "text",
        "id",
        "name",
        "input",
        "content",
        "tool_use_id",
        "is_error",
        "message",
        "x",
        "parent_tool_use_id",
        "assistant",
        "user",
        "tool_use",
        "tool_result",
        "",
    ];
    let name = proptest::sample::select(names.to_vec());
    let leaf = prop_oneof![
        name.clone().prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
        any::<i32>().prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from),
        Just(serde_json::Value::Null),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::vec((name.clone(), inner), 0..8).prop_map(|members| {
                let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
                serde_json::Value::Object(members.collect())
            }),
        ]
    })
}

/// The expected events of an assistant's or a user's line, from a complete JSON parser.
fn expected_events(line: &serde_json::Value) -> Vec<String> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let (message, parent) = (text(&line["message"]["id"]), text(&line["parent_tool_use_id"]));
    let mut seen = Vec::new();
    for block in line["message"]["content"].as_array().into_iter().flatten() {
        let input = serde_json::value::to_raw_value(&block["input"]).unwrap();
        let (message, parent) = (Cow::from(message.as_str()), Cow::from(parent.as_str()));
        let event = match block["type"].as_str() {
            Some("text") if !message.is_empty() => {
                Event::Text { message, parent, text: text(&block["text"]).into(), is_chunk: false }
            }
            Some("tool_use") => {
                let (id, name) = (text(&block["id"]).into(), text(&block["name"]).into());
                Event::ToolUse { message, parent, id, name, input: Json(&input) }
            }
            Some("tool_result") => {
                let texts = block["content"].as_array().into_iter().flatten().map(|part| text(&part["text"]));
                let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
                let output = block["content"].as_str().map_or_else(|| texts.join("\n"), str::to_owned).into();
                let is_error = block["is_error"] == serde_json::Value::Bool(true);
                Event::ToolResult { parent, id: text(&block["tool_use_id"]).into(), output, is_error }
            }
            _ => continue,
        };
        seen.push(format!("{event:?}"));
    }
    seen
}

proptest! {
    #[test]
    fn any_message_is_read_as_a_whole_json_parser_would(
        kind in prop_oneof![Just("assistant"), Just("user")],
        id in any_json(),
        parent in any_json(),
        blocks in prop::collection::vec(
            (prop_oneof![Just("text"), Just("tool_use"), Just("tool_result"), Just("x")], any_json()),
            0..4,
        ),
        rest in any_json(),
        pretty in any::<bool>(),
    ) {
        let block = |(kind, mut block): (&str, serde_json::Value)| {
            if let Some(block) = block.as_object_mut() {
                block.insert("type".to_owned(), kind.into());
            }
            block
        };
        let content: Vec<serde_json::Value> = blocks.into_iter().map(block).collect();
        let message = serde_json::json!({ "id": id, "content": content, "rest": rest });
        let line = serde_json::json!({ "type": kind, "message": message, "parent_tool_use_id": parent });
        let text = if pretty {
            serde_json::to_string_pretty(&line).unwrap().replace('\n', "\r\t ")
        } else {
            line.to_string()
        };
        // An input keeps its original spelling, so only compact ones compare equal.
        prop_assume!(!pretty || !text.contains("tool_use\""));
        prop_assert_eq!(of(&text), expected_events(&line));
    }

    #[test]
    fn any_split_of_a_stream_gives_the_same_events(cuts in prop::collection::vec(0..STREAM.len(), 0..20)) {
        let mut cuts = cuts;
        cuts.extend([0, STREAM.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|cut| &STREAM.as_bytes()[cut[0]..cut[1]]).collect();
        prop_assert_eq!(events(&chunks), of(STREAM));
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        events(&[&bytes]);
    }
}
