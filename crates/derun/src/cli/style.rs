//! Colors, on a terminal only, and never if NO_COLOR is set.

use std::fmt::Display;
use std::io::IsTerminal;
use sys::text::is_hidden;

/// Whether to use colors.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    color: bool,
}

impl Style {
    /// The style for stdout.
    #[must_use]
    pub fn of_stdout() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { color: !unwanted && std::io::stdout().is_terminal() }
    }

    /// The style for anything that isn't a terminal.
    #[must_use]
    pub fn none() -> Self {
        Self { color: false }
    }

    /// `text` in bold.
    #[must_use]
    pub fn bold(self, text: impl Display) -> String {
        self.paint("1", text)
    }

    /// `text` dimmed.
    #[must_use]
    pub fn dim(self, text: impl Display) -> String {
        self.paint("2", text)
    }

    /// `text` with the attributes `code`, as in `ESC [ code m`.
    #[must_use]
    pub fn paint(self, code: &str, text: impl Display) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}

/// `text` on one line, without anything that a terminal would act on.
#[must_use]
pub fn plain_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|character| !is_hidden(*character)));
    }
    line
}
