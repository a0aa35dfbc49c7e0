//! What programs of other languages are given: code in an option, in a file that the line writes, or on their input.

use super::{Language, module, unknown_text};
use crate::permit::line::Doubt;
use crate::permit::shell::field::{CLOSE, Field, OPEN};
use crate::permit::shell::language::{self, Embedded, Kind};
use crate::permit::shell::walk::{Stream, Walk, plain};

/// Options of node and its like that are followed by a module.
const MODULES: [&str; 5] = ["--require", "--import", "--loader", "--conditions", "--env-file"];

/// What a program is given.
#[derive(Default)]
struct Given<'a> {
    /// Code that stands in the line.
    texts: Vec<Field>,
    /// Files with code that an option names.
    scripts: Vec<Field>,
    /// The first operand, and what comes after it.
    operand: Option<(&'a Field, &'a [Field])>,
}

/// Walks through what a program of `language` runs, called with `words`.
pub(super) fn run(walk: &mut Walk<'_>, language: &Language, words: &[Field], input: &Stream) {
    if language.kind == Kind::Python
        && let Some((name, rest)) = python_module(words)
    {
        return module::run(walk, &name, rest, input);
    }
    if let Some((program, rest)) = ruby_tool(language, words) {
        walk.run(&[&[program], rest].concat(), &[], &Stream::Elsewhere);
        return;
    }
    let Given { mut texts, mut scripts, operand } = given(language, words);
    if let Some((operand, rest)) = operand {
        let name = operand.marked();
        if name.starts_with("https://") || name.starts_with("http://") {
            walk.doubt(unknown_text());
        } else if let Some(package) = name.strip_prefix("npm:") {
            walk.run(&[&["npx".into(), package.into()], rest].concat(), &[], &Stream::Elsewhere);
        } else if name.contains("@anthropic-ai/claude-code") {
            walk.run(&[&["claude".into()], rest].concat(), &[], &Stream::Elsewhere);
        }
        texts.extend(told(operand, rest));
    }
    let takes_code = language.takes_code && scripts.is_empty();
    if texts.is_empty() && takes_code {
        texts.extend(operand.map(|(operand, _)| operand.clone()));
    }
    if texts.is_empty() && !language.takes_code {
        match operand {
            Some((operand, _)) => scripts.push(operand.clone()),
            None => texts.extend(read_by(walk, language, input).map(Field)),
        }
    }
    let variables = if language.kind == Kind::Awk { variables(words) } else { String::new() };
    for script in scripts {
        let known = walk.scope.files.get(&plain(script.marked())).map(|written| written.text.clone());
        if let Some(text) = known {
            texts.push(Field(text));
        } else if ["-", "/dev/stdin", "/dev/fd/0"].contains(&script.marked()) {
            texts.extend(read_by(walk, language, input).map(Field));
        } else if script.marked().starts_with(&format!("{OPEN}<(")) {
            walk.doubt(unknown_text());
        }
    }
    if language.names != ["jq"] && texts.iter().any(|text| is_unknown(text.marked())) {
        walk.doubt(unknown_text());
    }
    let is_banged = ["ipython", "gnuplot"].iter().any(|name| language.names.contains(name));
    for code in texts {
        if is_banged {
            for line in code.marked().lines().filter_map(|line| line.trim_start().strip_prefix('!')) {
                walk.source(line, &Stream::Elsewhere);
            }
        }
        text(walk, &format!("{variables}{}", code.marked()), language.kind);
    }
}

