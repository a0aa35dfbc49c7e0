//! What the shell does on its own: folders, variables, text that it reads as commands.

use super::field::Field;
use super::interpreter;
use super::scope::Arguments;
use super::walk::{Stream, Walk};

/// One of them; without an answer, what is left to do is as for any program.
pub(super) type Builtin = fn(&mut Walk<'_>, &[Field], &Stream) -> Option<Stream>;

const BUILTINS: [(&str, Builtin); 20] = [
    ("hash", hash),
    ("printf", print),
    ("mapfile", lines),
    ("readarray", lines),
    ("cd", enter),
    ("pushd", enter),
    ("popd", back),
    ("export", declare),
    ("declare", declare),
    ("typeset", declare),
    ("local", declare),
    ("readonly", declare),
    ("set", set),
    ("unset", unset),
    ("shift", shift),
    ("eval", eval),
    (".", source),
    ("source", source),
    ("alias", alias),
    ("read", read),
];

/// The builtin of that name.
pub(super) fn find(name: &str) -> Option<Builtin> {
    BUILTINS.iter().find(|(known, _)| *known == name).map(|(_, builtin)| *builtin)
}

fn nothing() -> Option<Stream> {
    Some(Stream::text(""))
}

fn enter(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Option<Stream> {
    let is_option = |word: &&Field| word.marked().starts_with('-') && word.marked().len() > 1;
    let target = words.iter().find(|word| !is_option(word));
    let home = || walk.scope.values("HOME").first().and_then(|value| value.first()).cloned();
    let folder = match target {
        None => home().unwrap_or_else(|| Field::unknown("~")),
        Some(target) if target.marked() == "-" => walk.scope.before(),
        Some(target)
            if target.marked().starts_with('/') || target.marked().starts_with(super::field::OPEN) =>
        {
            target.clone()
        }
        Some(target) => {
            let before = walk.scope.folders().first().map_or("", Field::marked);
            Field(format!("{before}/{}", target.marked()))
        }
    };
    let is_sure = walk.unsure == 0;
    walk.scope.enter(folder, is_sure);
    nothing()
}

fn back(walk: &mut Walk<'_>, _: &[Field], _: &Stream) -> Option<Stream> {
    let folder = walk.scope.before();
    walk.scope.enter(folder, walk.unsure == 0);
    nothing()
}

fn declare(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Option<Stream> {
    let refers =
        words.first().is_some_and(|word| word.marked().starts_with('-') && word.marked().contains('n'));
    for word in words.iter().map(ToString::to_string) {
        if let Some((name, value)) = word.split_once('=') {
            if refers && name != value {
                walk.scope.references.insert(name.to_owned(), value.to_owned());
                continue;
            }
            for (key, value) in
                value.trim_matches(['(', ')']).split_whitespace().filter_map(|member| member.split_once("]="))
            {
                walk.set(&format!("{name}{key}]"), vec![value.into()]);
            }
            let array = value.strip_prefix('(').and_then(|value| value.strip_suffix(')'));
            let value = match array {
                Some(array) => array.split_whitespace().map(Field::from).collect(),
                None => vec![Field(value.to_owned())],
            };
            walk.set(name, value);
        }
    }
    nothing()
}

fn set(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Option<Stream> {
    let start = words.iter().position(|word| !word.marked().starts_with(['-', '+']));
    let end = words.iter().position(|word| word.marked() == "--").map(|at| at + 1);
    if let Some(start) = end.or(start) {
        walk.scope.arguments = Arguments::Known(words[start..].to_vec());
    }
    nothing()
}

fn unset(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Option<Stream> {
    for name in words.iter().filter_map(Field::literal) {
        walk.scope.set(name, vec![Field::default()], true);
        if words[0].marked() == "-f" {
            walk.scope.functions.remove(name);
        }
    }
    nothing()
}

fn shift(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Option<Stream> {
    let count = words.first().and_then(Field::literal).and_then(|count| count.parse().ok()).unwrap_or(1);
    if let Arguments::Known(arguments) = &mut walk.scope.arguments {
        arguments.drain(..count.min(arguments.len()));
    }
    nothing()
}

fn eval(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Option<Stream> {
    let words = if words.first().is_some_and(|word| word.marked() == "--") { &words[1..] } else { words };
    let text = words.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    Some(walk.source(&text, input))
}

fn source(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Option<Stream> {
    let file = words.first()?;
    Some(interpreter::file(walk, file, input))
}

fn alias(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Option<Stream> {
    for word in words.iter().map(ToString::to_string) {
        if let Some((name, text)) = word.split_once('=') {
            walk.perhaps(|walk| {
                walk.source(text, &Stream::Elsewhere);
            });
            walk.scope.aliases.insert(name.to_owned(), text.to_owned());
        }
    }
    nothing()
}

/// `read` sets variables to what is only known when it runs, or to the first line of what is known.
fn read(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Option<Stream> {
    let names: Vec<String> = words
        .iter()
        .filter_map(Field::literal)
        .filter(|word| word.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic()))
        .map(str::to_owned)
        .collect();
    let line = input.known().and_then(|text| text.lines().next()).map(str::to_owned);
    let has_one_line = input.known().is_some_and(|text| text.trim_end().lines().count() <= 1);
    for (at, name) in names.iter().enumerate() {
        let value = match &line {
            Some(line) if has_one_line && names.len() == 1 => Field(line.trim().to_owned()),
            Some(line) if has_one_line && at + 1 < names.len() => {
                Field(line.split_whitespace().nth(at).unwrap_or_default().to_owned())
            }
            Some(line) if has_one_line => {
                Field(line.split_whitespace().skip(at).collect::<Vec<_>>().join(" "))
            }
            _ => Field::unknown(&format!("${name}")),
        };
        walk.set(name, vec![value]);
    }
    nothing()
}

/// `hash -p /path name` gives a program another name.
fn hash(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Option<Stream> {
    if let [option, path, name] = words
        && option.marked() == "-p"
    {
        walk.scope.aliases.insert(name.to_string(), path.to_string());
    }
    nothing()
}

/// `printf -v name` sets a variable to what it would write.
fn print(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Option<Stream> {
    let [option, name, rest @ ..] = words else { return None };
    if option.marked() != "-v" {
        return None;
    }
    let text = super::output::of("printf", rest, input, &walk.scope);
    let value = text.known().map_or_else(|| Field::unknown(&format!("${name}")), Field::from);
    walk.set(&name.to_string(), vec![value]);
    nothing()
}

/// `mapfile -t name` sets an array to the lines that it reads; `-C` runs a text for each.
fn lines(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Option<Stream> {
    let callback = words.iter().position(|word| word.marked() == "-C").and_then(|at| words.get(at + 1));
    if let Some(text) = callback.map(ToString::to_string) {
        walk.source(&text, &Stream::Elsewhere);
    }
    let name = words.last().map(ToString::to_string).filter(|name| !name.starts_with('-'))?;
    let value = match input.known() {
        Some(text) => text.lines().map(Field::from).collect(),
        None => vec![Field::unknown(&format!("${name}"))],
    };
    walk.set(&name, value);
    nothing()
}
