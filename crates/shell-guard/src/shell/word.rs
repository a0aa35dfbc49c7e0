//! Parses a word into quotes, parameters and substitutions. The content of `$(…)` stays text.

mod parameter;

use super::byte_set::ByteSet;
use super::tree::{Part, Word};
use super::{escape, prescan};
use crate::line::Doubt;

/// What ends plain text.
const PLAIN_ENDS: ByteSet = ByteSet::of(b"\\'\"`$}/]<>");
/// What ends text in single quotes.
const QUOTE: ByteSet = ByteSet::of(b"'");
/// What ends plain text in backticks.
const BACKTICK_ENDS: ByteSet = ByteSet::of(b"\\`");

/// What ends the text, and the quoting rules within it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Terminator {
    /// A word, up to the end of the text.
    End,
    /// Text in double quotes, up to `"`.
    Quote,
    /// A here-document, up to the end of the text. Quotes are ordinary characters.
    Document,
    /// The word in `${name:-word}`, up to `}`, possibly in double quotes.
    Brace { quoted: bool },
    /// The pattern in `${name/pattern/word}`, up to `/` or `}`.
    Slash { quoted: bool },
    /// A subscript, up to `]`.
    Bracket,
}

impl Terminator {
    fn quoted(self) -> bool {
        match self {
            Self::End | Self::Bracket => false,
            Self::Quote | Self::Document => true,
            Self::Brace { quoted } | Self::Slash { quoted } => quoted,
        }
    }
}

/// Parses a word.
pub(super) fn parse(text: &str) -> Result<Word, Doubt> {
    WordParser { text, at: 0 }.word(Terminator::End)
}

/// Parses the text of a here-document with expansions.
pub(super) fn document(text: &str) -> Result<Word, Doubt> {
    WordParser { text, at: 0 }.word(Terminator::Document)
}

struct WordParser<'a> {
    text: &'a str,
    at: usize,
}

/// Collects text until another kind of part follows.
#[derive(Default)]
struct Parts {
    parts: Vec<Part>,
    text: String,
    is_quoted: bool,
}

impl Parts {
    fn text(&mut self, text: &str, is_quoted: bool) {
        if self.is_quoted != is_quoted {
            self.flush();
            self.is_quoted = is_quoted;
        }
        self.text.push_str(text);
    }

    fn part(&mut self, part: Part) {
        self.flush();
        self.parts.push(part);
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.parts.push(if self.is_quoted { Part::Quoted(text) } else { Part::Unquoted(text) });
        }
    }
}

fn unterminated(what: &str) -> Doubt {
    Doubt(format!("cannot parse the command: unterminated {what}"))
}

