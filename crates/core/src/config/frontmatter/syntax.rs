//! Mistakes in YAML itself that its parser reports in its own words or in another place: tabs, quotes that are not
//! closed, and values that need quotes.

use sys::error::Failure;
use sys::failure;

/// A character in the YAML: its line and column, from 0.
pub(super) type Place = (usize, usize);

/// Where the mistake is and what it is; `None` if the parser's `message` about `place` is about something else.
pub(super) fn describe(message: &str, place: Place, yaml: &str) -> Option<(Place, Failure)> {
    let lines: Vec<&str> = yaml.lines().collect();
    if has_tab(message) {
        return Some((
            tab_near(place, &lines).unwrap_or(place),
            failure!("a tab is not allowed here"; "use spaces"),
        ));
    }
    if message == "unclosed quote" {
        return value(&lines, place.0).map(|(key, ..)| (place, unclosed(key)));
    }
    if message == "invalid indentation in multiline quoted scalar" {
        // The parser names the line after the quote.
        return (0..place.0).rev().find_map(|line| {
            let (key, column, value) = value(&lines, line)?;
            value.starts_with(['"', '\'']).then(|| ((line, column), unclosed(key)))
        });
    }
    let (key, column, value) = value(&lines, place.0)?;
    if let Some(reserved) =
        message.strip_prefix("unexpected character: `").and_then(|rest| rest.chars().next())
    {
        let is_first = column == place.1 && value.starts_with(reserved);
        let fault =
            failure!("{key:?} begins with `{reserved}`, which YAML reserves"; "put the value in quotes");
        return is_first.then_some((place, fault));
    }
    let is_colon = message.starts_with("mapping values are not allowed") && value.contains(": ");
    is_colon.then(|| (place, failure!("{key:?} contains `: `"; "put the value in quotes")))
}

fn unclosed(key: &str) -> Failure {
    failure!("{key:?}: a quote is not closed"; "add the same quote at the end of the value")
}

fn has_tab(message: &str) -> bool {
    message.split(|letter: char| !letter.is_alphabetic()).any(|word| ["tab", "tabs"].contains(&word))
}

/// The first tab in the line of a place or after it; the parser may name the character before or after a tab.
fn tab_near((line, column): Place, lines: &[&str]) -> Option<Place> {
    let tab = |line: usize, from: usize| {
        let found = lines.get(line)?.chars().skip(from).position(|letter| letter == '\t')?;
        Some((line, from + found))
    };
    tab(line, column.saturating_sub(1)).or_else(|| (line + 1..lines.len()).find_map(|line| tab(line, 0)))
}

/// The key in `line`, and the column and text of its value.
fn value<'a>(lines: &[&'a str], line: usize) -> Option<(&'a str, usize, &'a str)> {
    let line = lines.get(line)?;
    let (key, rest) = line.split_once(':')?;
    let value = rest.trim_start();
    let before = line.len() - value.len();
    let is_key = !key.trim().is_empty() && key.trim().chars().all(|letter| letter.is_ascii_alphanumeric());
    is_key.then(|| (key.trim(), line[..before].chars().count(), value))
}
