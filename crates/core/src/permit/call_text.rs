//! A call as text for the person who decides on it: complete, and without hidden characters.

mod diff;

use super::question::QuestionSet;
use serde_json::{Map, Value};
use std::fmt::Write as _;
use sys::text::{lookalikes, shown, shown_line};

/// The complete input of a call; `is_question` is whether it asks a person questions.
#[must_use]
pub fn input(input: &Value, is_question: bool) -> String {
    if is_question {
        let asked = QuestionSet::parse(input);
        return asked.map_or_else(|_| shown(&input.to_string()), |asked| asked.printed());
    }
    match input.get("command").and_then(Value::as_str) {
        // Other keys change what a command does: timeout, background.
        Some(command) => {
            let more = input.as_object().into_iter().flatten().filter(|(name, _)| *name != "command");
            let more = more.map(|(name, value)| format!("\n{name}: {value}"));
            shown(&format!("{command}{}", more.collect::<String>()))
        }
        None => diff::of(input).unwrap_or_else(|| match input {
            Value::Object(fields) if !fields.is_empty() => lines(fields, &[]),
            other => shown(&other.to_string()),
        }),
    }
}

/// A note for each word of a call's input that has lookalike letters.
#[must_use]
pub fn lookalike_notes(input: &Value) -> Vec<String> {
    let note = |(word, letters): (String, Vec<char>)| {
        let letters: Vec<String> =
            letters.iter().map(|letter| format!("{letter} is U+{:04X}", u32::from(*letter))).collect();
        format!("lookalike letters: {} in {}", letters.join(", "), shown(&word))
    };
    lookalikes(&input.to_string()).into_iter().map(note).collect()
}

/// A line for each field but those in `used`. Fields of objects are lines of their own, named `object.field`.
fn lines(fields: &Map<String, Value>, used: &[&str]) -> String {
    let mut out = String::new();
    add_lines(&mut out, "", fields, used);
    out
}

fn add_lines(out: &mut String, prefix: &str, fields: &Map<String, Value>, used: &[&str]) {
    for (key, value) in fields.iter().filter(|(key, _)| !used.contains(&key.as_str())) {
        let key = format!("{prefix}{key}");
        let text = match value {
            Value::Object(inner) if !inner.is_empty() => {
                add_lines(out, &format!("{key}."), inner, &[]);
                continue;
            }
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let line = shown_line(&format!("{key}: {text}"));
        let _never = writeln!(out, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_text_rather_than_json() {
        let call = json!({
            "owner": "me", "title": "Fix\nit", "draft": true, "labels": ["a", "b"],
            "base": { "ref": "main", "\u{202e}": {} },
        });
        insta::assert_snapshot!(input(&call, false), @r#"
        base.ref: main
        base.\u{202e}: {}
        draft: true
        labels: ["a","b"]
        owner: me
        title: Fix\nit
        "#);
        assert_eq!(input(&json!({}), false), "{}");
        assert_eq!(input(&json!({ "command": "ls", "timeout": 5 }), false), "ls\ntimeout: 5");
        let asked = json!({ "questions": [{ "question": "Which?", "options": [{ "label": "A" }] }] });
        assert_eq!(input(&asked, true), "q1 Which?\n  1. A\n");
    }
}
