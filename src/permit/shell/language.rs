//! Code of other languages → what it passes on to the system: commands, files that are removed or written.
//!
//! It is no parser: it looks for calls by their name and follows strings that are written out, also where they are put
//! together from several or kept in a variable. Plain code passes.

mod call;
mod direct;
mod kill;
mod lex;
mod lines;
mod lisp;
mod names;
mod path;
mod value;

use super::field::Field;
use lex::Token;
use std::cell::Cell;
use std::collections::HashMap;

/// What the code passes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Embedded {
    /// A text for a shell.
    Shell(String),
    /// A program and its arguments.
    Words(Vec<Field>),
    /// A file that it writes to.
    Write(Field),
    /// Something that it runs, but nobody knows what.
    Unknown(String),
}

/// How the code is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Comments begin with `#`.
    Python,
    /// As Python; text between backticks is run. Also Ruby and PHP.
    Perl,
    /// Comments begin with `//`; text between backticks is a string.
    Script,
    /// What stands beside `|` is run.
    Awk,
    /// Commands of `sed`, of which `e` runs something.
    Sed,
    /// Commands of an editor, of which `!` runs something.
    Editor,
    /// `exec …`, `spawn …`
    Tcl,
    /// Calls are written `(name argument)`.
    Lisp,
    /// `syscmd(…)`, without quotes.
    Macro,
}

/// A value that is known of the code.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Text(String),
    List(Vec<Self>),
    Unknown,
}

/// The longest text that is put together.
const MOST: usize = 1 << 16;

/// How many tokens of values are read: more than plain code has, however often one is looked at.
const FUEL: u32 = 200_000;

/// How deep code may run code that stands in it.
const DEPTH: u32 = 4;

/// What `code` passes on.
pub(super) fn embedded(code: &str, kind: Kind) -> Vec<Embedded> {
    embedded_at(code, kind, 0)
}

fn embedded_at(code: &str, kind: Kind, depth: u32) -> Vec<Embedded> {
    match kind {
        Kind::Sed => return lines::sed(code),
        Kind::Editor => return lines::editor(code),
        Kind::Macro => return lines::macros(code),
        Kind::Tcl => return lines::tcl(code),
        _ if depth > DEPTH => {
            let why = "it runs code within code, too deep to be read: write the command itself";
            return vec![Embedded::Unknown(why.to_owned())];
        }
        _ => {}
    }
    let indirect = if kind == Kind::Perl { direct::directly(code) } else { None };
    let code = indirect.as_deref().unwrap_or(code);
    let tokens = lex::tokens(code, kind);
    let mut reader = Reader {
        tokens: &tokens,
        kind,
        depth,
        variables: HashMap::new(),
        names: HashMap::new(),
        found: Vec::new(),
        roots: Vec::new(),
        removes: false,
        ends: false,
        fuel: Cell::new(FUEL),
    };
    // What is set may stand after where it is used.
    reader.read();
    reader.found.clear();
    reader.roots.clear();
    reader.read();
    reader.searched();
    reader.end();
    if reader.fuel.get() == 0 {
        let why = "its code is too tangled to be read: save it to a file, and run that";
        reader.found.push(Embedded::Unknown(why.to_owned()));
    }
    reader.found
}

struct Reader<'a> {
    tokens: &'a [Token],
    kind: Kind,
    /// How deep it stands in other code.
    depth: u32,
    variables: HashMap<&'a str, Value>,
    /// Other names of calls that run something.
    names: HashMap<&'a str, &'a str>,
    found: Vec<Embedded>,
    /// Folders that it goes through, and what it looks for there.
    roots: Vec<(String, Option<String>)>,
    /// Whether it removes what nobody knows.
    removes: bool,
    /// Whether it ends processes.
    ends: bool,
    /// How many more tokens of values are read.
    fuel: Cell<u32>,
}

