//! What commands print with `--json`: one object on one line, whose first key names its form and version.

use serde::Serialize;
use std::io::{self, Write};

/// Prints `value`, an object, as one line with the key `schema` in front: `{"schema":"agents/1","agents":[]}`.
pub fn print(out: &mut impl Write, schema: &str, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string(value)?;
    let rest = text.strip_prefix('{').unwrap_or(&text);
    let comma = if rest.starts_with('}') { "" } else { "," };
    writeln!(out, "{{\"schema\":\"{schema}\"{comma}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
