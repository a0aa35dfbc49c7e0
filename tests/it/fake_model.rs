//! fake-model: which turn answers which request, over real sockets on loopback.

use crate::env::fake_model;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, Stdio};

use assert_cmd::assert::OutputAssertExt;
use predicates::str::starts_with;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A running fake-model; it ends when its stdin closes.
struct Model {
    child: Child,
    stdin: Option<ChildStdin>,
    port: u16,
    folder: TempDir,
}

impl Model {
    fn start(script: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("script.json"), script.to_string()).unwrap();
        let mut child = Command::new(fake_model())
            .args(["script.json", "--requests", "requests", "--until-stdin-closes"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.strip_prefix("listening ").unwrap().trim().parse().unwrap();
        Self { stdin: child.stdin.take(), child, port, folder }
    }

    fn connect(&self) -> Connection {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        Connection(BufReader::new(stream))
    }

    /// The first text block of the response to a request with so many assistant messages.
    fn text(&self, request: &Value) -> String {
        let (status, _, body) = self.connect().post("/v1/messages?beta=true", request);
        assert_eq!(status, 200);
        body["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        drop(self.stdin.take());
        drop(self.child.wait());
    }
}

struct Connection(BufReader<TcpStream>);

impl Connection {
    fn send(&mut self, path: &str, extra: &str, body: &str) {
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n{extra}\r\n", body.len());
        self.0.get_mut().write_all((head + body).as_bytes()).unwrap();
    }

    /// The status and headers of the response.
    fn head(&mut self) -> (u16, Vec<String>) {
        let mut lines = self.0.by_ref().lines().map(Result::unwrap);
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        (status, lines.take_while(|line| !line.is_empty()).collect())
    }

    fn post(&mut self, path: &str, body: &Value) -> (u16, Vec<String>, Value) {
        self.send(path, "", &body.to_string());
        let (status, headers) = self.head();
        let length = headers.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let mut answer = vec![0; length.parse().unwrap()];
        self.0.read_exact(&mut answer).unwrap();
        (status, headers, serde_json::from_slice(&answer).unwrap())
    }
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// An agent's request after so many turns.
fn request(turns: usize) -> Value {
    let turn = [json!({"role": "user", "content": "x"}), json!({"role": "assistant", "content": "y"})];
    let messages: Vec<Value> = turn.iter().cycle().take(turns * 2 + 1).cloned().collect();
    json!({"model": "m", "messages": messages, "tools": [{"name": "Bash"}]})
}

#[test]
fn turns_are_played_in_order_and_the_last_repeats() {
    let model = Model::start(&json!([text("one"), text("two")]));
    assert_eq!([2, 0, 1, 7].map(|turns| model.text(&request(turns))), ["two", "one", "two", "two"]);
}

#[test]
fn a_request_without_tools_is_answered_ok_and_tokens_are_counted() {
    let model = Model::start(&json!([text("one")]));
    assert_eq!(model.text(&json!({"model": "m", "messages": []})), "ok");
    let counted = model.connect().post("/v1/messages/count_tokens", &request(0));
    assert_eq!(counted.2, json!({"input_tokens": 10}));
}

#[test]
fn a_subagent_has_turns_of_its_own() {
    let model = Model::start(&json!({"main": [text("main")], "subagent": [text("sub")]}));
    let mut asked = request(0);
    asked["system"] = json!([{"type": "text", "text": "x-header: cc_is_subagent=true;"}]);
    assert_eq!(model.text(&asked), "sub");
    asked["system"][0]["text"] = "x-header: ;".into();
    assert_eq!(model.text(&asked), "main");
}

#[test]
fn an_error_is_sent_with_status_headers_and_body_as_often_as_configured() {
    let error = json!({"type": "overloaded_error", "message": "Overloaded"});
    let headers = json!({"retry-after": "0"});
    let turn =
        json!({"status": 529, "error": error, "headers": headers, "times": 1, "content": text("fine")});
    let model = Model::start(&json!([turn]));
    let mut connection = model.connect();
    let (status, headers, body) = connection.post("/v1/messages", &request(0));
    assert_eq!((status, body), (529, json!({"type": "error", "error": error})));
    assert!(headers.contains(&"retry-after: 0".to_owned()), "{headers:?}");
    assert_eq!(connection.post("/v1/messages", &request(0)).2["content"], text("fine"));
}

#[test]
fn a_stream_sends_events_and_keeps_the_connection_open() {
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls é"}});
    let model = Model::start(&json!([[text("hi")[0], call]]));
    let mut connection = model.connect();
    let mut asked = request(0);
    asked["stream"] = true.into();
    connection.send("/v1/messages", "Expect: 100-continue\r\n", &asked.to_string());
    assert_eq!(connection.head().0, 100);
    let (status, headers) = connection.head();
    assert_eq!((status, headers[0].as_str()), (200, "content-type: text/event-stream"));
    let mut events: Vec<Value> = Vec::new();
    for line in connection.0.by_ref().lines().map(Result::unwrap) {
        if let Some(data) = line.strip_prefix("data: ") {
            events.push(serde_json::from_str(data).unwrap());
        }
        if line == "0" {
            break;
        }
    }
    assert_eq!(connection.head_line(), "");
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let wanted = [&["message_start"][..], &block, &block, &["message_delta", "message_stop"]].concat();
    assert_eq!(types, wanted);
    assert_eq!(events[5]["delta"]["partial_json"], r#"{"command":"ls é"}"#);
    assert_eq!(events[7]["delta"]["stop_reason"], "tool_use");
    assert_eq!(connection.post("/v1/messages", &request(0)).0, 200);
}

impl Connection {
    fn head_line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

#[test]
fn requests_are_recorded_and_a_closed_stdin_ends_it() {
    let mut model = Model::start(&json!([text("one")]));
    model.text(&request(0));
    let kept = std::fs::read(model.folder.path().join("requests/000.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&kept).unwrap(), request(0));
    drop(model.stdin.take());
    assert_eq!(model.child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_invalid_script_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    std::fs::write(&path, "{\"turns\":[]}").unwrap();
    let fake_model = || Command::new(fake_model());
    let named = starts_with(format!("fake-model: {}: ", path.display()));
    fake_model().arg(&path).assert().code(1).stdout("").stderr(named);
    fake_model().arg("--nope").assert().code(2);
}

#[test]
fn tool_results_are_not_part_of_the_models_messages() {
    let call = json!({"type": "tool_use", "id": "toolu_01", "name": "Bash", "input": {"command": "true"}});
    let mut told = call.clone();
    told["result"] = "done".into();
    told["is_error"] = true.into();
    let model = Model::start(&json!([{"content": [told], "end_delay_ms": 1}]));
    let request = json!({"model": "m", "tools": [{"name": "Bash"}], "messages": []});
    let (_, _, body) = model.connect().post("/v1/messages", &request);
    assert_eq!(body["content"], json!([call]));
    let mut streamed = request;
    streamed["stream"] = true.into();
    let mut connection = model.connect();
    connection.send("/v1/messages", "", &streamed.to_string());
    let mut events: Vec<String> = Vec::new();
    while !events.concat().contains("message_stop\"}") {
        let mut line = String::new();
        connection.0.read_line(&mut line).unwrap();
        events.push(line);
    }
    assert!(!events.concat().contains("done"), "{events:?}");
}

/// The data of a response's events.
fn data(model: &Model, path: &str, request: &Value) -> Vec<Value> {
    let mut connection = model.connect();
    let body = request.to_string();
    let head = format!("POST {path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n", body.len());
    connection.0.get_mut().write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut found = Vec::new();
    loop {
        let mut line = String::new();
        connection.0.read_line(&mut line).unwrap();
        match line.trim_end() {
            "0" => return found,
            line => {
                found.extend(line.strip_prefix("data: ").and_then(|text| serde_json::from_str(text).ok()))
            }
        }
    }
}

#[test]
fn the_same_script_is_played_in_other_apis_with_their_agents_tools() {
    let call = json!({"type": "tool_use", "id": "call_1", "name": "Bash", "input": {"command": "ls"}, "result": "a"});
    let model = Model::start(&json!([[call], [{"type": "text", "text": "done"}]]));
    let tools = json!([{"type": "function"}]);
    let events = data(&model, "/v1/responses", &json!({"tools": tools, "input": []}));
    let item =
        events.iter().find(|event| event["type"] == "response.output_item.done").unwrap()["item"].clone();
    assert_eq!((&item["name"], &item["arguments"]), (&json!("exec_command"), &json!(r#"{"cmd":"ls"}"#)));
    let output = json!({"type": "function_call_output", "call_id": "call_1", "output": "a"});
    let events = data(&model, "/v1/responses", &json!({"tools": tools, "input": [item, output]}));
    assert!(events.iter().any(|event| event["item"]["content"][0]["text"] == "done"), "{events:#?}");
    let request = json!({"tools": tools, "stream": true, "messages": []});
    let chunks = data(&model, "/v1/chat/completions", &request);
    let calls =
        chunks.iter().find_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].as_array()).unwrap();
    assert_eq!(calls[0]["function"]["name"], "bash");
    let request = json!({"tools": tools, "stream": true, "messages": [{"role": "assistant"}]});
    let chunks = data(&model, "/v1/chat/completions", &request);
    assert!(chunks.iter().any(|chunk| chunk["choices"][0]["delta"]["content"] == "done"), "{chunks:#?}");
}
