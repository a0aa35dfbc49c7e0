//! Reads tokens and dispatches on what they start: an assignment, a call, a loop.

use super::lex::{self, Token};
use super::{Effect, FUEL, Syntax, Value, joined, names};
use std::cell::Cell;
use std::collections::HashMap;

/// Returns the effects of `code`, which is nested `depth` levels deep in other code.
pub(super) fn effects(code: &str, syntax: Syntax, depth: u32) -> Vec<Effect> {
    let tokens = lex::tokens(code, syntax);
    let mut reader = CodeReader {
        tokens: &tokens,
        syntax,
        depth,
        variables: HashMap::new(),
        names: HashMap::new(),
        found: Vec::new(),
        roots: Vec::new(),
        removes: false,
        ends: false,
        fuel: Cell::new(FUEL),
    };
    // Twice, because a variable may be used before its assignment in the text.
    reader.read();
    reader.found.clear();
    reader.roots.clear();
    reader.read();
    reader.searched();
    reader.end();
    if reader.fuel.get() == 0 {
        let why = "the code is too complex to check: save it to a file and run that";
        reader.found.push(Effect::Unknown(why.to_owned()));
    }
    reader.found
}

/// The state of one reading.
pub(super) struct CodeReader<'a> {
    pub(super) tokens: &'a [Token],
    pub(super) syntax: Syntax,
    /// How deeply this code is nested in other code.
    pub(super) depth: u32,
    pub(super) variables: HashMap<&'a str, Value>,
    /// Aliases of calls that have an effect.
    pub(super) names: HashMap<&'a str, &'a str>,
    pub(super) found: Vec<Effect>,
    /// Folders that the code traverses, with the pattern it looks for.
    pub(super) roots: Vec<(String, Option<String>)>,
    /// Whether the code removes unknown files.
    pub(super) removes: bool,
    /// Whether the code kills processes.
    pub(super) ends: bool,
    /// How many more tokens may be read as values.
    pub(super) fuel: Cell<u32>,
}

impl<'a> CodeReader<'a> {
    fn read(&mut self) {
        for at in 0..self.tokens.len() {
            if let Token::Name(name) = &self.tokens[at] {
                self.name(name, at);
            }
            self.pair(at);
        }
    }

    /// Handles the construct that starts with the two tokens at `at`.
    fn pair(&mut self, at: usize) {
        let tokens = self.tokens;
        match (&tokens[at], tokens.get(at + 1)) {
            (Token::Command(text), _) => self.found.push(Effect::Shell(text.clone())),
            (Token::Name(name), Some(Token::Symbol('='))) => self.assignment(name, at),
            (Token::Name(name), Some(Token::Symbol('('))) => {
                let name = self.names.get(name.as_str()).copied().unwrap_or(name);
                let arguments = self.arguments(at + 2);
                self.call(name, &arguments, at + 2);
            }
            (Token::Name(name), Some(Token::Str(_) | Token::Name(_))) if self.syntax == Syntax::Lisp => {
                self.form(name, at);
            }
            (Token::Name(name), Some(Token::Str(_) | Token::Name(_))) if self.syntax == Syntax::Perl => {
                let arguments = self.arguments(at + 1);
                self.call(name, &arguments, at + 1);
            }
            (Token::Name(_) | Token::Str(_), Some(Token::Symbol('|')))
            | (Token::Symbol('|'), Some(Token::Name(_) | Token::Str(_)))
                if self.syntax == Syntax::Awk =>
            {
                self.awk_pipe(at);
            }
            (Token::Symbol('('), Some(_)) if !self.is_name(at.wrapping_sub(1)) => self.receiver(at),
            (Token::Symbol('['), Some(Token::Str(_))) => self.subscript(at),
            (Token::Name(call), Some(Token::Symbol(':'))) => self.rename_next(at, call),
            (Token::Name(name), Some(Token::Name(joint))) if joint == "in" => self.for_each(name, at),
            (Token::Name(call), Some(Token::Name(joint))) if joint == "as" => self.rename_next(at, call),
            (Token::Symbol('>'), Some(Token::Str(_) | Token::Name(_))) if self.syntax == Syntax::Awk => {
                self.awk_redirection(at);
            }
            // Groovy: `"command".execute()`
            (Token::Str(text), Some(Token::Symbol('.'))) => {
                if matches!(tokens.get(at + 2), Some(Token::Name(call)) if call.starts_with("execute")) {
                    self.found.push(Effect::Shell(text.clone()));
                }
            }
            // AppleScript: `do shell script "…"`
            (Token::Name(name), Some(Token::Str(text))) if name == "script" => {
                self.found.push(Effect::Shell(text.clone()));
            }
            _ => {}
        }
    }

