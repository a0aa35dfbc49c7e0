//! All mistakes in the frontmatter: keys that aren't readable are left out one after another, until the rest is.

use serde_saphyr::{Error, Location, MergeKeyPolicy, Spanned};
use sys::error::Failure;
use sys::failure;

use super::FrontmatterError;
use super::keys::{Given, KEYS, Keys, accepted, position};
use super::syntax;
use crate::config::checked::Check;
use crate::config::file;
use crate::config::problem::Position;
use crate::config::spelling;

/// The most mistakes to look for.
const MAX_MISTAKES: usize = 64;

/// What is wrong, and with which keys.
#[derive(Debug, Default)]
pub(super) struct Mistakes {
    found: Vec<(Position, Failure)>,
    keys: Vec<String>,
}

impl Mistakes {
    pub(super) fn add(&mut self, key: &str, place: Position, what: Failure) {
        self.found.push((place, what));
        self.keys.push(key.to_owned());
    }

    /// Whether `key` is wrong.
    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|known| known == key)
    }

    /// The value of `key`, if it is given and valid.
    pub(super) fn checked<T: Check>(&mut self, key: &str, given: Given<T>) -> Option<T> {
        let Spanned { value, referenced, .. } = given.0?;
        let checked = T::check(value);
        checked.map_err(|own| self.add(key, position(referenced), own.after(format_args!("{key:?}: ")))).ok()
    }

    /// The error, in the order of the file; `None` without mistakes.
    pub(super) fn into_error(mut self) -> Option<FrontmatterError> {
        self.found.sort_by_key(|(place, _)| *place);
        let mut found = self.found.into_iter();
        let (place, what) = found.next()?;
        Some(FrontmatterError::Wrong { place, what, more: found.collect() })
    }
}

/// Parses the keys; those that aren't readable are left out.
pub(super) fn parse(yaml: &str) -> (Keys, Mistakes) {
    let blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let options = serde_saphyr::options! {
        // Settings are a few lines; anything much larger is a mistake or an attack, and should fail quickly.
        budget: serde_saphyr::budget! {
            max_depth: 8,
            max_nodes: 4_096,
            max_events: 16_384,
            max_aliases: 16,
            max_anchors: 16,
            max_documents: 1,
        },
        merge_keys: MergeKeyPolicy::Error,
        with_snippet: false,
    };
    let mut wrong = Mistakes::default();
    let mut lines: Vec<&str> = yaml.lines().collect();
    while wrong.found.len() < MAX_MISTAKES && !lines.iter().all(|line| blank(line)) {
        let text = lines.join("\n");
        let error = match serde_saphyr::from_str_with_options::<Keys>(&text, options.clone()) {
            Ok(keys) => return (keys, wrong),
            Err(error) => error,
        };
        let (place, what, is_of_key) = describe(&error, &text);
        // The YAML begins on the second line of the file.
        let line = usize::try_from(place.line).unwrap_or_default().saturating_sub(2);
        let key = if is_of_key { leave_out(&mut lines, line) } else { None };
        let what = match (error.without_snippet(), key) {
            (Error::SerdeUnknownField { expected, .. }, Some(key)) if expected.len() != KEYS.len() => {
                what.after(format_args!("{key:?}: "))
            }
            _ => what,
        };
        wrong.add(key.unwrap_or_default(), place, what);
        if key.is_none() {
            break;
        }
    }
    (Keys::default(), wrong)
}

/// Empties the lines of the key to which this line belongs, and returns the key.
fn leave_out<'a>(lines: &mut [&'a str], line: usize) -> Option<&'a str> {
    let is_key = |line: &str| line.contains(':') && !line.starts_with([' ', '\t', '#', '-']);
    let begin = (0..=line).rev().find(|line| lines.get(*line).is_some_and(|line| is_key(line)))?;
    let key = lines[begin].split_once(':').map(|(key, _)| key.trim())?;
    let end = (begin + 1..lines.len()).find(|line| is_key(lines[*line])).unwrap_or(lines.len());
    lines[begin..end].fill("");
    Some(key)
}

/// Where the mistake is, and what it is; also whether the other keys are readable without that one.
fn describe(error: &Error, yaml: &str) -> (Position, Failure, bool) {
    let location = error.location().unwrap_or(Location::UNKNOWN);
    let from_0 = |number: u64| usize::try_from(number.saturating_sub(1)).unwrap_or_default();
    let at = (from_0(location.line()), from_0(location.column()));
    let line = yaml.lines().nth(at.0).unwrap_or_default();
    let key = line.split_once(':').map(|(key, _)| key.trim()).filter(|key| KEYS.contains(key));
    let is_syntax = matches!(error.without_snippet(), Error::ExternalMessage { .. } | Error::Eof { .. });
    let is_of_key = !is_syntax || line.contains(": *");
    let message = error.without_snippet().to_string();
    let message = message.lines().next().unwrap_or_default();
    let message = message.split(" at line ").next().unwrap_or_default().trim_start_matches("error: ");
    if is_syntax && let Some(((line, column), what)) = syntax::describe(message, at, yaml) {
        let number = |from_0: usize| u32::try_from(from_0).unwrap_or(u32::MAX).saturating_add(1);
        // The YAML begins on the second line of the file.
        return (Position { line: number(line).saturating_add(1), column: number(column) }, what, false);
    }
    let what = match (error.without_snippet(), key) {
        (Error::SerdeUnknownField { field, expected, .. }, _) => {
            let is_top = expected.len() == KEYS.len();
            let hint = match spelling::nearest(field, expected) {
                _ if is_top && file::SETTINGS.contains(&&**field) => {
                    format!("write it as a table [{field}] in config.toml, which holds for all workspaces")
                }
                _ if is_top && file::KEYS.contains(&&**field) => {
                    "only the workspace's entry in config.json can have it".to_owned()
                }
                Some(meant) => format!("did you mean {meant:?}?"),
                // Those of the table that it is in.
                None => format!("use one of {}", expected.join(", ")),
            };
            failure!("unknown key {field:?}"; "{hint}")
        }
        (Error::DuplicateMappingKey { key, .. }, _) => {
            failure!("key {:?} is given twice", key.as_deref().unwrap_or_default(); "remove one of the two")
        }
        (_, Some(key)) if line.contains(": *") => {
            failure!("{key:?} begins with `*`, which YAML reads as an alias"; "put the value in quotes")
        }
        (_, Some(key)) if line.strip_prefix(key).is_some_and(is_joined) => {
            failure!("a space is missing after `{key}:`"; "add it")
        }
        (_, Some(key)) if is_syntax => {
            failure!(
                "{key:?} is not valid YAML ({message})";
                "check the quotes, brackets and indentation of its value and of the one before"
            )
        }
        (_, Some(key)) => failure!("{key:?} has a wrong value"; "{}", accepted(key)),
        (_, None) => failure!(
            "the frontmatter is not `key: value` lines of YAML ({message})";
            "correct it, or begin the text with `***` if no frontmatter is meant"
        ),
    };
    (position(location), what, is_of_key)
}

/// Whether a colon and a value without a space between them follow a key.
fn is_joined(after_key: &str) -> bool {
    after_key.strip_prefix(':').is_some_and(|value| value.starts_with(|letter: char| !letter.is_whitespace()))
}
