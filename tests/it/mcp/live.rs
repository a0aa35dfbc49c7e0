//! Sessions that are being written while they are read.

use derun::record::Channel;
use derun::writer::End;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use sys::clock;

use super::client::{Client, content, text};
use super::session;
use crate::env::Env;

fn wait(cursor: &str) -> Value {
    json!({ "session_id": "s", "cursor": cursor, "timeout_ms": 60_000 })
}

#[test]
fn a_wait_ends_with_new_output_or_the_end_of_the_session() {
    let env = Env::new();
    let mut writer = session(&env, "s");
    let mut client = Client::start(&env);
    client.begin("derun_wait_output", wait("0"));
    // Another request is answered while that one waits.
    client.begin("derun_list_sessions", json!({}));
    assert_eq!(content(&client.answer())["total_count"], 1);
    writer.started(7).unwrap();
    writer.append(Channel::Stderr, b"news", clock::now()).unwrap();
    let came = content(&client.answer());
    assert_eq!(
        (&text(&came)[..], &came["next_cursor"], &came["state"]),
        ("news", &json!("4"), &json!("running"))
    );
    assert_eq!((&came["timed_out"], &came["eof"]), (&json!(false), &json!(false)));
    client.begin("derun_wait_output", wait("4"));
    writer.finish(&End::Exited(0), None, clock::now()).unwrap();
    let over = content(&client.answer());
    assert_eq!((&over["chunks"], &over["eof"], &over["state"]), (&json!([]), &json!(true), &json!("exited")));
    assert_eq!(client.call("derun_wait_output", wait("4"))["eof"], true);
}

#[test]
fn a_wait_ends_at_its_timeout() {
    let env = Env::new();
    let _writer = session(&env, "s");
    let mut client = Client::start(&env);
    let mut arguments = wait("0");
    arguments["timeout_ms"] = json!(30);
    let late = client.call("derun_wait_output", arguments);
    assert_eq!((&late["timed_out"], &late["next_cursor"]), (&json!(true), &json!("0")));
    assert!(late["waited_ms"].as_u64().unwrap() >= 30);
}

#[test]
fn a_canceled_wait_gets_no_response() {
    let env = Env::new();
    let mut writer = session(&env, "s");
    let mut client = Client::start(&env);
    let id = client.begin("derun_wait_output", wait("0"));
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    client.line(&cancelled.to_string());
    assert_eq!(client.call("derun_list_sessions", json!({}))["total_count"], 1);
    writer.append(Channel::Stdout, b"x", clock::now()).unwrap();
    assert_eq!(text(&client.call("derun_wait_output", wait("0"))), "x");
}

#[test]
fn a_wait_continues_until_a_character_is_complete() {
    let env = Env::new();
    let mut writer = session(&env, "s");
    let mut client = Client::start(&env);
    writer.append(Channel::Pty, b"\xe2\x82", clock::now()).unwrap();
    let now = client.call("derun_read_output", json!({ "session_id": "s" }));
    assert_eq!((&now["chunks"], &now["next_cursor"]), (&json!([]), &json!("0")));
    client.begin("derun_wait_output", wait("0"));
    writer.append(Channel::Pty, b"\xac", clock::now()).unwrap();
    assert_eq!(text(&content(&client.answer())), "€");
    // Without room for it, it comes as bytes, so that reading can continue.
    let narrow = client.call("derun_read_output", json!({ "session_id": "s", "max_bytes": 1 }));
    assert_eq!((&narrow["chunks"][0]["data_base64"], &narrow["next_cursor"]), (&json!("4g=="), &json!("1")));
    writer.append(Channel::Pty, b"\xe2", clock::now()).unwrap();
    writer.finish(&End::Exited(0), None, clock::now()).unwrap();
    let last = client.call("derun_read_output", json!({ "session_id": "s", "cursor": "3" }));
    assert_eq!((&last["chunks"][0]["data_base64"], &last["eof"]), (&json!("4g=="), &json!(true)));
}

#[test]
fn text_is_complete_however_it_is_written_and_read() {
    let env = Env::new();
    let client = RefCell::new(Client::start(&env));
    let number = Cell::new(0);
    let cases = ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() };
    let inputs = ("\\PC{1,60}", prop::collection::vec(1_usize..9, 1..30), 4_usize..40);
    proptest::test_runner::TestRunner::new(cases)
        .run(&inputs, |(written, cuts, max_bytes)| {
            number.set(number.get() + 1);
            let id = format!("s{}", number.get());
            let mut writer = Some(session(&env, &id));
            let (mut rest, mut seen, mut cursor) = (written.as_bytes(), String::new(), "0".to_owned());
            let mut cuts = cuts.into_iter().cycle();
            let mut eof = false;
            while !eof {
                if let Some(writing) = &mut writer {
                    let (now, later) = rest.split_at(cuts.next().unwrap_or(1).min(rest.len()));
                    writing.append(Channel::Pty, now, clock::now()).unwrap();
                    rest = later;
                }
                if rest.is_empty()
                    && let Some(writer) = writer.take()
                {
                    writer.finish(&End::Exited(0), None, clock::now()).unwrap();
                }
                let arguments = json!({ "session_id": id, "cursor": cursor, "max_bytes": max_bytes });
                let page = client.borrow_mut().call("derun_read_output", arguments);
                for chunk in page["chunks"].as_array().unwrap() {
                    seen.push_str(chunk["text"].as_str().unwrap());
                }
                page["next_cursor"].as_str().unwrap().clone_into(&mut cursor);
                eof = page["eof"] == true;
            }
            prop_assert_eq!(seen, written);
            Ok(())
        })
        .unwrap();
}
