//! TOML read strictly: text in; a value, or a problem with its place, out.

use crate::error::Failure;
use crate::failure;
use std::path::Path;

use serde::de::DeserializeOwned;
use toml::Spanned;

use super::checked::Checked;
use super::problem::{Place, Problem};
use super::spelling;

/// The value that `text` is. A byte order mark is skipped; `file` is for messages.
///
/// # Errors
/// When it is not UTF-8, not TOML, or has a key or a value that is not known.
pub fn read<T: DeserializeOwned>(bytes: &[u8], file: &Path) -> Result<T, Problem> {
    let text = text_of(bytes, file)?;
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(text.len(), |span| span.start);
        Problem::at(file, Place::of(text, start), described(error.message()))
    })
}

/// The value that was `given` in `text`, if one was and its own rules accept it.
///
/// # Errors
/// When they don't, with its place.
pub(super) fn checked<T>(
    given: Option<Spanned<Checked<T>>>,
    text: &[u8],
    file: &Path,
) -> Result<Option<T>, Problem> {
    let Some(given) = given else { return Ok(None) };
    let start = given.span().start;
    let wrong = |own| Ok::<_, Problem>(Problem::at(file, Place::of(text_of(text, file)?, start), own));
    match given.into_inner().0 {
        Ok(value) => Ok(Some(value)),
        Err(own) => Err(wrong(own)?),
    }
}

/// The text of a file, without a byte order mark.
///
/// # Errors
/// When it is not UTF-8.
pub fn text_of<'a>(bytes: &'a [u8], file: &Path) -> Result<&'a str, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let start = String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default());
        let what = failure!("byte {} is not UTF-8", error.valid_up_to(); "save the file as UTF-8");
        Problem::at(file, Place::of(&start, start.len()), what)
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// What the parser says, in our words where it is about a key, and with what to do.
fn described(message: &str) -> Failure {
    let line = message.lines().collect::<Vec<_>>().join(" ");
    let words: Vec<&str> = line.split('`').skip(1).step_by(2).collect();
    match words.as_slice() {
        [found, known @ ..] if line.starts_with("unknown field") => {
            let hint = spelling::nearest(found, known).map_or_else(
                || format!("known are {}", known.join(", ")),
                |meant| format!("did you mean {meant:?}?"),
            );
            failure!("key {found:?} is not known"; "{hint}")
        }
        [found, known @ ..] if line.starts_with("unknown variant") => {
            let known: Vec<String> = known.iter().map(|word| format!("{word:?}")).collect();
            failure!("{found:?} is not known"; "write {}", known.join(" or "))
        }
        [missing] if line.starts_with("missing field") => {
            failure!("{missing:?} is missing"; "write it, or remove the entry")
        }
        _ => failure!("{line}"; "correct it there or just before"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Hinted;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Settings {
        #[serde(rename = "word")]
        _word: Option<Word>,
        #[serde(rename = "count")]
        _count: u8,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Word {
        Yes,
        No,
    }

    #[test]
    fn an_error_names_file_line_and_column_and_says_what_to_do() {
        for (text, expected) in [
            ("count = 1\nwrod = 'yes'", "/p.toml:2:1: key \"wrod\" is not known; did you mean \"word\"?"),
            ("count = 1\nzzz = 1", "/p.toml:2:1: key \"zzz\" is not known; known are word, count"),
            ("count = 1\nword = 'maybe'", "/p.toml:2:8: \"maybe\" is not known; write \"yes\" or \"no\""),
            ("word = 'yes'", "/p.toml:1:1: \"count\" is missing; write it, or remove the entry"),
            ("count = 1\ncount = 2", "/p.toml:2:1: duplicate key; correct it there or just before"),
            ("# ä\n\"ä\" x", "/p.toml:2:5: key with no value, expected `=`; correct it there or just before"),
        ] {
            let error = read::<Settings>(text.as_bytes(), Path::new("/p.toml")).unwrap_err();
            assert_eq!(error.line(), expected);
        }
        let error = read::<Settings>(b"a\n\xff", Path::new("/p.toml")).unwrap_err();
        assert_eq!(error.line(), "/p.toml:2:1: byte 2 is not UTF-8; save the file as UTF-8");
        assert!(read::<Settings>("\u{feff}count = 1".as_bytes(), Path::new("/p.toml")).is_ok());
    }
}