fn given<'a>(language: &Language, words: &'a [Field]) -> Given<'a> {
    let mut given = Given::default();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        let text = word.marked();
        let next = words.get(at);
        if is_script_option(language.kind, text) {
            given.scripts.extend(next.cloned());
            at += 1;
        } else if language.long.contains(&text) {
            given.texts.extend(next.cloned());
            at += 1;
        } else if let Some((name, value)) = text.split_once('=').filter(|_| text.starts_with('-')) {
            if language.long.contains(&name) {
                given.texts.push(value.into());
            } else if MODULES.contains(&name) && value.starts_with("data:") {
                given.texts.push(Field(data(value)));
            } else if let Some(code) = letters(language, text) {
                given.texts.push(code.into());
            }
        } else if language.kind == Kind::Editor && text.starts_with('+') {
            given.texts.push(text[1..].into());
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let is_code = |letter: char| language.letters.contains(letter);
            if letters.starts_with('-') {
                if MODULES.contains(&text) {
                    let module = next.filter(|next| next.marked().starts_with("data:"));
                    given.texts.extend(module.map(|next| Field(data(next.marked()))));
                    at += 1;
                }
            } else if letters.starts_with(|letter| language.values.contains(letter)) {
                // `perl '-Mstrict;code'`
                if let Some((_, code)) = letters.split_once(';').filter(|_| language.kind == Kind::Perl) {
                    given.texts.push(code.into());
                }
                at += usize::from(letters.len() == 1);
            } else if letters.ends_with(is_code) && letters.chars().all(char::is_alphanumeric) {
                given.texts.extend(next.cloned());
                at += 1;
            } else if letters.starts_with(is_code) {
                given.texts.push(letters[1..].into());
            }
        } else if ["run", "serve", "repl"].contains(&text)
            && language.names.contains(&"deno")
            && given.operand.is_none()
            && next.is_some()
        {
            // `deno run script`
        } else {
            given.operand.get_or_insert((word, words.get(at..).unwrap_or_default()));
            // Editors take options after files, too.
            if language.kind != Kind::Editor && !language.names.contains(&"emacs") {
                break;
            }
        }
    }
    given
}

/// The code in an option such as `-ecode`.
fn letters<'a>(language: &Language, text: &'a str) -> Option<&'a str> {
    let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    if letters.starts_with(|letter| language.values.contains(letter)) {
        return letters.split_once(';').filter(|_| language.kind == Kind::Perl).map(|(_, code)| code);
    }
    letters.starts_with(|letter| language.letters.contains(letter)).then(|| &letters[1..])
}

/// Whether an option is followed by a file with code: `awk -f`, `sed -nf`, `emacs -l`.
fn is_script_option(kind: Kind, text: &str) -> bool {
    match kind {
        Kind::Awk | Kind::Sed => {
            let is_cluster = text.starts_with('-')
                && text.ends_with('f')
                && text[1..].chars().all(|letter| "nErszuif".contains(letter));
            is_cluster || text == "--file"
        }
        Kind::Lisp => ["-l", "--load", "--script"].contains(&text),
        _ => false,
    }
}

/// The variables that `awk -v name=value` sets, as code.
fn variables(words: &[Field]) -> String {
    let pairs = words.iter().zip(words.iter().skip(1)).filter(|(option, _)| option.marked() == "-v");
    let attached = words.iter().filter_map(|word| word.marked().strip_prefix("-v"));
    let all = pairs.map(|(_, pair)| pair.marked()).chain(attached).filter_map(|pair| pair.split_once('='));
    all.filter(|(_, value)| !value.contains('"'))
        .map(|(name, value)| format!("{name}=\"{value}\"\n"))
        .collect()
}

/// `python -m module arguments`
fn python_module(words: &[Field]) -> Option<(String, &[Field])> {
    for (at, word) in words.iter().enumerate() {
        let letters = word.marked().strip_prefix('-')?;
        if let Some((_, name)) =
            letters.split_once('m').filter(|(before, _)| before.chars().all(|c| "bBdEiIOPqsSuvx".contains(c)))
        {
            let rest = &words[at + 1..];
            return match (name, rest) {
                ("", [name, rest @ ..]) => Some((name.marked().to_owned(), rest)),
                ("", []) => None,
                (name, rest) => Some((name.to_owned(), rest)),
            };
        }
        // What takes a value, or is code.
        if letters.ends_with(['c', 'W', 'X']) {
            return None;
        }
    }
    None
}

