//! The layout of JSON text: the whitespace between its parts, so that new parts can match it.

use crate::config::json::{Object, span};

/// The whitespace of an object or array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Before the first part: a newline with indentation, a space, or nothing.
    pub open: String,
    /// Before each other part.
    pub before: String,
    /// Before the closing bracket.
    pub close: String,
    /// The colon with surrounding whitespace.
    pub colon: String,
}

impl Layout {
    /// One part per line.
    #[must_use]
    pub fn lines(newline: &str, indent: &str, unit: &str) -> Self {
        let before = format!("{newline}{indent}{unit}");
        Self { open: before.clone(), before, close: format!("{newline}{indent}"), colon: ": ".to_owned() }
    }

    /// All parts on one line: `{"a": 1, "b": 2}`.
    #[must_use]
    pub fn inline() -> Self {
        Self { open: String::new(), before: " ".to_owned(), close: String::new(), colon: ": ".to_owned() }
    }

    /// The layout of an object; `None` if it is empty.
    #[must_use]
    pub fn of_object(text: &str, object: &Object<'_>) -> Option<Self> {
        let (first, last) = (object.0.first()?, object.0.last()?);
        let before_last = object.0.len().checked_sub(2).and_then(|index| object.0.get(index));
        let colon = text.get(span(text, last.key).end..span(text, last.value).start)?;
        let open = text.get(1..span(text, first.key).start)?;
        let before = match before_last {
            Some(other) => after_comma(text.get(span(text, other.value).end..span(text, last.key).start)?),
            // A space after colons implies one after commas.
            None if open.is_empty() && colon.ends_with(' ') => " ",
            None => open,
        };
        let close = text.get(span(text, last.value).end..text.len().checked_sub(1)?)?;
        let [open, before, close, colon] = [open, before, close, colon].map(str::to_owned);
        Some(Self { open, before, close, colon })
    }

    /// Whether each part is on its own line.
    #[must_use]
    pub fn is_lines(&self) -> bool {
        self.before.contains('\n')
    }

    /// The newline, `\n` or `\r\n`.
    #[must_use]
    pub fn newline(&self) -> &str {
        if self.before.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// The indentation of each part.
    #[must_use]
    pub fn indent(&self) -> &str {
        self.before.rsplit('\n').next().unwrap_or_default()
    }

    /// The indentation of parts relative to the bracket; two spaces if unknown.
    #[must_use]
    pub fn unit(&self) -> &str {
        let outer = self.close.rsplit('\n').next().unwrap_or_default();
        self.indent()
            .strip_prefix(outer)
            .filter(|unit| !unit.is_empty() && self.close.contains('\n'))
            .unwrap_or("  ")
    }
}

/// The whitespace after the comma.
#[must_use]
pub fn after_comma(between: &str) -> &str {
    between.split_once(',').map_or(between, |(_, after)| after)
}

/// Formats an object with these members (values as JSON).
#[must_use]
pub fn object(members: &[(&str, String)], layout: &Layout) -> String {
    let mut out = String::from("{");
    let Layout { open, before, colon, .. } = layout;
    for (index, (key, value)) in members.iter().enumerate() {
        let (comma, space) = if index > 0 { (",", before) } else { ("", open) };
        out.push_str(&format!("{comma}{space}{}{colon}{value}", quoted(key)));
    }
    out.push_str(&layout.close);
    out.push('}');
    out
}

/// Encodes a string as JSON.
#[must_use]
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
