//! What a terminal sends → keys. A sequence may arrive in pieces.

/// A key, or what a mouse did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A character with Ctrl, in lower case.
    Ctrl(char),
    /// Enter.
    Enter,
    /// Esc.
    Esc,
    /// Tab.
    Tab,
    /// Shift-Tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// A character of pasted text, or a line break in it.
    Pasted(char),
    /// Cursor up.
    Up,
    /// Cursor down.
    Down,
    /// Cursor left.
    Left,
    /// Cursor right.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// The wheel up or down.
    Wheel {
        /// Whether up.
        up: bool,
    },
    /// A click at this column and row, from 0.
    Click(u16, u16),
}

/// The longest sequence that is waited for, in bytes.
const MAX_SEQUENCE: usize = 32;

/// Reads keys.
#[derive(Debug, Default)]
pub struct Keys {
    left: Vec<u8>,
    /// Whether text is being pasted: it isn't keys.
    is_pasting: bool,
    /// Whether pasted text is wanted.
    takes_paste: bool,
}

/// What the input begins with.
enum ParsedInput {
    /// A key (`None` if unknown), and its length in bytes.
    Key(Option<Key>, usize),
    /// The beginning of a paste (`true`) or its end, and its length in bytes.
    Paste(bool, usize),
    /// The beginning of a sequence.
    Part,
}

impl Keys {
    /// Reads keys and pasted text.
    #[must_use]
    pub fn with_paste() -> Self {
        Self { takes_paste: true, ..Self::default() }
    }

    /// The keys in `bytes`, with what was left of the ones before. Pasted text is left out unless it is wanted: it
    /// would be read as commands.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.left.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while !self.left.is_empty() {
            let used = match first(&self.left) {
                ParsedInput::Key(key, used) => {
                    keys.extend(if self.is_pasting { self.pasted(key) } else { key });
                    used
                }
                ParsedInput::Paste(begins, used) => {
                    self.is_pasting = begins;
                    used
                }
                ParsedInput::Part if self.left.len() > MAX_SEQUENCE => 1,
                ParsedInput::Part => break,
            };
            self.left.drain(..used);
        }
        keys
    }

    fn pasted(&self, key: Option<Key>) -> Option<Key> {
        let letter = match key? {
            Key::Char(letter) => letter,
            Key::Enter => '\n',
            Key::Tab => '\t',
            _ => return None,
        };
        self.takes_paste.then_some(Key::Pasted(letter))
    }

    /// Whether a lone Esc waits: nothing followed it, so it is the key.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.left.is_empty()
    }

    /// Takes a lone Esc as the key.
    pub fn flush(&mut self) -> Vec<Key> {
        let is_esc = self.left == [0x1b] && !self.is_pasting;
        self.left.clear();
        if is_esc { vec![Key::Esc] } else { Vec::new() }
    }
}

fn first(bytes: &[u8]) -> ParsedInput {
    match bytes[0] {
        0x1b => escape(bytes),
        b'\r' | b'\n' => ParsedInput::Key(Some(Key::Enter), 1),
        b'\t' => ParsedInput::Key(Some(Key::Tab), 1),
        0x08 | 0x7f => ParsedInput::Key(Some(Key::Backspace), 1),
        byte @ 1..=26 => ParsedInput::Key(Some(Key::Ctrl(char::from(byte + b'a' - 1))), 1),
        0..0x20 => ParsedInput::Key(None, 1),
        byte @ 0x20..0x7f => ParsedInput::Key(Some(Key::Char(char::from(byte))), 1),
        byte => {
            let length = match byte {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => return ParsedInput::Key(None, 1),
            };
            let Some(letter) = bytes.get(..length) else { return ParsedInput::Part };
            match std::str::from_utf8(letter) {
                Ok(letter) => ParsedInput::Key(letter.chars().next().map(Key::Char), length),
                Err(_) => ParsedInput::Key(None, 1),
            }
        }
    }
}

