//! OpenCode's tools: how updates and requests show their calls.
//!
//! Pure. Input: a call. Output: its kind, its titles, and what is shown of its input.

use serde_json::{Value, json};

/// A call, as updates and requests show it.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) kind: &'static str,
    /// Once the input is known.
    pub(super) title: String,
    pub(super) locations: Value,
    pub(super) input: Value,
    /// What the request for permission shows: title, locations, input, content.
    pub(super) asked: (String, Value, Value, Option<Value>),
    /// What permissions apply to.
    pub(super) subject: String,
}

/// Returns how a call made in `cwd` is shown.
pub(super) fn shown(tool: &str, input: &Value, cwd: &str) -> Shown {
    let text = |key: &str| input[key].as_str().unwrap_or_default().to_owned();
    let path = text("filePath");
    let at = |path: &str| if path.is_empty() { json!([]) } else { json!([{"path": path}]) };
    let plain = |kind: &'static str, subject: String, asked: Value| Shown {
        kind,
        title: tool.to_owned(),
        locations: at(&path),
        input: input.clone(),
        asked: (if subject.is_empty() { tool.to_owned() } else { subject.clone() }, json!([]), asked, None),
        subject,
    };
    match tool {
        "bash" => {
            let command = text("command");
            let mut shown = input.clone();
            let place = input["workdir"].as_str().unwrap_or(cwd);
            if input["workdir"].is_null() {
                shown["cwd"] = cwd.into();
            }
            Shown {
                kind: "execute",
                title: command.clone(),
                locations: at(place),
                input: shown,
                asked: (command.clone(), json!([]), json!({"command": command}), None),
                subject: command,
            }
        }
        "write" | "edit" => {
            let old = std::fs::read_to_string(&path).unwrap_or_default();
            let new = if tool == "write" {
                text("content")
            } else {
                old.replacen(&text("oldString"), &text("newString"), 1)
            };
            let diff = format!("Index: {path}\n--- {path}\n+++ {path}\n");
            let content = json!([{"type": "diff", "path": path, "oldText": old, "newText": new}]);
            let asked = (path.clone(), at(&path), json!({"filepath": path, "diff": diff}), Some(content));
            Shown { asked, subject: path.clone(), ..plain("edit", path.clone(), Value::Null) }
        }
        "read" => Shown { subject: path.clone(), ..plain("read", String::new(), json!({})) },
        "glob" | "grep" => plain("search", text("pattern"), json!({"pattern": text("pattern")})),
        "webfetch" => plain("fetch", text("url"), json!({"url": text("url"), "format": input["format"]})),
        "task" => plain("think", String::new(), json!({})),
        _ => plain("other", String::new(), json!({})),
    }
}
