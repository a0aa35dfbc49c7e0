//! A word as it is written → its parts: quotes, variables, substitutions. One pass; what is within `$(…)` stays text.

mod parameter;

use super::tree::{Part, Word};
use super::{escape, gauge};
use crate::permit::line::Doubt;

/// What ends a text, and what its quotes mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// A word: it ends with the text.
    End,
    /// A text between double quotes: it ends with `"`.
    Quote,
    /// A here-document: it ends with the text, and quotes are none.
    Document,
    /// The word of `${name:-word}`: it ends with `}`. It may stand between double quotes.
    Brace { quoted: bool },
    /// The pattern of `${name/pattern/word}`: it ends with `/` or `}`.
    Slash { quoted: bool },
    /// An index: it ends with `]`.
    Bracket,
}

impl Until {
    fn quoted(self) -> bool {
        match self {
            Self::End | Self::Bracket => false,
            Self::Quote | Self::Document => true,
            Self::Brace { quoted } | Self::Slash { quoted } => quoted,
        }
    }
}

/// The parts of `text`, a word.
///
/// # Errors
/// When a quote or a substitution does not end.
pub(super) fn read(text: &str) -> Result<Word, Doubt> {
    Reader { text, at: 0 }.word(Until::End)
}

/// The parts of `text`, the text of a here-document in which variables are expanded.
///
/// # Errors
/// When a substitution does not end.
pub(super) fn document(text: &str) -> Result<Word, Doubt> {
    Reader { text, at: 0 }.word(Until::Document)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

/// Text that is gathered, until a part of another kind comes.
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
            self.parts.push(if self.is_quoted { Part::Quoted(text) } else { Part::Bare(text) });
        }
    }
}

fn unended(what: &str) -> Doubt {
    Doubt(format!("it could not be read: {what} does not end"))
}

impl<'a> Reader<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Takes text up to the first byte that is one of `ends`.
    fn take_until(&mut self, ends: &[u8]) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.bytes().position(|byte| ends.contains(&byte)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Takes one character.
    fn take(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.chars().next().map_or(0, char::len_utf8);
        self.at += length;
        &rest[..length]
    }

    /// Reads up to what ends it, which is left.
    fn word(&mut self, until: Until) -> Result<Word, Doubt> {
        let mut parts = Parts::default();
        loop {
            let quoted = until.quoted();
            parts.text(self.take_until(b"\\'\"`$}/]<>"), quoted);
            match (self.peek(0), until) {
                (0, Until::Quote) if self.is_at_end() => return Err(unended("a quote")),
                (0, _) if self.is_at_end() => break,
                (b'"', Until::Quote)
                | (b'}', Until::Brace { .. } | Until::Slash { .. })
                | (b'/', Until::Slash { .. })
                | (b']', Until::Bracket) => break,
                (b'\\', _) => self.backslash(until, &mut parts),
                (b'\'', _) if !quoted => {
                    self.at += 1;
                    let text = self.take_until(b"'");
                    if self.is_at_end() {
                        return Err(unended("a quote"));
                    }
                    self.at += 1;
                    parts.text(text, true);
                    if text.is_empty() {
                        parts.part(Part::Empty);
                    }
                }
                (b'"', until) if until != Until::Document => self.double(&mut parts)?,
                (b'`', _) => {
                    let source = self.backtick()?;
                    parts.part(Part::Substitution { source, quoted });
                }
                (b'<' | b'>', Until::End) if self.peek(1) == b'(' => {
                    let source = self.parenthesized()?.to_owned();
                    parts.part(Part::ProcessText(source));
                }
                (b'$', _) => self.dollar(until, &mut parts)?,
                _ => parts.text(self.take(), quoted),
            }
        }
        parts.flush();
        Ok(Word(parts.parts))
    }

    fn backslash(&mut self, until: Until, parts: &mut Parts) {
        self.at += 1;
        let means = match until {
            _ if self.is_at_end() => false,
            Until::Quote => b"$`\"\\\n".contains(&self.peek(0)),
            Until::Document => b"$`\\\n".contains(&self.peek(0)),
            Until::Brace { quoted: true } | Until::Slash { quoted: true } => {
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

    /// Reads `"…"`.
    fn double(&mut self, parts: &mut Parts) -> Result<(), Doubt> {
        self.at += 1;
        let Word(inner) = self.word(Until::Quote)?;
        self.at += 1;
        if inner.is_empty() {
            parts.part(Part::Empty);
        }
        for part in inner {
            parts.part(part);
        }
        Ok(())
    }

    /// Reads `` `…` ``: the text within, of which the backslashes are taken away.
    fn backtick(&mut self) -> Result<String, Doubt> {
        self.at += 1;
        let mut source = String::new();
        loop {
            source.push_str(self.take_until(b"\\`"));
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
                _ => return Err(unended("a substitution")),
            }
        }
    }

    /// Reads `$(…)` or `<(…)`: the text within.
    fn parenthesized(&mut self) -> Result<&'a str, Doubt> {
        let start = self.at + 2;
        let end = gauge::end_of_substitution(self.text, start).ok_or_else(|| unended("a substitution"))?;
        self.at = end + 1;
        Ok(&self.text[start..end])
    }

    fn dollar(&mut self, until: Until, parts: &mut Parts) -> Result<(), Doubt> {
        let quoted = until.quoted();
        match self.peek(1) {
            b'(' => {
                let start = self.at + 2;
                let end =
                    gauge::end_of_substitution(self.text, start).ok_or_else(|| unended("a substitution"))?;
                self.at = end + 1;
                let source = &self.text[start..end];
                parts.part(match arithmetic(source) {
                    Some(inner) => Part::Arithmetic(document(inner)?),
                    None => Part::Substitution { source: source.to_owned(), quoted },
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

/// What stands within `$((…))`, where `source`, the text within `$(…)`, is that.
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
