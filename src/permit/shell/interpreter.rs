//! Programs that run text: shells, and other languages, of which only what they pass on to the system is of interest.

mod code;
mod module;
mod windows;

pub(super) use code::{data, is_unknown, text};

use super::field::{Field, OPEN};
use super::language::Kind;
use super::scope::{Arguments, Written};
use super::walk::{Stream, Walk, plain};
use crate::permit::line::Doubt;

/// The shells, whose text is read as such.
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
const LANGUAGES: [Language; 22] = [
    language(&["python", "pypy", "ipython"], "c", &[], "WXm", false, Kind::Python),
    language(&["perl"], "eE", &[], "ImM", false, Kind::Perl),
    language(&["ruby", "jruby", "irb"], "e", &[], "ICr", false, Kind::Perl),
    language(&["node", "nodejs", "bun", "deno", "tsx", "ts-node", "qjs", "mongosh", "mongo", "jsc", "tjs"], "ep", &["--eval", "--print", "eval"], "rC", false, Kind::Script),
    language(&["rake"], "eEp", &["--execute", "--execute-continue", "--execute-print"], "fIr", false, Kind::Perl),
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
    language(&["gnuplot", "bpftrace", "stap", "octave", "matlab", "sage", "maxima"], "er", &["--eval", "-batch"], "", false, Kind::Script),
    language(&["jq"], "", &[], "", true, Kind::Script),
];

/// The names of all of them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SHELLS.into_iter().chain(LANGUAGES.iter().flat_map(|language| language.names.iter().copied()))
}

/// Runs what the interpreter `name` is given; nothing where it is none.
pub(super) fn run(walk: &mut Walk<'_>, name: &str, words: &[Field], input: &Stream) -> Option<Stream> {
    if SHELLS.contains(&name) {
        let is_windows = name.starts_with("powershell") || name.starts_with("pwsh");
        return Some(walk.apart(|walk| {
            if is_windows {
                windows::run(walk, &words[1..], input, name.starts_with("powershell"))
            } else {
                shell(walk, &words[1..], input)
            }
        }));
    }
    // `bun exec text` runs a text of the shell's.
    if name == "bun" && words.get(1).is_some_and(|word| ["exec", "x"].contains(&word.marked())) {
        return None;
    }
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let is_about = |language: &&Language| language.names.contains(&name) || language.names.contains(&plain);
    let language = LANGUAGES.iter().find(is_about)?;
    walk.apart(|walk| {
        code::run(walk, language, &words[1..], input);
        Stream::Unknown
    });
    // A filter's output may be known as that of any program.
    (!language.takes_code).then_some(Stream::Unknown)
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
        None if walk.scope.is_pipe(file.marked()) => read(walk, &Stream::Unknown),
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

pub(super) fn unknown_text() -> Doubt {
    Doubt(
        "it runs text that is only known when it runs: save it to a file, read it, then run that".to_owned(),
    )
}
