//! The whole input of a call, without secrets.

use murmur_agent::transcript::Call;
use murmur_core::permit::call_text;
use murmur_core::permit::pipeline::ASK;
use secrets::{REMOVED, is_secret_name, mask};
use serde_json::Value;

/// The input of `call`; `None` if it isn't known.
pub(super) fn masked(call: &Call) -> Option<Value> {
    serde_json::from_str(&call.input).ok().map(without_secrets)
}

/// What the line of `call` in the transcript lacks of its input, as text; `None` if it has all of it.
pub(super) fn unshown_input(call: &Call) -> Option<String> {
    let input = masked(call)?;
    let text = call_text::input(&input, call.tool == ASK);
    let is_shown = match input.as_object().map(|fields| fields.iter().collect::<Vec<_>>()).as_deref() {
        Some([]) => true,
        Some([(name, _)]) => text.trim_end() == format!("{name}: {}", call.subject),
        _ => false,
    };
    if is_shown || text == call.subject {
        return None;
    }
    // A command that the line has, and the other keys.
    let rest = text.strip_prefix(&*call.subject).and_then(|rest| rest.strip_prefix('\n'));
    Some(rest.unwrap_or(&text).to_owned())
}

fn without_secrets(value: Value) -> Value {
    match value {
        Value::String(text) => mask(&text).into(),
        Value::Array(values) => values.into_iter().map(without_secrets).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| {
                let value = if is_secret_name(&name) { REMOVED.into() } else { without_secrets(value) };
                (name, value)
            })
            .collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_store::pulse::action;

    fn unshown_input_of(tool: &str, input: &str) -> String {
        let subject = action::of(tool, input);
        let call = Call { tool: tool.to_owned(), subject, input: input.to_owned(), ..Call::default() };
        unshown_input(&call).unwrap_or_default()
    }

    #[test]
    fn the_whole_input_is_shown_if_the_line_lacks_some_of_it() {
        for (tool, input, expected) in [
            ("Bash", r#"{"command":"ls"}"#, ""),
            ("Read", r#"{"file_path":"/w/a"}"#, ""),
            ("Any", "{}", ""),
            ("Any", "", ""),
            ("Bash", r#"{"command":"git push\n# hi\u001b"}"#, "git push\n# hi\\u{1b}"),
            ("Bash", r#"{"command":"ls","timeout":5}"#, "timeout: 5"),
            ("mcp__x__y", r#"{"api_token":"a b","n":{"b":1}}"#, "api_token: [removed]\nn.b: 1\n"),
        ] {
            assert_eq!(unshown_input_of(tool, input), expected, "{tool} {input}");
        }
        let long = format!(r#"{{"command":"export TOKEN=abcdef; {}end"}}"#, "echo ".repeat(100));
        let text = unshown_input_of("Bash", &long);
        assert!(text.starts_with("export TOKEN=[removed]; echo") && text.ends_with("echo end"), "{text}");
    }
}
