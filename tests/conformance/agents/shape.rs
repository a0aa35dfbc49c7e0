//! The parts of a conversation that are compared: each message as a line, without ids, times and durations.

use fake_claude::replay::{Fixture, lines};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

/// The messages of an agent, each as returned by `shape`; those for which it returns nothing don't count.
pub(super) fn shapes(run: &Fixture, shape: &dyn Fn(&Value) -> Option<String>) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    for line in lines(&run.stdout) {
        let Ok(value) = serde_json::from_slice(line) else {
            shown.push(format!("no JSON: {}", String::from_utf8_lossy(line)));
            continue;
        };
        let Some(line) = shape(&value) else { continue };
        // Progress may be reported any number of times.
        if shown.last() != Some(&line) {
            shown.push(line);
        }
    }
    shown
}

/// The differences, one per line.
pub(super) fn differences(real: &[String], fake: &[String]) -> Vec<String> {
    let (real, fake): (Vec<&str>, Vec<&str>) =
        (real.iter().map(String::as_str).collect(), fake.iter().map(String::as_str).collect());
    let diff = TextDiff::from_slices(&real, &fake);
    let changes = diff.iter_all_changes().filter_map(|change| match change.tag() {
        ChangeTag::Equal => None,
        ChangeTag::Delete => Some(format!("only the real one: {}", change.value())),
        ChangeTag::Insert => Some(format!("only the fake: {}", change.value())),
    });
    changes.collect()
}

/// A text, or the beginning of a long one, without values that depend on the environment.
pub(super) fn text(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(2000) {
        Some((end, _)) if value.is_string() => format!("{:?}… (long)", &text[..end.min(40)]),
        _ => format!("{text:?}"),
    }
}