impl<'a> Reader<'a> {
    fn read(&mut self) {
        for at in 0..self.tokens.len() {
            if let Token::Word(name) = &self.tokens[at] {
                self.named(name, at);
            }
            match (&self.tokens[at], self.tokens.get(at + 1)) {
                (Token::Run(text), _) => self.found.push(Embedded::Shell(text.clone())),
                (Token::Word(name), Some(Token::Mark('='))) => {
                    if let Some(Token::Word(call)) = self.tokens.get(at + 2) {
                        self.rename(name, call);
                    }
                    if self.tokens.get(at + 2) != Some(&Token::Mark('=')) {
                        let (value, _) = self.value(at + 2, 0);
                        if value != Value::Unknown {
                            self.variables.insert(name, value);
                        }
                    }
                }
                (Token::Word(name), Some(Token::Mark('('))) => {
                    let name = self.names.get(name.as_str()).copied().unwrap_or(name);
                    let arguments = self.arguments(at + 2);
                    self.call(name, &arguments, at + 2);
                }
                (Token::Word(name), Some(Token::Text(_) | Token::Word(_))) if self.kind == Kind::Lisp => {
                    self.form(name, at);
                }
                (Token::Word(name), Some(Token::Text(_) | Token::Word(_))) if self.kind == Kind::Perl => {
                    let arguments = self.arguments(at + 1);
                    self.call(name, &arguments, at + 1);
                }
                (Token::Word(_) | Token::Text(_), Some(Token::Mark('|')))
                | (Token::Mark('|'), Some(Token::Word(_) | Token::Text(_)))
                    if self.kind == Kind::Awk =>
                {
                    self.pipe(at);
                }
                (Token::Mark('('), Some(_)) if !self.is_name(at.wrapping_sub(1)) => self.receiver(at),
                (Token::Mark('['), Some(Token::Text(_))) => self.subscript(at),
                (Token::Word(call), Some(Token::Mark(':'))) => {
                    if let Some(Token::Word(name)) = self.tokens.get(at + 2) {
                        self.rename(name, call);
                    }
                }
                (Token::Word(name), Some(Token::Word(joint))) if joint == "in" => {
                    if let (Value::Text(path), _) = self.value(at + 2, 0) {
                        self.variables.insert(name, Value::Text(path));
                    }
                    // Each value in turn: for a shell, one line each.
                    if let (Value::List(values), _) = self.value(at + 2, 0)
                        && let Some(text) = joined(&values, "\n")
                    {
                        self.variables.insert(name, Value::Text(text));
                    }
                }
                (Token::Word(call), Some(Token::Word(joint))) if joint == "as" => {
                    if let Some(Token::Word(name)) = self.tokens.get(at + 2) {
                        self.rename(name, call);
                    }
                }
                (Token::Mark('>'), Some(Token::Text(_) | Token::Word(_))) if self.kind == Kind::Awk => {
                    if let (Value::Text(path), _) = self.value(at + 1, 0) {
                        self.found.push(Embedded::Write(path.as_str().into()));
                    }
                }
                (Token::Text(text), Some(Token::Mark('.'))) => {
                    if matches!(self.tokens.get(at + 2), Some(Token::Word(call)) if call.starts_with("execute"))
                    {
                        self.found.push(Embedded::Shell(text.clone()));
                    }
                }
                (Token::Word(name), Some(Token::Text(text))) if name == "script" => {
                    // AppleScript: `do shell script "…"`.
                    self.found.push(Embedded::Shell(text.clone()));
                }
                _ => {}
            }
        }
    }

    /// Notes that `name` is another name of `call`.
    fn rename(&mut self, name: &'a str, call: &'a str) {
        if names::runs(call) || names::touches(call) {
            self.names.insert(name, call);
        }
    }

