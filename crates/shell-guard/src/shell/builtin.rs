//! Shell builtins that change folders or variables, or read text as commands.

use super::field::Field;
use super::interpreter;
use super::scope::Arguments;
use super::walk::{Stream, Walk};

/// A builtin's handler. Returns `None` to be handled further as any program.
pub(super) type Builtin = fn(&mut Walk<'_>, &[Field], &Stream) -> Option<Stream>;

const BUILTINS: [(&str, Builtin); 26] = [
    ("tee", tee),
    ("cp", cp),
    ("mv", cp),
    ("ln", ln),
    ("mkfifo", mkfifo),
    ("at", at),
    ("hash", hash),
    ("printf", printf),
    ("mapfile", mapfile),
    ("readarray", mapfile),
    ("cd", cd),
    ("pushd", cd),
    ("popd", popd),
    ("export", declare),
    ("declare", local),
    ("typeset", local),
    ("local", local),
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

/// Returns the handler of the builtin `name`.
pub(super) fn find(name: &str) -> Option<Builtin> {
    BUILTINS.iter().find(|(known, _)| *known == name).map(|(_, builtin)| *builtin)
}

fn nothing() -> Option<Stream> {
    Some(Stream::text(""))
}

fn cd(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Option<Stream> {
    let is_option = |word: &&Field| word.marked().starts_with('-') && word.marked().len() > 1;
    let target = words.iter().find(|word| !is_option(word));
    let home = || walk.scope.values("HOME").first().and_then(|value| value.first()).cloned();
    let below = |folder: &Field, target: &Field| Field(format!("{}/{}", folder.marked(), target.marked()));
    let folders = match target {
        None => vec![home().unwrap_or_else(|| Field::unknown("~"))],
        Some(target) if target.marked() == "-" => vec![walk.scope.previous_folder()],
        Some(target)
            if target.marked().starts_with('/') || target.marked().starts_with(super::field::OPEN) =>
        {
            vec![target.clone()]
        }
        Some(target) => {
            let mut folders: Vec<Field> =
                walk.scope.folders().iter().map(|folder| below(folder, target)).collect();
            for path in walk.scope.values("CDPATH").iter().flatten() {
                folders.extend(path.marked().split(':').map(|folder| below(&folder.into(), target)));
            }
            folders
        }
    };
    let is_there = target.is_none_or(|target| is_there(target, walk));
    let if_cd_fails = if is_there { Vec::new() } else { walk.scope.folders().to_vec() };
    walk.scope.enter(folders);
    walk.scope.if_cd_fails = if_cd_fails;
    nothing()
}

/// Whether a folder certainly exists: a parent of the workspace, or a folder for temporary files.
fn is_there(target: &Field, walk: &Walk<'_>) -> bool {
    let path = target.marked().trim_end_matches('/');
    let is_above = |folder: Option<&Field>| {
        folder.is_some_and(|folder| {
            folder.marked().strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    ["", "-", ".", "/tmp"].contains(&path)
        || path.split('/').all(|name| name == "..")
        || is_above(walk.scope.home())
        || is_above(walk.scope.workspace())
}

fn popd(walk: &mut Walk<'_>, _: &[Field], _: &Stream) -> Option<Stream> {
    let folder = walk.scope.previous_folder();
    walk.scope.enter(vec![folder]);
    nothing()
}

/// In a function, these declare local variables, unless `-g` is given.
fn local(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Option<Stream> {
    let is_global = words.iter().any(|word| word.marked().starts_with('-') && word.marked().contains('g'));
    for word in words.iter().map(Field::marked).filter(|word| !is_global && !word.starts_with('-')) {
        walk.scope.declare_local(word.split_once('=').map_or(word, |(name, _)| name));
    }
    declare(walk, words, input)
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
            for (key, value) in members(value) {
                walk.set(&format!("{name}[{key}]"), vec![value.into()]);
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

/// The elements of `([key]=value [key]=value)`.
fn members(text: &str) -> Vec<(&str, &str)> {
    let Some(text) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) else {
        return Vec::new();
    };
    let mut parts: Vec<&str> = text.split("]=").collect();
    if parts.len() < 2 || parts.len() > 64 {
        return Vec::new();
    }
    let last = parts.pop().unwrap_or_default();
    let mut key = parts.remove(0).trim_start().trim_start_matches('[');
    let mut members = Vec::new();
    for part in parts {
        let (value, next) = part.rsplit_once('[').unwrap_or((part, ""));
        members.push((key, value.trim_end()));
        key = next;
    }
    members.push((key, last));
    members
}

fn set(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Option<Stream> {
    let exits_on_error = |word: &Field| {
        let word = word.marked();
        word == "errexit" || word.starts_with('-') && !word.starts_with("--") && word.contains('e')
    };
    walk.scope.exits_on_error |= words.iter().any(exits_on_error);
    let start = words.iter().position(|word| !word.marked().starts_with(['-', '+']));
    let end = words.iter().position(|word| word.marked() == "--").map(|at| at + 1);
    if let Some(start) = end.or(start) {
        walk.scope.arguments = Arguments::Known(words[start..].to_vec());
    }
    nothing()
}

fn unset(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Option<Stream> {
    for name in words.iter().filter_map(Field::literal) {
        walk.scope.set(name, vec![Field::default()]);
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
            walk.speculate(|walk| {
                walk.source(text, &Stream::External);
            });
            walk.scope.aliases.insert(name.to_owned(), text.to_owned());
        }
    }
    nothing()
}

/// `read` sets variables to unknown text, or to the first line of known input.
fn read(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Option<Stream> {
    let names: Vec<String> = words
        .iter()
        .filter_map(Field::literal)
        .filter(|word| word.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic()))
        .map(str::to_owned)
        .collect();
    let separators = walk.scope.values("IFS").into_iter().flatten().next().unwrap_or_default();
    let separate = |line: &str| match separators.literal() {
        Some(marks) if !marks.is_empty() => line.replace(|c| marks.contains(c), " "),
        _ => line.to_owned(),
    };
    let line = input.known().and_then(|text| text.lines().next());
    let line = line.map(|line| if names.len() > 1 { separate(line) } else { line.to_owned() });
    let has_one_line = input.known().is_some_and(|text| text.trim_end().lines().count() <= 1);
    let is_array = words.iter().any(|word| word.marked().starts_with('-') && word.marked().contains('a'));
    if let ([name], Some(line), true) = (names.as_slice(), &line, is_array && has_one_line) {
        walk.set(name, separate(line).split_whitespace().map(Field::from).collect());
        return nothing();
    }
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

/// `tee file` copies its input to files.
fn tee(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Option<Stream> {
    for file in words.iter().filter(|word| !word.marked().starts_with('-')) {
        walk.store_output(std::slice::from_ref(file), input.clone());
    }
    None
}

/// `cp x.sh y.sh` copies a script that the command line wrote.
fn cp(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Option<Stream> {
    let mut operands = words.iter().filter(|word| !word.marked().starts_with('-'));
    if let (Some(from), Some(to), None) = (operands.next(), operands.next(), operands.next())
        && let Some(written) = walk.scope.files.get(&super::walk::plain(from.marked())).cloned()
    {
        walk.scope.files.insert(super::walk::plain(to.marked()), written);
    }
    None
}

/// `ln -s folder name`: `name/x` is `folder/x` from here on.
fn ln(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Option<Stream> {
    let mut operands = words.iter().filter(|word| !word.marked().starts_with('-'));
    if let (Some(target), name, None) = (operands.next(), operands.next(), operands.next()) {
        let base = target.base();
        let name = name.unwrap_or(&base).marked().trim_end_matches('/').to_owned();
        if !target.marked().is_empty() {
            walk.scope.link(&name, target);
        }
    }
    None
}

/// `mkfifo name`: later commands may write anything to it.
fn mkfifo(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Option<Stream> {
    let names = words.iter().map(Field::marked).filter(|word| !word.starts_with('-'));
    walk.scope.pipes.extend(names.map(str::to_owned));
    None
}

/// `at -f file` runs a script.
fn at(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Option<Stream> {
    let at = words.iter().position(|word| word.marked() == "-f")?;
    Some(interpreter::file(walk, words.get(at + 1)?, input))
}

/// `hash -p /path name` makes `name` run another program.
fn hash(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Option<Stream> {
    if let [option, path, name] = words
        && option.marked() == "-p"
    {
        walk.scope.aliases.insert(name.to_string(), path.to_string());
    }
    nothing()
}

/// `printf -v name` assigns its output to a variable.
fn printf(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Option<Stream> {
    let [option, name, rest @ ..] = words else { return None };
    if option.marked() != "-v" {
        return None;
    }
    let text = super::output::predict("printf", rest, input, &walk.scope);
    let value = text.known().map_or_else(|| Field::unknown(&format!("${name}")), Field::from);
    walk.set(&name.to_string(), vec![value]);
    nothing()
}

/// `mapfile -t name` reads lines into an array; `-C` runs a command for each.
fn mapfile(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Option<Stream> {
    let callback = words.iter().position(|word| word.marked() == "-C").and_then(|at| words.get(at + 1));
    if let Some(text) = callback.map(ToString::to_string) {
        walk.source(&text, &Stream::External);
    }
    let name = words.last().map(ToString::to_string).filter(|name| !name.starts_with('-'))?;
    let value = match input.known() {
        Some(text) => text.lines().map(Field::from).collect(),
        None => vec![Field::unknown(&format!("${name}"))],
    };
    walk.set(&name, value);
    nothing()
}
