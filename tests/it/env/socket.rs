//! The daemon's socket, as a misbehaving client uses it: bytes in, lines out.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use super::{DEADLINE, Env};

/// A connection.
pub(crate) struct Socket {
    stream: UnixStream,
    lines: BufReader<UnixStream>,
}

impl Env {
    /// Connects to the daemon.
    pub(crate) fn connect(&self) -> Socket {
        Socket::new(UnixStream::connect(self.data().join("murmur.sock")).unwrap())
    }

    /// Sends a request on its own connection, and returns the payload.
    pub(crate) fn ask(&self, msg_type: &str, payload: &Value) -> Value {
        self.connect().ask(msg_type, payload)
    }
}

impl Socket {
    pub(crate) fn new(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap());
        Self { stream, lines }
    }

    /// Writes as much as the other side accepts.
    pub(crate) fn say(&mut self, bytes: impl AsRef<[u8]>) {
        let _may_be_closed = self.stream.write_all(bytes.as_ref());
    }

    /// The next line; `None` at the end.
    pub(crate) fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            // If it didn't read everything of ours, the end is an error.
            Ok(0) => None,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
            Err(error) => panic!("no line: {error}"),
        }
    }

    /// Sends a request and returns the response, skipping events.
    pub(crate) fn answer(&mut self, msg_type: &str, payload: &Value) -> Value {
        self.say(format!("{}\n", json!({ "msg_type": msg_type, "id": "x", "payload": payload })));
        loop {
            let line = self.receive().unwrap();
            if line.get("success").is_some() {
                return line;
            }
        }
    }

    /// Sends a request and returns the payload.
    pub(crate) fn ask(&mut self, msg_type: &str, payload: &Value) -> Value {
        let answer = self.answer(msg_type, payload);
        assert_eq!(answer["success"], true, "{answer}");
        answer["payload"].clone()
    }

    /// Sends a request and returns the error.
    pub(crate) fn refusal(&mut self, msg_type: &str, payload: &Value) -> String {
        let answer = self.answer(msg_type, payload);
        assert_eq!(answer["success"], false, "{answer}");
        let error = answer["error"].as_str().unwrap();
        answer["hint"].as_str().map_or_else(|| error.to_owned(), |hint| format!("{error}; {hint}"))
    }

    /// The next event, which must have this type.
    pub(crate) fn event(&mut self, event_type: &str) -> Value {
        let event = self.receive().unwrap();
        assert_eq!(event["event_type"], event_type, "{event}");
        event
    }

    /// The next event of this type; others are skipped.
    pub(crate) fn next_of(&mut self, event_type: &str) -> Value {
        loop {
            let event = self.receive().unwrap();
            if event["event_type"] == event_type {
                return event;
            }
        }
    }
}
