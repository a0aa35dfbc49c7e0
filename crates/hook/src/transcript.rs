//! Determines from the conversation's transcript whether a call can be deferred: it must be the only call of its
//! message, and Claude Code must support `defer`. Older versions would run the call.
//!
//! If two calls of one message are deferred, the first is silently lost. Claude Code appends all lines of a message at
//! once when it is complete (measured on 2.1.329), so if the call's own line is there, so are those of its siblings.
//!
//! Not `sys::lines::LineBuffer`: it skips lines that are too long, and one of them could have a sibling.

use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use sys::file::open_regular;

/// The first version of Claude Code that supports `defer` (tested on 2.1.197 and 2.1.329).
pub const MIN_DEFER_VERSION: [u32; 3] = [2, 1, 89];

#[derive(Deserialize)]
struct TranscriptLine {
    /// The version of Claude Code that wrote it.
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

/// A person's message may be plain text.
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

/// Whether, according to the transcript at `path`, the call `tool_use_id` is alone in its message and Claude Code
/// supports `defer`. Returns `false` if the transcript doesn't say.
pub(super) fn can_be_deferred(path: &Path, tool_use_id: &str) -> bool {
    let Ok(file) = open_regular(path, File::options().read(true)) else { return false };
    let mut calls: Vec<(String, String)> = Vec::new();
    let mut has_defer = false;
    for line in BufReader::new(file).split(b'\n') {
        let Ok(line) = line else { return false };
        let Ok(TranscriptLine {
            version,
            message: Some(Message { id: Some(id), content: Content::Blocks(blocks) }),
        }) = serde_json::from_slice(&line)
        else {
            continue;
        };
        for block in blocks.into_iter().filter(|block| block.kind == "tool_use") {
            if block.id == tool_use_id {
                has_defer = supports_defer(&version);
            }
            calls.push((id.clone(), block.id));
        }
    }
    let Some((message, _)) = calls.iter().rev().find(|(_, call)| call == tool_use_id) else { return false };
    has_defer && calls.iter().all(|(other, call)| other != message || call == tool_use_id)
}

/// Whether Claude Code `version`, such as `2.1.329`, supports `defer`.
fn supports_defer(version: &str) -> bool {
    let numbers: Vec<u32> = version.split('.').map_while(|number| number.parse().ok()).collect();
    numbers.len() == MIN_DEFER_VERSION.len() && numbers.as_slice() >= MIN_DEFER_VERSION.as_slice()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn alone(lines: &[&str]) -> bool {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(lines.join("\n").as_bytes()).unwrap();
        can_be_deferred(file.path(), "t2")
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
        assert!(!can_be_deferred(Path::new("/nowhere/at/all"), "t2"));
    }

    #[test]
    fn a_call_of_an_old_claude_code_is_not_deferred() {
        assert!(["2.1.89", "2.1.329", "2.2.0", "3.0.0"].into_iter().all(supports_defer));
        assert!(
            !["", "unknown", "2.1.88", "2.0.99", "1.9.100", "2.1", "2.1.x"].into_iter().any(supports_defer)
        );
        assert!(!alone(&[&call("m2", "t2").replace("2.1.197", "2.1.88")]));
    }
}
