//! awk: pipes and redirections.

use super::lex::Token;
use super::reader::CodeReader;
use super::{Effect, Value};
use crate::shell::field::Field;

impl CodeReader<'_> {
    /// `"command" | getline name`, `print | name`. `at` is the first of two tokens of which one is `|`.
    pub(super) fn awk_pipe(&mut self, at: usize) {
        let tokens = self.tokens;
        let is_bar = |at: usize| tokens.get(at) == Some(&Token::Symbol('|'));
        let bar = at + usize::from(!is_bar(at));
        if is_bar(bar + 1) || bar > 0 && is_bar(bar - 1) {
            return;
        }
        let text = match tokens.get(if bar == at { at + 1 } else { at }) {
            Some(Token::Str(text)) => text.clone(),
            Some(Token::Name(name)) => match self.variables.get(name.as_str()) {
                Some(Value::Text(text)) => text.clone(),
                _ => return,
            },
            _ => return,
        };
        if let (Some(Token::Name(call)), Some(Token::Name(name))) = (tokens.get(bar + 1), tokens.get(bar + 2))
            && call == "getline"
        {
            self.variables.insert(name, Value::Text(Field::unknown(&format!("$({text})")).0));
        }
        self.found.push(Effect::Shell(text));
    }

    /// `print > "file"`
    pub(super) fn awk_redirection(&mut self, at: usize) {
        if let (Value::Text(path), _) = self.value(at + 1, 0) {
            self.found.push(Effect::Write(path.as_str().into()));
        }
    }
}
