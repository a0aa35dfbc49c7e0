//! Programs that run text: shells, and other languages, of which only what they pass on to the system is of interest.

use super::field::{CLOSE, Field, OPEN};
use super::language::{self, Embedded, Kind};
use super::scope::{Arguments, Written};
use super::walk::{Stream, Walk, plain};
use crate::permit::line::Doubt;

/// The shells, whose text is read as such.
const SHELLS: [&str; 18] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "mksh",
    "ash",
    "fish",
    "rbash",
    "yash",
    "csh",
    "tcsh",
    "pwsh",
    "ksh93",
    "powershell",
    "powershell.exe",
    "pwsh.exe",
    "bash.exe",
];

/// A language: its programs, the letters of the options that are followed by code, and their long names.
struct Language {
    names: &'static [&'static str],
    letters: &'static str,
    long: &'static [&'static str],
    /// The letters of the options that are followed by another value.
    values: &'static str,
    /// Whether its first operand is code rather than a file.
    takes_code: bool,
    kind: Kind,
}

const fn language(
    names: &'static [&'static str],
    letters: &'static str,
    long: &'static [&'static str],
    values: &'static str,
    takes_code: bool,
    kind: Kind,
) -> Language {
    Language { names, letters, long, values, takes_code, kind }
}

#[rustfmt::skip]
const LANGUAGES: [Language; 21] = [
    language(&["python", "pypy", "ipython"], "c", &[], "WXm", false, Kind::Python),
    language(&["perl"], "eE", &[], "ImM", false, Kind::Perl),
    language(&["ruby", "jruby", "irb"], "e", &[], "ICr", false, Kind::Perl),
    language(&["node", "nodejs", "bun", "deno", "tsx", "ts-node"], "ep", &["--eval", "--print", "eval"], "rC", false, Kind::Script),
    language(&["php"], "rBRE", &["--run"], "dcf", false, Kind::Perl),
    language(&["lua", "luajit"], "e", &[], "l", false, Kind::Script),
    language(&["awk", "gawk", "mawk", "nawk"], "e", &["--source"], "Fvf", true, Kind::Awk),
    language(&["sed", "gsed"], "e", &["--expression"], "lf", true, Kind::Sed),
    language(&["osascript"], "e", &[], "l", false, Kind::Script),
    language(&["Rscript", "R"], "e", &[], "", false, Kind::Script),
    language(&["julia", "elixir", "groovy", "scala", "raku", "crystal", "iex"], "eE", &["--eval"], "", false, Kind::Script),
    language(&["erl"], "", &["-eval", "-run"], "", false, Kind::Script),
    language(&["ghc", "runghc", "swift", "kotlin", "clojure", "clj", "bb"], "e", &["-eval", "--eval"], "", false, Kind::Lisp),
    language(&["jshell"], "", &[], "", false, Kind::Script),
    language(&["guile", "racket", "sbcl", "chibi-scheme", "gosh", "csi", "ocaml"], "ce", &["--eval"], "", false, Kind::Lisp),
    language(&["emacs", "emacsclient"], "e", &["--eval", "-eval", "--execute", "--funcall"], "l", false, Kind::Lisp),
    language(&["tclsh", "expect", "wish"], "c", &[], "", false, Kind::Tcl),
    language(&["m4"], "", &[], "DI", false, Kind::Macro),
    language(&["vim", "vi", "nvim", "ex", "view", "gvim"], "cS", &["--cmd"], "uT", false, Kind::Editor),
    language(&["gnuplot", "octave", "matlab", "sage", "maxima"], "er", &["--eval", "-batch"], "", false, Kind::Script),
    language(&["jq"], "", &[], "", true, Kind::Script),
];

/// The names of all of them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SHELLS.into_iter().chain(LANGUAGES.iter().flat_map(|language| language.names.iter().copied()))
}

/// Runs what the interpreter `name` is given; nothing where it is none.
pub(super) fn run(walk: &mut Walk<'_>, name: &str, words: &[Field], input: &Stream) -> Option<Stream> {
    if SHELLS.contains(&name) {
        let takes_text =
            name.starts_with("powershell") && !words[1..].iter().any(|word| word.marked().starts_with("-F"));
        return Some(walk.apart(|walk| shell(walk, &words[1..], input, takes_text)));
    }
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let is_about = |language: &&Language| language.names.contains(&name) || language.names.contains(&plain);
    let language = LANGUAGES.iter().find(is_about)?;
    walk.apart(|walk| {
        code(walk, language, &words[1..], input);
        Stream::Unknown
    });
    // A filter's output may be known as that of any program.
    (!language.takes_code).then_some(Stream::Unknown)
}

fn shell(walk: &mut Walk<'_>, words: &[Field], input: &Stream, takes_text: bool) -> Stream {
    let (mut at, mut runs_text, mut reads) = (0, false, false);
    while let Some(word) = words.get(at).map(Field::marked) {
        let Some(letters) = word.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty()) else {
            break;
        };
        at += 1;
        match letters {
            "-" => break,
            "-rcfile" | "-init-file" => {
                if let Some(read) = words.get(at) {
                    file(walk, read, input);
                }
                at += 1;
            }
            "o" | "O" => at += 1,
            "-command" | "Command" => runs_text = true,
            _ if letters.starts_with('-') => {}
            _ => {
                runs_text |= letters.contains('c');
                reads |= letters.contains('s');
                at += usize::from(letters.ends_with('o') || letters.ends_with('O'));
            }
        }
    }
    let operands = words.get(at..).unwrap_or_default();
    if takes_text && !runs_text && !operands.is_empty() {
        let texts: Vec<&str> = operands.iter().map(Field::marked).collect();
        return walk.source(&texts.join(" "), input);
    }
    match operands.first() {
        Some(text) if runs_text => {
            walk.scope.arguments = Arguments::Known(operands.get(2..).unwrap_or_default().to_vec());
            if let Some(name) = operands.get(1) {
                walk.scope.set("0", vec![name.clone()]);
            }
            walk.source(text.marked(), input)
        }
        Some(script) if !reads => {
            walk.scope.arguments = Arguments::Known(operands[1..].to_vec());
            file(walk, script, input)
        }
        _ => {
            walk.scope.arguments = Arguments::Known(operands.to_vec());
            read(walk, input)
        }
    }
}

