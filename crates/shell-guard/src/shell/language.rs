//! Finds the commands and file accesses in code of other languages.
//!
//! This isn't a parser. It looks for calls by name and follows string literals, including strings that are concatenated
//! or kept in variables. Code with neither passes.
//!
//! Each line-based language has its own file with a function `effects`. The others share the tokens of `lex`, the loop
//! in `reader`, and the calls, values and paths; what only one of them has is in its file.

mod awk;
mod call;
mod editor;
mod javascript;
mod kill;
mod lex;
mod lisp;
mod m4;
mod names;
mod path;
mod perl;
mod python;
mod reader;
mod ruby;
mod sed;
mod tcl;
mod value;

use super::field::Field;

/// An effect of the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// A shell command.
    Shell(String),
    /// A program and its arguments.
    Words(Vec<Field>),
    /// A file it writes.
    Write(Field),
    /// Something it runs that can't be known, and why.
    Unknown(String),
}

/// A family of languages with similar syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// Comments start with `#`.
    Python,
    /// Like Python, but backticks run a command. Also Ruby and PHP.
    Perl,
    /// Comments start with `//`; backticks quote a string. Also Lua and others.
    CLike,
    /// `|` connects to a command.
    Awk,
    /// `sed`: `e` runs a command.
    Sed,
    /// Editor commands: `!` runs a command.
    Editor,
    /// `exec …`, `spawn …`
    Tcl,
    /// Calls look like `(name argument)`.
    Lisp,
    /// m4: `syscmd(…)`, without quotes.
    M4,
}

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Text(String),
    List(Vec<Self>),
    Unknown,
}

/// The longest string that is put together, in bytes.
const MAX_TEXT: usize = 1 << 16;

/// How many tokens may be read as values in total. Ordinary code stays far below it.
const FUEL: u32 = 200_000;

/// How deeply code may evaluate code in strings.
const MAX_DEPTH: u32 = 4;

/// Returns the effects of `code`.
pub(super) fn effects(code: &str, syntax: Syntax) -> Vec<Effect> {
    effects_at(code, syntax, 0)
}

fn effects_at(code: &str, syntax: Syntax, depth: u32) -> Vec<Effect> {
    match syntax {
        Syntax::Sed => sed::effects(code),
        Syntax::Editor => editor::effects(code),
        Syntax::M4 => m4::effects(code),
        Syntax::Tcl => tcl::effects(code),
        _ if depth > MAX_DEPTH => {
            let why = "the code evaluates strings as code too deeply to check: run the command directly";
            vec![Effect::Unknown(why.to_owned())]
        }
        Syntax::Perl => {
            let rewritten = perl::without_argv0(code);
            reader::effects(rewritten.as_deref().unwrap_or(code), syntax, depth)
        }
        _ => reader::effects(code, syntax, depth),
    }
}

/// Joins strings, if all are known.
fn joined(values: &[Value], between: &str) -> Option<String> {
    let texts = values.iter().map(|value| match value {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let texts = texts.collect::<Option<Vec<_>>>()?;
    let length: usize = texts.iter().map(|text| text.len() + between.len()).sum();
    (length < MAX_TEXT).then(|| texts.join(between))
}
