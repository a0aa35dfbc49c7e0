//! Joins what arrives in parts: a message's text, and calls that are announced again with more of their input.

use std::collections::VecDeque;

/// How many calls to remember.
const CALLS: usize = 64;

/// The pieces so far.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// The line of a message that is not complete.
    text: String,
    /// The last calls: id and how each was shown.
    calls: VecDeque<(String, String)>,
}

impl Pieces {
    /// Adds a piece of text. Returns the lines that it completes.
    pub(super) fn add(&mut self, text: &str) -> Option<String> {
        self.text.push_str(text);
        let end = self.text.rfind('\n')?;
        let rest = self.text.split_off(end + 1);
        let mut lines = std::mem::replace(&mut self.text, rest);
        lines.truncate(end);
        Some(lines)
    }

    /// Ends the message. Returns its last line.
    pub(super) fn end(&mut self) -> Option<String> {
        Some(std::mem::take(&mut self.text)).filter(|text| !text.is_empty())
    }

    /// Whether call `id` was not shown as `line` before.
    pub(super) fn is_new(&mut self, id: &str, line: &str) -> bool {
        if self.calls.iter().any(|(known, shown)| known == id && shown == line) {
            return false;
        }
        self.calls.truncate(CALLS - 1);
        self.calls.push_front((id.to_owned(), line.to_owned()));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shown_by_lines_and_a_call_once() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.add("one"), None);
        assert_eq!(pieces.add(" line\ntwo\n\nth"), Some("one line\ntwo\n".to_owned()));
        assert_eq!(pieces.add("ree"), None);
        assert_eq!(pieces.end(), Some("three".to_owned()));
        assert_eq!(pieces.end(), None);
        assert!(pieces.is_new("1", "Bash(ls)"));
        assert!(!pieces.is_new("1", "Bash(ls)"));
        assert!(pieces.is_new("1", "Bash(ls -l)"));
    }
}