/// `ruby -run -e rm -- -rf folder`: tools that are called as in a shell.
fn ruby_tool<'a>(language: &Language, words: &'a [Field]) -> Option<(Field, &'a [Field])> {
    if !language.names.contains(&"ruby") || !words.iter().any(|word| word.marked() == "-run") {
        return None;
    }
    let at = words.iter().position(|word| word.marked() == "-e")?;
    let rest = words.get(at + 2..)?;
    let rest = if rest.first().is_some_and(|word| word.marked() == "--") { &rest[1..] } else { rest };
    Some((words.get(at + 1)?.clone(), rest))
}

/// Code that a framework's own program is told: `php artisan tinker --execute=code`, `python manage.py shell -c code`.
fn told(program: &Field, words: &[Field]) -> Vec<Field> {
    let options: &[&str] = match (program.base().marked(), words.first().map(Field::marked)) {
        ("artisan", Some("tinker")) => &["--execute"],
        ("manage.py" | "django-admin", Some("shell" | "shell_plus")) => &["-c", "--command"],
        _ => return Vec::new(),
    };
    let value = |(at, word): (usize, &Field)| {
        let text = word.marked();
        let attached = || text.split_once('=').filter(|(name, _)| options.contains(name));
        if options.contains(&text) {
            words.get(at + 1).cloned()
        } else {
            attached().map(|(_, code)| code.into())
        }
    };
    words.iter().enumerate().filter_map(value).collect()
}

/// The code that is read, where that is known; a doubt where it is not.
pub(super) fn read(walk: &mut Walk<'_>, input: &Stream) -> Option<String> {
    match input {
        Stream::Known(written) => {
            if written.is_decoded {
                walk.doubt(Doubt("it runs text that was decoded: write the code itself".to_owned()));
            }
            Some(written.text.clone())
        }
        Stream::Unknown => {
            walk.doubt(unknown_text());
            None
        }
        Stream::Elsewhere => None,
    }
}

/// The same for a program of `language`, of which some read no code.
fn read_by(walk: &mut Walk<'_>, language: &Language, input: &Stream) -> Option<String> {
    let reads_data = matches!(language.kind, Kind::Editor | Kind::Macro) || language.names == ["rake"];
    if reads_data && input == &Stream::Unknown { None } else { read(walk, input) }
}

/// Walks through what a text of another language passes on.
pub(in crate::permit::shell) fn text(walk: &mut Walk<'_>, code: &str, kind: Kind) {
    if let Err(doubt) = walk.budget.read(code.len() * 8) {
        walk.doubt(doubt);
        return;
    }
    for embedded in language::embedded(code, kind) {
        match embedded {
            Embedded::Shell(text) => {
                walk.source(&text, &Stream::Elsewhere);
            }
            Embedded::Words(words) => {
                let words: Vec<Field> = words.into_iter().map(|word| at_home(walk, word)).collect();
                walk.run(&words, &[], &Stream::Elsewhere);
            }
            Embedded::Write(file) => {
                let file = at_home(walk, file);
                walk.run(&[], &[file], &Stream::Elsewhere);
            }
            Embedded::Unknown(why) => walk.doubt(Doubt(why)),
        }
    }
}

/// The text of what stands after `data:` in an address: `text/javascript,code`.
pub(in crate::permit::shell) fn data(address: &str) -> String {
    let text = address.split_once(',').map_or("", |(_, text)| text);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.extend(u8::try_from(high * 16 + low));
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether all of the text is what a command writes when it runs.
pub(in crate::permit::shell) fn is_unknown(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(&format!("{OPEN}$(")) && text.find(CLOSE) == Some(text.len() - CLOSE.len_utf8())
}

/// A path in which a first `~` is the home folder.
fn at_home(walk: &Walk<'_>, path: Field) -> Field {
    match (path.marked().strip_prefix('~'), walk.scope.home()) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            Field(format!("{}{rest}", home.marked()))
        }
        _ => in_variable(walk, &path).unwrap_or(path),
    }
}

/// A path that begins with a variable that is known.
fn in_variable(walk: &Walk<'_>, path: &Field) -> Option<Field> {
    let (variable, rest) = path.marked().strip_prefix(OPEN)?.strip_prefix('$')?.split_once(CLOSE)?;
    let value = walk.scope.values(variable).first()?.first()?.marked().to_owned();
    Some(Field(format!("{value}{rest}")))
}
