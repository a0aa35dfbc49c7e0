//! `murmur mcp` over stdin and stdout, with handwritten lines.

mod client;
mod errors;
mod fuzz;
mod live;
mod protocol;

use assert_cmd::assert::OutputAssertExt;
use derun::id::SessionId;
use derun::record::{Channel, TransportMode};
use derun::store::{NewSession, Store};
use derun::writer::{End, Writer};
use insta::assert_snapshot;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;
use sys::clock;

use crate::env::{Env, MURMUR, quiet};
use client::{Client, bytes, text};

/// The Env's captured sessions.
fn state(env: &Env) -> PathBuf {
    env.root().join("state")
}

/// A session that is being written, in the Env's store.
fn session(env: &Env, id: &str) -> Writer {
    let new = NewSession {
        id: Some(SessionId::parse(id).unwrap()),
        command: vec!["make".to_owned(), "test".to_owned()],
        working_directory: "/work".to_owned(),
        retention: Duration::from_secs(3600),
        transport: TransportMode::Pipe,
        tty_attached: false,
        max_bytes: None,
        group: None,
    };
    Store::open(&state(env)).unwrap().create(new, clock::now()).unwrap()
}

/// An ended session that wrote `output`.
fn over(env: &Env, id: &str, output: &[u8]) {
    let mut writer = session(env, id);
    writer.started(42).unwrap();
    writer.append(Channel::Stdout, output, clock::now()).unwrap();
    writer.finish(&End::Exited(3), None, clock::now()).unwrap();
}

