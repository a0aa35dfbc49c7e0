//! What commands print with `--json`: one object on one line, whose first key names its form and version.

use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, Write};
use sys::text::is_hidden;

/// Prints `value`, an object, as one line with the key `schema` in front: `{"schema":"agents/1","agents":[]}`.
pub fn print(out: &mut impl Write, schema: &str, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string(value)?;
    let text = escaped(&text);
    let rest = text.strip_prefix('{').unwrap_or(&text);
    let comma = if rest.starts_with('}') { "" } else { "," };
    writeln!(out, "{{\"schema\":\"{schema}\"{comma}{rest}")
}

/// JSON on one line, with hidden characters, which only strings have, in JSON's own escapes.
#[must_use]
pub fn escaped(json: &str) -> Cow<'_, str> {
    if json.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !json.contains(is_hidden) {
        return json.into();
    }
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        match is_hidden(letter) {
            true => text.extend(letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}"))),
            false => text.push(letter),
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hidden_characters_are_escaped_as_json_does() {
        let value = json!({ "a": "\u{202e}ü\u{1b}\u{e0041}\u{7f}" });
        let mut printed = Vec::new();
        print(&mut printed, "x/1", &value).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        assert_eq!(printed, "{\"schema\":\"x/1\",\"a\":\"\\u202eü\\u001b\\udb40\\udc41\\u007f\"}\n");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap()["a"], value["a"]);
    }

    #[test]
    fn the_schema_comes_first() {
        for (value, expected) in
            [(json!({}), "{\"schema\":\"x/1\"}\n"), (json!({ "a": [1] }), "{\"schema\":\"x/1\",\"a\":[1]}\n")]
        {
            let mut printed = Vec::new();
            print(&mut printed, "x/1", &value).unwrap();
            assert_eq!(String::from_utf8(printed).unwrap(), expected);
        }
    }
}
