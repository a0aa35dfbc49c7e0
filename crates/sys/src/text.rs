//! Making outside text safe to display: control characters and invisible characters are escaped, and lookalike
//! letters are reported.

use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The escape sequences that murmur's own output may contain: bold, dim, colors and reset.
const STYLES: [&str; 11] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[30m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[34m",
    "\u{1b}[35m",
    "\u{1b}[36m",
    "\u{1b}[37m",
];

/// Whether `letter` controls a terminal, changes the text direction or is invisible.
#[must_use]
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Whether `letter` is not a visible character by itself: hidden, a joiner, or a variation selector.
#[must_use]
pub fn is_invisible(letter: char) -> bool {
    is_hidden(letter) || matches!(letter, '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Escapes hidden characters as `\u{..}`, but keeps line breaks and tabs.
#[must_use]
pub fn shown(text: &str) -> String {
    // Fast path: most text is plain.
    if text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~')) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_hidden(letter) && !matches!(letter, '\n' | '\t') {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// The same on one line: line breaks and tabs are escaped, too.
#[must_use]
pub fn shown_line(text: &str) -> String {
    shown(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// Escapes everything on one line that is not a visible character by itself, including joiners and variation
/// selectors.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => line.push_str("\\n"),
            '\t' => line.push_str("\\t"),
            letter if is_invisible(letter) => line.extend(letter.escape_unicode()),
            letter => line.push(letter),
        }
    }
    line
}

/// How many characters tell each of `texts` from the others.
#[must_use]
pub fn distinct(mut texts: Vec<String>) -> usize {
    texts.sort_unstable();
    texts.dedup();
    let same = |one: &str, other: &str| one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    texts.windows(2).map(|pair| same(&pair[0], &pair[1]) + 1).max().unwrap_or_default()
}

/// The beginning of `text` that fits into `most` columns, with `…` if it was cut.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_owned();
    }
    let (mut kept, mut used) = (String::new(), 1);
    for letter in text.chars() {
        used += letter.width().unwrap_or_default();
        if used > most {
            break;
        }
        kept.push(letter);
    }
    if most > 0 {
        kept.push('…');
    }
    kept
}

/// Both ends of `text` that fit into `most` columns, with `…` between them if it was cut: names may differ at either
/// end.
#[must_use]
pub fn cut_middle(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_owned();
    }
    let (mut end, mut left) = (text.len(), most / 2);
    for (at, letter) in text.char_indices().rev() {
        let Some(rest) = left.checked_sub(letter.width().unwrap_or_default()) else { break };
        (end, left) = (at, rest);
    }
    format!("{}{}", cut(text, most - text[end..].width()), &text[end..])
}

/// A time in milliseconds, for people: `34ms` or `1.2s`; `None` from a minute on.
#[must_use]
pub fn below_a_minute(ms: u64) -> Option<String> {
    match ms {
        0..1000 => Some(format!("{ms}ms")),
        1000..59_950 => Some(format!("{:.1}s", ms as f64 / 1000.0)),
        _ => None,
    }
}

