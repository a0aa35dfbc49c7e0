//! Shell quoting, for commands that people copy and for those that murmur runs in a shell.
//!
//! Input: any bytes. Output: a word that a shell reads as exactly these bytes. Every name and path in a suggested
//! command is quoted here; tests/it/hints.rs checks this.

use super::text::is_invisible;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

/// Quotes `text` as one word, if necessary. Control characters and invisible characters are escaped with `$'…'`,
/// so that the word can be copied from a screen.
#[must_use]
pub fn word(text: impl AsRef<OsStr>) -> String {
    let bytes = text.as_ref().as_encoded_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && text.chars().all(is_bare) => text.to_owned(),
        Ok(text) if !text.chars().any(is_unseen) => single_quoted(text),
        _ => spelled_out(bytes),
    }
}

/// Quotes `path` as one word that no command mistakes for an option.
#[must_use]
pub fn path(path: &Path) -> String {
    if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        word(Path::new(".").join(path))
    } else {
        word(path)
    }
}

/// Quotes `text` as one word that no command mistakes for an option.
#[must_use]
pub fn argument(text: &str) -> String {
    if text.starts_with('-') { format!("-- {}", word(text)) } else { word(text) }
}

/// The option `name` with `value`, which may look like another option.
#[must_use]
pub fn option(name: &str, value: &str) -> String {
    format!("{name}{}{}", if value.starts_with('-') { '=' } else { ' ' }, word(value))
}

/// Puts `text` in single quotes.
#[must_use]
pub fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn is_bare(letter: char) -> bool {
    letter.is_alphanumeric() || "/._-+@:,%=".contains(letter)
}

fn is_unseen(letter: char) -> bool {
    is_invisible(letter) || (letter.is_whitespace() && letter != ' ')
}

fn spelled_out(bytes: &[u8]) -> String {
    let mut word = "$'".to_owned();
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\n' => word.push_str("\\n"),
                '\t' => word.push_str("\\t"),
                '\r' => word.push_str("\\r"),
                '\'' | '\\' => word.extend(['\\', letter]),
                letter if is_unseen(letter) => {
                    // Always the maximum number of digits that the shell reads, so that a digit after them stays a
                    // character.
                    let _never = match u32::from(letter) {
                        code @ ..=0x7f => write!(word, "\\{code:03o}"),
                        code @ ..=0xffff => write!(word, "\\u{code:04x}"),
                        code => write!(word, "\\U{code:08x}"),
                    };
                }
                letter => word.push(letter),
            }
        }
        for byte in chunk.invalid() {
            let _never = write!(word, "\\{byte:03o}");
        }
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_only_if_necessary() {
        for (text, expected) in [
            ("/home/me/site-1", "/home/me/site-1"),
            ("/größe", "/größe"),
            ("", "''"),
            ("~", "'~'"),
            ("a b'c;d", r"'a b'\''c;d'"),
            ("$(x)", "'$(x)'"),
            ("*", "'*'"),
            ("#a", "'#a'"),
            ("a\nb\tc\rd", r"$'a\nb\tc\rd'"),
            ("\u{1b}[31m'\\", r"$'\033[31m\'\\'"),
            ("\u{1b}1", r"$'\0331'"),
            ("a\u{202e}b", r"$'a\u202eb'"),
            ("a\u{e0001}b", r"$'a\U000e0001b'"),
            ("a\u{a0}b", r"$'a\u00a0b'"),
        ] {
            assert_eq!(word(text), expected);
        }
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_not_utf_8_are_escaped() {
        use std::os::unix::ffi::OsStrExt;

        assert_eq!(word(OsStr::from_bytes(b"a\xffb")), r"$'a\377b'");
    }

    #[test]
    fn a_name_is_not_mistaken_for_an_option() {
        if cfg!(unix) {
            assert_eq!(path(Path::new("-p")), "./-p");
            assert_eq!(path(Path::new("-a b")), "'./-a b'");
        }
        assert_eq!(path(Path::new("/-a")), "/-a");
        assert_eq!((argument("a b"), argument("--all")), ("'a b'".to_owned(), "-- --all".to_owned()));
        assert_eq!(option("--name", "a b"), "--name 'a b'");
        assert_eq!(option("--name", "--all"), "--name=--all");
    }
}
