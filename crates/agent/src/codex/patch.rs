//! Patches: the files that a call of `apply_patch` writes, as calls of `Write` and `Edit`, which guard and rules know.
//!
//! A line that could be a header counts as one, so that no file is missed; at worst a patch of a patch is denied.

use crate::call::{Translated, Unreadable};
use serde::Deserialize;
use serde_json::{Value, json};

/// The change of one file, as in an item.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Change {
    path: String,
    #[serde(default)]
    diff: String,
    kind: Kind,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Kind {
    #[serde(rename = "type", default)]
    name: String,
    #[serde(default)]
    move_path: Option<String>,
}

/// The headers of a patch and the kinds of change that they begin.
const HEADERS: [(&str, &str); 4] = [
    ("*** Add File:", "add"),
    ("*** Update File:", "update"),
    ("*** Delete File:", "delete"),
    ("*** Move to:", "move"),
];

/// The first line of a patch.
const BEGIN: &str = "*** Begin Patch";

/// The names under which Codex knows a command that applies a patch.
const COMMANDS: [&str; 2] = ["apply_patch", "applypatch"];

/// Translates what a hook gets about a call.
pub(crate) fn translate(tool: String, input: Value) -> Result<Translated, Unreadable> {
    match tool.as_str() {
        "Bash" => {
            let command = input.get("command").and_then(Value::as_str).unwrap_or_default();
            let mut parts = in_command(command)?;
            if !parts.is_empty() {
                parts.push((tool.clone(), input.clone()));
            }
            Ok(Translated { tool, input, parts })
        }
        "apply_patch" => {
            let text = input.get("command").and_then(Value::as_str).ok_or(Unreadable)?;
            let changes = changes(text)?;
            let parts = changes.iter().flat_map(Change::calls).collect();
            let (tool, input) = shown(&changes);
            Ok(Translated { tool, input, parts })
        }
        "view_image" => {
            let input = json!({ "file_path": input.get("path").ok_or(Unreadable)? });
            Ok(Translated { tool: "Read".to_owned(), input, parts: Vec::new() })
        }
        _ => Ok(Translated { tool, input, parts: Vec::new() }),
    }
}

/// The calls of a patch that a command applies. Codex runs neither `apply_patch <<END` nor
/// `cd FOLDER && apply_patch <<END` in a shell, but applies the text as it is (measured on 0.169.0 and 0.171.0). Only
/// the first form is accepted, as its paths are relative to the call's folder.
fn in_command(command: &str) -> Result<Vec<(String, Value)>, Unreadable> {
    if !command.contains(BEGIN) {
        return Ok(Vec::new());
    }
    let rest = COMMANDS.iter().find_map(|name| command.trim_start().strip_prefix(name)).ok_or(Unreadable)?;
    if !rest.trim_start_matches([' ', '\t']).starts_with("<<") {
        return Err(Unreadable);
    }
    Ok(changes(command)?.iter().flat_map(Change::calls).collect())
}

/// The changes of a patch.
fn changes(text: &str) -> Result<Vec<Change>, Unreadable> {
    let mut changes: Vec<Change> = Vec::new();
    let mut has_begun = false;
    for line in text.lines() {
        let header = line.trim();
        has_begun |= header == BEGIN;
        let found =
            HEADERS.iter().find_map(|(prefix, kind)| Some((header.strip_prefix(prefix)?.trim(), *kind)));
        match (found, changes.last_mut()) {
            (Some(("", _)), _) | (Some((_, "move")), None) => return Err(Unreadable),
            (Some((path, "move")), Some(change)) => change.kind.move_path = Some(path.to_owned()),
            (Some((path, kind)), _) => {
                let kind = Kind { name: kind.to_owned(), move_path: None };
                changes.push(Change { path: path.to_owned(), diff: String::new(), kind });
            }
            (None, Some(change)) if !header.starts_with("*** ") => {
                let added = if change.kind.name == "add" { line.strip_prefix('+') } else { None };
                change.diff.push_str(added.unwrap_or(line));
                change.diff.push('\n');
            }
            _ => {}
        }
    }
    if has_begun && !changes.is_empty() { Ok(changes) } else { Err(Unreadable) }
}

/// The call to show for these changes: of the tool that makes the only one, or else of `apply_patch`.
pub(super) fn shown(changes: &[Change]) -> (String, Value) {
    let mut calls: Vec<(String, Value)> = changes.iter().flat_map(Change::calls).collect();
    if calls.len() == 1
        && let Some(only) = calls.pop()
    {
        return only;
    }
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    let edits: Vec<Value> =
        calls.into_iter().map(|(tool, input)| json!({ "tool": tool, "input": input })).collect();
    ("apply_patch".to_owned(), json!({ "description": paths.join(", "), "changes": edits }))
}

impl Change {
    /// What is done to the file, in Codex's words.
    pub(super) fn kind(&self) -> &str {
        &self.kind.name
    }

