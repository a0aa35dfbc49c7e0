//! Values in code: strings that are literal, concatenated, or kept in a variable.

use super::lex::{self, Token};
use super::reader::CodeReader;
use super::{MAX_TEXT, Syntax, Value, joined, names};
use crate::shell::field::{Field, has_marks};

/// An expression that is being read.
struct Expression {
    /// The index of the current token.
    at: usize,
    /// How deeply it is nested in other expressions.
    depth: usize,
    /// How many brackets are open.
    open: usize,
    /// The value so far.
    value: Option<Value>,
}

/// What reading one token did.
enum Step {
    /// The expression ends before the token.
    End,
    /// The expression has been updated.
    Consumed,
    /// The token at the current index is the last one of an operand.
    Operand(Value),
}

impl Expression {
    fn text(&self) -> Option<&str> {
        match &self.value {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn change_text(&mut self, change: impl FnOnce(&mut String)) {
        if let Some(Value::Text(text)) = &mut self.value {
            change(text);
        }
    }

    fn skip(&mut self, count: usize) -> Step {
        self.at += count;
        Step::Consumed
    }

    /// Appends a path that fits; anything but text stays as it is.
    fn append_path(&mut self, path: String) {
        self.value = Some(match self.value.take() {
            Some(Value::Text(before)) if before.len() + path.len() < MAX_TEXT => Value::Text(before + &path),
            Some(other) => other,
            None => Value::Text(path),
        });
    }

    /// Concatenates the value so far with an operand.
    fn append(&mut self, operand: Value) {
        self.value = Some(match (self.value.take(), operand) {
            (None, operand) => operand,
            // `require('os').homedir()`
            (Some(Value::Unknown), Value::Text(text)) if text == "~" => Value::Text(text),
            (Some(Value::Text(text)), Value::Text(more)) if text.len() + more.len() > MAX_TEXT => {
                Value::Unknown
            }
            (Some(Value::Text(mut text)), Value::Text(more)) => {
                text.push_str(&more);
                Value::Text(text)
            }
            (Some(Value::Text(text)), _) if self.open > 0 => Value::Text(text),
            (Some(Value::Text(mut text)), _) => {
                text.push_str(&Field::unknown("$interpolated").0);
                Value::Text(text)
            }
            (Some(other), _) => other,
        });
    }
}

impl CodeReader<'_> {
    /// The arguments of a call, starting at `at`.
    pub(super) fn arguments(&self, at: usize) -> Vec<Value> {
        self.arguments_at(at, 0)
    }

    pub(super) fn arguments_at(&self, mut at: usize, depth: usize) -> Vec<Value> {
        /// Common names of keyword arguments.
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
            if matches!(self.tokens[at], Token::Symbol(')' | ']' | '}' | ';')) {
                break;
            }
            if let (Token::Name(name), Some(Token::Symbol('='))) = (&self.tokens[at], self.tokens.get(at + 1))
                && NAMED.contains(&name.as_str())
            {
                at += 2;
            }
            let (value, next) = self.value(at, depth);
            arguments.push(value);
            at = next;
            if self.syntax == Syntax::Lisp {
                continue;
            }
            if self.tokens.get(at) != Some(&Token::Symbol(',')) {
                break;
            }
            at += 1;
        }
        arguments
    }

