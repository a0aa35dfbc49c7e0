//! The changes in a patch, in the form of Codex's items.
//!
//! Pure. Input: the patch's text. Output: its changes.

use std::path::Path;

use serde_json::{Value, json};

/// Returns the changes of a patch made in `cwd`.
pub(super) fn changes(patch: &str, cwd: &str) -> Value {
    let mut found: Vec<Value> = Vec::new();
    let mut diff = String::new();
    let finish = |found: &mut Vec<Value>, diff: &mut String| {
        if let Some(last) = found.last_mut() {
            last["diff"] = std::mem::take(diff).into();
        }
    };
    for line in patch.lines() {
        let header =
            [("*** Add File: ", "add"), ("*** Update File: ", "update"), ("*** Delete File: ", "delete")];
        let change = header.iter().find_map(|(begin, kind)| Some((line.strip_prefix(begin)?, *kind)));
        if let Some((path, kind)) = change {
            finish(&mut found, &mut diff);
            let path = Path::new(cwd).join(path.trim());
            let kind = if kind == "update" {
                json!({"type": kind, "move_path": null})
            } else {
                json!({"type": kind})
            };
            found.push(json!({"path": path, "kind": kind, "diff": ""}));
        } else if !line.starts_with("*** ") {
            let is_new = found.last().is_some_and(|last| last["kind"]["type"] == "add");
            diff.push_str(if is_new { line.strip_prefix('+').unwrap_or(line) } else { line });
            diff.push('\n');
        }
    }
    finish(&mut found, &mut diff);
    found.into()
}
