//! A text that a user writes: keys in; the text and its rows out. Several lines, with the texts before as history.

use crate::keys::Key;
use sys::text::is_hidden;
use unicode_width::UnicodeWidthChar;

/// How many texts the history keeps.
const HISTORY: usize = 500;

/// The longest text, in bytes.
const MAX_TEXT: usize = 256 << 10;

/// What a key means for whoever shows the editor.
#[derive(Debug, PartialEq, Eq)]
pub enum EditorEvent {
    /// The text or the cursor may have changed.
    Changed,
    /// The text was finished.
    Entered(String),
    /// Ctrl-C, without a text.
    Interrupt,
    /// Ctrl-D, without a text.
    Leave,
    /// Ctrl-Z.
    Suspend,
}

/// A text and its cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditState {
    /// The text.
    pub text: String,
    /// The byte index of the cursor.
    pub cursor: usize,
}

/// The editor.
#[derive(Debug, Default)]
pub struct Editor {
    written: EditState,
    history: Vec<String>,
    /// The index in the history, and the text that was being written.
    recalled: Option<(usize, String)>,
}

impl Editor {
    /// The text so far.
    #[must_use]
    pub fn written(&self) -> &EditState {
        &self.written
    }

    /// Whether nothing is written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.written.text.is_empty()
    }

    /// Adds a text to the history.
    pub fn remember(&mut self, text: &str) {
        if self.history.last().is_none_or(|last| last != text) {
            self.history.push(text.to_owned());
        }
        if self.history.len() > HISTORY {
            self.history.remove(0);
        }
    }

    /// Handles a key.
    pub fn key(&mut self, key: Key) -> EditorEvent {
        let written = &mut self.written;
        match key {
            Key::Enter if written.text[..written.cursor].ends_with('\\') => {
                written.delete_before(1);
                written.insert('\n');
            }
            Key::Enter => {
                self.recalled = None;
                return EditorEvent::Entered(std::mem::take(&mut self.written).text);
            }
            Key::Char(letter) | Key::Pasted(letter) => written.insert(letter),
            Key::Backspace | Key::Ctrl('h') => written.delete_before(1),
            Key::Delete => written.delete_after(),
            Key::Ctrl('d') if !written.text.is_empty() => written.delete_after(),
            Key::Ctrl('d') => return EditorEvent::Leave,
            Key::Ctrl('c') if written.text.is_empty() => return EditorEvent::Interrupt,
            Key::Ctrl('c') => *written = EditState::default(),
            Key::Ctrl('z') => return EditorEvent::Suspend,
            Key::Left | Key::Ctrl('b') => written.cursor -= written.before().map_or(0, char::len_utf8),
            Key::Right | Key::Ctrl('f') => written.cursor += written.after().map_or(0, char::len_utf8),
            Key::Home | Key::Ctrl('a') => written.cursor = written.line_start(),
            Key::End | Key::Ctrl('e') => written.cursor = written.line_end(),
            Key::Ctrl('u') => {
                let start = written.line_start();
                written.text.drain(start..written.cursor);
                written.cursor = start;
            }
            Key::Ctrl('k') => {
                let end = written.line_end();
                written.text.drain(written.cursor..end);
            }
            Key::Ctrl('w') => {
                let before = &written.text[..written.cursor];
                let kept = before
                    .trim_end()
                    .rfind(char::is_whitespace)
                    .map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8));
                written.text.drain(kept..written.cursor);
                written.cursor = kept;
            }
            Key::Up | Key::Ctrl('p') if !written.move_up() => self.recall(true),
            Key::Down | Key::Ctrl('n') if !written.move_down() => self.recall(false),
            _ => {}
        }
        EditorEvent::Changed
    }

    /// Shows the text before or after the shown one.
    fn recall(&mut self, is_before: bool) {
        let index = self.recalled.as_ref().map_or(self.history.len(), |(index, _)| *index);
        let Some(next) = (if is_before { index.checked_sub(1) } else { Some(index + 1) }) else { return };
        let text = match self.history.get(next) {
            Some(text) => text.clone(),
            None => match self.recalled.take() {
                Some((_, draft)) => draft,
                None => return,
            },
        };
        if next < self.history.len() {
            let draft = self.recalled.take().map_or_else(|| self.written.text.clone(), |(_, draft)| draft);
            self.recalled = Some((next, draft));
        }
        self.written = EditState { cursor: text.len(), text };
    }
}

