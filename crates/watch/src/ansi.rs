//! Frames → bytes for a terminal. A frame has only what changed, between the marks of a synchronized update, so that no
//! terminal shows half of it.

use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};
use std::convert::Infallible;
use std::fmt::Write;

/// How many colors to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorDepth {
    /// None: only bold, dim and reverse.
    None,
    /// The terminal's own 16, which fit its background.
    Sixteen,
    /// Also the nearest of 256 colors, where 16 are not enough.
    Indexed,
    /// Also RGB colors, where 16 are not enough.
    True,
}

/// A terminal as bytes.
#[derive(Debug)]
pub struct Ansi {
    size: Size,
    depth: ColorDepth,
    out: String,
    cursor: Position,
}

impl Ansi {
    /// Ends a frame.
    pub const END: &str = "\x1b[0m\x1b[?2026l";

    /// A terminal of this size.
    #[must_use]
    pub fn new(columns: u16, rows: u16, depth: ColorDepth) -> Self {
        Self { size: Size::new(columns, rows), depth, out: String::new(), cursor: Position::default() }
    }

    /// Changes the size. The next frame is drawn in full.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.size = Size::new(columns, rows);
    }

    /// What to write since the last call; empty if nothing changed.
    pub fn take(&mut self) -> String {
        match std::mem::take(&mut self.out) {
            out if out.is_empty() => out,
            out => format!("\x1b[?2026h{out}{}", Self::END),
        }
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _written = self.out.write_fmt(text);
    }

    fn style(&mut self, cell: &Cell) {
        self.out.push_str("\x1b[0");
        let modifiers =
            [(Modifier::BOLD, 1), (Modifier::DIM, 2), (Modifier::UNDERLINED, 4), (Modifier::REVERSED, 7)];
        for (_, code) in modifiers.into_iter().filter(|(modifier, _)| cell.modifier.contains(*modifier)) {
            self.write(format_args!(";{code}"));
        }
        self.color(cell.fg, 30);
        self.color(cell.bg, 40);
        self.out.push('m');
    }

    fn color(&mut self, color: Color, base: u8) {
        let code = match color {
            Color::Black => 0,
            Color::Red => 1,
            Color::Green => 2,
            Color::Yellow => 3,
            Color::Blue => 4,
            Color::Magenta => 5,
            Color::Cyan => 6,
            Color::Rgb(red, green, blue) if self.depth == ColorDepth::True => {
                return self.write(format_args!(";{};2;{red};{green};{blue}", base + 8));
            }
            Color::Rgb(red, green, blue) if self.depth == ColorDepth::Indexed => {
                let index = 16 + 36 * level(red) + 6 * level(green) + level(blue);
                return self.write(format_args!(";{};5;{index}", base + 8));
            }
            // Only heat is RGB: green, yellow, red.
            Color::Rgb(red, green, _) if red < green => 2,
            Color::Rgb(red, green, _) if red - green < 90 => 3,
            Color::Rgb(..) => 1,
            _ => return,
        };
        if self.depth != ColorDepth::None {
            self.write(format_args!(";{}", base + code));
        }
    }
}

/// The level nearest to `part` in the 6×6×6 colors among 256: 0, 95, 135, 175, 215 or 255.
fn level(part: u8) -> u8 {
    match part {
        0..48 => 0,
        48..115 => 1,
        _ => (part - 35) / 40,
    }
}

impl Backend for Ansi {
    type Error = Infallible;

    fn draw<'a, I>(&mut self, content: I) -> Result<(), Infallible>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut after: Option<(u16, u16)> = None;
        let mut before: Option<&Cell> = None;
        for (x, y, cell) in content {
            if after != Some((x, y)) {
                self.write(format_args!("\x1b[{};{}H", y + 1, x + 1));
            }
            let is_same = before.is_some_and(|known| {
                (known.fg, known.bg, known.modifier) == (cell.fg, cell.bg, cell.modifier)
            });
            if !is_same {
                self.style(cell);
            }
            self.out.push_str(cell.symbol());
            // Terminals may disagree on the width of anything but ASCII.
            after = cell.symbol().is_ascii().then_some((x + 1, y));
            before = Some(cell);
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn show_cursor(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn get_cursor_position(&mut self) -> Result<Position, Infallible> {
        Ok(self.cursor)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), Infallible> {
        self.cursor = position.into();
        Ok(())
    }

    fn clear(&mut self) -> Result<(), Infallible> {
        self.out.push_str("\x1b[0m\x1b[2J");
        Ok(())
    }

    fn clear_region(&mut self, _kind: ClearType) -> Result<(), Infallible> {
        self.clear()
    }

    fn size(&self) -> Result<Size, Infallible> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> Result<WindowSize, Infallible> {
        Ok(WindowSize { columns_rows: self.size, pixels: Size::default() })
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::tests::model;
    use crate::rows::Health;
    use ratatui_core::terminal::Terminal;

    /// The bytes of a frame, and of the same frame again.
    fn frames(depth: ColorDepth) -> (String, String) {
        let mut model = model();
        model.key(crate::keys::Key::Char('2'));
        let mut terminal = Terminal::new(Ansi::new(100, 20, depth)).unwrap();
        let now = "2026-02-03T10:00:00Z".parse().unwrap();
        let mut frame = || {
            terminal.draw(|frame| crate::draw(frame, &model, now)).unwrap();
            terminal.backend_mut().take()
        };
        (frame(), frame())
    }

    #[test]
    fn a_frame_has_only_what_changed_in_the_colors_that_are_wanted() {
        for depth in [ColorDepth::None, ColorDepth::Sixteen, ColorDepth::Indexed, ColorDepth::True] {
            let (first, again) = frames(depth);
            assert!(first.starts_with("\x1b[?2026h") && first.ends_with("\x1b[0m\x1b[?2026l"));
            assert!(first.contains(Health::Waiting.as_str()));
            assert_eq!(again, "");
            assert_eq!(first.contains(";35m"), depth != ColorDepth::None, "magenta");
            assert_eq!(first.contains(";38;2;"), depth == ColorDepth::True, "RGB");
            assert_eq!(first.contains(";38;5;"), depth == ColorDepth::Indexed, "256");
        }
    }

    #[test]
    fn a_level_is_the_nearest() {
        let levels = [0_u8, 95, 135, 175, 215, 255];
        for part in 0..=255 {
            let distance = |index: u8| levels[usize::from(index)].abs_diff(part);
            assert!((0..6).all(|other| distance(level(part)) <= distance(other)), "{part}");
        }
    }

    #[test]
    fn a_frame_has_no_control_characters_but_its_own() {
        let (first, _) = frames(ColorDepth::True);
        let hidden = first.chars().filter(|letter| sys::text::is_hidden(*letter) && *letter != '\x1b');
        assert_eq!(hidden.count(), 0);
        assert!(first.split('\x1b').skip(1).all(|rest| rest.starts_with('[')));
    }
}
