//! Parses `$name` and `${name…}`.

use super::{Terminator, WordParser, unterminated};
use crate::line::Doubt;
use crate::shell::tree::{Operation, Parameter, Word};

impl WordParser<'_> {
    /// Reads `$name`, `$1`, `$@`; returns `None` if the `$` is literal.
    pub(super) fn plain_parameter(&mut self, quoted: bool) -> Option<Parameter> {
        let start = self.at;
        let length = match self.peek(1) {
            b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => 1,
            byte if byte == b'_' || byte.is_ascii_alphabetic() => self.name_length(start + 1),
            _ => return None,
        };
        self.at = start + 1 + length;
        let name = self.text[start + 1..self.at].to_owned();
        let written = self.text[start..self.at].to_owned();
        Some(Parameter { name, index: None, operation: Operation::Value, quoted, written })
    }

    fn name_length(&self, at: usize) -> usize {
        self.text[at..].bytes().take_while(|byte| *byte == b'_' || byte.is_ascii_alphanumeric()).count()
    }

    /// Reads `${…}`.
    pub(super) fn braced(&mut self, quoted: bool) -> Result<Parameter, Doubt> {
        let start = self.at;
        self.at += 2;
        let is_length = self.peek(0) == b'#' && self.peek(1) != b'}';
        let is_indirect = self.peek(0) == b'!' && self.peek(1) != b'}';
        self.at += usize::from(is_length || is_indirect);
        let length = self.name_length(self.at).max(1).min(self.text.len() - self.at);
        let Some(name) = self.text.get(self.at..self.at + length) else {
            return Err(Doubt("cannot parse the command: a parameter expansion has no name".to_owned()));
        };
        let name = name.to_owned();
        self.at += length;
        let mut index = None;
        if self.peek(0) == b'[' {
            self.at += 1;
            index = Some(self.word(Terminator::Bracket)?);
            self.at = self.text.len().min(self.at + 1);
        }
        let operation = match (is_length, is_indirect) {
            (true, _) => Operation::Length,
            (_, true) if self.peek(0) == b'}' => Operation::Indirect,
            _ => self.operation(quoted)?,
        };
        // The rest only matters for the substitutions in it.
        let rest = self.word(Terminator::Brace { quoted })?;
        if self.is_at_end() {
            return Err(unterminated("parameter"));
        }
        self.at += 1;
        let operation = match operation {
            Operation::Value if !rest.0.is_empty() => Operation::Other(rest),
            operation => operation,
        };
        let written = self.text[start..self.at].to_owned();
        Ok(Parameter { name, index, operation, quoted, written })
    }

    /// Skips an operator of `count` characters and reads the word after it.
    fn argument(&mut self, count: usize, quoted: bool) -> Result<Word, Doubt> {
        self.at += count;
        self.word(Terminator::Brace { quoted })
    }

    fn operation(&mut self, quoted: bool) -> Result<Operation, Doubt> {
        let colon = usize::from(self.peek(0) == b':');
        match self.peek(colon) {
            b'-' => return Ok(Operation::Default(self.argument(colon + 1, quoted)?)),
            b'=' => return Ok(Operation::Assign(self.argument(colon + 1, quoted)?)),
            b'+' => return Ok(Operation::Alternative(self.argument(colon + 1, quoted)?)),
            b'?' => return Ok(Operation::Require(self.argument(colon + 1, quoted)?)),
            _ => {}
        }
        let is_double = self.peek(1) == self.peek(0);
        let count = 1 + usize::from(is_double);
        Ok(match self.peek(0) {
            byte @ (b'#' | b'%') => {
                let pattern = self.argument(count, false)?;
                Operation::Remove { pattern, suffix: byte == b'%', longest: is_double }
            }
            b'/' => {
                self.at += if is_double || matches!(self.peek(1), b'#' | b'%') { 2 } else { 1 };
                let pattern = self.word(Terminator::Slash { quoted: false })?;
                let skipped = usize::from(self.peek(0) == b'/');
                Operation::Replace { pattern, with: self.argument(skipped, quoted)?, all: is_double }
            }
            byte @ (b'^' | b',') => {
                self.at += count;
                Operation::Case { upper: byte == b'^', all: is_double }
            }
            b'@' if matches!(self.peek(1), b'L' | b'U' | b'u') => {
                let letter = self.peek(1);
                self.at += 2;
                Operation::Case { upper: letter != b'L', all: letter != b'u' }
            }
            b':' => self.slice()?,
            _ => Operation::Value,
        })
    }

    /// Reads `:offset:length`.
    fn slice(&mut self) -> Result<Operation, Doubt> {
        self.at += 1;
        let start = self.at;
        let word = self.word(Terminator::Brace { quoted: false })?;
        let text = &self.text[start..self.at];
        Ok(match text.split_once(':') {
            Some((offset, length)) => {
                Operation::Slice(super::parse(offset).unwrap_or(word), Some(super::parse(length)?))
            }
            None => Operation::Slice(word, None),
        })
    }
}
