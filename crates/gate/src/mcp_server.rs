//! Checks that an MCP server can start: starts it, waits until it answers `initialize`, and ends it with all its
//! processes.

use super::ask::{self, ProgramInput, ProgramOutput, first_line};
use murmur_host::run::REAPING;
use serde_json::{Value, json};
use std::io;
use std::time::Duration;
use sys::error::Failure;
use sys::{failure, process};
use tokio::process::Command;

/// The id of the request.
const ID: &str = "murmur-initialize";

/// The version of the protocol that is asked for. A server may answer with another one.
const VERSION: &str = "2025-06-18";

/// How long a server may take to end by itself, once its stdin is closed.
const GRACE: Duration = Duration::from_secs(1);

/// Starts the server that `command` runs, and waits for its answer for at most `limit`. This process must have no other
/// children.
pub async fn start(command: Command, limit: Duration) -> Result<(), Failure> {
    let input = ProgramInput { text: &hello(), is_answer: |line| answer(line).is_some(), grace: GRACE };
    let asked = ask::with_input(command, &input, limit).await;
    let _zombies_at_most = process::end_all_children(REAPING).await;
    match asked {
        Ok(ProgramOutput { status, stdout, stderr }) => {
            match stdout.split(|byte| *byte == b'\n').find_map(answer) {
                Some(Answer::Initialized) => Ok(()),
                Some(Answer::Error(message)) => {
                    let why = quoted(message.as_bytes()).unwrap_or_default();
                    Err(failure!("it answered with an error{why}"))
                }
                None => {
                    let ended = status.map_or_else(
                        || "it printed something else".to_owned(),
                        |status| format!("it ended with {status}"),
                    );
                    let why = quoted(&stderr).or_else(|| quoted(&stdout)).unwrap_or_default();
                    Err(failure!("{ended} instead of answering `initialize`{why}"))
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            Err(failure!("it did not answer within {limit:?}"))
        }
        Err(error) => Err(Failure::of(&error)),
    }
}

/// The `initialize` request.
fn hello() -> Vec<u8> {
    let client = json!({ "name": "murmur", "version": env!("CARGO_PKG_VERSION") });
    let params = json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": client });
    let request = json!({ "jsonrpc": "2.0", "id": ID, "method": "initialize", "params": params });
    format!("{request}\n").into_bytes()
}

/// A server's answer to `initialize`.
#[derive(Debug, PartialEq)]
enum Answer {
    Initialized,
    /// An error with this message.
    Error(String),
}

/// The answer in a line of a server's output. `None` if the line isn't one.
fn answer(line: &[u8]) -> Option<Answer> {
    let message: Value = serde_json::from_slice(line).ok()?;
    if message.get("id")? != ID {
        return None;
    }
    let error = message.get("error").map(|error| error["message"].as_str().unwrap_or_default().to_owned());
    error.map(Answer::Error).or_else(|| message.get("result").map(|_| Answer::Initialized))
}

/// The beginning of the program's own message, as the end of a sentence.
fn quoted(message: &[u8]) -> Option<String> {
    first_line(message).map(|line| format!(": {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_response_to_the_request_is_an_answer() {
        assert_eq!(
            answer(br#"{"jsonrpc":"2.0","id":"murmur-initialize","result":{}}"#),
            Some(Answer::Initialized)
        );
        let refusal = br#"{"id":"murmur-initialize","error":{"code":-1,"message":"no key"}}"#;
        assert_eq!(answer(refusal), Some(Answer::Error("no key".to_owned())));
        for other in [&br#"{"id":1,"result":{}}"#[..], br#"{"method":"log"}"#, b"Listening", b"1", b""] {
            assert_eq!(answer(other), None);
        }
    }
}
