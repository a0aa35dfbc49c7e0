//! What stands where code is given a value: texts that are written out, put together, or kept in a variable.

use super::lex::{self, Token};
use super::{Kind, MOST, Reader, Value, joined, names};
use crate::permit::shell::field::{Field, has_marks};

impl Reader<'_> {
    /// The arguments of a call, from the one at `at` on.
    pub(super) fn arguments(&self, at: usize) -> Vec<Value> {
        self.arguments_at(at, 0)
    }

    pub(super) fn arguments_at(&self, mut at: usize, depth: usize) -> Vec<Value> {
        /// Names that arguments of many calls have.
        const NAMED: [&str; 11] = [
            "path",
            "file",
            "filename",
            "src",
            "dst",
            "mode",
            "args",
            "cmd",
            "target",
            "root_dir",
            "extract_dir",
        ];
        let mut arguments = Vec::new();
        while at < self.tokens.len() && arguments.len() < 64 {
            if matches!(self.tokens[at], Token::Mark(')' | ']' | '}' | ';')) {
                break;
            }
            if let (Token::Word(name), Some(Token::Mark('='))) = (&self.tokens[at], self.tokens.get(at + 1))
                && NAMED.contains(&name.as_str())
            {
                at += 2;
            }
            let (value, next) = self.value(at, depth);
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

    /// A text in which variables that are known have their values.
    fn interpolated(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if has_marks(&text) {
            for (name, value) in &self.variables {
                if let Value::Text(value) = value
                    && text.len() + value.len() < MOST / 4
                {
                    text = text.replace(&lex::variable(name), value);
                }
            }
        }
        text
    }

    /// The value that begins at `at`, and where the next begins: at a comma or at what closes.
    pub(super) fn value(&self, mut at: usize, depth: usize) -> (Value, usize) {
        let mut value: Option<Value> = None;
        let mut open = 0_usize;
        let start = at;
        while let Some(token) = self.tokens.get(at) {
            let fuel = self.fuel.get();
            if at - start > 256 || depth > 8 || fuel == 0 {
                return (Value::Unknown, at);
            }
            self.fuel.set(fuel - 1);
            if self.kind == Kind::Lisp && value.is_some() {
                break;
            }
            let part = match token {
                Token::Mark(',' | ';') if open == 0 => break,
                Token::Mark(')' | ']' | '}') if open == 0 => break,
                // What all of a list is given for: `*list`, `\@list`.
                Token::Mark('*' | '\\') if value.is_none() => {
                    at += 1;
                    continue;
                }
                // `Path("a") / "b"`; in Perl it ends a pattern.
                Token::Mark('/') if matches!(value, Some(Value::Text(_))) => {
                    if self.kind == Kind::Perl {
                        break;
                    }
                    value = value.map(|value| match value {
                        Value::Text(text) => Value::Text(text + "/"),
                        other => other,
                    });
                    at += 1;
                    continue;
                }
                // `{args: [a, b]}`
                Token::Mark('{') if value.is_none() && self.list_in(at).is_some() => {
                    let start = self.list_in(at).unwrap_or(at);
                    let (list, next) = self.value(start, depth + 1);
                    at = next.saturating_sub(1);
                    open += 1;
                    list
                }
                Token::Mark(mark @ ('[' | '(' | '{'))
                    if value.is_none() && (*mark == '[' || self.is_list(*mark, at)) =>
                {
                    let mut list = Vec::new();
                    at += 1;
                    let close = |token: &Token| matches!(token, Token::Mark(']' | ')' | '}'));
                    while at < self.tokens.len() && !close(&self.tokens[at]) && list.len() < 64 {
                        let (member, next) = self.value(at, depth + 1);
                        // A list in a list is as long as both, so that none grows without end.
                        match member {
                            Value::List(inner) => list.extend(inner),
                            member => list.push(member),
                        }
                        list.truncate(64);
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
                Token::Text(text) => Value::Text(self.interpolated(text)),
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
                Token::Word(_) if self.kept(at).is_some() && value.is_some() => {
                    at = self.kept(at).unwrap_or(at);
                    continue;
                }
                Token::Word(name) => {
                    if let Some((path, next)) = self.path(at, depth) {
                        value = Some(match value {
                            Some(Value::Text(before)) if before.len() + path.len() < MOST => {
                                Value::Text(before + &path)
                            }
                            Some(other) => other,
                            None => Value::Text(path),
                        });
                        at = next.max(at + 1);
                        continue;
                    }
                    let next = self.tokens.get(at + 1..).unwrap_or_default();
                    match names::constant(name, next) {
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
                (Some(Value::Text(text)), Value::Text(more)) if text.len() + more.len() > MOST => {
                    Value::Unknown
                }
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

    /// Whether what `mark` opens at `at` is a list: in Perl, and of Lua where texts stand in it.
    fn is_list(&self, mark: char, at: usize) -> bool {
        match mark {
            '(' => self.kind == Kind::Perl,
            _ => {
                let ends = matches!(self.tokens.get(at + 2), Some(Token::Mark(',' | '}')));
                self.kind == Kind::Script && matches!(self.tokens.get(at + 1), Some(Token::Text(_))) && ends
            }
        }
    }

    /// Where the arguments begin in `{args: […]}`.
    fn list_in(&self, at: usize) -> Option<usize> {
        let Some(Token::Word(name)) = self.tokens.get(at + 1) else { return None };
        let is_named = ["args", "cmd"].contains(&name.as_str());
        (is_named && self.tokens.get(at + 2) == Some(&Token::Mark(':'))).then_some(at + 3)
    }
}
