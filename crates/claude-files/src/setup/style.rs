//! Formats new JSON like the surrounding text: newlines, indentation, spaces.

use murmur_core::config::edit::layout::{Layout, after_comma, quoted};
use murmur_core::config::json::{Object, span};
use serde_json::Value;

/// JSON to write. Keys and leaves are already encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A string, a number, or existing JSON.
    Leaf(String),
    /// An array.
    List(Vec<Node>),
    /// An object.
    Object(Vec<(String, Node)>),
}

/// The usual order of a hook's keys; others follow.
const ORDER: [&str; 5] = ["matcher", "type", "command", "hooks", "timeout"];

impl Node {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Object(members) => {
                let rank = |key: &str| ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len());
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by(|(one, _), (other, _)| (rank(one), one).cmp(&(rank(other), other)));
                Self::Object(members.into_iter().map(|(key, value)| (quoted(key), Self::of(value))).collect())
            }
            Value::Array(elements) => Self::List(elements.iter().map(Self::of).collect()),
            leaf => Self::Leaf(leaf.to_string()),
        }
    }
}

/// A JSON format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Style {
    shape: Shape,
    /// The colon with surrounding whitespace.
    colon: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    /// One part per line.
    Lines { newline: &'static str, unit: String },
    /// All on one line: the padding inside braces, and the gap after commas.
    Line { pad: String, gap: String },
}

impl Style {
    /// The default style, with the newlines of `source`.
    pub(super) fn default_for(source: &str) -> Self {
        let newline = if source.contains("\r\n") { "\r\n" } else { "\n" };
        Self { shape: Shape::Lines { newline, unit: "  ".to_owned() }, colon: ": ".to_owned() }
    }

    /// The style of an object's layout.
    pub(super) fn of(layout: &Layout) -> Self {
        let shape = if layout.is_lines() {
            let newline = if layout.newline() == "\n" { "\n" } else { "\r\n" };
            Shape::Lines { newline, unit: layout.unit().to_owned() }
        } else {
            Shape::Line { pad: layout.open.clone(), gap: layout.before.clone() }
        };
        Self { shape, colon: layout.colon.clone() }
    }

    /// Renders `node`; `indent` is the indentation of its first line.
    pub(super) fn render(&self, node: &Node, indent: &str) -> String {
        let mut out = String::new();
        self.write(node, indent, &mut out);
        out
    }

    /// `"key": value`.
    pub(super) fn member(&self, key: &str, value: &Node, indent: &str) -> String {
        format!("{key}{}{}", self.colon, self.render(value, indent))
    }

    fn write(&self, node: &Node, indent: &str, out: &mut String) {
        match node {
            Node::Leaf(text) => out.push_str(text),
            Node::List(elements) => {
                let parts = elements.iter().map(|element| (None, element));
                self.enclose(["[", "]"], parts, indent, out);
            }
            Node::Object(members) => {
                let parts = members.iter().map(|(key, value)| (Some(key.as_str()), value));
                self.enclose(["{", "}"], parts, indent, out);
            }
        }
    }

    fn enclose<'a>(
        &self,
        [open, close]: [&str; 2],
        parts: impl ExactSizeIterator<Item = (Option<&'a str>, &'a Node)>,
        indent: &str,
        out: &mut String,
    ) {
        out.push_str(open);
        let is_empty = parts.len() == 0;
        let inner = match &self.shape {
            Shape::Lines { unit, .. } => format!("{indent}{unit}"),
            Shape::Line { .. } => indent.to_owned(),
        };
        for (index, (key, value)) in parts.enumerate() {
            if index > 0 {
                out.push(',');
            }
            match &self.shape {
                Shape::Lines { newline, .. } => out.extend([newline, inner.as_str()]),
                Shape::Line { gap, .. } if index > 0 => out.push_str(gap),
                Shape::Line { pad, .. } if open == "{" => out.push_str(pad),
                Shape::Line { .. } => {}
            }
            if let Some(key) = key {
                out.extend([key, self.colon.as_str()]);
            }
            self.write(value, &inner, out);
        }
        match &self.shape {
            _ if is_empty => {}
            Shape::Lines { newline, .. } => out.extend([newline, indent]),
            Shape::Line { pad, .. } if open == "{" => out.push_str(pad),
            Shape::Line { .. } => {}
        }
        out.push_str(close);
    }
}

/// The format for a new part of an object or array.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) style: Style,
    /// The whitespace after the comma.
    pub(super) gap: String,
    /// The indentation of the new part's line.
    pub(super) indent: String,
}

impl Slot {
    /// For another member of `object`, which is `text`. `None` if it is empty.
    pub(super) fn in_object(text: &str, object: &Object<'_>) -> Option<Self> {
        let layout = Layout::of_object(text, object)?;
        let style = Style::of(&layout);
        let indent = if layout.is_lines() { layout.indent() } else { line_indent(&layout.close) };
        Some(Self { style, indent: indent.to_owned(), gap: layout.before })
    }

    /// For another element of the array `list`, a part of `source`, with these elements; `outer` is the format of the
    /// enclosing object's members.
    pub(super) fn in_array(source: &str, list: &str, elements: &[&str], outer: &Self) -> Option<Self> {
        let last = elements.last()?;
        let layout = Object::parse(last).ok().and_then(|object| Layout::of_object(last, &object));
        let style = layout.as_ref().map_or_else(|| outer.style.clone(), Style::of);
        let start = span(source, last).start;
        let gap = match elements.len().checked_sub(2).and_then(|index| elements.get(index)) {
            Some(before) => source.get(span(source, before).end..start).map(after_comma),
            None => source.get(span(source, list).start + 1..start),
        };
        let mut gap = gap.unwrap_or_default().to_owned();
        let indent = if gap.contains('\n') {
            line_indent(&gap).to_owned()
        } else {
            layout.map_or_else(|| outer.indent.clone(), |layout| line_indent(&layout.close).to_owned())
        };
        // A space after colons implies one after commas.
        if gap.is_empty() && style.colon.ends_with(' ') {
            " ".clone_into(&mut gap);
        }
        Some(Self { style, gap, indent })
    }
}

/// The text after the last newline.
fn line_indent(space: &str) -> &str {
    space.rsplit_once('\n').map_or("", |(_, indent)| indent)
}