/// Runs a script of the shell: a file that the line has written, or what it reads.
pub(super) fn file(walk: &mut Walk<'_>, file: &Field, input: &Stream) -> Stream {
    if ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(&file.marked()) {
        return read(walk, input);
    }
    if file.marked().starts_with(&format!("{OPEN}<(")) {
        return read(walk, &Stream::Unknown);
    }
    match walk.scope.files.get(&plain(file.marked())).cloned() {
        Some(written) => script(walk, &written),
        None => Stream::Unknown,
    }
}

/// Runs a script that is known.
pub(super) fn script(walk: &mut Walk<'_>, written: &Written) -> Stream {
    if written.is_decoded {
        walk.doubt(Doubt("it runs text that was decoded: write the command itself".to_owned()));
    }
    walk.source(&written.text, &Stream::Elsewhere)
}

fn read(walk: &mut Walk<'_>, input: &Stream) -> Stream {
    match input {
        Stream::Known(written) => script(walk, written),
        Stream::Elsewhere => Stream::Unknown,
        Stream::Unknown => {
            walk.doubt(unknown_text());
            Stream::Unknown
        }
    }
}

fn unknown_text() -> Doubt {
    Doubt(
        "it runs text that is only known when it runs: save it to a file, read it, then run that".to_owned(),
    )
}

fn code(walk: &mut Walk<'_>, language: &Language, words: &[Field], input: &Stream) {
    let mut texts: Vec<Field> = Vec::new();
    let (mut operand, mut at) = (None, 0);
    while let Some(word) = words.get(at) {
        at += 1;
        let text = word.marked();
        let next = words.get(at);
        if language.long.contains(&text) {
            texts.extend(next.cloned());
            at += 1;
        } else if let Some((_, value)) = text.split_once('=').filter(|(name, _)| language.long.contains(name))
        {
            texts.push(value.into());
        } else if language.kind == Kind::Editor && text.starts_with('+') {
            texts.push(text[1..].into());
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let is_code = |letter: char| language.letters.contains(letter);
            if language.kind == Kind::Python && letters.starts_with('m') {
                // A module: what comes after it are its arguments.
                return;
            } else if letters.starts_with('-') {
                const VALUED: [&str; 5] = ["--require", "--import", "--loader", "--conditions", "--env-file"];
                at += usize::from(VALUED.contains(&text));
                continue;
            } else if letters.starts_with(|letter| language.values.contains(letter)) {
                at += usize::from(letters.len() == 1);
            } else if letters.ends_with(is_code) && letters.chars().all(char::is_alphanumeric) {
                texts.extend(next.cloned());
                at += 1;
            } else if letters.starts_with(is_code) {
                texts.push(letters[1..].into());
            }
        } else {
            operand = Some(word);
            break;
        }
    }
    if texts.is_empty() && language.takes_code {
        texts.extend(operand.cloned());
    }
    if texts.is_empty() {
        let read = operand.is_none_or(|file| ["-", "/dev/stdin"].contains(&file.marked()));
        let known = operand.and_then(|file| walk.scope.files.get(&plain(file.marked())).cloned());
        match (known, input) {
            (Some(written), _) => texts.push(Field(written.text)),
            (None, Stream::Known(written)) if read => {
                if written.is_decoded {
                    walk.doubt(Doubt("it runs text that was decoded: write the code itself".to_owned()));
                }
                texts.push(Field(written.text.clone()));
            }
            (None, Stream::Unknown) if read && !matches!(language.kind, Kind::Editor | Kind::Macro) => {
                walk.doubt(unknown_text())
            }
            _ => {}
        }
    }
    let reads_unknown = operand.is_some_and(|file| file.marked().starts_with(&format!("{OPEN}<(")));
    if language.kind != Kind::Script || language.names != ["jq"] {
        let is_unknown = |text: &Field| {
            let text = text.marked().trim();
            text.starts_with(&format!("{OPEN}$(")) && text.find(CLOSE) == Some(text.len() - CLOSE.len_utf8())
        };
        if reads_unknown && texts.is_empty() || texts.iter().any(is_unknown) {
            walk.doubt(unknown_text());
        }
    }
    for text in texts {
        if let Err(doubt) = walk.budget.read(text.marked().len() * 8) {
            walk.doubt(doubt);
            return;
        }
        for embedded in language::embedded(text.marked(), language.kind) {
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
}

/// A path that begins with a variable that is known.
fn in_variable(walk: &Walk<'_>, path: &Field) -> Option<Field> {
    let (variable, rest) = path.marked().strip_prefix(OPEN)?.strip_prefix('$')?.split_once(CLOSE)?;
    let value = walk.scope.values(variable).first()?.first()?.marked().to_owned();
    Some(Field(format!("{value}{rest}")))
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
