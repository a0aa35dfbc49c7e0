//! Code for interpreters other than shells: in an option, in a file that the command line wrote, or on stdin.

use super::{Interpreter, python_module, unknown_text};
use crate::agents;
use crate::line::Doubt;
use crate::shell::field::{CLOSE, Field, OPEN};
use crate::shell::language::{self, Effect, Syntax};
use crate::shell::walk::{Stream, Walk, plain};

/// Options of node and similar that take a module.
const MODULES: [&str; 5] = ["--require", "--import", "--loader", "--conditions", "--env-file"];

/// The code that an interpreter is given.
#[derive(Default)]
struct Given<'a> {
    /// Code in the command line.
    texts: Vec<Field>,
    /// Script files named by an option.
    scripts: Vec<Field>,
    /// The first operand and the arguments after it.
    operand: Option<(&'a Field, &'a [Field])>,
}

/// Walks the code that an interpreter of `language` runs.
pub(super) fn run(walk: &mut Walk<'_>, interpreter: &Interpreter, words: &[Field], input: &Stream) {
    if interpreter.kind == Syntax::Python
        && let Some((name, rest)) = python_module(words)
    {
        return python_module::run(walk, &name, rest, input);
    }
    if let Some((program, rest)) = ruby_tool(interpreter, words) {
        walk.run(&[&[program], rest].concat(), &[], &Stream::External);
        return;
    }
    let Given { mut texts, mut scripts, operand } = given(interpreter, words);
    if let Some((operand, rest)) = operand {
        let name = operand.marked();
        if name.starts_with("https://") || name.starts_with("http://") {
            walk.doubt(unknown_text());
        } else if let Some(package) = name.strip_prefix("npm:") {
            walk.run(&[&["npx".into(), package.into()], rest].concat(), &[], &Stream::External);
        } else if let Some(agent) = agents::packaged(name) {
            walk.run(&[&[agent.program.into()], rest].concat(), &[], &Stream::External);
        }
        texts.extend(framework_code(operand, rest));
    }
    let takes_code = interpreter.takes_code && scripts.is_empty();
    if texts.is_empty() && takes_code {
        texts.extend(operand.map(|(operand, _)| operand.clone()));
    }
    if texts.is_empty() && !interpreter.takes_code {
        match operand {
            Some((operand, _)) => scripts.push(operand.clone()),
            None => texts.extend(read_by(walk, interpreter, input).map(Field)),
        }
    }
    let variables = if interpreter.kind == Syntax::Awk { variables(words) } else { String::new() };
    for script in scripts {
        let known = walk.scope.files.get(&plain(script.marked())).map(|written| written.text.clone());
        if let Some(text) = known {
            texts.push(Field(text));
        } else if ["-", "/dev/stdin", "/dev/fd/0"].contains(&script.marked()) {
            texts.extend(read_by(walk, interpreter, input).map(Field));
        } else if script.marked().starts_with(&format!("{OPEN}<(")) {
            walk.doubt(unknown_text());
        }
    }
    if interpreter.names != ["jq"] && texts.iter().any(|text| is_unknown(text.marked())) {
        walk.doubt(unknown_text());
    }
    let is_banged = ["ipython", "gnuplot"].iter().any(|name| interpreter.names.contains(name));
    for code in texts {
        if is_banged {
            for line in code.marked().lines().filter_map(|line| line.trim_start().strip_prefix('!')) {
                walk.source(line, &Stream::External);
            }
        }
        text(walk, &format!("{variables}{}", code.marked()), interpreter.kind);
    }
}

fn given<'a>(interpreter: &Interpreter, words: &'a [Field]) -> Given<'a> {
    let mut given = Given::default();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        let text = word.marked();
        let next = words.get(at);
        if is_script_option(interpreter.kind, text) {
            given.scripts.extend(next.cloned());
            at += 1;
        } else if interpreter.long.contains(&text) {
            given.texts.extend(next.cloned());
            at += 1;
        } else if let Some((name, value)) = text.split_once('=').filter(|_| text.starts_with('-')) {
            if interpreter.long.contains(&name) {
                given.texts.push(value.into());
            } else if MODULES.contains(&name) && value.starts_with("data:") {
                given.texts.push(Field(data(value)));
            } else if let Some(code) = letters(interpreter, text) {
                given.texts.push(code.into());
            }
        } else if interpreter.kind == Syntax::Editor && text.starts_with('+') {
            given.texts.push(text[1..].into());
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let is_code = |letter: char| interpreter.letters.contains(letter);
            if letters.starts_with('-') {
                if MODULES.contains(&text) {
                    let module = next.filter(|next| next.marked().starts_with("data:"));
                    given.texts.extend(module.map(|next| Field(data(next.marked()))));
                    at += 1;
                }
            } else if letters.starts_with(|letter| interpreter.values.contains(letter)) {
                // `perl '-Mstrict;code'`
                if let Some((_, code)) = letters.split_once(';').filter(|_| interpreter.kind == Syntax::Perl)
                {
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
            && interpreter.names.contains(&"deno")
            && given.operand.is_none()
            && next.is_some()
        {
            // `deno run script`
        } else {
            given.operand.get_or_insert((word, words.get(at..).unwrap_or_default()));
            // Editors accept options after files.
            if interpreter.kind != Syntax::Editor && !interpreter.names.contains(&"emacs") {
                break;
            }
        }
    }
    given
}

/// The code in an option such as `-ecode`.
fn letters<'a>(interpreter: &Interpreter, text: &'a str) -> Option<&'a str> {
    let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    if letters.starts_with(|letter| interpreter.values.contains(letter)) {
        return letters.split_once(';').filter(|_| interpreter.kind == Syntax::Perl).map(|(_, code)| code);
    }
    letters.starts_with(|letter| interpreter.letters.contains(letter)).then(|| &letters[1..])
}

