//! The protocol itself: handshakes, invalid lines, and the end.

use serde_json::{Value, json};

use super::client::Client;
use super::over;
use crate::env::{Env, MURMUR};
use std::io::Write;
use std::process::{Command, Stdio};

const LIST: &str =
    r#"{"jsonrpc":"2.0","id":"list","method":"tools/call","params":{"name":"derun_list_sessions"}}"#;

#[test]
fn every_protocol_version_is_supported_and_others_get_the_newest() {
    let env = Env::new();
    over(&env, "s", b"x");
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("1.0", "2025-11-25"),
    ] {
        let mut client = Client::raw(&env);
        let result = client.initialize(asked);
        assert_eq!(result["protocolVersion"], answered, "{asked}");
        assert_eq!(result["serverInfo"]["name"], "derun");
        assert_eq!(result["capabilities"], json!({ "tools": {} }));
        let tools = client.ask("tools/list", json!({}))["result"]["tools"].clone();
        let names: Vec<&str> =
            tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(
            names,
            ["derun_list_sessions", "derun_get_session", "derun_read_output", "derun_wait_output"]
        );
        let is_old = answered < "2025-06-18";
        for tool in tools.as_array().unwrap() {
            assert_eq!(tool["annotations"]["readOnlyHint"], true);
            assert_eq!(tool["inputSchema"]["type"], "object");
            assert_eq!(tool["inputSchema"]["additionalProperties"], false);
            assert_eq!(tool.get("outputSchema").is_none(), is_old);
        }
        let called = client.ask("tools/call", json!({ "name": "derun_list_sessions", "arguments": {} }));
        let text = called["result"]["content"][0]["text"].as_str().unwrap();
        if is_old {
            assert_eq!(called["result"].get("structuredContent"), None);
            let list: Value = serde_json::from_str(text).unwrap();
            assert_eq!(list["sessions"][0]["session_id"], "s");
        } else {
            assert_eq!(text, "1 session");
            assert_eq!(called["result"]["structuredContent"]["sessions"][0]["session_id"], "s");
        }
        let failed = client.ask("tools/call", json!({ "name": "derun_get_session", "arguments": {} }));
        let (text, structured) =
            (&failed["result"]["content"][0]["text"], failed["result"].get("structuredContent"));
        let error = json!({ "schema_version": "v1alpha1", "error": "session_id is required" });
        assert_eq!(failed["result"]["isError"], true);
        if is_old {
            assert_eq!((serde_json::from_str(text.as_str().unwrap()).ok(), structured), (Some(error), None));
        } else {
            assert_eq!((text, structured), (&error["error"], Some(&error)));
        }
        assert_eq!(client.end(), (String::new(), Some(0), String::new()));
    }
}

#[test]
fn the_protocol_without_a_handshake_is_supported() {
    let env = Env::new();
    over(&env, "s", b"x");
    let mut client = Client::raw(&env);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.ask("server/discover", json!({ "_meta": meta }));
    assert_eq!(
        found["result"]["supportedVersions"].as_array().unwrap().last().unwrap(),
        "2026-07-28",
        "{found}"
    );
    let called =
        client.ask("tools/call", json!({ "name": "derun_list_sessions", "arguments": {}, "_meta": meta }));
    assert_eq!(called["result"]["structuredContent"]["total_count"], 1, "{called}");
}

