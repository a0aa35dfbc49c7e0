//! Tests the server in this process, over a pipe in memory.

use super::input::{GetInput, ListInput, OutputOptions, Start, WaitInput};
use super::{read, serve, sessions, tool, wait};
use crate::id::SessionId;
use crate::mcp::input::Encoding;
use crate::record::{Channel, TransportMode};
use crate::store::{NewSession, Store};
use crate::writer::{End, Writer};
use jiff::{SignedDuration, Timestamp};
use rmcp::model::{CallToolRequestParams, JsonObject};
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Value, json};
use std::future::pending;
use std::time::Duration;
use sys::clock;
use tokio::task::JoinHandle;

struct Scratch {
    store: Store,
    _root: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        Self { store: Store::open(root.path()).unwrap(), _root: root }
    }

    fn session(&self, id: &str) -> Writer {
        self.with_command(id, vec!["make".to_owned()])
    }

    fn with_command(&self, id: &str, command: Vec<String>) -> Writer {
        self.begin(id, command, None)
    }

    fn begin(&self, id: &str, command: Vec<String>, max_bytes: Option<u64>) -> Writer {
        let new = NewSession {
            id: Some(SessionId::parse(id).unwrap()),
            command,
            working_directory: "/work".to_owned(),
            retention: Duration::from_secs(60),
            transport: TransportMode::PosixPty,
            tty_attached: true,
            max_bytes,
            group: None,
        };
        self.store.create(new, clock::now()).unwrap()
    }

    fn place(&self) -> super::state_root::StateRoot {
        super::state_root::StateRoot::new(self.store.root())
    }

    /// A server, and a client that is connected to it.
    async fn serve(&self) -> (RunningService<RoleClient, ()>, JoinHandle<Result<(), super::ServeError>>) {
        let (ours, theirs) = tokio::io::duplex(1024);
        let (input, output) = tokio::io::split(theirs);
        let server = tokio::spawn(serve(self.place(), input, output));
        (().serve(ours).await.unwrap(), server)
    }
}

const OPTIONS: OutputOptions = OutputOptions { max_bytes: 10, encoding: Encoding::Text, strip_ansi: false };

async fn call(client: &RunningService<RoleClient, ()>, tool: &'static str, arguments: Value) -> Value {
    let Value::Object(arguments) = arguments else { panic!("{arguments} is no object") };
    let params = CallToolRequestParams::new(tool).with_arguments(arguments);
    let result = client.call_tool(params).await.unwrap();
    assert_eq!(result.is_error, Some(false), "{result:?}");
    result.structured_content.unwrap()
}

#[tokio::test(flavor = "current_thread")]
async fn a_client_finds_a_session_and_follows_it_to_its_end() {
    let place = Scratch::new();
    let mut writer = place.session("s");
    let (client, server) = place.serve().await;
    assert_eq!(client.list_all_tools().await.unwrap().len(), 4);
    let list = call(&client, tool::LIST, json!({})).await;
    assert_eq!(list["sessions"][0]["session_id"], "s");
    let waiting = call(&client, tool::WAIT, json!({ "session_id": "s", "cursor": "0" }));
    let writing = async { writer.append(Channel::Pty, b"hello", clock::now()).unwrap() };
    let (came, _) = tokio::join!(waiting, writing);
    assert_eq!(came["chunks"][0]["text"], "hello");
    writer.finish(&End::Exited(0), None, clock::now()).unwrap();
    let end = call(&client, tool::READ, json!({ "session_id": "s", "cursor": "5" })).await;
    assert_eq!((&end["eof"], &end["state"]), (&json!(true), &json!("exited")));
    let one = call(&client, tool::GET, json!({ "session_id": "s" })).await;
    assert_eq!((&one["output_bytes"], &one["session"]["exit_code"]), (&json!(5), &json!(0)));
    client.cancel().await.unwrap();
    server.await.unwrap().unwrap();
}

/// Whether `answer` has all fields in `names`.
fn has_all(answer: &Value, names: &Value) -> bool {
    names.as_array().unwrap().iter().all(|name| answer.get(name.as_str().unwrap()).is_some())
}

#[tokio::test(flavor = "current_thread")]
async fn errors_match_the_output_schema() {
    let place = Scratch::new();
    let (client, _server) = place.serve().await;
    for known in tool::all() {
        let params = CallToolRequestParams::new(known.name);
        let params = params.with_arguments(JsonObject::from_iter([("dance".to_owned(), json!(1))]));
        let result = client.call_tool(params).await.unwrap();
        let error = result.structured_content.unwrap();
        assert_eq!((result.is_error, &error["schema_version"]), (Some(true), &json!("v1alpha1")));
        assert!(error["error"].as_str().unwrap().starts_with("unknown argument: dance"), "{error}");
        let schema = known.output_schema;
        let promised = schema["properties"].as_object().unwrap();
        assert!(error.as_object().unwrap().keys().all(|name| promised.contains_key(name)), "{schema:?}");
        assert!(has_all(&error, &schema["required"]) && has_all(&error, &schema["oneOf"][1]["required"]));
        assert!(!has_all(&error, &schema["oneOf"][0]["required"]));
    }
}

