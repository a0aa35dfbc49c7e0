//! Code of other languages → what it passes on to the system: commands, files that are removed or written.
//!
//! It is no parser: it looks for calls by their name and follows strings that are written out, also where they are put
//! together from several or kept in a variable. Plain code passes.

mod call;
mod direct;
mod lex;

use super::field::Field;
use lex::Token;
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

/// What `code` passes on.
pub(super) fn embedded(code: &str, kind: Kind) -> Vec<Embedded> {
    match kind {
        Kind::Sed => return sed(code),
        Kind::Editor => {
            let run = |command: &'_ str| {
                ["!", ":term ", ":terminal "]
                    .iter()
                    .find_map(|mark| command.split_once(mark).map(|(_, command)| command.to_owned()))
            };
            let commands = code.split('|').filter_map(run);
            let mut found: Vec<_> = commands.map(Embedded::Shell).collect();
            found.append(&mut embedded(code, Kind::Script));
            return found;
        }
        Kind::Macro => {
            let calls = code.split("syscmd(").skip(1).filter_map(|rest| rest.split(')').next());
            return calls.map(|text| Embedded::Shell(text.trim_matches(['`', '\'']).to_owned())).collect();
        }
        Kind::Tcl => {
            let lines = code.split([';', '\n', '[']).map(str::trim);
            let runs = lines.filter_map(|line| line.strip_prefix("exec ").or(line.strip_prefix("spawn ")));
            return runs.map(|line| Embedded::Shell(line.trim_end_matches(']').to_owned())).collect();
        }
        _ => {}
    }
    let indirect = if kind == Kind::Perl { direct::directly(code) } else { None };
    let code = indirect.as_deref().unwrap_or(code);
    let tokens = lex::tokens(code, kind);
    let mut reader =
        Reader { tokens: &tokens, kind, variables: HashMap::new(), names: HashMap::new(), found: Vec::new() };
    // What is set may stand after where it is used.
    reader.read();
    reader.found.clear();
    reader.read();
    reader.found
}

struct Reader<'a> {
    tokens: &'a [Token],
    kind: Kind,
    variables: HashMap<&'a str, Value>,
    /// Other names of calls that run something.
    names: HashMap<&'a str, &'a str>,
    found: Vec<Embedded>,
}

