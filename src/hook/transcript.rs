//! Whether a call is the only one of its message, which the conversation's transcript says.
//!
//! Of two calls in one message that are put off, the first is lost in silence, so only a call that is alone may be.
//! Claude Code appends a message's lines all at once when the message is complete (measured on 2.1.329): when the
//! call's own line is there, those of its neighbours are.

use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    content: Content,
}

/// What a person said may be plain text.
#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Content {
    Blocks(Vec<Block>),
    #[default]
    #[serde(skip_deserializing)]
    Nothing,
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    id: String,
}

/// Whether the transcript at `path` says that the call `tool_use_id` is alone in its message. What it does not say, it
/// is not.
pub(super) fn is_alone(path: &Path, tool_use_id: &str) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut calls: Vec<(String, String)> = Vec::new();
    for line in BufReader::new(file).split(b'\n') {
        let Ok(line) = line else { return false };
        let Ok(Line { message: Some(Message { id: Some(id), content: Content::Blocks(blocks) }) }) =
            serde_json::from_slice(&line)
        else {
            continue;
        };
        let found = blocks.into_iter().filter(|block| block.kind == "tool_use");
        calls.extend(found.map(|block| (id.clone(), block.id)));
    }
    let Some((message, _)) = calls.iter().rev().find(|(_, call)| call == tool_use_id) else { return false };
    calls.iter().all(|(other, call)| other != message || call == tool_use_id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn alone(lines: &[&str]) -> bool {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(lines.join("\n").as_bytes()).unwrap();
        is_alone(file.path(), "t2")
    }

    const USER: &str = r#"{"type":"user","message":{"role":"user","content":"hello"}}"#;
    const MODE: &str = r#"{"type":"permission-mode","permissionMode":"default"}"#;

    fn call(message: &str, id: &str) -> String {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{message}","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}]}}}}"#
        )
    }

    #[test]
    fn a_call_is_alone_only_if_the_transcript_says_so() {
        let text = r#"{"message":{"id":"m2","content":[{"type":"text","text":"now"}]}}"#;
        assert!(alone(&[USER, MODE, &call("m1", "t1"), text, &call("m2", "t2")]));
        assert!(!alone(&[USER, &call("m2", "t1"), &call("m2", "t2")]));
        assert!(!alone(&[USER, &call("m2", "t2"), &call("m2", "t3")]));
        assert!(!alone(&[USER, &call("m1", "t1")]), "its line is not there");
        assert!(!is_alone(Path::new("/nowhere/at/all"), "t2"));
    }
}