    /// Replaces the first `mark` in a string with the value at `at`.
    fn filled(&self, value: Value, mark: &str, at: usize) -> Value {
        let with = match self.tokens.get(at) {
            Some(Token::Str(text)) => text.clone(),
            Some(Token::Name(name)) => match self.variables.get(name.as_str()) {
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

    /// Replaces known variables in an interpolated string.
    fn interpolated(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if has_marks(&text) {
            for (name, value) in &self.variables {
                if let Value::Text(value) = value
                    && text.len() + value.len() < MAX_TEXT / 4
                {
                    text = text.replace(&lex::variable(name), value);
                }
            }
        }
        text
    }

    /// Evaluates the expression at `at`. Returns its value and the index of the comma or bracket that ends it.
    pub(super) fn value(&self, at: usize, depth: usize) -> (Value, usize) {
        let start = at;
        let mut expression = Expression { at, depth, open: 0, value: None };
        while let Some(token) = self.tokens.get(expression.at) {
            let fuel = self.fuel.get();
            if expression.at - start > 256 || depth > 8 || fuel == 0 {
                return (Value::Unknown, expression.at);
            }
            self.fuel.set(fuel - 1);
            if self.syntax == Syntax::Lisp && expression.value.is_some() {
                break;
            }
            let step = match token {
                Token::Symbol(symbol) => self.symbol(*symbol, &mut expression),
                Token::Newline if expression.open == 0 && expression.value.is_some() => Step::End,
                Token::Newline => expression.skip(1),
                Token::Str(text) => Step::Operand(Value::Text(self.interpolated(text))),
                Token::Name(name) => self.name_in(name, &mut expression),
                Token::Command(_) => Step::Operand(Value::Unknown),
            };
            match step {
                Step::End => break,
                Step::Consumed => {}
                Step::Operand(operand) => {
                    expression.at += 1;
                    expression.append(operand);
                }
            }
        }
        (expression.value.unwrap_or(Value::Unknown), expression.at)
    }

    fn symbol(&self, symbol: char, expression: &mut Expression) -> Step {
        let at = expression.at;
        match symbol {
            ',' | ';' | ')' | ']' | '}' if expression.open == 0 => Step::End,
            // Unpacking: `*list`, `\@list`
            '*' | '\\' if expression.value.is_none() => expression.skip(1),
            // `Path("a") / "b"`; in Perl, `/` ends a regular expression.
            '/' if expression.text().is_some() && self.syntax == Syntax::Perl => Step::End,
            '/' if expression.text().is_some() => {
                expression.change_text(|text| text.push('/'));
                expression.skip(1)
            }
            // `{args: [a, b]}`
            '{' if expression.value.is_none() && self.list_in(at).is_some() => {
                let start = self.list_in(at).unwrap_or(at);
                let (list, next) = self.value(start, expression.depth + 1);
                expression.at = next.saturating_sub(1);
                expression.open += 1;
                Step::Operand(list)
            }
            '[' | '(' | '{' if expression.value.is_none() && (symbol == '[' || self.is_list(symbol, at)) => {
                Step::Operand(self.list(symbol, expression))
            }
            // `'rm %s' % path`
            '%' if expression.text().is_some() => self.fill(expression, "%s", at + 1),
            '(' | '[' | '{' => {
                expression.open += 1;
                expression.skip(1)
            }
            ')' | ']' | '}' => {
                expression.open -= 1;
                expression.skip(1)
            }
            '+' | '.' | ',' => expression.skip(1),
            _ => Step::Operand(Value::Unknown),
        }
    }

    /// Reads a list up to its closing bracket.
    fn list(&self, open: char, expression: &mut Expression) -> Value {
        let mut list = Vec::new();
        expression.at += 1;
        let is_close = |token: &Token| matches!(token, Token::Symbol(']' | ')' | '}'));
        while self.tokens.get(expression.at).is_some_and(|token| !is_close(token)) && list.len() < 64 {
            let (element, next) = self.value(expression.at, expression.depth + 1);
            // Nested lists are flattened, so that they can't grow exponentially.
            match element {
                Value::List(inner) => list.extend(inner),
                element => list.push(element),
            }
            list.truncate(64);
            expression.at = next;
            if self.tokens.get(next) != Some(&Token::Symbol(',')) {
                break;
            }
            expression.at += 1;
        }
        match list.as_slice() {
            // Parentheses around a single value.
            [one] if open == '(' => one.clone(),
            _ => Value::List(list),
        }
    }

    /// Fills in the value at `with`, and skips both it and the token before it.
    fn fill(&self, expression: &mut Expression, placeholder: &str, with: usize) -> Step {
        expression.value = expression.value.take().map(|value| self.filled(value, placeholder, with));
        expression.skip(2)
    }

    fn name_in(&self, name: &str, expression: &mut Expression) -> Step {
        let at = expression.at;
        let next = self.tokens.get(at + 1..).unwrap_or_default();
        match name {
            // `'rm {}'.format(path)`
            "format" if expression.text().is_some() => return self.fill(expression, "{}", at + 2),
            _ if name.ends_with("glob") && matches!(next.first(), Some(Token::Str(_))) => {
                return expression.skip(1);
            }
            "join" if expression.text().is_some() => return self.join(expression),
            _ => {}
        }
        if expression.value.is_some()
            && let Some(next) = self.kept(at)
        {
            expression.at = next;
            return Step::Consumed;
        }
        if let Some((path, next)) = self.path(at, expression.depth) {
            expression.append_path(path);
            expression.at = next.max(at + 1);
            return Step::Consumed;
        }
        let Some(constant) = names::constant(name, next) else {
            return Step::Operand(self.variables.get(name).cloned().unwrap_or(Value::Unknown));
        };
        // Skip the key, which `constant` has read.
        if matches!(next.first(), Some(Token::Symbol('(' | '['))) {
            let is_close = |token: &&Token| matches!(token, Token::Symbol(')' | ']'));
            expression.at += 1 + next.iter().take(32).take_while(|token| !is_close(token)).count();
        }
        Step::Operand(constant)
    }

    /// `' '.join(list)`
    fn join(&self, expression: &mut Expression) -> Step {
        let (list, next) = self.value(expression.at + 2, expression.depth + 1);
        let (Some(separator), Value::List(values)) = (expression.text(), list) else {
            return Step::Operand(Value::Unknown);
        };
        expression.value = joined(&values, separator).map(Value::Text);
        expression.at = next + 1;
        Step::Consumed
    }

    /// Whether the bracket opens a list: parentheses in Perl, braces around strings in Lua.
    fn is_list(&self, mark: char, at: usize) -> bool {
        match mark {
            '(' => self.syntax == Syntax::Perl,
            _ => {
                let ends = matches!(self.tokens.get(at + 2), Some(Token::Symbol(',' | '}')));
                self.syntax == Syntax::CLike && matches!(self.tokens.get(at + 1), Some(Token::Str(_))) && ends
            }
        }
    }

    /// The index of the list in `{args: […]}`.
    fn list_in(&self, at: usize) -> Option<usize> {
        let Some(Token::Name(name)) = self.tokens.get(at + 1) else { return None };
        let pattern_names_entry = ["args", "cmd"].contains(&name.as_str());
        (pattern_names_entry && self.tokens.get(at + 2) == Some(&Token::Symbol(':'))).then_some(at + 3)
    }
}
