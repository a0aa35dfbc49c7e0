//! Usage errors in murmur's words: what was typed, what is accepted, and the nearest match.
//!
//! Takes clap's error and returns a failure with a hint, printed like any other error.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, ValueHint};
use std::error::Error;
use std::ffi::OsString;
use sys::error::Failure;
use sys::failure;

/// Describes a usage error in `typed` (program name first) for the command `root`. `None` for help and version, which
/// are not errors.
#[must_use]
pub fn describe(
    error: &clap::Error,
    root: &Command,
    typed: &[OsString],
    hint_of: impl Fn(&(dyn Error + 'static)) -> Option<String>,
) -> Option<Failure> {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return None;
    }
    let (names, command) = meant(root, typed);
    let see = format!("see: {names} --help");
    let also = |hint: String| format!("{hint}; {see}");
    // One of our own parsers may have described the error.
    if let Some(own) = error.source().and_then(|source| source.downcast_ref::<Failure>()) {
        let hint = own.to_do().map_or_else(|| see.clone(), |hint| also(hint.to_owned()));
        return Some(own.clone().hint(hint));
    }
    let shown = text(error, ContextKind::InvalidArg).unwrap_or_default();
    let arg = command.get_arguments().find(|arg| arg.to_string() == shown);
    let option = shown.split([' ', '=']).next().unwrap_or_default();
    let option = option.strip_suffix('[').unwrap_or(option);
    // A positional argument is named by its value.
    let place =
        option.strip_prefix(['<', '[']).map(|name| name.trim_end_matches(['>', ']', '.']).to_lowercase());
    let option = place.as_deref().unwrap_or(option);
    let accepted =
        || arg.map(accepted_by).unwrap_or_else(|| ("a valid value".to_owned(), "write a value".to_owned()));
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    let listed = list(error, ContextKind::InvalidArg);
    let (what, to_do) = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let typed = text(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            (failure!("unknown command {typed:?}"), None)
        }
        ErrorKind::UnknownArgument if option.starts_with('-') => {
            (failure!("unknown option {option:?}"), None)
        }
        ErrorKind::UnknownArgument => {
            // `murmur log site`
            let takes_names = command.get_arguments().any(|arg| arg.get_long() == Some("name"));
            let named = takes_names.then(|| format!("write --name {}", sys::shell::word(shown)));
            (failure!("extra argument {shown:?}"), named)
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            (failure!("{option} needs a value"), Some(accepted().1))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => match error.source() {
            Some(source) if hint_of(source).is_some() => {
                (Failure::new(option).because(source), hint_of(source))
            }
            _ => {
                let (kind, write) = accepted();
                (failure!("{option} {value:?} is not {kind}"), Some(write))
            }
        },
        ErrorKind::MissingRequiredArgument => {
            let missing = listed.first().filter(|_| listed.len() == 1);
            let words = command.get_arguments().find(|arg| Some(&arg.to_string()) == missing);
            let words = words.filter(|arg| !arg.get_possible_values().is_empty());
            (failure!("{} is missing", listed.join(" ")), words.map(|arg| accepted_by(arg).1))
        }
        ErrorKind::ArgumentConflict if !shown.is_empty() => {
            let prior = list(error, ContextKind::PriorArg);
            match prior.iter().any(|prior| prior == shown) || prior.is_empty() {
                true => (failure!("{option} is given twice"), Some("give it only once".to_owned())),
                false => (
                    failure!("{option} cannot be combined with {}", prior.join(" ")),
                    Some("remove one of them".to_owned()),
                ),
            }
        }
        ErrorKind::ArgumentConflict => {
            (Failure::new(one_line(&rendered(error))), Some("remove it".to_owned()))
        }
        ErrorKind::MissingSubcommand => (failure!("a command is missing"), None),
        _ => (Failure::new(one_line(&rendered(error))), None),
    };
    // A subcommand that clap suggests may be hidden; `nearest_command` looks only at visible ones.
    let nearest = [ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let nearest = nearest.into_iter().find_map(|kind| list(error, kind).into_iter().next_back());
    let nearest = nearest.or_else(|| nearest_command(error, &command)).or_else(|| nearest_word(value, arg?));
    let hint = to_do.map_or_else(|| see.clone(), also);
    Some(what.hint(match nearest {
        Some(nearest) => format!("did you mean {nearest:?}? {}", capitalized(&hint)),
        None => hint,
    }))
}

/// The nearest command, for typos that clap misses: `lgo`, `LOG`.
fn nearest_command(error: &clap::Error, command: &Command) -> Option<String> {
    let typed = text(error, ContextKind::InvalidSubcommand)?;
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set());
    let names: Vec<&str> = shown.map(Command::get_name).collect();
    sys::spelling::nearest(typed, &names).map(str::to_owned)
}

/// The nearest value of `arg` with the same first letter, for typos that clap misses.
fn nearest_word(typed: &str, arg: &Arg) -> Option<String> {
    let first = typed.chars().next()?.to_ascii_lowercase();
    let words = arg.get_possible_values();
    let words = words.iter().map(|word| word.get_name()).filter(|word| word.starts_with(first));
    words.min_by_key(|word| sys::spelling::distance(typed, word)).map(str::to_owned)
}

/// The command in `typed`, with its full name: `murmur log`, also for `murmur help log`.
fn meant(root: &Command, typed: &[OsString]) -> (String, Command) {
    let (mut names, mut command) = (root.get_name().to_owned(), root.clone());
    command.build();
    let mut words = typed.iter().skip(1).skip_while(|word| *word == "help");
    while let Some(word) = words.next().map(|word| word.to_string_lossy()) {
        if let Some(option) = word.strip_prefix("--").filter(|option| !option.is_empty()) {
            let takes = |arg: &&Arg| arg.get_long() == Some(option) && arg.get_action().takes_values();
            if command.get_arguments().any(|arg| takes(&arg)) {
                words.next();
            }
            continue;
        }
        let Some(below) = command.find_subcommand(&*word).filter(|_| !word.starts_with('-')).cloned() else {
            break;
        };
        names = format!("{names} {}", below.get_name());
        command = below;
    }
    (names, command)
}

/// Describes what values `arg` accepts, and what to write.
fn accepted_by(arg: &Arg) -> (String, String) {
    let words: Vec<String> =
        arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    if let Some((last, others)) = words.split_last() {
        let words = if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) };
        return ("a known value".to_owned(), format!("write {words}"));
    }
    let name = arg.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
    let (kind, write) = match (name, arg.get_value_hint()) {
        (_, ValueHint::DirPath) => ("a folder", "write its path, such as ~/repos/site"),
        (_, ValueHint::FilePath | ValueHint::AnyPath) => ("a file", "write its path, such as ~/notes.md"),
        ("INTERVAL" | "DURATION", _) => ("a time span", "write one such as 10s, 5m or 1h30m"),
        ("WHEN", _) => ("a time", "write a span such as 2h, today, yesterday, or a date such as 2026-11-22"),
        ("N", _) => ("a whole number", "write one such as 20"),
        ("CRON", _) => ("a cron expression", "write five fields, such as \"0 9 * * MON-FRI\""),
        ("DIR" | "PATH", _) => ("a path", "write one such as ~/repos/site"),
        ("ID" | "AGENT", _) => ("an id", "write one such as site-1"),
        ("JSON", _) => ("JSON", "write it in single quotes, such as '{\"q1\":\"yes\"}'"),
        _ => ("text", "write text, in quotes if it has spaces"),
    };
    (kind.to_owned(), write.to_owned())
}

fn rendered(error: &clap::Error) -> String {
    error.render().to_string()
}

/// clap's message in one line, without usage and tips.
fn one_line(all: &str) -> String {
    let all = all.trim_start_matches("error: ");
    let first = all.split("\n\n").next().unwrap_or(all);
    let lines = first.lines().map(str::trim).filter(|line| !line.starts_with("[possible values"));
    lines.collect::<Vec<_>>().join(" ")
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