#[test]
fn sessions_are_listed_newest_first() {
    let env = Env::new();
    for id in ["first", "second", "third"] {
        over(&env, id, b"x");
    }
    let _running = session(&env, "running");
    let mut client = Client::start(&env);
    let all = client.call("derun_list_sessions", json!({}));
    assert_eq!((&all["total_count"], &all["truncated"]), (&json!(4), &json!(false)));
    assert_eq!(all["schema_version"], "v1alpha1");
    let some = client.call("derun_list_sessions", json!({ "state": "exited", "limit": 2 }));
    assert_eq!((&some["total_count"], &some["truncated"]), (&json!(3), &json!(true)));
    assert_eq!(some["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(some["sessions"][0]["session_id"], "third");
    let starting = client.call("derun_list_sessions", json!({ "state": "starting" }));
    assert_eq!(starting["sessions"][0]["session_id"], "running");
    assert_eq!(starting["sessions"][0].get("ended_at"), None);
}

#[test]
fn a_session_is_described() {
    let env = Env::new();
    over(&env, "s", b"hello\n");
    let one = Client::start(&env).call("derun_get_session", json!({ "session_id": "s" }));
    assert_snapshot!(serde_json::to_string(&one).unwrap(), @r#"{"chunk_count":1,"last_chunk_at":"[TIME]","output_bytes":6,"schema_version":"v1alpha1","session":{"chunk_count":1,"command":["make","test"],"ended_at":"[TIME]","exit_code":3,"expires_at":"[TIME]","last_chunk_at":"[TIME]","output_bytes":6,"pid":[PID],"retention_seconds":3600,"session_id":"s","started_at":"[TIME]","state":"exited","transport_mode":"pipe","tty_attached":false,"working_directory":"/work"}}"#);
}

#[test]
fn output_is_read_from_beginning_to_end() {
    let env = Env::new();
    let mut writer = session(&env, "s");
    let at = clock::now();
    writer.append(Channel::Stdout, "größe ".as_bytes(), at).unwrap();
    writer.append(Channel::Stderr, b"\xff", at).unwrap();
    writer.append(Channel::Stdout, b"end\n", at).unwrap();
    writer.finish(&End::Signaled("SIGINT".to_owned()), None, at).unwrap();
    let read = Client::start(&env).call("derun_read_output", json!({ "session_id": "s" }));
    assert_snapshot!(serde_json::to_string(&read).unwrap(), @r#"{"chunks":[{"channel":"stdout","encoding":"text","end_cursor":"8","start_cursor":"0","text":"größe ","timestamp":"[TIME]"},{"channel":"stderr","data_base64":"/w==","encoding":"base64","end_cursor":"9","start_cursor":"8","timestamp":"[TIME]"},{"channel":"stdout","encoding":"text","end_cursor":"13","start_cursor":"9","text":"end\n","timestamp":"[TIME]"}],"eof":true,"next_cursor":"13","schema_version":"v1alpha1","session_id":"s","state":"signaled"}"#);
}

#[test]
fn large_output_is_read_in_pages_in_both_encodings() {
    let env = Env::new();
    let mut output = Vec::new();
    for line in 0..60_000_u32 {
        output.extend_from_slice(format!("line {line} äöü€😀\n").as_bytes());
    }
    let mut writer = session(&env, "s");
    for portion in output.chunks(7919) {
        writer.append(Channel::Pty, portion, clock::now()).unwrap();
    }
    writer.finish(&End::Exited(0), None, clock::now()).unwrap();
    let mut client = Client::start(&env);
    for (encoding, max_bytes) in [("text", 100_003), ("base64", 65_536), ("text", 2_000_000)] {
        let (mut cursor, mut seen) = ("0".to_owned(), Vec::new());
        loop {
            let arguments =
                json!({ "session_id": "s", "cursor": cursor, "max_bytes": max_bytes, "encoding": encoding });
            let page = client.call("derun_read_output", arguments);
            assert!(page["chunks"].as_array().unwrap().iter().all(|chunk| chunk["encoding"] == encoding));
            let part = bytes(&page);
            assert!(part.len() <= 1024 * 1024);
            seen.extend_from_slice(&part);
            page["next_cursor"].as_str().unwrap().clone_into(&mut cursor);
            assert_eq!(cursor, seen.len().to_string());
            if page["eof"] == true {
                break;
            }
        }
        assert!(seen == output, "{encoding}");
    }
}

#[test]
fn the_last_lines_and_bytes_are_read() {
    let env = Env::new();
    over(&env, "s", "eins\nzwei\nfünf\n".as_bytes());
    let mut client = Client::start(&env);
    let mut tail = |arguments: serde_json::Value| {
        let mut arguments = arguments;
        arguments["session_id"] = json!("s");
        text(&client.call("derun_read_output", arguments))
    };
    assert_eq!(tail(json!({ "tail_lines": 2 })), "zwei\nfünf\n");
    assert_eq!(tail(json!({ "tail_lines": 0 })), "");
    assert_eq!(tail(json!({ "tail_lines": 99 })), "eins\nzwei\nfünf\n");
    assert_eq!(tail(json!({ "tail_bytes": 3 })), "nf\n");
    assert_eq!(tail(json!({ "tail_bytes": 4 })), "nf\n");
    assert_eq!(tail(json!({ "tail_bytes": 99 })), "eins\nzwei\nfünf\n");
}

#[test]
fn matching_lines_are_found_with_context() {
    let env = Env::new();
    over(&env, "s", b"one\n\x1b[31mError\x1b[0m: two\nthree\nerror: four\n");
    let mut client = Client::start(&env);
    let found = client.call(
        "derun_read_output",
        json!({ "session_id": "s", "grep": "^error", "ignore_case": true, "strip_ansi": true, "context": 1 }),
    );
    assert_snapshot!(serde_json::to_string(&found).unwrap(), @r#"{"eof":true,"matches":[{"after":["three"],"before":["one"],"cursor":"4","line":2,"text":"Error: two"},{"after":[],"before":["three"],"cursor":"30","line":4,"text":"error: four"}],"next_cursor":"42","schema_version":"v1alpha1","session_id":"s","state":"exited"}"#);
    let raw =
        client.call("derun_read_output", json!({ "session_id": "s", "grep": "^error", "cursor": "30" }));
    assert_eq!(raw["matches"][0]["text"], "error: four");
    assert_eq!((&raw["next_cursor"], &raw["eof"]), (&json!("42"), &json!(true)));
    let none = client.call("derun_read_output", json!({ "session_id": "s", "grep": "nothing" }));
    assert_eq!(none["matches"], json!([]));
}

#[test]
fn context_that_does_not_fit_is_reported() {
    let env = Env::new();
    let lines: String = (1..=30).map(|line| format!("line {line} ERROR\n")).collect();
    over(&env, "lines", lines.as_bytes());
    over(&env, "long", format!("{}END\n", "x".repeat(300_000)).as_bytes());
    let mut client = Client::start(&env);
    let arguments =
        |max_bytes| json!({ "session_id": "lines", "grep": "line 5", "context": 2, "max_bytes": max_bytes });
    let narrow = client.call("derun_read_output", arguments(60))["matches"][0].clone();
    assert_eq!(narrow["before"], json!(["line 3 ERROR", "line 4 ERROR"]));
    assert_eq!((&narrow["after"], &narrow["cut"]), (&json!(["line 6 ERROR"]), &json!(true)));
    let wide = client.call("derun_read_output", arguments(1000))["matches"][0].clone();
    assert_eq!((&wide["after"], wide.get("cut")), (&json!(["line 6 ERROR", "line 7 ERROR"]), None));
    let long =
        client.call("derun_read_output", json!({ "session_id": "long", "grep": "END", "max_bytes": 100 }));
    let text = long["matches"][0]["text"].as_str().unwrap();
    assert!(text.len() == 100 && text.ends_with("xEND"), "{text}");
    assert_eq!(long["matches"][0]["cut"], true);
}

#[test]
fn a_line_searched_in_parts_counts_once() {
    let env = Env::new();
    let long = format!("hit {} hit", "x".repeat(200_000));
    over(&env, "s", format!("one\n{long}\nthree\nhit four\n").as_bytes());
    let mut client = Client::start(&env);
    let found =
        client.call("derun_read_output", json!({ "session_id": "s", "grep": "hit", "max_bytes": 500_000 }));
    let lines: Vec<_> = found["matches"].as_array().unwrap().iter().map(|found| &found["line"]).collect();
    assert_eq!(lines, [&json!(2), &json!(4)]);
}

#[test]
fn an_invalid_byte_does_not_hide_text() {
    let env = Env::new();
    over(&env, "s", &[&b"a".repeat(1000)[..], b"\xff", &b"b".repeat(1000)].concat());
    over(&env, "binary", &b"a\xff".repeat(1000));
    let mut client = Client::start(&env);
    let read = client.call("derun_read_output", json!({ "session_id": "s" }));
    let chunks = read["chunks"].as_array().unwrap();
    let cursors: Vec<&str> = chunks.iter().map(|chunk| chunk["end_cursor"].as_str().unwrap()).collect();
    assert_eq!(cursors, ["1000", "1001", "2001"]);
    assert_eq!(chunks[1]["data_base64"], "/w==");
    assert_eq!(chunks[2]["text"], "b".repeat(1000));
    let binary = client.call("derun_read_output", json!({ "session_id": "binary" }));
    assert_eq!(binary["chunks"].as_array().unwrap().len(), 64);
    assert_eq!(bytes(&binary), b"a\xff".repeat(1000));
}

#[test]
fn escape_codes_are_removed() {
    let env = Env::new();
    over(&env, "s", b"\x1b[1mbold\x1b[0m\n10%\r20%\r30%\n");
    let read =
        Client::start(&env).call("derun_read_output", json!({ "session_id": "s", "strip_ansi": true }));
    assert_eq!(text(&read), "bold\n30%\n");
    assert_eq!(read["next_cursor"], "25");
}

#[test]
fn cursors_of_many_sessions_are_independent() {
    let env = Env::new();
    let output = |session: usize| (0..50).map(|line| format!("{session}: {line}\n")).collect::<String>();
    for session in 0..100 {
        over(&env, &format!("s{session}"), output(session).as_bytes());
    }
    let mut client = Client::start(&env);
    let mut read = vec![(String::new(), "0".to_owned(), false); 100];
    while read.iter().any(|(_, _, eof)| !eof) {
        let going: Vec<usize> = (0..100).filter(|session| !read[*session].2).collect();
        let calls: Vec<_> = going
            .iter()
            .map(|session| json!({ "session_id": format!("s{session}"), "cursor": read[*session].1, "max_bytes": 101 }))
            .collect();
        for (session, page) in going.iter().zip(client.call_all("derun_read_output", &calls)) {
            assert_eq!(page["session_id"], format!("s{session}"));
            let (seen, cursor, eof) = &mut read[*session];
            seen.push_str(&text(&page));
            page["next_cursor"].as_str().unwrap().clone_into(cursor);
            *eof = page["eof"] == true;
        }
    }
    for (session, (seen, _, _)) in read.iter().enumerate() {
        assert_eq!(seen, &output(session));
    }
}

#[test]
fn a_server_creates_no_state_root_and_finds_one_that_appears() {
    let env = Env::new();
    let mut client = Client::start(&env);
    assert_eq!(client.call("derun_list_sessions", json!({}))["sessions"], json!([]));
    for tool in ["derun_get_session", "derun_read_output"] {
        assert_eq!(client.fail(tool, json!({ "session_id": "s" })), "session not found: s");
    }
    let waited = client.fail("derun_wait_output", json!({ "session_id": "s", "cursor": "0" }));
    assert_eq!(waited, "session not found: s");
    assert!(!state(&env).exists());
    over(&env, "s", b"x");
    assert_eq!(client.call("derun_list_sessions", json!({}))["total_count"], 1);
    assert_eq!(text(&client.call("derun_read_output", json!({ "session_id": "s" }))), "x");
}

#[test]
fn the_printed_configuration_names_this_program_and_a_custom_state_root() {
    let env = Env::new();
    let program = std::path::Path::new(MURMUR).canonicalize().unwrap();
    let folder = env.root().canonicalize().unwrap();
    let config = |variables: &[(&str, &str)]| {
        let mut command = std::process::Command::new(MURMUR);
        command.args(["mcp", "--print-config"]).env_clear().env("HOME", "/home/me").current_dir(env.root());
        let printed = quiet(command.envs(variables.iter().copied()).assert());
        serde_json::from_str::<serde_json::Value>(&printed).unwrap()
    };
    let expected = |root: Option<&str>| {
        let mut entry = json!({ "command": program, "args": ["mcp"] });
        if let Some(root) = root {
            entry["env"] = json!({ "DERUN_STATE_ROOT": root });
        }
        json!({ "mcpServers": { "derun": entry } })
    };
    assert_eq!(config(&[]), expected(None));
    assert_eq!(config(&[("DERUN_STATE_ROOT", ""), ("XDG_STATE_HOME", "")]), expected(None));
    assert_eq!(config(&[("XDG_STATE_HOME", "/xdg")]), expected(Some("/xdg/derun")));
    assert_eq!(config(&[("XDG_STATE_HOME", "xdg")]), expected(Some("/home/me/.local/state/derun")));
    let relative = config(&[("DERUN_STATE_ROOT", "here"), ("XDG_STATE_HOME", "/xdg")]);
    assert_eq!(relative, expected(folder.join("here").to_str()));
    assert!(env.run(["mcp", "--help"]).contains("claude mcp add derun -- murmur mcp"));
}