impl<'a> WordParser<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Consumes text up to the first of `ends`, which are ASCII.
    fn take_until(&mut self, ends: &ByteSet) -> &'a str {
        let rest = &self.text[self.at..];
        let length = ends.find_in(rest.as_bytes()).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Consumes one character.
    fn take(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.chars().next().map_or(0, char::len_utf8);
        self.at += length;
        &rest[..length]
    }

    /// Reads up to the terminator, without consuming that.
    fn word(&mut self, until: Terminator) -> Result<Word, Doubt> {
        let mut parts = Parts::default();
        loop {
            let quoted = until.quoted();
            parts.text(self.take_until(&PLAIN_ENDS), quoted);
            match (self.peek(0), until) {
                (0, Terminator::Quote) if self.is_at_end() => return Err(unterminated("quote")),
                (0, _) if self.is_at_end() => break,
                (b'"', Terminator::Quote)
                | (b'}', Terminator::Brace { .. } | Terminator::Slash { .. })
                | (b'/', Terminator::Slash { .. })
                | (b']', Terminator::Bracket) => break,
                (b'\\', _) => self.backslash(until, &mut parts),
                (b'\'', _) if !quoted => {
                    self.at += 1;
                    let text = self.take_until(&QUOTE);
                    if self.is_at_end() {
                        return Err(unterminated("quote"));
                    }
                    self.at += 1;
                    parts.text(text, true);
                    if text.is_empty() {
                        parts.part(Part::Empty);
                    }
                }
                (b'"', until) if until != Terminator::Document => self.double(&mut parts)?,
                (b'`', _) => {
                    let source = self.backtick()?;
                    parts.part(Part::CommandSubstitution { source, quoted });
                }
                (b'<' | b'>', Terminator::End) if self.peek(1) == b'(' => {
                    let source = self.parenthesized()?.to_owned();
                    parts.part(Part::ProcessSubstitutionText(source));
                }
                (b'$', _) => self.dollar(until, &mut parts)?,
                _ => parts.text(self.take(), quoted),
            }
        }
        parts.flush();
        Ok(Word(parts.parts))
    }

    fn backslash(&mut self, until: Terminator, parts: &mut Parts) {
        self.at += 1;
        let means = match until {
            _ if self.is_at_end() => false,
            Terminator::Quote => b"$`\"\\\n".contains(&self.peek(0)),
            Terminator::Document => b"$`\\\n".contains(&self.peek(0)),
            Terminator::Brace { quoted: true } | Terminator::Slash { quoted: true } => {
                b"$`\"\\\n}/".contains(&self.peek(0))
            }
            _ => true,
        };
        if !means {
            parts.text("\\", true);
            return;
        }
        let text = self.take();
        if text != "\n" {
            parts.text(text, true);
        }
    }

    fn double(&mut self, parts: &mut Parts) -> Result<(), Doubt> {
        self.at += 1;
        let Word(inner) = self.word(Terminator::Quote)?;
        self.at += 1;
        if inner.is_empty() {
            parts.part(Part::Empty);
        }
        for part in inner {
            parts.part(part);
        }
        Ok(())
    }

    /// Reads `` `…` `` and removes one level of backslashes.
    fn backtick(&mut self) -> Result<String, Doubt> {
        self.at += 1;
        let mut source = String::new();
        loop {
            source.push_str(self.take_until(&BACKTICK_ENDS));
            match self.peek(0) {
                b'`' => {
                    self.at += 1;
                    return Ok(source);
                }
                b'\\' => {
                    self.at += 1;
                    if !b"$`\\".contains(&self.peek(0)) {
                        source.push('\\');
                    }
                    source.push_str(self.take());
                }
                _ => return Err(unterminated("substitution")),
            }
        }
    }

    /// Reads `$(…)` or `<(…)` and returns the text within.
    fn parenthesized(&mut self) -> Result<&'a str, Doubt> {
        let start = self.at + 2;
        let end =
            prescan::end_of_substitution(self.text, start).ok_or_else(|| unterminated("substitution"))?;
        self.at = end + 1;
        Ok(&self.text[start..end])
    }

    fn dollar(&mut self, until: Terminator, parts: &mut Parts) -> Result<(), Doubt> {
        let quoted = until.quoted();
        match self.peek(1) {
            b'(' => {
                let start = self.at + 2;
                let end = prescan::end_of_substitution(self.text, start)
                    .ok_or_else(|| unterminated("substitution"))?;
                self.at = end + 1;
                let source = &self.text[start..end];
                parts.part(match arithmetic(source) {
                    Some(inner) => Part::Arithmetic(document(inner)?),
                    None => Part::CommandSubstitution { source: source.to_owned(), quoted },
                });
            }
            b'{' => {
                let parameter = self.braced(quoted)?;
                parts.part(Part::Variable(Box::new(parameter)));
            }
            b'\'' if !quoted => {
                self.at += 2;
                let (text, length) = escape::ansi(&self.text[self.at..]);
                self.at += length;
                parts.text(&text, true);
            }
            b'"' if !quoted => {
                self.at += 1;
                self.double(parts)?;
            }
            _ => match self.plain_parameter(quoted) {
                Some(parameter) => parts.part(Part::Variable(Box::new(parameter))),
                None => {
                    self.at += 1;
                    parts.text("$", true);
                }
            },
        }
        Ok(())
    }
}

/// The content of `$((…))`; `source` is the text within `$(…)`.
fn arithmetic(source: &str) -> Option<&str> {
    let inner = source.strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 0_usize;
    for byte in inner.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    (depth == 0).then_some(inner)
}
