//! A client on a plain socket, which can also misbehave.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// Longer than any response takes.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The client.
pub(super) struct Peer {
    lines: BufReader<UnixStream>,
    /// Events that arrived before an awaited response.
    early: VecDeque<String>,
    asked: u64,
}

impl Peer {
    pub(super) fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(TIMEOUT)).unwrap();
        Self { lines: BufReader::new(stream), early: VecDeque::new(), asked: 0 }
    }

    /// Writes these bytes; returns whether they were accepted.
    pub(super) fn say(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.lines.get_mut().write_all(bytes.as_ref()).is_ok()
    }

    /// Closes the writing side.
    pub(super) fn stop_sending(&mut self) {
        self.lines.get_mut().shutdown(Shutdown::Write).unwrap();
    }

    /// The next line from the socket; empty at the end.
    pub(super) fn line(&mut self) -> String {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            // The error if a client disconnects without having read everything.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => String::new(),
            read => {
                read.unwrap();
                line
            }
        }
    }

    /// The next line as JSON, a response or an event; `None` at the end.
    pub(super) fn next(&mut self) -> Option<Value> {
        let line = self.early.pop_front().unwrap_or_else(|| self.line());
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Sends a request; returns the whole response.
    pub(super) fn ask(&mut self, msg_type: &str, payload: Value) -> Value {
        self.asked += 1;
        let id = self.asked.to_string();
        assert!(self.say(format!("{}\n", json!({ "msg_type": msg_type, "id": id, "payload": payload }))));
        let answer = self.answer();
        assert_eq!((&answer["msg_type"], &answer["id"]), (&json!(msg_type), &json!(id)), "{answer}");
        answer
    }

    /// The next response; events before it are returned later.
    pub(super) fn answer(&mut self) -> Value {
        loop {
            let line = self.line();
            let read: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
            if read["success"].is_boolean() {
                return read;
            }
            self.early.push_back(line);
        }
    }

    /// Sends a request; returns the payload.
    pub(super) fn result(&mut self, msg_type: &str, payload: Value) -> Value {
        let answer = self.ask(msg_type, payload);
        assert_eq!(answer["success"], true, "{answer}");
        answer["payload"].clone()
    }

    /// Sends a request; returns the error.
    pub(super) fn refusal(&mut self, msg_type: &str, payload: Value) -> String {
        let answer = self.ask(msg_type, payload);
        assert_eq!((&answer["success"], answer.get("payload")), (&json!(false), None), "{answer}");
        let error = answer["error"].as_str().unwrap();
        answer["hint"].as_str().map_or_else(|| error.to_owned(), |hint| format!("{error}; {hint}"))
    }

    /// Follows the events from `from` on.
    pub(super) fn attach(&mut self, from: impl Into<Value>) -> Value {
        self.result("attach", json!({ "from": from.into() }))
    }

    /// The events up to and including the one for which `is_last`.
    pub(super) fn until(&mut self, is_last: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self
                .next()
                .unwrap_or_else(|| panic!("the last of these is not the expected one: {:?}", events.last()));
            let is_it = is_last(&event);
            events.push(event);
            if is_it {
                return events;
            }
        }
    }

    /// The events up to the end of the connection.
    pub(super) fn rest(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// The lines up to the end of the connection, as bytes.
    pub(super) fn rest_lines(&mut self) -> String {
        let mut text: String = self.early.drain(..).collect();
        loop {
            let line = self.line();
            if line.is_empty() {
                return text;
            }
            text += &line;
        }
    }
}