#[test]
fn an_invalid_line_gets_an_error() {
    let env = Env::new();
    let mut client = Client::raw(&env);
    client.initialize("2025-06-18");
    for line in ["", "  ", "\r", r#"{"jsonrpc":"2.0","method":"notifications/dance","params":[5]}"#] {
        client.line(line);
    }
    let mut wrong = |line: &str, code: i64| {
        client.line(line);
        let answer = client.answer();
        assert_eq!((&answer["jsonrpc"], answer.get("id")), (&json!("2.0"), Some(&Value::Null)), "{answer}");
        assert_eq!(answer["error"]["code"], code, "{answer}");
        answer["error"]["message"].as_str().unwrap().to_owned()
    };
    for line in ["no JSON at all", "{", "\u{1}", "nul\0", r#"{"jsonrpc":"2.0","id":9,"#] {
        wrong(line, -32700);
    }
    for length in [1 << 20, 3 << 20] {
        let long = format!(r#"{{"jsonrpc":"2.0","id":8,"method":"{}"}}"#, "x".repeat(length));
        assert_eq!(wrong(&long, -32700), "a message has at most 1048576 bytes");
    }
    for line in ["[]", "5", r#"{"id":3}"#, r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#] {
        wrong(line, -32600);
    }
    assert_eq!(client.ask("tools/dance", json!({}))["error"]["code"], -32601);
    let unknown = client.ask("tools/call", json!({ "name": "derun_write_output" }));
    let version = json!({ "schema_version": "v1alpha1" });
    let error = json!({ "code": -32602, "message": "unknown tool: derun_write_output", "data": version });
    assert_eq!(unknown["error"], error);
    for params in [json!({}), json!({ "name": 5 }), json!({ "name": "derun_list_sessions", "arguments": [] })]
    {
        let error = client.ask("tools/call", params)["error"].clone();
        assert_eq!((&error["code"], &error["data"]), (&json!(-32602), &version));
    }
    client.line(LIST);
    assert_eq!(client.answer()["id"], "list");
    assert_eq!(client.end(), (String::new(), Some(0), String::new()));
}

#[test]
fn a_client_that_skips_initialize_is_told_to_send_it() {
    let env = Env::new();
    let mut client = Client::raw(&env);
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    let early = client.ask("tools/list", json!({}))["error"].clone();
    assert_eq!(early["code"], -32600);
    assert_eq!(early["message"], "initialize first: a conversation begins with the method initialize");
    let shape = "initialize takes protocolVersion (a string), capabilities (an object) and clientInfo (an object \
                 with the strings name and version)";
    for params in [json!({}), json!({ "protocolVersion": 5, "capabilities": {}, "clientInfo": {} })] {
        let wrong = client.ask("initialize", params)["error"].clone();
        assert_eq!((&wrong["code"], &wrong["message"]), (&json!(-32602), &json!(shape)));
    }
    client.initialize("2025-06-18");
    assert_eq!(client.ask("initialize", json!({}))["error"]["message"], shape);
    assert_eq!(client.end(), (String::new(), Some(0), String::new()));
}

#[test]
fn server_discover_does_not_initialize() {
    let env = Env::new();
    let mut client = Client::raw(&env);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    client.ask("server/discover", json!({ "_meta": meta }));
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let early = client.ask("tools/list", json!({}));
    assert!(early["error"]["message"].as_str().unwrap().starts_with("initialize first"), "{early}");
    client.initialize("2025-06-18");
}

#[test]
fn the_server_exits_when_nobody_reads_its_responses() {
    let env = Env::new();
    // A thread that can't be woken reads a socket, but not a pipe.
    let (socket, ours) = std::os::unix::net::UnixStream::pair().unwrap();
    let (pipe, writer) = std::io::pipe().unwrap();
    for (input, mut ours) in [
        (Stdio::from(std::os::fd::OwnedFd::from(socket)), Box::new(ours) as Box<dyn Write>),
        (Stdio::from(pipe), Box::new(writer)),
    ] {
        let mut server = Command::new(MURMUR);
        server.arg("mcp").env_clear().env("DERUN_STATE_ROOT", super::state(&env));
        let mut server = server.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(server.stdout.take());
        ours.write_all(format!("{LIST}\n").as_bytes()).unwrap();
        let ended = server.wait_with_output().unwrap();
        assert_eq!((ended.status.code(), String::from_utf8(ended.stderr).unwrap()), (Some(0), String::new()));
        drop(ours);
    }
}

#[test]
fn the_last_line_needs_no_newline_and_empty_input_ends_the_server() {
    let env = Env::new();
    assert_eq!(Client::raw(&env).end(), (String::new(), Some(0), String::new()));
    let mut client = Client::raw(&env);
    client.initialize("2025-06-18");
    client.part(LIST);
    let (rest, code, _) = client.end();
    let answer: Value = serde_json::from_str(&rest).unwrap();
    assert_eq!((&answer["id"], code), (&json!("list"), Some(0)));
}

#[test]
fn the_end_of_stdin_ends_a_wait() {
    let env = Env::new();
    let _running = super::session(&env, "s");
    let mut client = Client::start(&env);
    client.begin("derun_wait_output", json!({ "session_id": "s", "cursor": "0", "timeout_ms": 60_000 }));
    let (rest, code, _) = client.end();
    let answer: Value = serde_json::from_str(&rest).unwrap();
    assert_eq!((&answer["result"]["structuredContent"]["timed_out"], code), (&json!(false), Some(0)));
}
