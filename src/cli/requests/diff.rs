//! An edit of a file as a diff, for the person who approves it.

use serde_json::{Map, Value};
use similar::TextDiff;
use std::fmt::Write as _;
use sys::text::shown;

/// The call's input with its edits as diffs; `None` if it edits nothing. All other keys are shown as they are.
pub(super) fn of(input: &Value) -> Option<String> {
    let input = input.as_object()?;
    let text = |object: &Map<String, Value>, key: &str| object.get(key)?.as_str().map(str::to_owned);
    let mut diffs = String::new();
    let mut used = Vec::new();
    if let (Some(old), Some(new)) = (text(input, "old_string"), text(input, "new_string")) {
        diff(&mut diffs, &old, &new);
        used.extend(["old_string", "new_string"]);
    } else if let (Some(content), true) = (text(input, "content"), input.contains_key("file_path")) {
        diff(&mut diffs, "", &content);
        used.push("content");
    } else {
        return None;
    }
    let mut out = String::new();
    for (key, value) in input.iter().filter(|(key, _)| !used.contains(&key.as_str())) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let _never = writeln!(out, "{}: {}", shown(key), shown(&value).replace('\n', "\\n"));
    }
    Some(out + &diffs)
}

fn diff(out: &mut String, old: &str, new: &str) {
    for change in TextDiff::from_lines(old, new).iter_all_changes() {
        let line = change.value();
        let mark = match change.tag() {
            similar::ChangeTag::Delete => '-',
            similar::ChangeTag::Insert => '+',
            similar::ChangeTag::Equal => ' ',
        };
        let _never = writeln!(out, "{mark} {}", shown(line.strip_suffix('\n').unwrap_or(line)));
        if change.missing_newline() {
            out.push_str("\\ no newline at the end\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_edit_is_a_diff_that_hides_nothing() {
        let edit = json!({ "file_path": "/w/a", "old_string": "a\nb\n", "new_string": "a\nc\u{1b}[31m\n", "replace_all": true });
        let text = of(&edit).unwrap();
        assert!(text.contains("file_path: /w/a\n") && text.contains("replace_all: true\n"), "{text}");
        assert!(text.ends_with("  a\n- b\n+ c\\u{1b}[31m\n"), "{text}");
        let write = json!({ "file_path": "/w/a\nb", "content": "x" });
        assert_eq!(of(&write).unwrap(), "file_path: /w/a\\nb\n+ x\n\\ no newline at the end\n");
        assert_eq!(of(&json!({ "command": "ls" })), None);
        assert_eq!(of(&json!({ "content": "x" })), None);
    }
}
