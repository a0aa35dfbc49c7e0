//! Parses calls as people type them: `Bash(git push -f)`, `Edit(/path)`, `Tool({"key": "value"})`, `Tool`.

use anyhow::bail;
use serde_json::{Map, Value, json};
use sys::failure;

/// Parses a call into its tool and input.
pub(super) fn parse(text: &str) -> anyhow::Result<(String, Value)> {
    let text = text.trim();
    let (tool, inside) = match text.split_once('(') {
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some(inside) => (tool.trim(), Some(inside)),
            None => bail!(failure!("{text:?} has no closing parenthesis"; "write it as 'Bash(git push)'")),
        },
        None => (text, None),
    };
    if tool.is_empty() || tool.contains(char::is_whitespace) {
        bail!(failure!("{text:?} names no tool"; "write it as 'Bash(git push)'"));
    }
    let input = match inside {
        None if matches!(tool, "Bash" | "Edit" | "MultiEdit" | "NotebookEdit" | "Write" | "WebFetch") => {
            bail!(failure!("{tool} needs a {}", key(tool); "write it as '{tool}({})'", example(tool)))
        }
        None => Value::Object(Map::new()),
        Some(inside) => match serde_json::from_str::<Value>(inside) {
            Ok(input @ Value::Object(_)) => input,
            _ => json!({ key(tool): inside }),
        },
    };
    Ok((tool.to_owned(), input))
}

/// Extracts the tool and its input from a hook's JSON.
pub(super) fn from_hook(text: &str) -> anyhow::Result<(String, Value)> {
    let wanted = "write {\"tool_name\": \"Bash\", \"tool_input\": {\"command\": \"ls\"}}";
    let Ok(mut call) = serde_json::from_str::<Value>(text) else {
        bail!(failure!("stdin is not JSON"; "{wanted}"))
    };
    let input = call.get_mut("tool_input").map_or(Value::Null, Value::take);
    match call.get("tool_name").and_then(Value::as_str) {
        Some(tool) if input.is_object() => Ok((tool.to_owned(), input)),
        _ => bail!(failure!("stdin has no \"tool_name\" and \"tool_input\""; "{wanted}")),
    }
}

/// The main input key of a tool.
fn key(tool: &str) -> &'static str {
    match tool {
        "Read" | "Edit" | "MultiEdit" | "Write" => "file_path",
        "NotebookEdit" | "NotebookRead" => "notebook_path",
        "Glob" | "Grep" | "LS" => "path",
        "WebFetch" => "url",
        "WebSearch" => "query",
        _ => "command",
    }
}

/// An example of that input.
fn example(tool: &str) -> &'static str {
    match tool {
        "Bash" => "git push",
        "WebFetch" => "https://example.org",
        _ => "/path",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_parentheses_is_the_main_input() {
        for (text, tool, input) in [
            ("Bash(git push -f)", "Bash", json!({"command": "git push -f"})),
            ("Bash(echo $(date) (x))", "Bash", json!({"command": "echo $(date) (x)"})),
            ("Bash({ ls; })", "Bash", json!({"command": "{ ls; }"})),
            ("Edit(/a b)", "Edit", json!({"file_path": "/a b"})),
            ("Grep(src)", "Grep", json!({"path": "src"})),
            ("WebFetch(https://a.b)", "WebFetch", json!({"url": "https://a.b"})),
            ("mcp__db__drop({\"table\":\"x\"})", "mcp__db__drop", json!({"table": "x"})),
            ("Task", "Task", json!({})),
        ] {
            assert_eq!(parse(text).unwrap(), (tool.to_owned(), input), "{text}");
        }
        for wrong in ["Bash(ls", "", "(ls)", "git push", "Bash", "Edit"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn hook_input_is_parsed_as_a_call() {
        let given = r#"{"tool_name":"Bash","tool_input":{"command":"ls"},"cwd":"/x"}"#;
        assert_eq!(from_hook(given).unwrap(), ("Bash".to_owned(), json!({"command": "ls"})));
        for wrong in ["", "{}", r#"{"tool_name":"Bash"}"#, r#"{"tool_name":1,"tool_input":{}}"#] {
            assert!(from_hook(wrong).is_err(), "{wrong}");
        }
    }
}
