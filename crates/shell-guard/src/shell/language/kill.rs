//! Processes that code kills: `os.kill(os.getppid(), 9)`, `kill 9, $pid`.

use super::lex::Token;
use super::reader::CodeReader;
use super::{Effect, Syntax, names};
use crate::agents;
use crate::shell::field::Field;

impl CodeReader<'_> {
    /// Adds the effect of a `kill` call, if its target is known. `at` is the token after the name.
    pub(super) fn kill(&mut self, name: &str, at: usize) {
        let is_call = self.tokens.get(at) == Some(&Token::Symbol('('));
        let end = if is_call { self.closing(at) } else { self.tokens.len() };
        let rest = self.tokens.get(at + usize::from(is_call)..end).unwrap_or_default();
        let ends = |token: &Token| matches!(token, Token::Newline | Token::Symbol(';' | '}'));
        let length = rest.iter().take(24).position(ends).unwrap_or(rest.len().min(24));
        let rest = &rest[..length];
        let separates = |token: &Token| matches!(token, Token::Symbol(',' | '>'));
        // Perl and Ruby take the signal first.
        let is_after = self.syntax == Syntax::Perl && !name.starts_with("posix");
        let target = match rest.iter().position(separates) {
            Some(at) if is_after => &rest[at + 1..],
            Some(at) => &rest[..at],
            None if is_after => return,
            None => rest,
        };
        if let Some(target) = self.process(target) {
            self.found.push(Effect::Words(vec!["kill".into(), "-9".into(), target]));
        }
    }

    /// The target process.
    fn process(&self, tokens: &[Token]) -> Option<Field> {
        let named = tokens.iter().find_map(|token| match token {
            Token::Name(word) if names::last(word).ends_with("ppid") => Some(Field::unknown("$PPID")),
            Token::Str(text) | Token::Command(text)
                if text.contains("murmur") || agents::is_mentioned(text) =>
            {
                Some(Field::unknown(&format!("$({text})")))
            }
            _ => None,
        });
        let is_number = |word: &&String| word.chars().all(|c| c.is_ascii_digit());
        let is_close = |token: &&Token| !matches!(token, Token::Symbol(')' | '('));
        let tokens: Vec<&Token> = tokens.iter().filter(is_close).collect();
        let numbered = match tokens.as_slice() {
            [Token::Symbol('-'), Token::Name(word)] => {
                Some(word).filter(is_number).map(|word| format!("-{word}"))
            }
            [Token::Name(word)] => Some(word).filter(is_number).cloned(),
            _ => None,
        };
        named.or(numbered.map(|number| Field::from(number.as_str())))
    }

    /// Kills of processes that are searched by name: `[p.kill() for p in psutil.process_iter() …]`
    pub(super) fn end(&mut self) {
        let is_search = |token: &Token| matches!(token, Token::Name(word) if word.ends_with("process_iter"));
        if self.ends && self.tokens.iter().any(is_search) && self.mentions(0, self.tokens.len(), "murmur") {
            self.run_words(&["pkill", "murmur"]);
        }
    }
}
