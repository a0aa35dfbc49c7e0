//! Counts the tokens and the nesting depth of a command line before it is parsed, in one pass without recursion. The
//! parser recurses and sometimes backtracks, so input that is too expensive must not reach it.

use super::byte_set::ByteSet;
use super::heredoc;
use crate::line::Doubt;
use memchr::memchr;

/// How deeply parentheses, substitutions, quotes and compound commands may nest.
const MAX_DEPTH: usize = 16;
/// How deeply `case` may nest: the parser reads each last clause twice.
const MAX_CASES: usize = 3;
/// How deeply parentheses may nest in text with `((`: the parser first tries each as arithmetic.
const MAX_PARENTHESES: usize = 6;
/// How many operators `[[ … ]]` may have: the parser recurses on each.
const MAX_TESTS: usize = 24;

/// What ends an unquoted word. A brace does so only within `${…}`, where none is read.
const WORD_ENDS: ByteSet = ByteSet::of(b" \t\r\n;|&()<>\"'`\\$");

/// A construct around the current position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    Parenthesis,
    Substitution,
    Parameter,
    Double,
    Backtick,
    /// Between `case` and `esac`, where `)` ends a pattern.
    Case,
}

#[derive(Default)]
struct Prescan {
    frames: Vec<Frame>,
    compounds: usize,
    cases: usize,
    coprocesses: usize,
    tests: usize,
    parentheses: usize,
    is_doubled: bool,
    in_test: bool,
    at_command: bool,
    tokens: u32,
    documents: Vec<heredoc::Delimiter>,
}

/// Returns a lower bound for the number of tokens in `text`.
pub(super) fn tokens(text: &str) -> Result<u32, Doubt> {
    let mut prescan = Prescan { at_command: true, ..Prescan::default() };
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        at = prescan.step(bytes, at)?;
    }
    if prescan.is_doubled && prescan.parentheses > MAX_PARENTHESES {
        return Err(too_deep());
    }
    Ok(prescan.tokens)
}

/// Returns the index of the `)` that ends the substitution whose text starts at `at`.
pub(super) fn end_of_substitution(text: &str, at: usize) -> Option<usize> {
    let mut prescan = Prescan { at_command: true, frames: vec![Frame::Substitution], ..Prescan::default() };
    let (bytes, mut at) = (text.as_bytes(), at);
    while at < bytes.len() {
        let next = prescan.step(bytes, at).ok()?;
        if prescan.frames.is_empty() {
            return Some(next - 1);
        }
        at = next;
    }
    None
}

fn too_deep() -> Doubt {
    Doubt("the command is nested too deeply to check: split it into several commands".to_owned())
}

impl Prescan {
    /// Reads the construct at `at` and returns the index after it.
    fn step(&mut self, bytes: &[u8], at: usize) -> Result<usize, Doubt> {
        let (byte, next) = (bytes[at], bytes.get(at + 1).copied().unwrap_or(0));
        let top = self.frames.last().copied();
        match (byte, next) {
            (b'\\', _) => return Ok(at + 2),
            (b'$', b'(') => return self.open(Frame::Substitution, at + 2),
            (b'$', b'{') => return self.open(Frame::Parameter, at + 2),
            (b'`', _) => {
                return match self.frames.iter().rposition(|frame| *frame == Frame::Backtick) {
                    Some(open) => {
                        self.frames.truncate(open);
                        Ok(at + 1)
                    }
                    None => self.open(Frame::Backtick, at + 1),
                };
            }
            (b'"', _) => {
                if top == Some(Frame::Double) {
                    self.frames.pop();
                    self.at_command = false;
                    return Ok(at + 1);
                }
                self.quoted_word(bytes, at);
                return self.open(Frame::Double, at + 1);
            }
            _ if top == Some(Frame::Double) => return Ok(at + 1),
            (b'$', b'\'') => return Ok(end_of_ansi(bytes, at + 2)),
            (b'\'', _) => {
                self.quoted_word(bytes, at);
                self.at_command = false;
                return Ok(memchr(b'\'', &bytes[at + 1..]).map_or(bytes.len(), |end| at + end + 2));
            }
            (b'}', _) if top == Some(Frame::Parameter) => {
                self.frames.pop();
                return Ok(at + 1);
            }
            _ if top == Some(Frame::Parameter) => return Ok(at + 1),
            _ => {}
        }
        self.code(bytes, at)
    }

    /// Counts the word if it starts with the quote at `at`.
    fn quoted_word(&mut self, bytes: &[u8], at: usize) {
        let begins = at == 0 || b" \t\r\n;|&()<>".contains(&bytes[at - 1]);
        self.tokens += u32::from(begins && self.frames.last() != Some(&Frame::Double));
    }

    fn open(&mut self, frame: Frame, next: usize) -> Result<usize, Doubt> {
        self.frames.push(frame);
        // Each of these is parsed separately later.
        self.tokens += u32::from(!matches!(frame, Frame::Double | Frame::Parenthesis));
        self.at_command = frame != Frame::Double && frame != Frame::Parameter;
        self.check()?;
        Ok(next)
    }

    fn check(&self) -> Result<(), Doubt> {
        let is_deep = self.frames.len() + self.compounds + self.coprocesses > MAX_DEPTH
            || self.cases > MAX_CASES
            || self.tests > MAX_TESTS;
        if is_deep { Err(too_deep()) } else { Ok(()) }
    }