    /// `name = value`, `name = call`
    fn assignment(&mut self, name: &'a str, at: usize) {
        let tokens = self.tokens;
        if let Some(Token::Name(call)) = tokens.get(at + 2) {
            self.rename(name, call);
        }
        if tokens.get(at + 2) == Some(&Token::Symbol('=')) {
            return;
        }
        let (value, _) = self.value(at + 2, 0);
        if value != Value::Unknown {
            self.variables.insert(name, value);
        }
    }

    /// `for name in value`
    fn for_each(&mut self, name: &'a str, at: usize) {
        if let (Value::Text(path), _) = self.value(at + 2, 0) {
            self.variables.insert(name, Value::Text(path));
        }
        // All values on separate lines: for a shell, one command after another.
        if let (Value::List(values), _) = self.value(at + 2, 0)
            && let Some(text) = joined(&values, "\n")
        {
            self.variables.insert(name, Value::Text(text));
        }
    }

    /// `call as name`, `{call: name}`
    fn rename_next(&mut self, at: usize, call: &'a str) {
        let tokens = self.tokens;
        if let Some(Token::Name(name)) = tokens.get(at + 2) {
            self.rename(name, call);
        }
    }

    /// Registers `name` as an alias of `call`.
    fn rename(&mut self, name: &'a str, call: &'a str) {
        if names::runs(call) || names::touches(call) {
            self.names.insert(name, call);
        }
    }

    /// Handles names that matter whatever follows them.
    fn name(&mut self, name: &str, at: usize) {
        let is_followed_by = |symbol: char| self.tokens.get(at + 1) == Some(&Token::Symbol(symbol));
        match names::last(name) {
            "kill" | "posix_kill" | "killpg" => {
                self.kill(name, at + 1);
                self.ends = true;
            }
            "terminate" => self.ends = true,
            "remove" | "replace" if self.is_imported_from_os(at) => self.import_from_os(name),
            "send" | "public_send" if is_followed_by(':') => self.ruby_send(name, at + 1),
            // `.then(eval)`
            "eval" if is_followed_by(')') && self.mentions(0, at, "http") => {
                let why = "eval runs code that is only known at run time: run the command directly";
                self.found.push(Effect::Unknown(why.to_owned()));
            }
            "unlink" | "rmdir" if self.syntax == Syntax::Perl => {
                self.removes |= matches!(self.tokens.get(at + 1), Some(Token::Symbol(';' | '}' | ',')));
            }
            _ => {}
        }
        let is_call = self.tokens.get(at + 1) == Some(&Token::Symbol('('));
        if is_call || self.syntax == Syntax::Perl {
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

    fn is_name(&self, at: usize) -> bool {
        matches!(self.tokens.get(at), Some(Token::Name(_) | Token::Str(_) | Token::Symbol(')' | ']')))
    }

    /// `os.__dict__["system"]("text")`, `process["exec" + "Sync"]("text")`
    fn subscript(&mut self, at: usize) {
        if let (Value::Text(name), next) = self.value(at + 1, 0)
            && self.tokens.get(next..next + 2) == Some(&[Token::Symbol(']'), Token::Symbol('(')])
            && (names::runs(&name) || names::touches(&name) || names::evaluates(&name, &name))
        {
            let arguments = self.arguments(next + 2);
            self.call(&name, &arguments, next + 2);
        }
    }
}
