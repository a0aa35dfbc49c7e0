//! Outside text on a screen. A [`Text`] has no character that controls the terminal, changes the direction or is
//! invisible, so drawing can't be misled by an agent.

use std::fmt;
use std::ops::Deref;
use sys::text::is_hidden;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many characters of a text in a list are kept: more than fit on a screen.
const MAX_CHARS: usize = 400;

/// How many characters of one line of a request or transcript are kept in one piece; longer lines are split.
const LINE: usize = 4000;

/// One line that is safe to show.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Box<str>);

impl Text {
    /// The beginning of `raw` on one line. Line breaks become spaces, hidden characters are escaped.
    #[must_use]
    pub fn new(raw: &str) -> Self {
        // Most text: there is nothing to escape.
        if raw.len() <= MAX_CHARS && raw.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Self(raw.trim().into());
        }
        let mut text = String::with_capacity(raw.len().min(MAX_CHARS));
        for (count, letter) in raw.trim().chars().enumerate() {
            if count == MAX_CHARS {
                text.push('…');
                break;
            }
            match letter {
                '\n' | '\r' | '\t' => text.push(' '),
                letter => push(&mut text, letter),
            }
        }
        Self(text.into())
    }

    /// All of `raw`, line by line, with nothing left out or hidden.
    #[must_use]
    pub fn lines(raw: &str) -> Vec<Self> {
        let mut lines = Vec::new();
        for line in raw.lines() {
            let (mut text, mut count) = (String::new(), 0);
            for letter in line.chars() {
                if count == LINE {
                    lines.push(Self(std::mem::take(&mut text).into()));
                    count = 0;
                }
                count += 1;
                match letter {
                    '\t' => text.push_str("    "),
                    letter => push(&mut text, letter),
                }
            }
            lines.push(Self(text.into()));
        }
        lines
    }
}

/// Appends `letter` so that it is visible. Joiners and variation selectors change the width in some terminals only.
fn push(text: &mut String, letter: char) {
    if is_hidden(letter) || matches!(letter, '\u{200d}' | '\u{fe00}'..='\u{fe0f}') {
        text.extend(letter.escape_unicode());
    } else {
        text.push(letter);
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.pad(&self.0)
    }
}

impl From<&str> for Text {
    fn from(raw: &str) -> Self {
        Self::new(raw)
    }
}

impl From<String> for Text {
    fn from(raw: String) -> Self {
        Self::new(&raw)
    }
}

/// The width of `text` in cells.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// The end of `text` that fits into `most` cells, with `…` if it was cut: paths differ at their ends.
#[must_use]
pub fn cut_start(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let (mut kept, mut used) = (Vec::new(), 1);
    for letter in text.chars().rev() {
        used += letter.width().unwrap_or_default();
        if used > most {
            break;
        }
        kept.push(letter);
    }
    if most > 0 {
        kept.push('…');
    }
    kept.into_iter().rev().collect()
}

/// `text` in rows of at most `most` cells, broken at spaces where possible.
#[must_use]
pub fn wrap(text: &str, most: usize) -> Vec<String> {
    let most = most.max(2);
    let mut rows = Vec::new();
    let (mut row, mut used, mut space) = (String::new(), 0, None);
    for letter in text.chars() {
        let wide = letter.width().unwrap_or_default();
        if used + wide > most {
            let rest = space.filter(|at| *at > 0).map(|at: usize| row.split_off(at)).unwrap_or_default();
            rows.push(std::mem::replace(&mut row, rest.trim_start().to_owned()));
            (used, space) = (width(&row), None);
        }
        if letter == ' ' {
            space = Some(row.len());
        }
        row.push(letter);
        used += wide;
    }
    rows.push(row);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hostile_text_is_escaped_and_bounded() {
        assert_eq!(&*Text::new(" a\u{1b}[2Jb\u{202e}c\nd\u{200d} "), "a\\u{1b}[2Jb\\u{202e}c d\\u{200d}");
        assert_eq!(Text::new(&"x".repeat(10 << 20)).chars().count(), MAX_CHARS + 1);
        let lines = Text::lines("a\tb\r\n\u{7}\n\nc");
        let lines: Vec<&str> = lines.iter().map(|line| &**line).collect();
        assert_eq!(lines, ["a    b", "\\u{7}", "", "c"]);
        assert_eq!(Text::lines(&"y".repeat(LINE * 2 + 1)).len(), 3);
    }

    #[test]
    fn text_is_cut_and_wrapped_at_the_width() {
        assert_eq!(cut_start("/home/you/site", 6), "…/site");
        let cut = |most| sys::text::cut_middle("my-website::nightly", most);
        assert_eq!(
            [0, 1, 2, 12, 18, 19].map(cut),
            ["", "…", "…y", "my-we…ightly", "my-websi…::nightly", "my-website::nightly"]
        );
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_asked(text in "\\PC{0,40}", most in 0..30usize) {
            prop_assert!(width(&sys::text::cut(&text, most)) <= most);
            prop_assert!(width(&cut_start(&text, most)) <= most);
            prop_assert!(width(&sys::text::cut_middle(&text, most)) <= most);
            for row in wrap(&text, most) {
                prop_assert!(width(&row) <= most.max(2) + 1, "{row:?}");
            }
        }
    }
}
