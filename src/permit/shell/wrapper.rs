//! Programs that run another command: what of their arguments that command is. To add one is a line in a table here.

mod custom;
mod table;

use super::field::Field;
use super::walk::{Stream, Walk};
pub(super) use custom::{flags, make_text, parameters as git_parameters};
pub use table::{TABLE, Wrapper};

/// Where the command stands among a wrapper's arguments.
#[derive(Debug, Clone, Copy)]
pub(super) enum Runs {
    /// After the options and so many operands, word by word.
    Words(usize),
    /// As [`Self::Words`], where `NAME=value` may stand before it.
    Environment,
    /// After the options and so many operands; a shell reads it.
    Line(usize),
    /// Each operand is a text that a shell reads.
    Texts,
    /// The value of each of these options is a text that a shell reads; what is left after so many operands are words.
    Option(&'static [&'static str], usize),
    /// The value of each of these options may be a text that a shell reads.
    Told(&'static [&'static str]),
    /// After one of these words, options and so many operands, word by word; one word alone is a text that a shell reads.
    After(&'static [&'static str], usize),
    /// What it reads is a text that a shell reads.
    Input,
    /// Somewhere: after `--`, or from any operand on.
    Somewhere,
    /// In a way of its own.
    Custom(Custom),
}

/// A way of its own: it walks through what it finds.
type Custom = fn(&mut Walk<'_>, &[Field], &Stream) -> Stream;

/// The names of all of them.
pub(in crate::permit) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().flat_map(|wrapper| wrapper.names.iter().copied())
}

/// Runs what the wrapper `name` is given; nothing where it is none.
pub(super) fn run(walk: &mut Walk<'_>, name: &str, words: &[Field], input: &Stream) -> Option<Stream> {
    let wrapper = TABLE.iter().find(|wrapper| wrapper.names.contains(&name))?;
    let arguments = &words[1..];
    let start = wrapper.first_operand(arguments);
    let after = |count: usize| arguments.get(start.saturating_add(count)..).unwrap_or_default();
    Some(match wrapper.runs {
        Runs::Words(count) => walk.run(after(count), &[], input),
        Runs::Environment => {
            let rest = after(0);
            let count = rest.iter().take_while(|word| is_assignment(word)).count();
            for (name, value) in rest[..count].iter().filter_map(|word| word.marked().split_once('=')) {
                walk.set(name, vec![value.into()]);
            }
            walk.run(&rest[count..], &[], input)
        }
        Runs::Line(count) => walk.source(&line(after(count)), input),
        Runs::Texts => {
            for text in after(0) {
                walk.source(text.marked(), input);
            }
            Stream::Unknown
        }
        Runs::Option(options, count) => {
            for text in values(arguments, options) {
                walk.source(&text, input);
            }
            if count > arguments.len() {
                return None;
            }
            walk.run(after(count), &[], input)
        }
        Runs::Told(options) => {
            for text in values(arguments, options) {
                walk.perhaps(|walk| {
                    walk.source(&text, &Stream::Elsewhere);
                });
            }
            return None;
        }
        Runs::After(marks, count) => {
            let mark = arguments.iter().position(|word| marks.contains(&word.marked()))?;
            let rest = &arguments[mark + 1..];
            let mut start = wrapper.first_operand(rest) + count;
            if count > 0 && rest.get(start).is_some_and(|word| word.marked() == "--") {
                start += 1;
            }
            command(walk, rest.get(start..).unwrap_or_default());
            Stream::Unknown
        }
        Runs::Input => {
            match input {
                Stream::Known(written) => super::interpreter::script(walk, written),
                _ => Stream::Unknown,
            };
            Stream::Unknown
        }
        Runs::Somewhere => {
            let is_told = start > 0 && arguments[start - 1].marked() == "--";
            let starts = if is_told { start..arguments.len().min(start + 1) } else { start..arguments.len() };
            walk.any_of(starts.map(|at| arguments[at..].to_vec()), input);
            Stream::Unknown
        }
        Runs::Custom(custom) => custom(walk, arguments, input),
    })
}

/// Runs a command that is given as words, or as one text.
fn command(walk: &mut Walk<'_>, words: &[Field]) {
    walk.perhaps(|walk| {
        match words {
            [text] if text.marked().contains(' ') => walk.source(text.marked(), &Stream::Elsewhere),
            words => walk.run(words, &[], &Stream::Elsewhere),
        };
    });
}

fn is_assignment(word: &Field) -> bool {
    let name = word.marked().split_once('=').map_or("", |(name, _)| name);
    let name = if name.starts_with("BASH_FUNC_") { name.trim_end_matches(['%', '(', ')']) } else { name };
    !name.is_empty() && name.chars().all(|c| c == '_' || c.is_alphanumeric())
}

/// Words as one line of shell.
fn line(words: &[Field]) -> String {
    words.iter().map(Field::marked).collect::<Vec<_>>().join(" ")
}

/// The values of options that are written as `-c value`, `-cvalue`, `--command value`, `--command=value`, `-xc value`.
fn values(words: &[Field], options: &[&str]) -> Vec<String> {
    let mut values = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let text = word.marked();
        let next = || words.get(at + 1).map(|word| word.marked().to_owned());
        for option in options {
            let is_long = option.starts_with("--") || option.len() > 2;
            match text.strip_prefix(option) {
                Some("") => values.extend(next()),
                Some(rest) if rest.starts_with('=') => values.push(rest[1..].to_owned()),
                Some(rest) if !is_long => values.push(rest.to_owned()),
                None if !is_long && is_cluster(text) && text.ends_with(&option[1..]) => values.extend(next()),
                _ => {}
            }
        }
    }
    values
}

fn is_cluster(text: &str) -> bool {
    text.len() > 2 && text.starts_with('-') && text[1..].chars().all(char::is_alphabetic)
}
