//! Finds the repository's files that its configuration names as programs or scripts: words of a command that are the
//! path of a file in the repository. Files that those run in turn are not found.

use super::collect::{ClaudeFile, FileKind};
use super::effects::markdown;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Settings that name files but run none.
const PATTERNS: [&str; 4] = ["permissions", "sandbox", "claudeMdExcludes", "plansDirectory"];

/// Extensions that interpreters add to a name.
const EXTENSIONS: [&str; 6] = ["js", "cjs", "mjs", "ts", "py", "sh"];

/// Longer than any path, in bytes.
const MAX_PATH: usize = 4096;

/// Maximum number of folders per text to search.
const MAX_FOLDERS: usize = 8;

/// Returns the files within `workspace` that `found` names.
pub(super) fn by<'a>(workspace: &Path, found: impl Iterator<Item = &'a ClaudeFile>) -> Vec<PathBuf> {
    let mut texts = Vec::new();
    for file in found.filter(|file| file.kind == FileKind::Configuration) {
        if file.name.ends_with(".json") {
            let value: Value = serde_json::from_slice(&file.bytes).unwrap_or_default();
            for (_, value) in
                value.as_object().into_iter().flatten().filter(|(key, _)| !PATTERNS.contains(&key.as_str()))
            {
                strings(value, &mut texts);
            }
        } else if file.name.ends_with(".md") {
            let text = String::from_utf8_lossy(&file.bytes);
            let (front, body) = markdown::split(&text);
            texts.push(front.to_owned());
            texts.extend(markdown::shell(body));
        }
    }
    let named: BTreeSet<PathBuf> = texts.iter().flat_map(|text| paths(workspace, text)).collect();
    named.into_iter().collect()
}

fn strings(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| strings(value, texts)),
        Value::Object(values) => values.values().for_each(|value| strings(value, texts)),
        _ => {}
    }
}

fn paths(workspace: &Path, text: &str) -> Vec<PathBuf> {
    let text = text.replace(['"', '\''], "");
    let text = ["$CLAUDE_PROJECT_DIR", "${CLAUDE_PROJECT_DIR}", "${CLAUDE_PROJECT_DIR:-.}"]
        .iter()
        .fold(text, |text, variable| text.replace(variable, "."));
    let words = text.split(|letter: char| letter.is_whitespace() || ";|&()<>=,`".contains(letter));
    let words: Vec<&str> = std::iter::once(text.trim())
        .chain(words)
        .filter(|word| !word.is_empty() && word.len() < MAX_PATH)
        .collect();
    let within = |path: PathBuf| path.canonicalize().ok().filter(|real| real.starts_with(workspace));
    // The command may first change to a folder that it names.
    let folders = words.iter().filter_map(|word| within(workspace.join(word))).filter(|path| path.is_dir());
    let mut folders: BTreeSet<PathBuf> = folders.take(MAX_FOLDERS).collect();
    folders.insert(workspace.to_path_buf());
    let mut found = Vec::new();
    for folder in &folders {
        for word in &words {
            // `node scripts/s` runs `scripts/s.js`, `python3 -m scripts.helper` `scripts/helper.py`.
            let scripts = EXTENSIONS.iter().map(|extension| format!("{word}.{extension}"));
            let module = format!("{}.py", word.replace('.', "/"));
            let names = std::iter::once((*word).to_owned()).chain(scripts).chain([module]);
            let files = names.filter_map(|name| within(folder.join(name))).filter(|path| path.is_file());
            found.extend(files);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_relative_to_cd_and_without_its_extension() {
        let top = tempfile::tempdir().unwrap();
        let workspace = top.path().canonicalize().unwrap();
        std::fs::create_dir(workspace.join("scripts")).unwrap();
        for name in ["scripts/b.sh", "scripts/s.js", "scripts/helper.py", "README.md"] {
            std::fs::write(workspace.join(name), "x").unwrap();
        }
        for (command, file) in [
            ("cd scripts && ./b.sh", "scripts/b.sh"),
            ("pushd ./scripts;sh b.sh;popd", "scripts/b.sh"),
            ("node scripts/s", "scripts/s.js"),
            ("python3 -m scripts.helper --all", "scripts/helper.py"),
            ("sh \"$CLAUDE_PROJECT_DIR\"/scripts/b.sh", "scripts/b.sh"),
        ] {
            assert_eq!(paths(&workspace, command), [workspace.join(file)], "{command}");
        }
        assert!(paths(&workspace, "ls scripts; cat ../x").is_empty());
    }
}
