//! Programs that run another command, and where that command is among their arguments. To add one, add a row to the
//! table.

mod custom;
mod table;

use super::field::Field;
use super::walk::{Stream, Walk};
use crate::name_index::{NameIndex, name_index};
pub(super) use custom::{flags, make_text, parameters as git_parameters};
pub use table::{TABLE, Wrapper};

/// Where the command is among a wrapper's arguments.
#[derive(Debug, Clone, Copy)]
pub(super) enum Runs {
    /// After the options and this many operands, as words.
    Words(usize),
    /// After the options, as words, optionally with `NAME=value` before them.
    Environment,
    /// After the options and this many operands, as a shell command.
    Line(usize),
    /// Each operand is a shell command.
    Texts,
    /// The values of these options are shell commands; the words after this many operands are a command too.
    Option(&'static [&'static str], usize),
    /// The values of these options may be shell commands.
    MaybeLine(&'static [&'static str]),
    /// After one of these words, its options and this many operands. A single word is a shell command.
    After(&'static [&'static str], usize),
    /// The input is a shell script.
    Input,
    /// Unknown: after `--`, or from any operand on.
    Anywhere,
    /// Found by a function.
    Custom(Custom),
}

/// Finds and walks a wrapper's command.
type Custom = fn(&mut Walk<'_>, &[Field], &Stream) -> Stream;

/// The names of all wrappers.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().flat_map(|wrapper| wrapper.names.iter().copied())
}

/// The rows of [`TABLE`] by name.
static INDEX: NameIndex = name_index!(TABLE);

/// Returns the wrapper called `name`; the first row wins.
fn find(name: &str) -> Option<&'static Wrapper> {
    let (row, _) = INDEX.candidates(name).find(|&(row, at)| TABLE[row].names[at] == name)?;
    TABLE.get(row)
}

/// Whether a wrapper is called `name`, ignoring case.
pub(crate) fn is_wrapper(name: &str) -> bool {
    INDEX.candidates(name).any(|(row, at)| TABLE[row].names[at].eq_ignore_ascii_case(name))
}

/// Walks what the wrapper `name` runs. Returns `None` if it isn't one.
pub(super) fn run(walk: &mut Walk<'_>, name: &str, words: &[Field], input: &Stream) -> Option<Stream> {
    let wrapper = find(name)?;
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
        Runs::MaybeLine(options) => {
            for text in values(arguments, options) {
                walk.speculate(|walk| {
                    walk.source(&text, &Stream::External);
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
        Runs::Anywhere => {
            let is_marked = start > 0 && arguments[start - 1].marked() == "--";
            let starts =
                if is_marked { start..arguments.len().min(start + 1) } else { start..arguments.len() };
            walk.run_any_of(starts.map(|at| arguments[at..].to_vec()), input);
            Stream::Unknown
        }
        Runs::Custom(custom) => custom(walk, arguments, input),
    })
}

/// Walks a command given as words, or as one string.
fn command(walk: &mut Walk<'_>, words: &[Field]) {
    walk.speculate(|walk| {
        match words {
            [text] if text.marked().contains(' ') => walk.source(text.marked(), &Stream::External),
            words => walk.run(words, &[], &Stream::External),
        };
    });
}

fn is_assignment(word: &Field) -> bool {
    let name = word.marked().split_once('=').map_or("", |(name, _)| name);
    let name = if name.starts_with("BASH_FUNC_") { name.trim_end_matches(['%', '(', ')']) } else { name };
    !name.is_empty() && name.chars().all(|c| c == '_' || c.is_alphanumeric())
}

/// Joins words to a shell command.
fn line(words: &[Field]) -> String {
    words.iter().map(Field::marked).collect::<Vec<_>>().join(" ")
}

/// Values of options, written `-c value`, `-cvalue`, `--command value`, `--command=value` or `-xc value`.
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
