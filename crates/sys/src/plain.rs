//! Makes text from an agent safe for a terminal, without hiding any words in it.

use crate::text::is_hidden;

/// Removes escape sequences and [hidden characters](is_hidden) except line breaks and tabs. The contents of titles and
/// other commands with text stay, so that people see all of the text.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '\u{1b}' => rest = after_escape(rest),
            '\u{9b}' => rest = after_parameters(rest),
            '\n' | '\t' => plain.push(letter),
            // The separators of lines and paragraphs.
            '\u{2028}' | '\u{2029}' => plain.push('\n'),
            letter if is_hidden(letter) => {}
            letter => plain.push(letter),
        }
    }
    plain
}

/// Like [`plain`], on one line.
#[must_use]
pub fn plain_line(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn after_escape(mut rest: std::str::Chars<'_>) -> std::str::Chars<'_> {
    let before = rest.clone();
    match rest.next() {
        Some('[') => after_parameters(rest),
        // Starts a command with text, which stays.
        Some(']' | 'P' | 'X' | '^' | '_') => rest,
        Some(' '..='/') => {
            let mut last = rest.clone();
            let end = last.find(|letter| !matches!(letter, ' '..='/'));
            if end.is_some_and(|end| matches!(end, '0'..='~')) { last } else { before }
        }
        // The others are not assigned: the letter is text.
        Some(
            '6'..='9' | '=' | '>' | 'D' | 'E' | 'H' | 'M'..='O' | 'Z' | '\\' | 'c' | 'n' | 'o' | '|'..='~',
        ) => rest,
        _ => before,
    }
}

/// Skips the parameters of a control sequence and the letter that ends it, if there is one.
fn after_parameters(rest: std::str::Chars<'_>) -> std::str::Chars<'_> {
    let mut after = rest.clone();
    let end = after.find(|letter| !matches!(letter, ' '..='?'));
    if end.is_some_and(|end| matches!(end, '@'..='~')) { after } else { rest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escape_sequences_are_removed_and_no_word_is_lost() {
        for (text, expected) in [
            ("plain ä 日本 🙂\n\tx", "plain ä 日本 🙂\n\tx"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[2J\u{1b}[1;1Hgone", "gone"),
            ("\u{9b}31mred", "red"),
            ("a\u{1b}]0;title\u{7}b", "a0;titleb"),
            ("a\u{1b}]0;never ended", "a0;never ended"),
            ("a\u{1b}(Bb\u{1b}7c", "abc"),
            ("a\u{1b}", "a"),
            ("a \u{1b}test", "a test"),
            ("a\u{1b}]0;t\u{1b}\\b", "a0;tb"),
            ("a\u{1b}[31", "a31"),
            ("a\u{1b}[äb", "aäb"),
            ("over\rwritten\u{8}", "overwritten"),
            ("a\u{202e}b\u{200b}c\u{0}", "abc"),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
        assert_eq!(plain_line(" a\n\u{1b}[1m b\t"), "a b");
    }

    proptest! {
        #[test]
        fn no_control_character_is_left(text in "[\u{1b}\\[\\]0-9;m \u{7}\u{9b}a-zä\u{202e}\n]{0,40}") {
            let plain = plain(&text);
            prop_assert!(plain.chars().all(|letter| letter == '\n' || !is_hidden(letter)));
            prop_assert_eq!(super::plain(&plain), plain);
        }
    }
}
