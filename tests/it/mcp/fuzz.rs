//! Whatever a client sends, the server answers the next request, and writes only one JSON object per
//! line. Messages are garbage, torn, or well-formed JSON of the wrong shape; `just fuzz` tries many more of them.

use derun::mcp::state_root::StateRoot;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

/// JSON, a few levels deep.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,12}".prop_map(Value::from),
        Just(json!("0")),
        Just(json!("s")),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,8}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

/// Something in place of a tool's arguments; its waits are short.
fn call() -> impl Strategy<Value = Value> {
    let tools =
        ["derun_list_sessions", "derun_get_session", "derun_read_output", "derun_wait_output", "other"];
    let names =
        ["session_id", "cursor", "max_bytes", "encoding", "grep", "tail_lines", "limit", "state", "context"];
    let arguments = prop::collection::btree_map(prop::sample::select(names.to_vec()), value(), 0..5);
    (prop::sample::select(tools.to_vec()), arguments, value()).prop_map(|(tool, arguments, id)| {
        let mut arguments = json!(arguments);
        arguments["timeout_ms"] = json!(1);
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
    })
}

/// A hostile client's line.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let torn = |frame: Value, keep: prop::sample::Index| {
        let text = frame.to_string().into_bytes();
        text[..keep.index(text.len() + 1)].to_vec()
    };
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        value().prop_map(|value| value.to_string().into_bytes()),
        call().prop_map(|call| call.to_string().into_bytes()),
        (call(), any::<prop::sample::Index>()).prop_map(move |(call, keep)| torn(call, keep)),
        (value(), value(), value()).prop_map(|(id, method, params)| {
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string().into_bytes()
        }),
    ]
}

/// Sends `frames` after a handshake, and then requests the tools. Returns every line of the response to that.
async fn converse(root: StateRoot, frames: Vec<Vec<u8>>) -> Vec<String> {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(theirs);
    let server = tokio::spawn(derun::mcp::serve(root, input, output));
    let (answers, mut questions) = tokio::io::split(ours);
    let hello = json!({
        "jsonrpc": "2.0", "id": "hello", "method": "initialize",
        "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "f", "version": "0" } }
    });
    let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    for line in [hello, begun] {
        questions.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
    for frame in frames {
        questions.write_all(&frame).await.unwrap();
        questions.write_all(b"\n").await.unwrap();
    }
    let last = json!({ "jsonrpc": "2.0", "id": "the last", "method": "tools/list" });
    questions.write_all(format!("{last}\n").as_bytes()).await.unwrap();
    let mut lines = BufReader::new(answers).lines();
    let mut seen = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        let is_last = serde_json::from_str::<Value>(&line).is_ok_and(|answer| answer["id"] == "the last");
        seen.push(line);
        if is_last {
            break;
        }
    }
    drop((lines, questions));
    server.await.unwrap().unwrap();
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_message_crashes_the_server(frames in prop::collection::vec(frame(), 1..8)) {
        let root = tempfile::tempdir().unwrap();
        let root = StateRoot::new(root.path());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let seen = runtime.block_on(converse(root, frames));
        let answers: Vec<Value> = seen.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        prop_assert!(answers.iter().all(Value::is_object), "{seen:?}");
        let last = answers.last().unwrap();
        prop_assert_eq!(&last["id"], &json!("the last"));
        prop_assert_eq!(last["result"]["tools"].as_array().map(Vec::len), Some(4));
    }
}