    /// Reads an operator, a blank, a comment, or an unquoted word.
    fn code(&mut self, bytes: &[u8], at: usize) -> Result<usize, Doubt> {
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        match bytes[at] {
            b' ' | b'\t' | b'\r' => Ok(at + 1),
            b'\n' => {
                self.tokens += 1;
                self.at_command = true;
                Ok(self.documents.drain(..).fold(at + 1, |at, delimiter| delimiter.end(bytes, at)))
            }
            b'#' if at == 0 || bytes[at - 1].is_ascii_whitespace() || b";|&()".contains(&bytes[at - 1]) => {
                Ok(self.end_of_comment(bytes, at))
            }
            b'(' => {
                self.tokens += 1;
                let ahead = bytes[at + 1..].iter().find(|byte| !byte.is_ascii_whitespace());
                self.is_doubled |= ahead == Some(&b'(');
                let next = self.open(Frame::Parenthesis, at + 1)?;
                let open = self.frames.iter().filter(|frame| **frame == Frame::Parenthesis).count();
                self.parentheses = self.parentheses.max(open);
                Ok(next)
            }
            b')' => {
                self.tokens += 1;
                self.at_command = true;
                if matches!(self.frames.last(), Some(Frame::Parenthesis | Frame::Substitution)) {
                    self.at_command = false;
                    self.frames.pop();
                }
                Ok(at + 1)
            }
            b'<' if next == b'<' && bytes.get(at + 2) != Some(&b'<') => {
                self.tokens += 3;
                let (delimiter, after) = heredoc::Delimiter::read(bytes, at + 2);
                self.documents.push(delimiter);
                Ok(after)
            }
            b'<' | b'>' => {
                self.tokens += 1;
                if bytes[..at].iter().rev().take(10).filter(|byte| byte.is_ascii_digit()).count() > 9 {
                    return Err(Doubt("a file descriptor has too many digits: use a smaller one".to_owned()));
                }
                Ok(if next == b'<' { at + 3 } else { at + 1 })
            }
            b';' | b'|' | b'&' => {
                self.tokens += 1;
                self.at_command = true;
                self.tests += usize::from(self.in_test);
                self.check()?;
                Ok(at + 1)
            }
            _ => self.word(bytes, at),
        }
    }

    /// The end of the comment at `at`: the end of its line, or of the backticks around it.
    fn end_of_comment(&self, bytes: &[u8], at: usize) -> usize {
        let end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end);
        if !self.frames.contains(&Frame::Backtick) {
            return end;
        }
        let is_close = |here: &usize| bytes[*here] == b'`' && bytes[*here - 1] != b'\\';
        (at + 1..end).find(is_close).unwrap_or(end)
    }

    /// Reads unquoted text and counts it if it starts a word.
    fn word(&mut self, bytes: &[u8], at: usize) -> Result<usize, Doubt> {
        let end = WORD_ENDS.find_in(&bytes[at..]).map_or(bytes.len(), |length| at + length.max(1));
        if at > 0 && !WORD_ENDS.contains(bytes[at - 1]) && bytes[at - 1] != b'}' {
            return Ok(end);
        }
        self.tokens += 1;
        let was_at_command = std::mem::replace(&mut self.at_command, false);
        match &bytes[at..end] {
            b"if" | b"while" | b"until" | b"for" | b"select" | b"{" | b"function" => {
                self.compounds += 1;
                self.at_command = true;
            }
            b"case" => {
                (self.compounds, self.cases) = (self.compounds + 1, self.cases + 1);
                if was_at_command {
                    self.frames.push(Frame::Case);
                }
            }
            b"coproc" => (self.coprocesses, self.at_command) = (self.coprocesses + 1, true),
            b"esac" if was_at_command => {
                if self.frames.last() == Some(&Frame::Case) {
                    self.frames.pop();
                }
                (self.compounds, self.cases) =
                    (self.compounds.saturating_sub(1), self.cases.saturating_sub(1));
            }
            b"fi" | b"done" | b"}" if was_at_command => self.compounds = self.compounds.saturating_sub(1),
            b"then" | b"do" | b"else" | b"elif" | b"!" | b"time" => {
                self.tests += usize::from(self.in_test);
                self.at_command = true;
            }
            b"[[" => self.in_test = true,
            b"]]" => (self.in_test, self.tests) = (false, 0),
            _ => {}
        }
        self.check()?;
        Ok(end)
    }
}

/// The index after the `'` that ends `$'…'`.
fn end_of_ansi(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\'' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_counts_as_one_token() {
        for line in ["a b c", "\"a\" 'b' \"c\"", "\"a\"'b' b \"c d\""] {
            assert_eq!(tokens(line), Ok(3), "{line}");
        }
    }

    #[test]
    fn text_after_a_comment_is_checked() {
        for line in [
            "` #` 99999999999>",
            "`a # \\`b\\` c` 99999999999>x",
            "$(a # b) c\n) 99999999999>x",
            "# a\n99999999999>",
        ] {
            assert!(tokens(line).is_err(), "{line}");
        }
        assert!(tokens("a # 99999999999>").is_ok());
    }
}