impl EditState {
    fn insert(&mut self, letter: char) {
        let letters = match letter {
            '\t' => "    ",
            // It would be sent without being seen.
            letter if letter != '\n' && (is_hidden(letter) || letter.width().is_none()) => return,
            letter => &*letter.encode_utf8(&mut [0; 4]).to_owned(),
        };
        if self.text.len() + letters.len() <= MAX_TEXT {
            self.text.insert_str(self.cursor, letters);
            self.cursor += letters.len();
        }
    }

    fn before(&self) -> Option<char> {
        self.text[..self.cursor].chars().next_back()
    }

    fn after(&self) -> Option<char> {
        self.text[self.cursor..].chars().next()
    }

    fn delete_before(&mut self, count: usize) {
        for _ in 0..count {
            let Some(letter) = self.before() else { return };
            self.cursor -= letter.len_utf8();
            self.text.remove(self.cursor);
        }
    }

    fn delete_after(&mut self) {
        if self.after().is_some() {
            self.text.remove(self.cursor);
        }
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    /// Moves the cursor to the line above; `false` if there is none.
    fn move_up(&mut self) -> bool {
        let start = self.line_start();
        let Some(end) = start.checked_sub(1) else { return false };
        let column = self.text[start..self.cursor].chars().count();
        let above = self.text[..end].rfind('\n').map_or(0, |at| at + 1);
        self.cursor = self.index_of_column(above, end, column);
        true
    }

    /// Moves the cursor to the line below; `false` if there is none.
    fn move_down(&mut self) -> bool {
        let end = self.line_end();
        if end == self.text.len() {
            return false;
        }
        let column = self.text[self.line_start()..self.cursor].chars().count();
        let below = self.text[end + 1..].find('\n').map_or(self.text.len(), |at| end + 1 + at);
        self.cursor = self.index_of_column(end + 1, below, column);
        true
    }

    /// The byte index of the character number `column` of the line from `start` to `end`.
    fn index_of_column(&self, start: usize, end: usize, column: usize) -> usize {
        self.text[start..end].char_indices().nth(column).map_or(end, |(at, _)| start + at)
    }

    /// The rows after `prompt` on a terminal with this many columns, of which at most `most` around the cursor are
    /// returned, and the row and column of the cursor.
    #[must_use]
    pub fn rows(&self, prompt: &str, columns: usize, most: usize) -> (Vec<String>, (usize, usize)) {
        // A full row would move the cursor to the next one.
        let columns = columns.saturating_sub(1).max(4);
        let (mut rows, mut cursor) = (vec![String::new()], (0, 0));
        let mut used = 0;
        let indent = " ".repeat(crate::text::width(prompt).min(columns / 2));
        let push = |letter: char, rows: &mut Vec<String>, used: &mut usize| {
            let wide = letter.width().unwrap_or_default();
            if letter == '\n' || *used + wide > columns {
                rows.push(if letter == '\n' { indent.clone() } else { String::new() });
                *used = if letter == '\n' { indent.len() } else { 0 };
            }
            if letter != '\n'
                && let Some(row) = rows.last_mut()
            {
                row.push(letter);
                *used += wide;
            }
        };
        prompt.chars().for_each(|letter| push(letter, &mut rows, &mut used));
        for (at, letter) in self.text.char_indices() {
            if at == self.cursor {
                cursor = (rows.len() - 1, used);
            }
            push(letter, &mut rows, &mut used);
        }
        if self.cursor == self.text.len() {
            cursor = (rows.len() - 1, used);
        }
        let most = most.max(1);
        let first = (cursor.0 + 1).saturating_sub(most);
        let rows: Vec<String> = rows.into_iter().skip(first).take(most).collect();
        (rows, (cursor.0 - first, cursor.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Keys;
    use proptest::prelude::*;

    /// Types bytes as a terminal sends them, and returns what was finished.
    fn typed(editor: &mut Editor, bytes: &str) -> Vec<String> {
        let keys = Keys::with_paste().read(bytes.as_bytes());
        let finished = keys.into_iter().filter_map(|key| match editor.key(key) {
            EditorEvent::Entered(text) => Some(text),
            _ => None,
        });
        finished.collect()
    }

    #[test]
    fn a_text_is_edited_and_finished_by_enter() {
        let mut editor = Editor::default();
        assert_eq!(typed(&mut editor, "helo\x1b[Dl\x1b[F!\r"), ["hello!"]);
        assert_eq!(typed(&mut editor, "one two three\x17\x17\x7f, ä\x01>\x05\x7f\r"), [">one, "]);
        assert_eq!(typed(&mut editor, "abc\x02\x02\x0b\x15x\r"), ["x"]);
        assert_eq!(typed(&mut editor, "日本\x1b[D\x1b[3~\u{202e}\t\x1b[200~\t\x1b[201~.\r"), ["日    ."]);
    }

    #[test]
    fn a_backslash_or_a_paste_makes_several_lines() {
        let mut editor = Editor::default();
        assert_eq!(typed(&mut editor, "one\\\rtwo\r"), ["one\ntwo"]);
        assert_eq!(typed(&mut editor, "\x1b[200~a\r\nb\nc\x1b[201~\r"), ["a\n\nb\nc"]);
        typed(&mut editor, "one\\\rtwo\x1b[A\x1b[H>");
        assert_eq!(editor.written(), &EditState { text: ">one\ntwo".to_owned(), cursor: 1 });
        assert_eq!(
            editor.written().rows("> ", 80, 9),
            (vec!["> >one".to_owned(), "  two".to_owned()], (0, 3))
        );
    }

    #[test]
    fn earlier_texts_are_recalled_and_the_draft_is_kept() {
        let mut editor = Editor::default();
        for text in ["first", "second", "second"] {
            editor.remember(text);
        }
        typed(&mut editor, "draft\x1b[A");
        assert_eq!(editor.written().text, "second");
        typed(&mut editor, "\x1b[A\x1b[A");
        assert_eq!(editor.written().text, "first");
        typed(&mut editor, "\x1b[B\x1b[B");
        assert_eq!(editor.written().text, "draft");
        typed(&mut editor, "\x1b[B");
        assert_eq!(editor.written().text, "draft");
    }

    #[test]
    fn control_keys_clear_first_and_then_interrupt_leave_or_suspend() {
        let mut editor = Editor::default();
        assert_eq!(editor.key(Key::Ctrl('c')), EditorEvent::Interrupt);
        assert_eq!(editor.key(Key::Ctrl('d')), EditorEvent::Leave);
        assert_eq!(editor.key(Key::Ctrl('z')), EditorEvent::Suspend);
        typed(&mut editor, "x");
        assert_eq!(editor.key(Key::Ctrl('c')), EditorEvent::Changed);
        assert!(editor.is_empty());
    }

    #[test]
    fn long_lines_are_wrapped_and_only_the_rows_around_the_cursor_are_shown() {
        let written = EditState { text: "abcdefgh".to_owned(), cursor: 8 };
        let row = str::to_owned;
        assert_eq!(written.rows("> ", 6, 9), (vec![row("> abc"), row("defgh")], (1, 5)));
        assert_eq!(written.rows("> ", 6, 1), (vec![row("defgh")], (0, 5)));
    }

    proptest! {
        #[test]
        fn any_keys_leave_a_valid_text(bytes in proptest::collection::vec(any::<u8>(), 0..200), columns in 0..20usize) {
            let mut editor = Editor::default();
            for key in Keys::with_paste().read(&bytes) {
                editor.key(key);
                let written = editor.written();
                prop_assert!(written.text.is_char_boundary(written.cursor));
                let (rows, (row, column)) = written.rows("> ", columns, 3);
                prop_assert!(row < rows.len() && rows.len() <= 3 && column <= columns.max(5), "{rows:?} {row} {column}");
            }
        }
    }
}
