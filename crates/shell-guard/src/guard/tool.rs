//! Tool calls: the command of a tool that runs a shell, and the paths of a tool that writes.

use crate::call::{Call, CallPlace};
use serde_json::Value;

/// Claude Code's tools that write a file.
const WRITERS: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

/// Parts of an MCP tool's name that suggest writing.
const WRITES: [&str; 32] = [
    "write",
    "edit",
    "create",
    "move",
    "delete",
    "remove",
    "rename",
    "copy",
    "append",
    "patch",
    "update",
    "save",
    "replace",
    "insert",
    "link",
    "download",
    "modify",
    "truncate",
    "extract",
    "unzip",
    "screenshot",
    "chmod",
    "chown",
    "overwrite",
    "upload",
    "export",
    "trash",
    "unlink",
    "mkdir",
    "store",
    "touch",
    "snapshot",
];

/// Whole words of an MCP tool's name that suggest writing.
const WRITING_WORDS: [&str; 4] = ["put", "rm", "mv", "cp"];

/// Whole words of an MCP tool's name that suggest running a command.
const RUNS: [&str; 12] =
    ["shell", "bash", "terminal", "exec", "execute", "run", "command", "cmd", "process", "zsh", "sh", "ssh"];

/// Words in an input key that suggest a path.
const PATHS: [&str; 23] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filepath",
    "uri",
    "dest",
    "destination",
    "source",
    "src",
    "dst",
    "target",
    "to",
    "from",
    "old",
    "new",
    "link",
    "dir",
    "directory",
    "folder",
    "output",
    "location",
];

/// Words in an input key that suggest content or a search pattern rather than a path.
const CONTENTS: [&str; 13] = [
    "content",
    "contents",
    "text",
    "body",
    "string",
    "str",
    "data",
    "code",
    "value",
    "message",
    "pattern",
    "source_code",
    "description",
];

/// How deeply nested an input's paths may be.
const MAX_DEPTH: u32 = 6;

/// Returns the command that the call passes to a shell: of a built-in tool, or of an MCP tool whose name suggests
/// running one.
pub(super) fn command(call: &Call) -> Option<&str> {
    if let Some(command) = call.command() {
        return Some(command);
    }
    let name = name(call)?;
    if !words(name).any(|word| RUNS.contains(&word.as_str())) {
        return None;
    }
    ["command", "cmd", "script", "commandLine", "command_line"]
        .iter()
        .find_map(|key| call.input.get(key)?.as_str())
}

/// Whether the call's tool is a shell, rather than something else that takes commands.
pub(super) fn is_shell(call: &Call) -> bool {
    name(call).is_none_or(|name| {
        words(name).any(|word| ["shell", "bash", "terminal", "zsh", "sh"].contains(&word.as_str()))
    })
}

/// What a tool is called if the agent names neither it nor its kind.
const UNKNOWN: &str = "unknown";

/// Whether the request does not say what the call would run or write: its tool is not known, or a shell's or a writer's
/// input doesn't show it. Some agents ask about calls without showing them.
pub(super) fn is_hidden(call: &Call) -> bool {
    match call.tool.as_str() {
        "Bash" => call.command().is_none(),
        UNKNOWN => true,
        tool if tool.starts_with("mcp__") => name(call) == Some(UNKNOWN),
        tool => WRITERS.contains(&tool) && written(call).is_empty(),
    }
}

/// Why only a person may allow the call: an agent asks for more than its own sandbox allows, or passes on what a server
/// asks its user.
pub(super) fn for_people(call: &Call) -> Option<&'static str> {
    match (call.tool.as_str(), name(call)) {
        ("SandboxAccess", _) => Some("the agent's sandbox forbids it"),
        (_, Some("elicitation")) => Some("the MCP server asks a person"),
        _ => None,
    }
}

/// The command equivalent to an MCP tool that removes or extracts.
pub(super) fn equivalent_command(call: &Call) -> Option<&'static [&'static str]> {
    const REMOVES: [&str; 5] = ["delete", "remove", "rm", "trash", "unlink"];
    let has = |known: &[&str]| words(name(call)?).any(|word| known.contains(&word.as_str())).then_some(());
    if has(&REMOVES).is_some() {
        return Some(&["rm", "-rf"]);
    }
    has(&["extract", "unzip", "untar"]).map(|()| &["tar", "-xf", "archive", "-C"] as &[&str])
}