/// Whether the option takes a script file: `awk -f`, `sed -nf`, `emacs -l`
fn is_script_option(kind: Syntax, text: &str) -> bool {
    match kind {
        Syntax::Awk | Syntax::Sed => {
            let is_cluster = text.starts_with('-')
                && text.ends_with('f')
                && text[1..].chars().all(|letter| "nErszuif".contains(letter));
            is_cluster || text == "--file"
        }
        Syntax::Lisp => ["-l", "--load", "--script"].contains(&text),
        _ => false,
    }
}

/// The variables of `awk -v name=value`, as code.
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
        // Options with a value, or with code.
        if letters.ends_with(['c', 'W', 'X']) {
            return None;
        }
    }
    None
}

/// `ruby -run -e rm -- -rf folder`: tools called as in a shell.
fn ruby_tool<'a>(interpreter: &Interpreter, words: &'a [Field]) -> Option<(Field, &'a [Field])> {
    if !interpreter.names.contains(&"ruby") || !words.iter().any(|word| word.marked() == "-run") {
        return None;
    }
    let at = words.iter().position(|word| word.marked() == "-e")?;
    let rest = words.get(at + 2..)?;
    let rest = if rest.first().is_some_and(|word| word.marked() == "--") { &rest[1..] } else { rest };
    Some((words.get(at + 1)?.clone(), rest))
}

/// Code for a framework's command: `php artisan tinker --execute=code`, `python manage.py shell -c code`
fn framework_code(program: &Field, words: &[Field]) -> Vec<Field> {
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

/// Returns code from the input. Unknown input is a doubt.
pub(super) fn read(walk: &mut Walk<'_>, input: &Stream) -> Option<String> {
    match input {
        Stream::Known(written) => {
            if written.is_decoded {
                walk.doubt(Doubt("the command runs decoded code: write out the decoded code".to_owned()));
            }
            Some(written.text.clone())
        }
        Stream::Unknown => {
            walk.doubt(unknown_text());
            None
        }
        Stream::External => None,
    }
}

/// Like [`read`], for programs of `language`; some of them don't read code.
fn read_by(walk: &mut Walk<'_>, interpreter: &Interpreter, input: &Stream) -> Option<String> {
    let reads_data = matches!(interpreter.kind, Syntax::Editor | Syntax::M4) || interpreter.names == ["rake"];
    if reads_data && input == &Stream::Unknown { None } else { read(walk, input) }
}

/// Walks the commands and file accesses in code of another language.
pub(in crate::shell) fn text(walk: &mut Walk<'_>, code: &str, kind: Syntax) {
    if let Err(doubt) = walk.budget.read(code.len() * 8) {
        walk.doubt(doubt);
        return;
    }
    for effect in language::effects(code, kind) {
        match effect {
            Effect::Shell(text) => {
                walk.source(&text, &Stream::External);
            }
            Effect::Words(words) => {
                let words: Vec<Field> = words.into_iter().map(|word| at_home(walk, word)).collect();
                walk.run(&words, &[], &Stream::External);
            }
            Effect::Write(file) => {
                let file = at_home(walk, file);
                walk.run(&[], &[file], &Stream::External);
            }
            Effect::Unknown(why) => walk.doubt(Doubt(why)),
        }
    }
}

/// Decodes a `data:` URL: `text/javascript,code`
pub(in crate::shell) fn data(address: &str) -> String {
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

/// Whether the whole text is the output of an unknown command.
pub(in crate::shell) fn is_unknown(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(&format!("{OPEN}$(")) && text.find(CLOSE) == Some(text.len() - CLOSE.len_utf8())
}

/// Expands a leading `~` in a path.
fn at_home(walk: &Walk<'_>, path: Field) -> Field {
    match (path.marked().strip_prefix('~'), walk.scope.home()) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            Field(format!("{}{rest}", home.marked()))
        }
        _ => in_variable(walk, &path).unwrap_or(path),
    }
}

/// Expands a leading variable in a path, if it is known.
fn in_variable(walk: &Walk<'_>, path: &Field) -> Option<Field> {
    let (variable, rest) = path.marked().strip_prefix(OPEN)?.strip_prefix('$')?.split_once(CLOSE)?;
    let value = walk.scope.values(variable).first()?.first()?.marked().to_owned();
    Some(Field(format!("{value}{rest}")))
}