impl<'a> Reader<'a> {
    fn read(&mut self) {
        for at in 0..self.tokens.len() {
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
                    self.method(name, at + 2);
                    let name = self.names.get(name.as_str()).copied().unwrap_or(name);
                    let arguments = self.arguments(at + 2);
                    self.call(name, &arguments, at + 2);
                }
                (Token::Word(name), Some(Token::Text(_) | Token::Word(_)))
                    if matches!(self.kind, Kind::Perl | Kind::Lisp) =>
                {
                    let arguments = self.arguments(at + 1);
                    self.call(name, &arguments, at + 1);
                }
                (Token::Text(text), Some(Token::Mark('|'))) | (Token::Mark('|'), Some(Token::Text(text)))
                    if self.kind == Kind::Awk =>
                {
                    self.found.push(Embedded::Shell(text.clone()));
                }
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
                (Token::Mark('>'), Some(Token::Text(path))) if self.kind == Kind::Awk => {
                    self.found.push(Embedded::Write(path.as_str().into()));
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
        if call::runs(call) || call::removes(call) {
            self.names.insert(name, call);
        }
    }

    /// The arguments of a call, from the one at `at` on.
    fn arguments(&self, mut at: usize) -> Vec<Value> {
        let mut arguments = Vec::new();
        while at < self.tokens.len() && arguments.len() < 64 {
            if matches!(self.tokens[at], Token::Mark(')' | ']' | '}' | ';')) {
                break;
            }
            let (value, next) = self.value(at, 0);
            arguments.push(value);
            at = next;
            if self.kind == Kind::Lisp {
                continue;
            }
            if self.tokens.get(at) != Some(&Token::Mark(',')) {
                break;
            }
            at += 1;
        }
        arguments
    }

    /// A text with what stands at `at` in place of the first `mark`.
    fn filled(&self, value: Value, mark: &str, at: usize) -> Value {
        let with = match self.tokens.get(at) {
            Some(Token::Text(text)) => text.clone(),
            Some(Token::Word(name)) => match self.variables.get(name.as_str()) {
                Some(Value::Text(text)) => text.clone(),
                _ => Field::unknown("$interpolated").0,
            },
            _ => Field::unknown("$interpolated").0,
        };
        match value {
            Value::Text(text) => Value::Text(text.replacen(mark, &with, 1)),
            other => other,
        }
    }

    /// The value that begins at `at`, and where the next begins: at a comma or at what closes.
    fn value(&self, mut at: usize, depth: usize) -> (Value, usize) {
        let mut value: Option<Value> = None;
        let mut open = 0_usize;
        let start = at;
        while let Some(token) = self.tokens.get(at) {
            if at - start > 256 || depth > 8 {
                return (Value::Unknown, at);
            }
            if self.kind == Kind::Lisp && value.is_some() {
                break;
            }
            let part = match token {
                Token::Mark(',' | ';') if open == 0 => break,
                Token::Mark(')' | ']' | '}') if open == 0 => break,
                Token::Mark(mark @ ('[' | '('))
                    if value.is_none() && (*mark == '[' || self.kind == Kind::Perl) =>
                {
                    let mut list = Vec::new();
                    at += 1;
                    let close = |token: &Token| matches!(token, Token::Mark(']' | ')'));
                    while at < self.tokens.len() && !close(&self.tokens[at]) && list.len() < 64 {
                        let (member, next) = self.value(at, depth + 1);
                        list.push(member);
                        at = next;
                        if self.tokens.get(at) != Some(&Token::Mark(',')) {
                            break;
                        }
                        at += 1;
                    }
                    match list.as_slice() {
                        // No list, but parentheses around a value.
                        [one] if *mark == '(' => one.clone(),
                        _ => Value::List(list),
                    }
                }
                // `'rm %s' % path`, `'rm {}'.format(path)`
                Token::Mark('%') if matches!(value, Some(Value::Text(_))) => {
                    value = value.map(|value| self.filled(value, "%s", at + 1));
                    at += 2;
                    continue;
                }
                Token::Word(name) if name == "format" && matches!(value, Some(Value::Text(_))) => {
                    value = value.map(|value| self.filled(value, "{}", at + 2));
                    at += 2;
                    continue;
                }
                Token::Mark('(' | '[' | '{') => {
                    open += 1;
                    at += 1;
                    continue;
                }
                Token::Mark(')' | ']' | '}') => {
                    open -= 1;
                    at += 1;
                    continue;
                }
                Token::Mark('+' | '.' | ',') => {
                    at += 1;
                    continue;
                }
                Token::Line if open == 0 && value.is_some() => break,
                Token::Line => {
                    at += 1;
                    continue;
                }
                Token::Text(text) => Value::Text(text.clone()),
                Token::Word(name)
                    if name.ends_with("glob") && matches!(self.tokens.get(at + 1), Some(Token::Text(_))) =>
                {
                    at += 1;
                    continue;
                }
                Token::Word(name) if name == "join" && matches!(value, Some(Value::Text(_))) => {
                    if let (Some(Value::Text(between)), (Value::List(values), next)) =
                        (&value, self.value(at + 2, depth + 1))
                    {
                        value = joined(&values, between).map(Value::Text);
                        at = next + 1;
                        continue;
                    }
                    Value::Unknown
                }
                Token::Word(name) => {
                    let next = self.tokens.get(at + 1..).unwrap_or_default();
                    match call::constant(name, next) {
                        Some(constant) => {
                            // What it is called with has been read.
                            if matches!(next.first(), Some(Token::Mark('(' | '['))) {
                                let rest = next.iter().take(32);
                                at += 1 + rest
                                    .take_while(|token| !matches!(token, Token::Mark(')' | ']')))
                                    .count();
                            }
                            constant
                        }
                        None => self.variables.get(name.as_str()).cloned().unwrap_or(Value::Unknown),
                    }
                }
                _ => Value::Unknown,
            };
            at += 1;
            value = Some(match (value, part) {
                (None, part) => part,
                // `require('os').homedir()`
                (Some(Value::Unknown), Value::Text(text)) if text == "~" => Value::Text(text),
                (Some(Value::Text(mut text)), Value::Text(more)) => {
                    text.push_str(&more);
                    Value::Text(text)
                }
                (Some(Value::Text(text)), _) if open > 0 => Value::Text(text),
                (Some(Value::Text(mut text)), _) => {
                    text.push_str(&Field::unknown("$interpolated").0);
                    Value::Text(text)
                }
                (Some(other), _) => other,
            });
        }
        (value.unwrap_or(Value::Unknown), at)
    }
}

/// Texts with `between` between them, where all are known.
fn joined(values: &[Value], between: &str) -> Option<String> {
    let texts = values.iter().map(|value| match value {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    });
    Some(texts.collect::<Option<Vec<_>>>()?.join(between))
}

/// What the commands of `sed` run: `e command`, and the result of `s/…/…/e`.
fn sed(code: &str) -> Vec<Embedded> {
    let mut found = Vec::new();
    for command in code.split(['\n', ';']) {
        let command = command.trim_start_matches(|c: char| c.is_ascii_digit() || " ,$~+{".contains(c));
        let mut characters = command.chars();
        if let Some(file) = command.strip_prefix("w ").or(command.strip_prefix("W ")) {
            found.push(Embedded::Write(file.trim().into()));
        }
        match (characters.next(), characters.next()) {
            (Some('e'), Some(' ')) => found.push(Embedded::Shell(command[2..].to_owned())),
            (Some('s'), Some(mark)) if !mark.is_alphanumeric() => {
                let mut parts = command[1 + mark.len_utf8()..].splitn(3, mark);
                let (_, with, flags) = (parts.next(), parts.next(), parts.next());
                if let (Some(with), Some(flags)) = (with, flags) {
                    if let Some((_, file)) = flags.split_once("w ") {
                        found.push(Embedded::Write(file.trim().into()));
                    }
                    if flags.contains('e') && flags.chars().all(|c| c.is_alphanumeric()) {
                        found.push(Embedded::Shell(with.to_owned()));
                    }
                }
            }
            _ => {}
        }
    }
    found
}