/// A writer to a terminal that passes everything through [`shown`].
#[derive(Debug)]
pub struct Shown<W>(pub W);

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Formatting writes whole characters.
        self.0.write_all(shown(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The same for output with murmur's own styles, which it keeps. It can't tell them from those in outside text: pass
/// that through [`shown_line`], [`shown`] or [`plain_line`](crate::plain::plain_line) first.
#[derive(Debug)]
pub struct Styled<W>(pub W);

impl<W: Write> Write for Styled<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Formatting writes whole characters.
        let text = String::from_utf8_lossy(bytes);
        let mut rest = &*text;
        while let Some(at) = rest.find('\u{1b}') {
            self.0.write_all(shown(&rest[..at]).as_bytes())?;
            let style = STYLES.into_iter().find(|style| rest[at..].starts_with(style)).unwrap_or_default();
            self.0.write_all(style.as_bytes())?;
            rest = &rest[at + style.len()..];
            if style.is_empty() {
                self.0.write_all(shown(&rest[..1]).as_bytes())?;
                rest = &rest[1..];
            }
        }
        self.0.write_all(shown(rest).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The words of `text` that mix Latin letters with letters of another script or with variant forms of Latin
/// letters, each with those letters.
#[must_use]
pub fn lookalikes(text: &str) -> Vec<(String, Vec<char>)> {
    let mut found: Vec<(String, Vec<char>)> = Vec::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric()) {
        let is_latin = word.contains(|letter: char| letter.is_ascii_alphanumeric());
        let others: Vec<char> = word
            .chars()
            .filter(|letter| is_form(*letter) || is_latin && is_of_another_script(*letter))
            .collect();
        if !others.is_empty() && found.iter().all(|(known, _)| known != word) {
            found.push((word.to_owned(), others));
        }
    }
    found
}

/// Scripts with letters that look Latin: Greek, Cyrillic, Armenian, Cherokee, Lisu.
fn is_of_another_script(letter: char) -> bool {
    matches!(letter, '\u{370}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}' | '\u{1c80}'..='\u{1c8f}' | '\u{2de0}'..='\u{2dff}'
        | '\u{a4d0}'..='\u{a4ff}' | '\u{a640}'..='\u{a69f}' | '\u{ab70}'..='\u{abbf}')
}

/// Variant forms of Latin letters: Roman numerals, enclosed, full-width, mathematical.
fn is_form(letter: char) -> bool {
    matches!(letter, '\u{2160}'..='\u{2188}' | '\u{249c}'..='\u{24e9}' | '\u{ff10}'..='\u{ff5a}'
        | '\u{1d400}'..='\u{1d7ff}' | '\u{1f130}'..='\u{1f189}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut out = Styled(Vec::new());
        out.write_all(text.as_bytes()).unwrap();
        String::from_utf8(out.0).unwrap()
    }

    #[test]
    fn styles_are_escaped_where_we_use_none() {
        let mut out = Shown(Vec::new());
        out.write_all("a\u{1b}[31mb\u{1b}[0m\n\tc\u{202e}".as_bytes()).unwrap();
        assert_eq!(String::from_utf8(out.0).unwrap(), "a\\u{1b}[31mb\\u{1b}[0m\n\tc\\u{202e}");
    }

    #[test]
    fn control_characters_are_escaped_and_our_own_styles_are_kept() {
        assert_eq!(written("a\u{1b}[1mb\u{1b}[0m\n\tc"), "a\u{1b}[1mb\u{1b}[0m\n\tc");
        assert_eq!(written("\u{1b}[8mx\u{1b}]0;t\u{7}"), "\\u{1b}[8mx\\u{1b}]0;t\\u{7}");
        assert_eq!(written("a\u{202e}b\u{200b}\rc\u{9b}2J"), "a\\u{202e}b\\u{200b}\\u{d}c\\u{9b}2J");
        assert_eq!(written("ä 日本 👩\u{200d}🔧 ✔\u{fe0f}"), "ä 日本 👩\u{200d}🔧 ✔\u{fe0f}");
        assert_eq!(written("\u{1b}"), "\\u{1b}");
    }

    #[test]
    fn nothing_is_hidden_on_one_line() {
        assert_eq!(
            visible("a\u{1b}[2K\u{202e}b\u{200b}ü\n\t\u{200d}"),
            "a\\u{1b}[2K\\u{202e}b\\u{200b}ü\\n\\t\\u{200d}"
        );
    }

    #[test]
    fn lookalike_letters_are_found_but_other_languages_are_not() {
        let word = |text: &str| lookalikes(text).into_iter().map(|(word, _)| word).collect::<Vec<_>>();
        assert_eq!(lookalikes("sud\u{43e} ls"), [("sud\u{43e}".to_owned(), vec!['\u{43e}'])]);
        assert_eq!(word("\u{ff53}udo \u{1d5cc}"), ["\u{ff53}udo", "\u{1d5cc}"]);
        assert_eq!(word("привет мир, Ελλάδα, 日本, für, naïve, ls -la"), Vec::<String>::new());
    }

    #[test]
    fn text_is_cut_at_its_width() {
        for (text, most, expected) in
            [("日本語", 5, "日本…"), ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("abc", 0, "")]
        {
            assert_eq!(cut(text, most), expected, "{text} {most}");
        }
    }

    #[test]
    fn times_below_a_minute_are_rounded() {
        let shown = [0, 340, 999, 1_949, 59_949, 59_950].map(below_a_minute);
        let expected = ["0ms", "340ms", "999ms", "1.9s", "59.9s"].map(|time| Some(time.to_owned()));
        assert_eq!(shown[..5], expected);
        assert_eq!(shown[5], None);
    }
}