/// A sequence that begins with Esc.
fn escape(bytes: &[u8]) -> ParsedInput {
    match bytes.get(1) {
        None => ParsedInput::Part,
        Some(b'[') => {
            let end = bytes.iter().skip(2).position(|byte| matches!(byte, 0x40..=0x7e));
            let Some(end) = end else { return ParsedInput::Part };
            let (inner, last, used) = (&bytes[2..end + 2], bytes[end + 2], end + 3);
            match (inner, last) {
                (b"200", b'~') => ParsedInput::Paste(true, used),
                (b"201", b'~') => ParsedInput::Paste(false, used),
                _ => ParsedInput::Key(control(inner, last), used),
            }
        }
        Some(b'O') => match bytes.get(2) {
            None => ParsedInput::Part,
            Some(last) => ParsedInput::Key(control(b"", *last), 3),
        },
        // Alt with a key, which nothing uses.
        Some(0x1b) => ParsedInput::Key(Some(Key::Esc), 1),
        Some(_) => ParsedInput::Key(None, 2),
    }
}

/// A control sequence with these parameters and this last byte.
fn control(inner: &[u8], last: u8) -> Option<Key> {
    let first = inner.split(|byte| *byte == b';').next().unwrap_or_default();
    Some(match (first, last) {
        (_, b'A') => Key::Up,
        (_, b'B') => Key::Down,
        (_, b'C') => Key::Right,
        (_, b'D') => Key::Left,
        (_, b'H') | (b"1" | b"7", b'~') => Key::Home,
        (_, b'F') | (b"4" | b"8", b'~') => Key::End,
        (_, b'Z') => Key::BackTab,
        (b"3", b'~') => Key::Delete,
        (b"5", b'~') => Key::PageUp,
        (b"6", b'~') => Key::PageDown,
        (_, b'M') if inner.first() == Some(&b'<') => return mouse(&inner[1..]),
        _ => return None,
    })
}

/// A mouse report: `button;column;row`.
fn mouse(inner: &[u8]) -> Option<Key> {
    let numbers: Option<Vec<u16>> =
        std::str::from_utf8(inner).ok()?.split(';').map(|number| number.parse().ok()).collect();
    match *numbers? {
        [0, column, row] => Some(Key::Click(column.checked_sub(1)?, row.checked_sub(1)?)),
        [64, ..] => Some(Key::Wheel { up: true }),
        [65, ..] => Some(Key::Wheel { up: false }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_read_from_sequences_in_pieces() {
        let mut keys = Keys::default();
        let all = b"j\x1b[A\x1bOB\x1b[5~\x1b[6;2~\t\x1b[Z\r\x7f\x03\xc3\xa4\x1b[<0;10;5M\x1b[<64;1;1M";
        let wanted = [
            Key::Char('j'),
            Key::Up,
            Key::Down,
            Key::PageUp,
            Key::PageDown,
            Key::Tab,
            Key::BackTab,
            Key::Enter,
            Key::Backspace,
            Key::Ctrl('c'),
            Key::Char('ä'),
            Key::Click(9, 4),
            Key::Wheel { up: true },
        ];
        assert_eq!(keys.read(all), wanted);
        let piecewise: Vec<Key> = all.iter().flat_map(|byte| keys.read(&[*byte])).collect();
        assert_eq!(piecewise, wanted);
    }

    #[test]
    fn a_lone_escape_is_a_key_and_pasted_text_is_not() {
        let mut keys = Keys::default();
        assert_eq!(keys.read(b"\x1b"), []);
        assert!(keys.is_waiting());
        assert_eq!(keys.flush(), [Key::Esc]);
        assert!(!keys.is_waiting());
        let bytes = b"a\x1b[200~y\n\x1b[A\x1b[201~b\x1b[3~";
        assert_eq!(keys.read(bytes), [Key::Char('a'), Key::Char('b'), Key::Delete]);
        let wanted = [Key::Char('a'), Key::Pasted('y'), Key::Pasted('\n'), Key::Char('b'), Key::Delete];
        assert_eq!(Keys::with_paste().read(bytes), wanted);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_the_end(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut keys = Keys::default();
            keys.read(&bytes);
            prop_assert!(keys.left.len() <= MAX_SEQUENCE);
        }
    }
}
