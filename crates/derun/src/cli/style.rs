//! Colors: by default on a terminal only, and never if NO_COLOR is set.

use std::fmt::Display;
use std::io::IsTerminal;
use std::sync::OnceLock;
pub use sys::plain::plain_line;

/// When to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set or the terminal is dumb.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

static WHEN: OnceLock<When> = OnceLock::new();

/// Decides when this process uses colors. Only the first call counts.
pub fn set_color(when: When) {
    let _first = WHEN.set(when);
}

/// Whether output that goes to a terminal, or does not, is colored.
#[must_use]
pub fn is_colored(when: When, is_terminal: bool) -> bool {
    let is_set = |name: &str, is_it: &dyn Fn(&std::ffi::OsStr) -> bool| {
        std::env::var_os(name).is_some_and(|value| is_it(&value))
    };
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto => {
            is_terminal
                && !is_set("NO_COLOR", &|value| !value.is_empty())
                && !is_set("TERM", &|term| term == "dumb")
        }
    }
}

/// Whether to use colors.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    color: bool,
}

impl Style {
    /// The style for stdout.
    #[must_use]
    pub fn of_stdout() -> Self {
        let when = WHEN.get().copied().unwrap_or(When::Auto);
        Self { color: is_colored(when, std::io::stdout().is_terminal()) }
    }

    /// The style for anything that isn't a terminal.
    #[must_use]
    pub fn none() -> Self {
        Self { color: false }
    }

    /// Whether there are colors.
    #[must_use]
    pub fn is_colored(self) -> bool {
        self.color
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
