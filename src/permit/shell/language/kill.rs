//! Processes that code ends: `os.kill(os.getppid(), 9)`, `kill 9, $pid`.

use super::lex::Token;
use super::{Embedded, Kind, Reader, names};
use crate::permit::shell::field::Field;

impl Reader<'_> {
    /// Notes what a call of `kill` ends, where that can be told; what comes after its name is at `at`.
    pub(super) fn kill(&mut self, name: &str, at: usize) {
        let is_call = self.tokens.get(at) == Some(&Token::Mark('('));
        let end = if is_call { self.closing(at) } else { self.tokens.len() };
        let rest = self.tokens.get(at + usize::from(is_call)..end).unwrap_or_default();
        let ends = |token: &Token| matches!(token, Token::Line | Token::Mark(';' | '}'));
        let length = rest.iter().take(24).position(ends).unwrap_or(rest.len().min(24));
        let rest = &rest[..length];
        let separates = |token: &Token| matches!(token, Token::Mark(',' | '>'));
        // Perl's and Ruby's take the signal first.
        let is_after = self.kind == Kind::Perl && !name.starts_with("posix");
        let target = match rest.iter().position(separates) {
            Some(at) if is_after => &rest[at + 1..],
            Some(at) => &rest[..at],
            None if is_after => return,
            None => rest,
        };
        if let Some(target) = self.process(target) {
            self.found.push(Embedded::Words(vec!["kill".into(), "-9".into(), target]));
        }
    }

    /// The process that is meant.
    fn process(&self, tokens: &[Token]) -> Option<Field> {
        let named = tokens.iter().find_map(|token| match token {
            Token::Word(word) if names::last(word).ends_with("ppid") => Some(Field::unknown("$PPID")),
            Token::Text(text) | Token::Run(text)
                if ["murmur", "claude"].iter().any(|name| text.contains(name)) =>
            {
                Some(Field::unknown(&format!("$({text})")))
            }
            _ => None,
        });
        let is_number = |word: &&String| word.chars().all(|c| c.is_ascii_digit());
        let is_close = |token: &&Token| !matches!(token, Token::Mark(')' | '('));
        let tokens: Vec<&Token> = tokens.iter().filter(is_close).collect();
        let numbered = match tokens.as_slice() {
            [Token::Mark('-'), Token::Word(word)] => {
                Some(word).filter(is_number).map(|word| format!("-{word}"))
            }
            [Token::Word(word)] => Some(word).filter(is_number).cloned(),
            _ => None,
        };
        named.or(numbered.map(|number| Field::from(number.as_str())))
    }

    /// Notes what a method of a process ends that is looked for by its name: `[p.kill() for p in psutil.process_iter() …]`.
    pub(super) fn end(&mut self) {
        let is_search = |token: &Token| matches!(token, Token::Word(word) if word.ends_with("process_iter"));
        if self.ends && self.tokens.iter().any(is_search) && self.says(0, self.tokens.len(), "murmur") {
            self.run_words(&["pkill", "murmur"]);
        }
    }
}