#[tokio::test(flavor = "current_thread")]
async fn answers_match_their_output_schemas() {
    let place = Scratch::new();
    let mut writer = place.session("s");
    writer.append(Channel::Pty, b"hello\xff\n", clock::now()).unwrap();
    let (client, _server) = place.serve().await;
    for (tool, arguments) in [
        (tool::LIST, json!({})),
        (tool::GET, json!({ "session_id": "s" })),
        (tool::READ, json!({ "session_id": "s" })),
        (tool::READ, json!({ "session_id": "s", "grep": "h" })),
        (tool::WAIT, json!({ "session_id": "s", "cursor": "0" })),
    ] {
        let answer = call(&client, tool, arguments).await;
        let tools = tool::all();
        let schema = &tools.iter().find(|known| known.name == tool).unwrap().output_schema;
        let known = schema["properties"].as_object().unwrap();
        for name in answer.as_object().unwrap().keys() {
            assert!(known.contains_key(name), "{tool}: {name}");
        }
        assert!(
            has_all(&answer, &schema["required"]) && has_all(&answer, &schema["oneOf"][0]["required"]),
            "{tool}"
        );
        assert!(schema["oneOf"][0]["required"].as_array().unwrap().len() > 2, "{tool}");
        assert!(!has_all(&answer, &schema["oneOf"][1]["required"]), "{tool}");
        let text = serde_json::to_string(schema).unwrap();
        assert!(!text.contains("$ref") && !text.contains("$defs"), "{text}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_wait_ends_at_its_timeout() {
    let place = Scratch::new();
    let _writer = place.session("s");
    let timeout = Duration::from_millis(5);
    let input = WaitInput { session_id: "s".to_owned(), cursor: 0, timeout, options: OPTIONS };
    let waited = wait::wait(&place.place(), &input, pending()).await.unwrap();
    assert!(waited.timed_out && waited.waited_ms >= 5, "{waited:?}");
    let timeout = Duration::from_secs(60);
    let input = WaitInput { timeout, ..input };
    let stopped = wait::wait(&place.place(), &input, async {}).await.unwrap();
    assert!(!stopped.timed_out && stopped.waited_ms < 60_000, "{stopped:?}");
}

#[test]
fn a_page_of_plain_text_ends_at_a_line_and_splits_no_escape_code() {
    let place = Scratch::new();
    let mut writer = place.session("s");
    let session = place.store.session("s").unwrap();
    writer.append(Channel::Pty, b"one\n1%\r2%\nthree\x1b[3", clock::now()).unwrap();
    let options = OutputOptions { strip_ansi: true, ..OPTIONS };
    let texts = |cursor| {
        let portion = read::portion(&session, cursor, &options).unwrap();
        let texts: Vec<String> = portion.chunks.into_iter().filter_map(|chunk| chunk.text).collect();
        (texts.concat(), portion.next)
    };
    assert_eq!(texts(0), ("one\n2%\n".to_owned(), 10));
    assert_eq!(texts(10), ("three".to_owned(), 15));
    assert_eq!(texts(15), (String::new(), 15));
    writer.append(Channel::Pty, b"1m!", clock::now()).unwrap();
    assert_eq!(texts(15), ("!".to_owned(), 21));
}

#[test]
fn every_chunk_has_the_time_of_its_first_byte() {
    let place = Scratch::new();
    let mut writer = place.session("s");
    let began: Timestamp = "2026-02-03T10:00:00Z".parse().unwrap();
    for (second, bytes) in [(0, &b"one "[..]), (8, b"two "), (16, b"\xff"), (24, b"end")] {
        writer.append(Channel::Pty, bytes, began + SignedDuration::from_secs(second)).unwrap();
    }
    let session = place.store.session("s").unwrap();
    let times = |cursor| {
        let portion = read::portion(&session, cursor, &OutputOptions { max_bytes: 100, ..OPTIONS }).unwrap();
        portion.chunks.into_iter().map(|chunk| (chunk.start_cursor.0, chunk.timestamp)).collect::<Vec<_>>()
    };
    let time = |second: &str| format!("2026-02-03T10:00:{second}Z");
    // Bytes that are not UTF-8 split the text; each part has its own time.
    assert_eq!(times(0), [(0, time("00")), (8, time("16")), (9, time("24"))]);
    assert_eq!(times(5), [(5, time("08")), (8, time("16")), (9, time("24"))]);
    writer.finish(&End::Exited(0), None, began + SignedDuration::from_mins(1)).unwrap();
    let one = sessions::get(&place.place(), &GetInput { session_id: "s".to_owned() }).unwrap();
    assert_eq!(one.output.last_chunk_at, Some(time("24")));
}

#[test]
fn a_session_without_output_ends() {
    let place = Scratch::new();
    let _writer = place.session("s");
    let session = place.store.session("s").unwrap();
    for start in [Start::LastBytes(5), Start::LastLines(5), Start::Cursor(0)] {
        assert_eq!(read::start(&session, start, Encoding::Text).unwrap(), 0);
    }
}

#[test]
fn schemas_have_descriptions_and_no_null() {
    for tool in tool::all() {
        let input = serde_json::to_string(&tool.input_schema).unwrap();
        let output = serde_json::to_string(&tool.output_schema).unwrap();
        for schema in [input, output] {
            for internal in ["null", "anyOf", "spec ", "::", "int64"] {
                assert!(!schema.contains(internal), "{}: {internal}: {schema}", tool.name);
            }
        }
    }
    let tools = tool::all();
    let read = &tools.iter().find(|known| known.name == tool::READ).unwrap().input_schema;
    assert_eq!(read["required"], json!(["session_id"]));
    let grep = &read["properties"]["grep"];
    assert_eq!((&grep["type"], grep.get("default")), (&json!("string"), None));
    assert_eq!(read["properties"]["max_bytes"]["default"], 65_536);
}

#[test]
fn lists_and_commands_are_bounded() {
    let place = Scratch::new();
    for id in 0..50 {
        // Each of these bytes takes six in JSON.
        let command = vec!["make".to_owned(), "\u{1}".repeat(100_000), "more".to_owned()];
        place.with_command(&format!("s{id}"), command);
    }
    let input = ListInput { state: None, limit: 1000 };
    let list = sessions::list(&place.place(), &input).unwrap();
    assert!(list.truncated && (30..50).contains(&list.sessions.len()), "{}", list.sessions.len());
    assert_eq!((list.total_count, &list.sessions[0].session_id[..]), (50, "s49"));
    assert!(serde_json::to_string(&list).unwrap().len() < 1024 * 1024 + 10_000);
    let first = &list.sessions[0];
    let lengths: Vec<usize> = first.command.iter().flatten().map(String::len).collect();
    assert_eq!((&lengths[..], first.command_truncated), (&[4, 4091][..], true));
    let one = sessions::get(&place.place(), &GetInput { session_id: "s0".to_owned() }).unwrap();
    assert!(one.session.summary.command_truncated);
    let _short = place.session("short");
    let list = sessions::list(&place.place(), &input).unwrap();
    assert_eq!(list.sessions[0].command, Some(vec!["make".to_owned()]));
    assert!(!list.sessions[0].command_truncated);
}

#[tokio::test(flavor = "current_thread")]
async fn output_that_was_not_kept_is_a_gap() {
    let place = Scratch::new();
    let mut writer = place.begin("s", vec!["make".to_owned()], Some(4096));
    for number in 0..1000 {
        writer.append(Channel::Pty, format!("line {number}\n").as_bytes(), clock::now()).unwrap();
    }
    let (client, _server) = place.serve().await;
    let one = call(&client, tool::GET, json!({ "session_id": "s" })).await;
    let gap = one["gap"].clone();
    let end = (gap["offset"].as_u64().unwrap() + gap["length"].as_u64().unwrap()).to_string();
    for strip_ansi in [false, true] {
        let (mut at, mut seen, mut gaps) = ("0".to_owned(), String::new(), Vec::new());
        loop {
            let options =
                json!({ "session_id": "s", "cursor": at, "max_bytes": 500, "strip_ansi": strip_ansi });
            let read = call(&client, tool::READ, options).await;
            for chunk in read["chunks"].as_array().unwrap() {
                seen += chunk["text"].as_str().unwrap();
            }
            gaps.extend(read.get("gap").cloned());
            let next = read["next_cursor"].as_str().unwrap().to_owned();
            if next == at {
                break;
            }
            at = next;
        }
        assert_eq!((gaps.len(), &gaps[0]), (1, &gap));
        assert!(seen.starts_with("line 0\n") && seen.ends_with("line 999\n") && seen.len() < 4096, "{seen}");
    }
    // A search ends at the gap, and continues after it.
    let search =
        |cursor: &str| json!({ "session_id": "s", "cursor": cursor, "grep": "^line ", "context": 1 });
    let first = call(&client, tool::READ, search("0")).await;
    assert_eq!((&first["gap"], &first["next_cursor"], &first["eof"]), (&gap, &json!(end), &json!(false)));
    let second = call(&client, tool::READ, search(&end)).await;
    assert_eq!(second["matches"].as_array().unwrap().last().unwrap()["text"], "line 999");
    let waited = json!({ "session_id": "s", "cursor": gap["offset"].as_u64().unwrap().to_string() });
    assert_eq!(call(&client, tool::WAIT, waited).await["gap"], gap);
    let tail = call(&client, tool::READ, json!({ "session_id": "s", "tail_lines": 99999 })).await;
    assert_eq!(tail["chunks"][0]["start_cursor"], json!(end));
}
