//! The tools of other agents, for scripts that name those of Claude Code.
//!
//! Pure. Input: a call in a script. Output: the call that the agent's own model would make. Other names are
//! the agent's own tools and stay unchanged.

use serde_json::{Value, json};

/// A call to one of Codex's tools.
#[must_use]
pub fn codex(name: &str, input: &Value) -> (String, Value) {
    let text = |key: &str| input[key].as_str().unwrap_or_default();
    match name {
        "Bash" => ("exec_command".into(), renamed(input, &[("command", "cmd")])),
        "Read" => ("exec_command".into(), json!({"cmd": format!("cat {}", text("file_path"))})),
        "Write" => {
            let lines: String = text("content").lines().map(|line| format!("+{line}\n")).collect();
            patch(&format!("*** Add File: {}\n{lines}", text("file_path")))
        }
        "Edit" => {
            let of = |sign: char, key: &str| -> String {
                text(key).lines().map(|line| format!("{sign}{line}\n")).collect()
            };
            let (old, new) = (of('-', "old_string"), of('+', "new_string"));
            patch(&format!("*** Update File: {}\n@@\n{old}{new}", text("file_path")))
        }
        _ => (name.into(), input.clone()),
    }
}

fn patch(body: &str) -> (String, Value) {
    ("apply_patch".into(), json!({"input": format!("*** Begin Patch\n{body}*** End Patch\n")}))
}

/// A call to one of OpenCode's tools.
#[must_use]
pub fn opencode(name: &str, input: &Value) -> (String, Value) {
    match name {
        "Bash" => {
            let mut input = input.clone();
            if input["description"].is_null() {
                input["description"] = "run it".into();
            }
            ("bash".into(), input)
        }
        "Read" => ("read".into(), renamed(input, &[("file_path", "filePath")])),
        "Write" => ("write".into(), renamed(input, &[("file_path", "filePath")])),
        "Edit" => {
            let names = [("file_path", "filePath"), ("old_string", "oldString"), ("new_string", "newString")];
            ("edit".into(), renamed(input, &names))
        }
        "WebFetch" => {
            let mut input = input.clone();
            if let Some(fields) = input.as_object_mut() {
                fields.remove("prompt");
            }
            input["format"] = "text".into();
            ("webfetch".into(), input)
        }
        _ => match name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            Some((server, tool)) => (format!("{server}_{tool}"), input.clone()),
            None => (name.into(), input.clone()),
        },
    }
}

/// A call to one of Gemini CLI's tools, whose inputs have the same names.
#[must_use]
pub fn gemini(name: &str, input: &Value) -> (String, Value) {
    let own = match name {
        "Bash" => "run_shell_command",
        "Read" => "read_file",
        "Write" => "write_file",
        "Edit" => "replace",
        _ => name,
    };
    (own.into(), input.clone())
}

fn renamed(input: &Value, names: &[(&str, &str)]) -> Value {
    let mut input = input.clone();
    for (old, new) in names {
        if let Some(value) = input.as_object_mut().and_then(|fields| fields.remove(*old)) {
            input[*new] = value;
        }
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_claude_code_become_those_of_the_agent() {
        let bash = json!({"command": "echo a"});
        assert_eq!(codex("Bash", &bash), ("exec_command".into(), json!({"cmd": "echo a"})));
        let named = json!({"command": "echo a", "description": "run it"});
        assert_eq!(opencode("Bash", &bash), ("bash".into(), named));
        let write = json!({"file_path": "/w/a", "content": "one\ntwo\n"});
        let patch = "*** Begin Patch\n*** Add File: /w/a\n+one\n+two\n*** End Patch\n";
        assert_eq!(codex("Write", &write), ("apply_patch".into(), json!({"input": patch})));
        assert_eq!(opencode("Write", &write).1, json!({"filePath": "/w/a", "content": "one\ntwo\n"}));
        assert_eq!(opencode("mcp__db__query", &json!({})).0, "db_query");
        assert_eq!(gemini("Bash", &bash), ("run_shell_command".into(), bash.clone()));
        assert_eq!(codex("view_image", &bash), ("view_image".into(), bash));
    }
}