/// Returns the files that the call would write, in every form that the tool may interpret. For an MCP tool whose name
/// suggests writing, these are all paths in its input.
pub(super) fn written(call: &Call) -> Vec<String> {
    let mut paths = Vec::new();
    if WRITERS.contains(&call.tool.as_str()) {
        let keys = ["file_path", "notebook_path"].iter();
        paths.extend(keys.filter_map(|key| call.input.get(key)?.as_str()).map(str::to_owned));
        let more = call.input.get("file_paths").and_then(Value::as_array).into_iter().flatten();
        paths.extend(more.filter_map(Value::as_str).map(str::to_owned));
    } else if let Some(name) = name(call) {
        let plain = name.to_lowercase();
        let writes = WRITES.iter().any(|word| plain.contains(word))
            || words(name).any(|word| WRITING_WORDS.contains(&word.as_str()));
        if writes {
            collect_paths(&call.input, false, 0, &mut paths);
        }
    }
    let mut forms = Vec::new();
    for path in paths {
        for form in path_forms(&path, &call.place) {
            if !form.is_empty() && !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    forms
}

/// An MCP tool's name without its server.
fn name(call: &Call) -> Option<&str> {
    call.tool.strip_prefix("mcp__").map(|tool| tool.rsplit("__").next().unwrap_or(tool))
}

/// The path as given, trimmed, without `file://`, and with `~` expanded.
fn path_forms(path: &str, place: &CallPlace) -> Vec<String> {
    let trimmed = path.trim();
    let plain = trimmed.strip_prefix("file://").map_or(trimmed, |rest| rest.trim_start_matches("localhost"));
    let mut forms = vec![path.to_owned(), plain.to_owned()];
    if let Some(rest) = plain.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        forms.push(format!("{}{rest}", place.home.to_string_lossy()));
    }
    forms
}

/// Collects the paths in an input: values under keys that suggest a path, and keys that are paths themselves.
fn collect_paths(value: &Value, is_path: bool, depth: u32, paths: &mut Vec<String>) {
    match value {
        Value::String(text) if is_path && !text.contains('\n') => paths.push(text.clone()),
        Value::Array(values) if depth < MAX_DEPTH => {
            values.iter().for_each(|value| collect_paths(value, is_path, depth + 1, paths));
        }
        Value::Object(fields) if depth < MAX_DEPTH => {
            for (key, value) in fields {
                if key.contains('/') {
                    paths.push(key.clone());
                }
                collect_paths(value, names_path(key), depth + 1, paths);
            }
        }
        _ => {}
    }
}

fn names_path(key: &str) -> bool {
    words(key).any(|word| PATHS.contains(&word.as_str()))
        && !words(key).any(|word| CONTENTS.contains(&word.as_str()))
}

/// The words of a name written `like_this`, `like-this` or `likeThis`, in lower case.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::with_capacity(name.len() + 4);
    let mut was_small = false;
    for character in name.chars() {
        if character.is_uppercase() && was_small {
            spaced.push(' ');
        }
        was_small = character.is_lowercase();
        spaced.extend(if character.is_alphanumeric() { character.to_lowercase().next() } else { Some(' ') });
    }
    spaced.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, inspect_call};
    use super::*;
    use crate::call::ProtectedPaths;
    use serde_json::json;

    fn call(tool: &str, input: Value) -> Call {
        let place = CallPlace {
            cwd: "/home/me/work".into(),
            workspace: "/home/me/work".into(),
            home: "/home/me".into(),
            own: ProtectedPaths::default(),
        };
        Call { tool: tool.to_owned(), input, place }
    }

    #[test]
    fn every_path_in_the_input_of_a_writing_tool_is_checked() {
        for (tool, input) in [
            ("Write", json!({ "file_path": "~/.bashrc", "content": "x" })),
            ("Write", json!({ "file_path": " /etc/passwd\n" })),
            ("Edit", json!({ "file_path": "~/../../etc/passwd" })),
            ("Edit", json!({ "file_path": "a", "file_paths": ["a", "/etc/passwd"] })),
            ("Edit", json!({})),
            ("unknown", json!({})),
            ("unknown", json!({ "level": 3 })),
            ("mcp__unknown__unknown", json!({})),
            ("mcp__x__elicitation", json!({ "message": "Sure?" })),
            ("SandboxAccess", json!({ "host": "example.com" })),
            ("Bash", json!({ "command": ["ls"] })),
            ("NotebookEdit", json!({ "notebook_path": "~/.zshrc" })),
            ("mcp__fs__write", json!({ "uri": "file:///etc/passwd" })),
            ("mcp__fs__write_files", json!({ "files": [{ "path": "/etc/passwd", "content": "x" }] })),
            ("mcp__fs__write_files", json!({ "files": { "/etc/passwd": "x" } })),
            ("mcp__fs__write_files", json!({ "paths": ["a", "/etc/passwd"] })),
            ("mcp__serena__create_text_file", json!({ "relative_path": ".git/hooks/x" })),
            ("mcp__fs__copy", json!({ "src": "x", "dst": "/home/me/.bashrc" })),
            ("mcp__fs__put", json!({ "target": "/home/me/.bashrc" })),
            ("mcp__fs__rename", json!({ "old": "x", "new": "/etc/passwd" })),
            ("mcp__fs__renameFile", json!({ "newPath": "/etc/passwd" })),
            ("mcp__fs__symlink", json!({ "target": "x", "link": "/etc/passwd" })),
            ("mcp__fs__download_file", json!({ "url": "http://x", "output_path": "/etc/passwd" })),
            ("mcp__fs__modify", json!({ "path": "/etc/passwd" })),
            ("mcp__fs__truncate", json!({ "path": "/etc/passwd" })),
            ("mcp__fs__extract", json!({ "dest": "/etc" })),
            ("mcp__fs__rm", json!({ "path": "/" })),
            ("mcp__browser__take_screenshot", json!({ "filePath": "/home/me/.ssh/authorized_keys" })),
            ("mcp__shell__execute_command", json!({ "command": "rm -rf /" })),
            ("mcp__x__runScript", json!({ "script": "sudo id" })),
            ("mcp__desktop-commander__start_process", json!({ "command": "sudo id", "timeout_ms": 1 })),
            ("mcp__claude-code__Bash", json!({ "command": "murmur permission respond x allow" })),
        ] {
            let call = call(tool, input);
            assert!(!matches!(inspect_call(&call), Finding::Clear), "{tool} {}", call.input);
        }
    }

    #[test]
    fn written_content_is_not_a_path() {
        for (tool, input) in [
            ("Write", json!({ "file_path": "~/work/a.md", "content": "/etc/passwd" })),
            ("Edit", json!({ "file_path": "a", "old_string": "/etc/passwd", "new_string": "~/.bashrc" })),
            ("mcp__fs__write_file", json!({ "path": "a.md", "content": "/etc/passwd" })),
            (
                "mcp__fs__edit_file",
                json!({ "path": "a", "new_text": "/etc/passwd", "old_str": "/etc/fstab" }),
            ),
            ("mcp__fs__write_files", json!({ "files": [{ "path": "a", "content": "/etc/passwd" }] })),
            ("mcp__fs__read_file", json!({ "path": "/etc/passwd" })),
            ("mcp__fs__get", json!({ "uri": "file:///etc/passwd" })),
            ("mcp__github__create_issue", json!({ "title": "/etc/passwd", "body": "~/.bashrc" })),
            (
                "mcp__github__update_file",
                json!({ "path": "src/a.rs", "content": "x", "message": "rm -rf /" }),
            ),
            ("mcp__slack__post_message", json!({ "text": "/etc/passwd", "channel": "x" })),
            ("mcp__browser__take_screenshot", json!({ "filename": "page.png" })),
            ("mcp__shell__execute_command", json!({ "command": "ls -la" })),
            ("mcp__db__run_query", json!({ "query": "select 1", "command": "select" })),
        ] {
            let call = call(tool, input);
            assert_eq!(inspect_call(&call), Finding::Clear, "{tool} {}", call.input);
        }
    }
}
