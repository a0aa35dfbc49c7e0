//! Whether a call can be put off, which the conversation's transcript says: it is the only one of its message, and Claude
//! Code is one that knows how. An older one would let the call run.
//!
//! Of two calls in one message that are put off, the first is lost in silence, so only a call that is alone may be.
//! Claude Code appends a message's lines all at once when the message is complete (measured on 2.1.329): when the
//! call's own line is there, those of its neighbours are.

use crate::sys::file::open_regular;
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The first version of Claude Code that knows `defer` (tried on 2.1.197 and 2.1.329).
pub const DEFERS: [u32; 3] = [2, 1, 89];

#[derive(Deserialize)]
struct Line {
    /// Of the Claude Code that wrote it.
    #[serde(default)]
    version: String,
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

/// Whether the transcript at `path` says that the call `tool_use_id` is alone in its message, and was written by a Claude
/// Code that knows `defer`. What it does not say does not hold.
pub(super) fn can_be_put_off(path: &Path, tool_use_id: &str) -> bool {
    let Ok(file) = open_regular(path, File::options().read(true)) else { return false };
    let mut calls: Vec<(String, String)> = Vec::new();
    let mut defers = false;
    for line in BufReader::new(file).split(b'\n') {
        let Ok(line) = line else { return false };
        let Ok(Line { version, message: Some(Message { id: Some(id), content: Content::Blocks(blocks) }) }) =
            serde_json::from_slice(&line)
        else {
            continue;
        };
        for block in blocks.into_iter().filter(|block| block.kind == "tool_use") {
            if block.id == tool_use_id {
                defers = knows_defer(&version);
            }
            calls.push((id.clone(), block.id));
        }
    }
    let Some((message, _)) = calls.iter().rev().find(|(_, call)| call == tool_use_id) else { return false };
    defers && calls.iter().all(|(other, call)| other != message || call == tool_use_id)
}

/// Whether Claude Code `version`, as `2.1.329`, knows `defer`.
fn knows_defer(version: &str) -> bool {
    let numbers: Vec<u32> = version.split('.').map_while(|number| number.parse().ok()).collect();
    numbers.len() == DEFERS.len() && numbers.as_slice() >= DEFERS.as_slice()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn alone(lines: &[&str]) -> bool {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(lines.join("\n").as_bytes()).unwrap();
        can_be_put_off(file.path(), "t2")
    }

    const USER: &str = r#"{"type":"user","message":{"role":"user","content":"hello"}}"#;
    const MODE: &str = r#"{"type":"permission-mode","permissionMode":"default"}"#;

    fn call(message: &str, id: &str) -> String {
        format!(
            r#"{{"type":"assistant","version":"2.1.197","message":{{"id":"{message}","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}]}}}}"#
        )
    }

    #[test]
    fn a_call_is_alone_only_if_the_transcript_says_so() {
        let text = r#"{"message":{"id":"m2","content":[{"type":"text","text":"now"}]}}"#;
        assert!(alone(&[USER, MODE, &call("m1", "t1"), text, &call("m2", "t2")]));
        assert!(!alone(&[USER, &call("m2", "t1"), &call("m2", "t2")]));
        assert!(!alone(&[USER, &call("m2", "t2"), &call("m2", "t3")]));
        assert!(!alone(&[USER, &call("m1", "t1")]), "its line is not there");
        assert!(!can_be_put_off(Path::new("/nowhere/at/all"), "t2"));
    }

    #[test]
    fn a_claude_code_that_does_not_know_defer_is_not_answered_so() {
        assert!(["2.1.89", "2.1.329", "2.2.0", "3.0.0"].into_iter().all(knows_defer));
        assert!(!["", "unknown", "2.1.88", "2.0.99", "1.9.100", "2.1", "2.1.x"].into_iter().any(knows_defer));
        assert!(!alone(&[&call("m2", "t2").replace("2.1.197", "2.1.88")]));
    }
}
