//! Turns any text into one short line: without newlines, control characters and secrets, and never cut within a grapheme.

use secrets::mask;
use unicode_width::UnicodeWidthChar;

/// How many characters are at least searched for secrets before the text is cut: a secret may only be recognizable beyond the
/// cut. For longer lines it is twice the length kept.
const LOOKED_AT: usize = 400;

/// The longest prefix searched, in bytes.
const LONGEST: usize = 8 << 10;

/// Joins emoji into one.
const JOINER: char = '\u{200d}';

/// Returns `text` as one line of at most `most` characters, with runs of invisible characters as one space.
#[must_use]
pub fn line(text: &str, most: usize) -> String {
    cut(&mask(&folded(text, LOOKED_AT.max(2 * most))), most).to_owned()
}

/// The beginning of `text`, up to the end of the word at character `looked_at`, with single spaces.
fn folded(text: &str, looked_at: usize) -> String {
    let mut folded = String::new();
    let (mut length, mut is_apart) = (0, false);
    for character in text.chars() {
        if character.is_whitespace() || character.is_control() {
            if length >= looked_at {
                break;
            }
            is_apart = !folded.is_empty();
            continue;
        }
        if is_apart {
            folded.push(' ');
            length += 1;
            is_apart = false;
        }
        folded.push(character);
        length += 1;
        if folded.len() >= LONGEST {
            break;
        }
    }
    folded
}

/// The first `most` characters of `text`, or fewer to end at a grapheme boundary.
fn cut(text: &str, most: usize) -> &str {
    let Some((mut end, _)) = text.char_indices().nth(most) else { return whole(text) };
    let hard = end;
    while !is_boundary(text, end) {
        match text[..end].char_indices().next_back() {
            Some((before, _)) if before > 0 => end = before,
            // It is all one grapheme, so cut it anyway.
            _ => return whole(&text[..hard]),
        }
    }
    whole(&text[..end])
}

/// `text` without trailing spaces and joiners.
fn whole(text: &str) -> &str {
    text.trim_end_matches([' ', JOINER])
}

/// Whether there is a grapheme boundary at byte `at`.
fn is_boundary(text: &str, at: usize) -> bool {
    let (before, after) = (text[..at].chars().next_back(), text[at..].chars().next());
    let (Some(before), Some(after)) = (before, after) else { return true };
    if before == JOINER || after.width() == Some(0) || is_skin(after) {
        return false;
    }
    // A flag is two regional indicators.
    let letters = text[..at].chars().rev().take_while(|character| is_flag_letter(*character)).count();
    !(is_flag_letter(after) && letters % 2 == 1)
}

fn is_skin(character: char) -> bool {
    ('\u{1f3fb}'..='\u{1f3ff}').contains(&character)
}

fn is_flag_letter(character: char) -> bool {
    ('\u{1f1e6}'..='\u{1f1ff}').contains(&character)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_oneof, proptest};
    use proptest::strategy::Strategy;

    #[test]
    fn whitespace_and_control_characters_are_one_space() {
        let text = "\n a\t\tb\r\nc\0\u{1b}[31md \u{2028} e\u{a0}f \n";
        assert_eq!(line(text, 100), "a b c [31md e f");
    }

    #[test]
    fn a_long_line_uses_the_whole_limit() {
        assert_eq!(line(&"abc ".repeat(400), 500).len(), 499);
        assert_eq!(line(&"abc ".repeat(400), 99).len(), 99);
    }

    #[test]
    fn no_grapheme_is_cut() {
        for (text, most, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "abc"),
            ("ab cd", 3, "ab"),
            ("abe\u{301}d", 3, "ab"),
            ("abe\u{301}d", 4, "abe\u{301}"),
            ("a👩\u{200d}👧b", 2, "a"),
            ("a👩\u{200d}👧b", 3, "a"),
            ("a👩\u{200d}👧b", 4, "a👩\u{200d}👧"),
            ("a❤\u{fe0f}b", 2, "a"),
            ("a👍🏽b", 2, "a"),
            ("a🇩🇪🇫🇷", 2, "a"),
            ("a🇩🇪🇫🇷", 3, "a🇩🇪"),
            ("a🇩🇪🇫🇷", 4, "a🇩🇪"),
            ("ab\u{200d}", 5, "ab"),
        ] {
            assert_eq!(line(text, most), expected, "{text:?} {most}");
        }
        assert_eq!(line(&format!("a{}", "\u{301}".repeat(200)), 100).chars().count(), 100);
    }

    #[test]
    fn a_secret_across_the_cut_is_removed() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        for before in 0..120 {
            let line = line(&format!("{} {token} more", "x".repeat(before)), 100);
            assert!(!line.contains("ghp_"), "{line}");
        }
        let web = format!("eyJ{0}.eyJ{1}.{0}", "a".repeat(40), "b".repeat(3000));
        assert_eq!(line(&format!("get {web}"), 100), "get [removed]");
        assert_eq!(
            line("curl https://me:hunter2@example.com\n", 100),
            "curl https://me:[removed]@example.com"
        );
    }

    proptest! {
        #[test]
        fn any_line_is_short_and_has_no_control_characters(
            text in prop_oneof![any::<String>(), "(\\PC|[\\u{300}\\u{200d}\\u{fe0f}\n\t]){80,140}"].boxed(),
        ) {
            let line = line(&text, 100);
            assert!(line.chars().count() <= 100, "{line:?}");
            assert!(!line.chars().any(char::is_control), "{line:?}");
            assert_eq!(line, line.trim());
        }
    }
}