    /// What is told by a name alone, whatever comes after it.
    fn named(&mut self, name: &str, at: usize) {
        match names::last(name) {
            "kill" | "posix_kill" | "killpg" => {
                self.kill(name, at + 1);
                self.ends = true;
            }
            "terminate" => self.ends = true,
            // `from os import remove`
            "remove" | "replace" if self.is_imported(at) => {
                let full = if name == "remove" { "os.remove" } else { "os.replace" };
                self.names.insert(if name == "remove" { "remove" } else { "replace" }, full);
            }
            // `Kernel.send :system, "text"`
            "send" | "public_send" if self.tokens.get(at + 1) == Some(&Token::Mark(':')) => {
                let arguments = self.arguments(at + 1);
                self.call(name, &arguments, at + 1);
            }
            // `.then(eval)`
            "eval" if self.tokens.get(at + 1) == Some(&Token::Mark(')')) && self.says(0, at, "http") => {
                let why = "eval runs what is only known when it runs: write the command itself";
                self.found.push(Embedded::Unknown(why.to_owned()));
            }
            "unlink" | "rmdir" if self.kind == Kind::Perl => {
                self.removes |= matches!(self.tokens.get(at + 1), Some(Token::Mark(';' | '}' | ',')));
            }
            _ => {}
        }
        let is_call = matches!(self.tokens.get(at + 1), Some(Token::Mark('(')));
        if is_call || self.kind == Kind::Perl {
            self.search(name, at + 1 + usize::from(is_call));
        }
        if !is_call {
            return;
        }
        self.receiver(at);
        if let Some((owner, method)) = name.rsplit_once('.')
            && let Some(Value::Text(path)) = self.variables.get(owner)
        {
            let path = path.clone();
            self.method(method, &path, at + 1, false);
        }
    }

    /// Whether the name at `at` is one that is taken from `os`.
    fn is_imported(&self, at: usize) -> bool {
        let before = &self.tokens[at.saturating_sub(12)..at];
        before
            .windows(2)
            .any(|pair| *pair == [Token::Word("os".to_owned()), Token::Word("import".to_owned())])
    }

    fn is_name(&self, at: usize) -> bool {
        matches!(self.tokens.get(at), Some(Token::Word(_) | Token::Text(_) | Token::Mark(')' | ']')))
    }

    /// `os.__dict__["system"]("text")`, `process["exec" + "Sync"]("text")`
    fn subscript(&mut self, at: usize) {
        if let (Value::Text(name), next) = self.value(at + 1, 0)
            && self.tokens.get(next..next + 2) == Some(&[Token::Mark(']'), Token::Mark('(')])
            && (names::runs(&name) || names::touches(&name) || names::evaluates(&name, &name))
        {
            let arguments = self.arguments(next + 2);
            self.call(&name, &arguments, next + 2);
        }
    }

    /// `"text" | getline name`, `print | name`: of `awk`, at the first of two tokens of which one is `|`.
    fn pipe(&mut self, at: usize) {
        let bar = at + usize::from(self.tokens.get(at) != Some(&Token::Mark('|')));
        let is_bar = |at: usize| self.tokens.get(at) == Some(&Token::Mark('|'));
        if is_bar(bar + 1) || bar > 0 && is_bar(bar - 1) {
            return;
        }
        let text = match self.tokens.get(if bar == at { at + 1 } else { at }) {
            Some(Token::Text(text)) => text.clone(),
            Some(Token::Word(name)) => match self.variables.get(name.as_str()) {
                Some(Value::Text(text)) => text.clone(),
                _ => return,
            },
            _ => return,
        };
        if let (Some(Token::Word(call)), Some(Token::Word(name))) =
            (self.tokens.get(bar + 1), self.tokens.get(bar + 2))
            && call == "getline"
        {
            self.variables.insert(name, Value::Text(Field::unknown(&format!("$({text})")).0));
        }
        self.found.push(Embedded::Shell(text));
    }
}

/// Texts with `between` between them, where all are known.
fn joined(values: &[Value], between: &str) -> Option<String> {
    let texts = values.iter().map(|value| match value {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let texts = texts.collect::<Option<Vec<_>>>()?;
    let length: usize = texts.iter().map(|text| text.len() + between.len()).sum();
    (length < MOST).then(|| texts.join(between))
}
