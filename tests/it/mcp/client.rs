//! A client that writes raw lines and checks the responses.

use base64::Engine;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::state;
use crate::env::{Env, MURMUR};

/// A server and its pipes.
pub(super) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Client {
    /// Starts a server and performs the handshake of the newest protocol that has one.
    pub(super) fn start(env: &Env) -> Self {
        let mut client = Self::raw(env);
        client.initialize("2025-11-25");
        client
    }

    /// Starts a server.
    pub(super) fn raw(env: &Env) -> Self {
        let mut command = Command::new(MURMUR);
        command.arg("mcp").env_clear().current_dir(env.root()).env("DERUN_STATE_ROOT", state(env));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, asked: 0 }
    }

    pub(super) fn initialize(&mut self, version: &str) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        let answer = self.ask(
            "initialize",
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client }),
        );
        self.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        answer["result"].clone()
    }

    /// Writes a line.
    pub(super) fn line(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Writes without a newline.
    pub(super) fn part(&mut self, part: &str) {
        self.input.as_mut().unwrap().write_all(part.as_bytes()).unwrap();
    }

    /// Reads a line.
    pub(super) fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        self.line(
            &json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }).to_string(),
        );
        self.asked
    }

    /// Sends a request and waits for the response.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.answer();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool without waiting.
    pub(super) fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        self.send("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Calls a tool that succeeds.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.call_all(tool, &[arguments]).remove(0)
    }

    /// Calls a tool many times at once. The responses are in the order of the calls.
    pub(super) fn call_all(&mut self, tool: &str, calls: &[Value]) -> Vec<Value> {
        let first = self.asked + 1;
        for arguments in calls {
            self.begin(tool, arguments.clone());
        }
        let mut answers = vec![Value::Null; calls.len()];
        for _ in calls {
            let answer = self.answer();
            let index = usize::try_from(answer["id"].as_u64().unwrap() - first).unwrap();
            answers[index] = content(&answer);
        }
        answers
    }

    /// Calls a tool that fails; returns its message.
    pub(super) fn fail(&mut self, tool: &str, arguments: Value) -> String {
        let id = self.begin(tool, arguments);
        let answer = self.answer();
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let error = answer["result"]["content"][0]["text"].as_str().unwrap();
        let expected = json!({ "schema_version": "v1alpha1", "error": error });
        assert_eq!(answer["result"]["structuredContent"], expected);
        error.to_owned()
    }

    /// Closes stdin; returns the remaining output and how it ended.
    pub(super) fn end(mut self) -> (String, Option<i32>, String) {
        drop(self.input.take());
        let (mut rest, mut stderr) = (String::new(), String::new());
        self.output.read_to_string(&mut rest).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (rest, self.child.wait().unwrap().code(), stderr)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ended = self.child.wait();
    }
}

/// The structured content of a response.
pub(super) fn content(answer: &Value) -> Value {
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    answer["result"]["structuredContent"].clone()
}

/// The bytes of a response's chunks.
pub(super) fn bytes(answer: &Value) -> Vec<u8> {
    let chunk = |chunk: &Value| match chunk["encoding"].as_str().unwrap() {
        "text" => chunk["text"].as_str().unwrap().as_bytes().to_vec(),
        _ => {
            base64::engine::general_purpose::STANDARD.decode(chunk["data_base64"].as_str().unwrap()).unwrap()
        }
    };
    answer["chunks"].as_array().unwrap().iter().flat_map(chunk).collect()
}

/// The same as text.
pub(super) fn text(answer: &Value) -> String {
    String::from_utf8(bytes(answer)).unwrap()
}
