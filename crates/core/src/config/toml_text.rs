//! Strict TOML: parses text into a value, or into a problem with its position.

mod mistakes;
mod wrong_type;

use std::path::Path;
use sys::error::Failure;
use sys::failure;

pub use mistakes::every;
pub(super) use mistakes::{names, problem_in};
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::checked::Check;
use super::problem::{Position, Problem};
use super::spelling;

/// Parses `bytes`, skipping a byte order mark; `file` is for messages.
pub fn read<T: DeserializeOwned>(bytes: &[u8], file: &Path) -> Result<T, Problem> {
    let text = text_of(bytes, file)?;
    toml::from_str(text).map_err(|error| problem_of(&error, text, file))
}

/// Parses one of the inner `tables` of a text, without its key `type`. serde's own tagged enums lose the position of an
/// error.
pub(super) fn read_variant<T: DeserializeOwned>(
    bytes: &[u8],
    file: &Path,
    tables: &[&str],
) -> Result<T, Problem> {
    let text = text_of(bytes, file)?;
    let problem = |error| problem_of(&error, text, file);
    let root = DeTable::parse(text).map_err(problem)?;
    let mut table = Spanned::new(root.span(), DeValue::Table(root.into_inner()));
    for name in tables {
        let DeValue::Table(outer) = table.get_mut() else { break };
        let Some(inner) = outer.remove(*name) else { break };
        table = inner;
    }
    if let DeValue::Table(keys) = table.get_mut() {
        keys.remove("type");
    }
    T::deserialize(ValueDeserializer::from(table)).map_err(problem)
}

fn problem_of(error: &toml::de::Error, text: &str, file: &Path) -> Problem {
    let start = error.span().map_or(text.len(), |span| span.start);
    match wrong_type::described(text, start, error.message()) {
        Some((start, wrong)) => Problem::at(file, Position::of(text, start), wrong),
        None => named(text, file, start, described(error.message())),
    }
}

/// The value that was `given` in `text`, if any, or the rule that it violates, with its position.
pub(super) fn checked<T: Check>(
    given: Option<Spanned<T::Raw>>,
    text: &[u8],
    file: &Path,
) -> Result<Option<T>, Problem> {
    let Some(given) = given else { return Ok(None) };
    let start = given.span().start;
    T::check(given.into_inner()).map(Some).map_err(|wrong| problem_at(text, file, start, wrong))
}

/// The problem `wrong` at byte `start` of `text`.
pub(super) fn problem_at(text: &[u8], file: &Path, start: usize, wrong: Failure) -> Problem {
    match text_of(text, file) {
        Ok(text) => named(text, file, start, wrong),
        Err(problem) => problem,
    }
}

/// The problem `wrong` at byte `start`, with the key before it, if it is about a value.
fn named(text: &str, file: &Path, start: usize, wrong: Failure) -> Problem {
    let message = wrong.to_string();
    let is_named =
        |key: &&str| message.contains(&format!("{key:?}")) || message.starts_with(&format!("{key} "));
    let key = key_before(text, start).or_else(|| mistakes::key_at(text, start));
    let wrong = match key.filter(|key| !is_named(key)) {
        Some(key) => wrong.after(format_args!("{key:?}: ")),
        None => wrong,
    };
    Problem::at(file, Position::of(text, start), wrong)
}

/// The key of the value at byte `start`, if it begins right after the key.
fn key_before(text: &str, start: usize) -> Option<&str> {
    let before = text.get(..start)?;
    let line = before.rsplit('\n').next()?.trim_end().strip_suffix('=')?.trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    Some(line).filter(|key| !key.is_empty() && key.chars().all(is_plain))
}

