//! An edit of a file as a diff, for the person who approves it.

use super::lines;
use serde_json::{Map, Value};
use similar::TextDiff;
use std::fmt::Write as _;
use sys::text::shown;

/// The call's input with its edits as diffs; `None` if it edits nothing. All other keys are shown as they are.
pub(super) fn of(input: &Value) -> Option<String> {
    let input = input.as_object()?;
    let mut out = String::new();
    if let Some(diff) = edit(input) {
        out += &lines(input, &["old_string", "new_string"]);
        return Some(out + &diff);
    }
    input.get("file_path")?;
    if let Some(content) = text(input, "content") {
        out += &lines(input, &["content"]);
        diff(&mut out, "", content);
        return Some(out);
    }
    let edits = input.get("edits")?.as_array()?;
    let edits: Option<Vec<_>> =
        edits.iter().map(|part| Some((part.as_object()?, edit(part.as_object()?)?))).collect();
    out += &lines(input, &["edits"]);
    for (number, (part, diff)) in edits?.into_iter().enumerate() {
        let _never = writeln!(out, "edit {}:", number + 1);
        out += &lines(part, &["old_string", "new_string"]);
        out += &diff;
    }
    Some(out)
}

fn text<'a>(input: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    input.get(key)?.as_str()
}

/// The diff of a replacement.
fn edit(input: &Map<String, Value>) -> Option<String> {
    let (old, new) = (text(input, "old_string")?, text(input, "new_string")?);
    let mut out = String::new();
    // Both are parts of a file, and their last lines go on in it. Without an old text, the new one is a whole file.
    let is_whole = |text: &str| text.is_empty() || text.ends_with('\n');
    match old.is_empty() || is_whole(old) && is_whole(new) {
        true => diff(&mut out, old, new),
        false => diff(&mut out, &format!("{old}\n"), &format!("{new}\n")),
    }
    Some(out)
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
    use insta::assert_snapshot;
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
        assert_eq!(of(&json!({ "file_path": "/w/a", "edits": [{ "old_string": "a" }] })), None);
        assert_eq!(of(&json!({ "content": "x" })), None);
    }
    #[test]
    fn the_fragments_of_an_edit_are_not_the_end_of_a_file() {
        let edit = |old: &str, new: &str| {
            of(&json!({ "file_path": "/w/a", "old_string": old, "new_string": new })).unwrap()
        };
        assert_snapshot!(edit("two\nthree", "LINE 2\nthree\nextra"), @"
        file_path: /w/a
        - two
        + LINE 2
          three
        + extra
        ");
        let diff = |old: &str, new: &str| edit(old, new).replace("file_path: /w/a\n", "");
        assert_eq!(diff("b", ""), "- b\n+ \n");
        assert_eq!(diff("b\n", ""), "- b\n");
        assert_eq!(diff("b", "b\n"), "  b\n+ \n");
        assert_eq!(diff("", "a new file"), "+ a new file\n\\ no newline at the end\n");
    }

    #[test]
    fn several_edits_are_several_diffs() {
        let edits = json!({ "file_path": "/w/a", "edits": [
            { "old_string": "one\ntwo", "new_string": "one\n2" },
            { "old_string": "x", "new_string": "y", "replace_all": true },
        ] });
        assert_snapshot!(of(&edits).unwrap(), @"
        file_path: /w/a
        edit 1:
          one
        - two
        + 2
        edit 2:
        replace_all: true
        - x
        + y
        ");
    }
}
