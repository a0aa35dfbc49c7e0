//! Programs that run code: shells and other interpreters. For other languages, only the commands and file accesses in
//! the code matter.

mod code;
mod powershell;
mod python_module;

pub(super) use code::{data, is_unknown, text};

use super::field::{Field, OPEN};
use super::language::Syntax;
use super::scope::{Arguments, Written};
use super::walk::{Stream, Walk, plain};
use crate::line::Doubt;

/// Shells, whose code is walked as such.
const SHELLS: [&str; 22] = [
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
    "osh",
    "oksh",
    "loksh",
    "posh",
];

/// An interpreter: its programs, and the short and long options that are followed by code.
struct Interpreter {
    names: &'static [&'static str],
    letters: &'static str,
    long: &'static [&'static str],
    /// Short options that are followed by another value.
    values: &'static str,
    /// Whether the first operand is code rather than a file.
    takes_code: bool,
    kind: Syntax,
}

const fn row(
    names: &'static [&'static str],
    letters: &'static str,
    long: &'static [&'static str],
    values: &'static str,
    takes_code: bool,
    kind: Syntax,
) -> Interpreter {
    Interpreter { names, letters, long, values, takes_code, kind }
}

#[rustfmt::skip]
const INTERPRETERS: [Interpreter; 22] = [
    row(&["python", "pypy", "ipython"], "c", &[], "WXm", false, Syntax::Python),
    row(&["perl"], "eE", &[], "ImM", false, Syntax::Perl),
    row(&["ruby", "jruby", "irb"], "e", &[], "ICr", false, Syntax::Perl),
    row(&["node", "nodejs", "bun", "deno", "tsx", "ts-node", "qjs", "mongosh", "mongo", "jsc", "tjs"], "ep", &["--eval", "--print", "eval"], "rC", false, Syntax::CLike),
    row(&["rake"], "eEp", &["--execute", "--execute-continue", "--execute-print"], "fIr", false, Syntax::Perl),
    row(&["php"], "rBRE", &["--run"], "dcf", false, Syntax::Perl),
    row(&["lua", "luajit"], "e", &[], "l", false, Syntax::CLike),
    row(&["awk", "gawk", "mawk", "nawk"], "e", &["--source"], "Fvf", true, Syntax::Awk),
    row(&["sed", "gsed"], "e", &["--expression"], "lf", true, Syntax::Sed),
    row(&["osascript"], "e", &[], "l", false, Syntax::CLike),
    row(&["Rscript", "R"], "e", &[], "", false, Syntax::CLike),
    row(&["julia", "elixir", "groovy", "scala", "raku", "crystal", "iex"], "eE", &["--eval"], "", false, Syntax::CLike),
    row(&["erl"], "", &["-eval", "-run"], "", false, Syntax::CLike),
    row(&["ghc", "runghc", "swift", "kotlin", "clojure", "clj", "bb"], "e", &["-eval", "--eval"], "", false, Syntax::Lisp),
    row(&["jshell"], "", &[], "", false, Syntax::CLike),
    row(&["guile", "racket", "sbcl", "chibi-scheme", "gosh", "csi", "ocaml"], "ce", &["--eval"], "", false, Syntax::Lisp),
    row(&["emacs", "emacsclient"], "e", &["--eval", "-eval", "--execute", "--funcall"], "l", false, Syntax::Lisp),
    row(&["tclsh", "expect", "wish"], "c", &[], "", false, Syntax::Tcl),
    row(&["m4"], "", &[], "DI", false, Syntax::M4),
    row(&["vim", "vi", "nvim", "ex", "view", "gvim"], "cS", &["--cmd"], "uT", false, Syntax::Editor),
    row(&["gnuplot", "bpftrace", "stap", "octave", "matlab", "sage", "maxima"], "er", &["--eval", "-batch"], "", false, Syntax::CLike),
    row(&["jq"], "", &[], "", true, Syntax::CLike),
];

/// The names of all interpreters.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SHELLS.into_iter().chain(INTERPRETERS.iter().flat_map(|interpreter| interpreter.names.iter().copied()))
}

/// Walks what the interpreter `name` runs. Returns `None` if it isn't one.
pub(super) fn run(walk: &mut Walk<'_>, name: &str, words: &[Field], input: &Stream) -> Option<Stream> {
    if SHELLS.contains(&name) {
        let is_windows = name.starts_with("powershell") || name.starts_with("pwsh");
        return Some(walk.in_subshell(|walk| {
            if is_windows {
                powershell::run(walk, &words[1..], input, name.starts_with("powershell"))
            } else {
                shell(walk, &words[1..], input)
            }
        }));
    }
    // `bun exec` runs a shell command.
    if name == "bun" && words.get(1).is_some_and(|word| ["exec", "x"].contains(&word.marked())) {
        return None;
    }
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let is_about =
        |interpreter: &&Interpreter| interpreter.names.contains(&name) || interpreter.names.contains(&plain);
    let interpreter = INTERPRETERS.iter().find(is_about)?;
    walk.in_subshell(|walk| {
        code::run(walk, interpreter, &words[1..], input);
        Stream::Unknown
    });
    // A filter's output may be predictable.
    (!interpreter.takes_code).then_some(Stream::Unknown)
}

fn shell(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
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
            "-command" => runs_text = true,
            _ if letters.starts_with('-') => {}
            _ => {
                runs_text |= letters.contains('c');
                reads |= letters.contains('s');
                at += usize::from(letters.ends_with('o') || letters.ends_with('O'));
            }
        }
    }
    let operands = words.get(at..).unwrap_or_default();
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

/// Runs a shell script: a file that the command line has written, or the input.
pub(super) fn file(walk: &mut Walk<'_>, file: &Field, input: &Stream) -> Stream {
    if ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(&file.marked()) {
        return read(walk, input);
    }
    if file.marked().starts_with(&format!("{OPEN}<(")) {
        return read(walk, &Stream::Unknown);
    }
    match walk.scope.files.get(&plain(file.marked())).cloned() {
        Some(written) => script(walk, &written),
        None if walk.scope.is_pipe(file.marked()) => read(walk, &Stream::Unknown),
        None => Stream::Unknown,
    }
}

/// Runs a script whose text is known.
pub(super) fn script(walk: &mut Walk<'_>, written: &Written) -> Stream {
    if written.is_decoded {
        walk.doubt(Doubt("the command runs decoded text: write out the decoded command".to_owned()));
    }
    walk.source(&written.text, &Stream::External)
}

fn read(walk: &mut Walk<'_>, input: &Stream) -> Stream {
    match input {
        Stream::Known(written) => script(walk, written),
        Stream::External => Stream::Unknown,
        Stream::Unknown => {
            walk.doubt(unknown_text());
            Stream::Unknown
        }
    }
}

pub(super) fn unknown_text() -> Doubt {
    Doubt(
        "the command runs text that is only known at run time: save it to a file, review it, then run the file".to_owned(),
    )
}