/// The text of a file, without a byte order mark.
pub fn text_of<'a>(bytes: &'a [u8], file: &Path) -> Result<&'a str, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let start = String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default());
        let what = failure!("byte {} is not UTF-8", error.valid_up_to(); "save the file as UTF-8");
        Problem::at(file, Position::of(&start, start.len()), what)
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Rephrases the parser's message where it is about a key, and adds a hint.
fn described(message: &str) -> Failure {
    let line = message.lines().collect::<Vec<_>>().join(" ");
    let line = line.trim_end_matches(", expected nothing");
    let words: Vec<&str> = line.split('`').skip(1).step_by(2).collect();
    match words.as_slice() {
        [found, known @ ..] if line.starts_with("unknown field") => {
            let hint = spelling::nearest(found, known).map_or_else(
                || format!("use one of {}", known.join(", ")),
                |meant| format!("did you mean {meant:?}?"),
            );
            failure!("unknown key {found:?}"; "{hint}")
        }
        [found, known @ ..] if line.starts_with("unknown variant") => {
            let known: Vec<String> = known.iter().map(|word| format!("{word:?}")).collect();
            let known = match known.split_last() {
                Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
                _ => known.concat(),
            };
            failure!("{found:?} is not known"; "write {known}")
        }
        [missing] if line.starts_with("missing field") => {
            failure!("{missing:?} is missing"; "add this key, or remove the entry")
        }
        _ if line == "duplicate key" => failure!("the key is given twice"; "remove one of the two"),
        _ => of_syntax(line)
            .unwrap_or_else(|| failure!("not valid TOML: {line}"; "correct it there or just before")),
    }
}

/// Rephrases the parser's message about a missing character.
fn of_syntax(line: &str) -> Option<Failure> {
    let (what, expected) = line.split_once(", expected ")?;
    let missing = expected.strip_prefix('`')?.strip_suffix('`')?;
    Some(match what {
        "key with no value" => failure!("the key has no value"; "write \"=\" and a value after it"),
        _ if what.ends_with("string") => failure!("the string is not closed"; "write {missing} at its end"),
        _ => match what.strip_prefix("unclosed ") {
            Some(what) => failure!("the {what} is not closed"; "write {missing} at its end"),
            None => failure!("{missing} is missing"; "write it there or just before"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::error::Hinted;

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
            ("count = 1\nwrod = 'yes'", "/p.toml:2:1: unknown key \"wrod\"; did you mean \"word\"?"),
            ("count = 1\nzzz = 1", "/p.toml:2:1: unknown key \"zzz\"; use one of word, count"),
            (
                "count = 1\nword = 'maybe'",
                "/p.toml:2:8: \"word\": \"maybe\" is not known; write \"yes\" or \"no\"",
            ),
            ("word = 'yes'", "/p.toml:1:1: \"count\" is missing; add this key, or remove the entry"),
            ("count = 1\ncount = 2", "/p.toml:2:1: the key is given twice; remove one of the two"),
            ("count = [1", "/p.toml:1:11: the array is not closed; write ] at its end"),
            ("[count", "/p.toml:1:7: the table is not closed; write ] at its end"),
            ("word = \"yes", "/p.toml:1:12: the string is not closed; write \" at its end"),
            (
                "count = 01",
                "/p.toml:1:9: \"count\": not valid TOML: unexpected leading zero; correct it there or just before",
            ),
            ("count = true", "/p.toml:1:9: \"count\" cannot be a boolean; write a whole number"),
            ("# ä\n\"ä\" x", "/p.toml:2:5: the key has no value; write \"=\" and a value after it"),
        ] {
            let error = read::<Settings>(text.as_bytes(), Path::new("/p.toml")).unwrap_err();
            assert_eq!(error.line(), expected);
        }
        let error = read::<Settings>(b"a\n\xff", Path::new("/p.toml")).unwrap_err();
        assert_eq!(error.line(), "/p.toml:2:1: byte 2 is not UTF-8; save the file as UTF-8");
        assert!(read::<Settings>("\u{feff}count = 1".as_bytes(), Path::new("/p.toml")).is_ok());
    }
}