    /// Its calls: one for each file that it writes.
    fn calls(&self) -> Vec<(String, Value)> {
        let Self { path, diff, kind } = self;
        let own = match kind.name.as_str() {
            "add" => ("Write".to_owned(), json!({ "file_path": path, "content": diff })),
            "delete" => ("Edit".to_owned(), json!({ "file_path": path, "delete": true })),
            _ => ("Edit".to_owned(), json!({ "file_path": path, "patch": diff })),
        };
        let moved = kind
            .move_path
            .as_ref()
            .map(|target| ("Write".to_owned(), json!({ "file_path": target, "moved_from": path })));
        std::iter::once(own).chain(moved).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(patch: &str) -> Option<Vec<(String, String)>> {
        let translated = translate("apply_patch".to_owned(), json!({ "command": patch })).ok()?;
        let part = |(tool, input): (String, Value)| (tool, input["file_path"].as_str().unwrap().to_owned());
        Some(translated.parts.into_iter().map(part).collect())
    }

    fn named(parts: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
        Some(parts.iter().map(|(tool, path)| ((*tool).to_owned(), (*path).to_owned())).collect())
    }

    #[test]
    fn every_file_of_a_patch_is_a_call() {
        let patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n+*** Delete File: no.txt\n*** Update File: src/b.rs\n\
                     *** Move to: ../c.rs\n@@\n-x\n+y\n*** Delete File: d\n*** End Patch\n";
        let all = [("Write", "a.txt"), ("Edit", "src/b.rs"), ("Write", "../c.rs"), ("Edit", "d")];
        assert_eq!(parts(patch), named(&all));
        let shown = translate("apply_patch".to_owned(), json!({ "command": patch })).unwrap();
        assert_eq!(shown.tool, "apply_patch");
        assert_eq!(shown.input["description"], "a.txt, src/b.rs, d");
    }

    #[test]
    fn a_patch_of_one_file_is_shown_as_a_call_of_its_tool() {
        let patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** End Patch";
        let shown = translate("apply_patch".to_owned(), json!({ "command": patch })).unwrap();
        assert_eq!((shown.tool.as_str(), shown.input["content"].as_str()), ("Write", Some("one\ntwo\n")));
    }

    #[test]
    fn headers_are_found_however_they_are_indented() {
        let patch =
            "\n *** Begin Patch\r\n\t*** Add File:   /etc/x \r\n+one\n *** Update File: y\n*** End Patch";
        assert_eq!(parts(patch), named(&[("Write", "/etc/x"), ("Edit", "y")]));
        let quoted = "*** Begin Patch\n*** Update File: notes.md\n *** Delete File: z\n*** End Patch";
        assert_eq!(parts(quoted), named(&[("Edit", "notes.md"), ("Edit", "z")]));
    }

    #[test]
    fn a_patch_without_files_is_not_readable() {
        for patch in [
            "",
            "*** Begin Patch\n*** End Patch",
            "*** Begin Patch\n*** Move to: a\n*** End Patch",
            "*** Begin Patch\n*** Add File:\n+x\n*** End Patch",
            "*** Add File: a\n+x",
            "--- a\n+++ b\n",
        ] {
            assert_eq!(parts(patch), None, "{patch}");
        }
        assert!(translate("apply_patch".to_owned(), json!({ "patch": "x" })).is_err());
        assert!(translate("apply_patch".to_owned(), json!("x")).is_err());
    }

    #[test]
    fn a_command_that_applies_a_patch_is_a_call_for_each_file() {
        let patch = "*** Begin Patch\n*** Add File: .claude/settings.json\n+{}\n*** End Patch\n";
        for name in ["apply_patch <<'EOF'", " applypatch\t<< EOF", "apply_patch <<-\"E\""] {
            let command = format!("{name}\n{patch}EOF");
            let translated = translate("Bash".to_owned(), json!({ "command": command })).unwrap();
            assert_eq!((translated.tool.as_str(), &translated.input["command"]), ("Bash", &json!(command)));
            let [(write, file), (bash, whole)] = &translated.parts[..] else { panic!("{translated:?}") };
            assert_eq!((write.as_str(), &file["file_path"]), ("Write", &json!(".claude/settings.json")));
            assert_eq!((bash.as_str(), whole), ("Bash", &translated.input));
        }
        // What a shell would make of the text doesn't count.
        let hidden = "apply_patch <<EOF\n*** Begin Patch\n*** Add File: a\n+$(true\n*** Add File: .bashrc\n+)\\\n\
                      *** Delete File: b\n*** End Patch\nEOF";
        let parts = translate("Bash".to_owned(), json!({ "command": hidden })).unwrap().parts;
        let files: Vec<_> = parts.iter().filter_map(|(_, input)| input["file_path"].as_str()).collect();
        assert_eq!(files, ["a", ".bashrc", "b"]);
    }

    #[test]
    fn another_command_with_a_patch_is_not_readable() {
        let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n";
        for command in [
            format!("cd .claude && apply_patch <<'EOF'\n{patch}EOF"),
            format!("bash -lc \"apply_patch <<'EOF'\n{patch}EOF\""),
            format!("apply_patch '{patch}'"),
            format!("apply_patch2 <<'EOF'\n{patch}EOF"),
            format!("true; apply_patch <<'EOF'\n{patch}EOF"),
            format!("cat <<'EOF' | apply_patch\n{patch}EOF"),
            "apply_patch <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF".to_owned(),
        ] {
            let translated = translate("Bash".to_owned(), json!({ "command": command }));
            assert!(translated.is_err(), "{command}");
        }
    }

    #[test]
    fn other_tools_keep_their_names() {
        let shown = translate("Bash".to_owned(), json!({ "command": "ls" })).unwrap();
        assert_eq!((shown.tool.as_str(), shown.parts.len()), ("Bash", 0));
        let seen = translate("view_image".to_owned(), json!({ "path": "/x.png" })).unwrap();
        assert_eq!((seen.tool.as_str(), seen.input["file_path"].as_str()), ("Read", Some("/x.png")));
    }
}
