//! The errors of the tools, on whose wording clients may rely.

use insta::assert_snapshot;
use serde_json::json;

use super::client::Client;
use super::{over, state};
use crate::env::Env;

#[test]
fn every_tool_reports_a_missing_session_alike() {
    let env = Env::new();
    std::fs::create_dir_all(state(&env).join("elsewhere")).unwrap();
    over(&env, "s", b"x");
    let mut client = Client::start(&env);
    for id in ["none", "", ".", "..", "../elsewhere", "../sessions/s", "/etc", "a/b", "s/"] {
        for tool in ["derun_get_session", "derun_read_output", "derun_wait_output"] {
            let mut arguments = json!({ "session_id": id });
            if tool == "derun_wait_output" {
                arguments["cursor"] = json!("0");
            }
            assert_eq!(client.fail(tool, arguments), format!("session not found: {id}"), "{tool}");
        }
    }
}

#[test]
fn a_link_in_place_of_a_session_file_is_reported() {
    let env = Env::new();
    let mut client = Client::start(&env);
    for file in ["output.bin", "index.jsonl", "final.json"] {
        over(&env, file, b"x");
        let path = state(&env).join("sessions").join(file).join(file);
        std::fs::rename(&path, env.root().join(file)).unwrap();
        std::os::unix::fs::symlink(env.root().join(file), &path).unwrap();
        for tool in ["derun_get_session", "derun_read_output", "derun_wait_output"] {
            let mut arguments = json!({ "session_id": file });
            if tool == "derun_wait_output" {
                arguments["cursor"] = json!("0");
            }
            let expected = format!("session {file}: {file}: it is a link, and links are not followed");
            assert_eq!(client.fail(tool, arguments), expected, "{tool}");
        }
    }
}

#[test]
fn client_text_is_repeated_shortened_and_without_control_characters() {
    let env = Env::new();
    over(&env, "s", b"x");
    let mut client = Client::start(&env);
    let (long, short) = ("x".repeat(900_000), format!("{}…", "x".repeat(100)));
    let said = client.fail("derun_get_session", json!({ "session_id": long }));
    assert_eq!(said, format!("session not found: {short}"));
    let said = client.fail("derun_get_session", json!({ "session_id": "a\u{1b}[2J\r\n\0" }));
    assert_eq!(said, "session not found: a\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}");
    for (tool, arguments) in [
        ("derun_read_output", json!({ "session_id": "s", "cursor": long })),
        ("derun_read_output", json!({ "session_id": "s", "encoding": long })),
        ("derun_read_output", json!({ "session_id": "s", "max_bytes": long })),
        ("derun_read_output", json!({ "session_id": "s", "grep": format!("({long}") })),
        ("derun_read_output", json!({ "session_id": "s", "grep": format!("\\p{{{long}}}") })),
        ("derun_read_output", json!({ "session_id": [long] })),
        ("derun_list_sessions", json!({ "x\n": 1 })),
        ("derun_list_sessions", json!({ long.clone(): 1 })),
    ] {
        let said = client.fail(tool, arguments);
        assert!(said.len() < 300 && !said.contains(char::is_control), "{said}");
    }
    for said in [client.ask(&long, json!({})), client.ask("tools/call", json!({ "name": long }))] {
        assert!(said["error"]["message"].as_str().unwrap().ends_with(&short), "{said}");
    }
}

#[test]
fn invalid_arguments_are_named() {
    let env = Env::new();
    over(&env, "s", b"x");
    let mut client = Client::start(&env);
    let mut said = Vec::new();
    for (tool, arguments) in [
        ("list_sessions", json!({ "state": "dancing" })),
        ("list_sessions", json!({ "state": 5 })),
        ("list_sessions", json!({ "limit": 0 })),
        ("list_sessions", json!({ "limit": "ten" })),
        ("list_sessions", json!({ "session_id": "s" })),
        ("get_session", json!({})),
        ("get_session", json!({ "session_id": 5 })),
        ("read_output", json!({ "cursor": "0" })),
        ("read_output", json!({ "session_id": "s", "cursor": "-1" })),
        ("read_output", json!({ "session_id": "s", "cursor": 0 })),
        ("read_output", json!({ "session_id": "s", "cursor": "2" })),
        ("read_output", json!({ "session_id": "s", "max_bytes": 0 })),
        ("read_output", json!({ "session_id": "s", "encoding": "hex" })),
        ("read_output", json!({ "session_id": "s", "strip_ansi": "yes" })),
        ("read_output", json!({ "session_id": "s", "strip_ansi": true, "encoding": "base64" })),
        ("read_output", json!({ "session_id": "s", "cursor": "0", "tail_lines": 1 })),
        ("read_output", json!({ "session_id": "s", "cursor": "0", "tail_bytes": 1 })),
        ("read_output", json!({ "session_id": "s", "tail_bytes": 1, "tail_lines": 1 })),
        ("read_output", json!({ "session_id": "s", "tail_lines": -1 })),
        ("read_output", json!({ "session_id": "s", "grep": "(" })),
        ("read_output", json!({ "session_id": "s", "grep": "x{9999}{9999}" })),
        ("read_output", json!({ "session_id": "s", "grep": "x", "cursor": "2" })),
        ("read_output", json!({ "session_id": "s", "context": 1 })),
        ("read_output", json!({ "session_id": "s", "max-bytes": 1 })),
        ("wait_output", json!({ "session_id": "s" })),
        ("wait_output", json!({ "cursor": "0" })),
        ("wait_output", json!({ "session_id": "s", "cursor": "2" })),
        ("wait_output", json!({ "session_id": "s", "cursor": "0", "timeout_ms": -5 })),
        ("wait_output", json!({ "session_id": "s", "cursor": "0", "timeout_ms": "soon" })),
    ] {
        said.push(client.fail(&format!("derun_{tool}"), arguments));
    }
    assert_snapshot!(said.join("\n"), @r#"
    parse state: expected one of starting, running, exited, signaled, failed, expired, not "dancing"
    parse state: expected a string, not 5
    parse limit: expected a whole number that is at least 1, not 0
    parse limit: expected a whole number that is at least 1, not "ten"
    unknown argument: session_id; use one of: state, limit
    session_id is required
    parse session_id: expected a string, not 5
    session_id is required
    parse cursor: expected a string of decimal digits, not "-1"
    parse cursor: expected a string of decimal digits, not 0
    cursor is past the end: 2 of 1 bytes
    parse max_bytes: expected a whole number that is at least 1, not 0
    parse encoding: expected one of text, base64, not "hex"
    parse strip_ansi: expected true or false, not "yes"
    parse strip_ansi: requires text, not base64
    parse tail_lines: cannot be combined with cursor
    parse tail_bytes: cannot be combined with cursor
    parse tail_lines: cannot be combined with tail_bytes
    parse tail_lines: expected a whole number that is at least 0, not -1
    parse grep: unclosed group
    parse grep: Compiled regex exceeds size limit of 1048576 bytes.
    cursor is past the end: 2 of 1 bytes
    parse context: requires grep
    unknown argument: max-bytes; use one of: session_id, cursor, tail_bytes, tail_lines, max_bytes, encoding, strip_ansi, grep, context, ignore_case
    cursor is required
    session_id is required
    cursor is past the end: 2 of 1 bytes
    parse timeout_ms: expected a whole number that is at least 0, not -5
    parse timeout_ms: expected a whole number that is at least 0, not "soon"
    "#);
}
