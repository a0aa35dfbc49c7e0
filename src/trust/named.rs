//! The files of the repository that its configuration names as programs or scripts, as far as that can be told: a word of
//! a command that is the path of a file there. What those run in turn is not known.

use super::collect::{Found, Kind};
use super::effects::markdown;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Keys of settings that name files, and run none.
const PATTERNS: [&str; 4] = ["permissions", "sandbox", "claudeMdExcludes", "plansDirectory"];

/// The files within `workspace` that `found` names.
pub(super) fn by<'a>(workspace: &Path, found: impl Iterator<Item = &'a Found>) -> Vec<PathBuf> {
    let mut texts = Vec::new();
    for file in found.filter(|file| file.kind == Kind::Configuration) {
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
    let file = |word: &str| {
        let path = workspace.join(word);
        let real = path.canonicalize().ok()?;
        (real.starts_with(workspace) && real.is_file()).then_some(real)
    };
    let whole = std::iter::once(text.trim());
    whole.chain(words).filter(|word| !word.is_empty() && word.len() < 4096).filter_map(file).collect()
}
