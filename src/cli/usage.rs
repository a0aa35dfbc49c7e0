//! Wrong usage, in murmur's own words: what was typed, what is accepted, and the nearest to it.
//!
//! In: clap's error. Out: what failed and a hint, shown as every other error is.

use super::complaint;
use crate::error::Failure;
use crate::failure;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error;

/// What was wrong with the arguments; `None` for help and versions, which are answers.
pub(super) fn told(error: &clap::Error) -> Option<Failure> {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return None;
    }
    let all = rendered(error);
    let see = format!("see: {} --help", command(&all));
    // One of our own parsers may have said it all.
    if let Some(own) = error.source().and_then(|source| source.downcast_ref::<Failure>()) {
        return Some(own.clone().or_hint(Some(see)));
    }
    let hint = error.source().and_then(complaint::hint);
    let what = match (error.kind(), text(error, ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(typed)) => failure!("no command {typed:?}"),
        _ => Failure::new(said(&all)),
    };
    let accepted = list(error, ContextKind::ValidValue);
    let accepted = match accepted.split_last() {
        Some((last, [])) => format!("write {last}"),
        Some((last, others)) => format!("write {} or {last}", others.join(", ")),
        None => see,
    };
    let nearest = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    Some(match nearest.into_iter().find_map(|kind| list(error, kind).into_iter().next_back()) {
        _ if hint.is_some() => what.or_hint(hint),
        Some(nearest) => what.hint(format!("did you mean {nearest:?}? {}", capitalized(&accepted))),
        None => what.hint(accepted),
    })
}

fn rendered(error: &clap::Error) -> String {
    error.render().to_string()
}

/// What clap says of it, without usage and tips, in one line.
fn said(all: &str) -> String {
    let all = all.trim_start_matches("error: ");
    let first = all.split("\n\n").next().unwrap_or(all);
    let lines = first.lines().map(str::trim).filter(|line| !line.starts_with("[possible values"));
    lines.collect::<Vec<_>>().join(" ")
}

/// The command that was typed, by its usage: `murmur log`.
fn command(all: &str) -> String {
    let usage = all.rsplit_once("Usage: ").map_or("", |(_, usage)| usage);
    let is_word = |word: &&str| word.starts_with(|letter: char| letter.is_ascii_lowercase());
    let words: Vec<&str> = usage.split_whitespace().take_while(is_word).collect();
    if words.is_empty() { "murmur".to_owned() } else { words.join(" ") }
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

fn list(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(several)) => several.clone(),
        _ => Vec::new(),
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
