//! Turns any text into one short line: without newlines, control characters and secrets. A cut line ends with `…`, and
//! is never cut within a grapheme.

use secrets::mask;
use sys::text::shown;
use unicode_width::UnicodeWidthChar;

/// How many characters are at least searched for secrets before the text is cut: a secret may only be recognizable
/// beyond the cut. For longer lines it is twice the length kept.
const LOOKED_AT: usize = 400;

/// The longest prefix searched, in bytes.
const MAX_PREFIX: usize = 8 << 10;

/// The most characters of a code in an escape: `{10ffff`.
const MAX_CODE: usize = 7;

/// Joins emoji into one.
const JOINER: char = '\u{200d}';

/// Returns `text` as one line of at most `most` characters, with runs of invisible characters as one space.
#[must_use]
pub fn line(text: &str, most: usize) -> String {
    let (folded, is_whole) = folded(text, LOOKED_AT.max(2 * most));
    shortened(whole(&mask(&folded)), is_whole, most)
}

/// Returns `text` as one line of at most `most` characters that shows all of it: line breaks, tabs and hidden
/// characters are escaped, and spaces are kept.
#[must_use]
pub fn exact(text: &str, most: usize) -> String {
    let text = text.trim_matches(is_margin);
    let begin = beginning(text, LOOKED_AT.max(2 * most));
    shortened(&escaped(&mask(begin)), begin.len() == text.len(), most)
}

fn is_margin(character: char) -> bool {
    matches!(character, ' ' | '\n' | '\t')
}

fn escaped(text: &str) -> String {
    shown(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// The beginning of `text`, up to the end of the word at character `looked_at`.
fn beginning(text: &str, looked_at: usize) -> &str {
    let end = text.char_indices().enumerate().find(|(length, (at, character))| {
        *at >= MAX_PREFIX || *length >= looked_at && (character.is_whitespace() || character.is_control())
    });
    end.map_or(text, |(_, (at, _))| &text[..at])
}

/// The beginning of `text`, up to the end of the word at character `looked_at`, with single spaces; and whether it is
/// all.
fn folded(text: &str, looked_at: usize) -> (String, bool) {
    let is_space = |character: char| character.is_whitespace() || character.is_control();
    let mut folded = String::new();
    let (mut length, mut is_apart) = (0, false);
    for (at, character) in text.char_indices() {
        if is_space(character) {
            if length >= looked_at {
                return (folded, text[at..].chars().all(is_space));
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
        if folded.len() >= MAX_PREFIX {
            let rest = &text[at + character.len_utf8()..];
            return (folded, rest.chars().all(is_space));
        }
    }
    (folded, true)
}

/// `text`, or its beginning and `…` if it is too long or not whole.
fn shortened(text: &str, is_whole: bool, most: usize) -> String {
    if is_whole && text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    format!("{}…", without_half_escape(cut(text, most.saturating_sub(1))))
}

/// `text` without the beginning of an escape at its end.
fn without_half_escape(text: &str) -> &str {
    let Some(at) = text.rfind('\\') else { return text };
    let escape = &text[at + 1..];
    let is_half = escape.is_empty()
        || escape.strip_prefix('u').is_some_and(|rest| {
            rest.len() <= MAX_CODE && (rest.is_empty() || rest.starts_with('{') && !rest.contains('}'))
        });
    if is_half { whole(&text[..at]) } else { text }
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
        let length = |most| line(&"abc ".repeat(400), most).chars().count();
        assert_eq!((length(500), length(99)), (500, 99));
        assert_eq!(line(&format!("{}\n", "a".repeat(99)), 99), "a".repeat(99));
    }

    #[test]
    fn no_grapheme_is_cut() {
        for (text, most, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("ab cd", 3, "ab…"),
            ("a bcd", 3, "a…"),
            ("abe\u{301}d", 4, "ab…"),
            ("abe\u{301}df", 5, "abe\u{301}…"),
            ("a👩\u{200d}👧b", 3, "a…"),
            ("a👩\u{200d}👧b", 4, "a…"),
            ("a👩\u{200d}👧bc", 5, "a👩\u{200d}👧…"),
            ("a❤\u{fe0f}b", 3, "a…"),
            ("a👍🏽b", 3, "a…"),
            ("a🇩🇪🇫🇷", 3, "a…"),
            ("a🇩🇪🇫🇷", 4, "a🇩🇪…"),
            ("a🇩🇪🇫🇷", 5, "a🇩🇪🇫🇷"),
            ("ab\u{200d}", 5, "ab"),
        ] {
            assert_eq!(line(text, most), expected, "{text:?} {most}");
        }
        assert_eq!(line(&format!("a{}", "\u{301}".repeat(200)), 100).chars().count(), 100);
    }

    #[test]
    fn an_exact_line_hides_nothing() {
        assert_eq!(
            exact(" git push\n# hi  \u{1b}[2K\u{202e}\tü\u{200b}\n", 100),
            "git push\\n# hi  \\u{1b}[2K\\u{202e}\\tü\\u{200b}"
        );
        for (text, most, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("a\nbc", 4, "a\\n…"),
            ("a\nbc", 3, "a…"),
            ("a\u{1b}bc", 7, "a…"),
            ("a\u{1b}bc", 9, "a\\u{1b}bc"),
            ("a\u{1b}bcd", 8, "a\\u{1b}…"),
        ] {
            assert_eq!(exact(text, most), expected, "{text:?} {most}");
        }
        let masked = format!("export TOKEN={}\necho hi", "a1B2".repeat(2250));
        assert_eq!(exact(&masked, 100), "export TOKEN=[removed]…");
    }

    #[test]
    fn a_secret_across_the_cut_is_removed() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        for before in 0..120 {
            let text = format!("{} {token} more", "x".repeat(before));
            assert!(!line(&text, 100).contains("ghp_"), "{text}");
            assert!(!exact(&text, 100).contains("ghp_"), "{text}");
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
            for line in [line(&text, 100), exact(&text, 100)] {
                assert!(line.chars().count() <= 100, "{line:?}");
                assert!(!line.chars().any(char::is_control), "{line:?}");
            }
            assert_eq!(line(&text, 100), line(&text, 100).trim());
        }
    }
}
