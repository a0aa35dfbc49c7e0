//! The result of a check.

use super::hint::Hint;
use murmur_core::config::backend::Backend;
use serde::Serialize;
use sys::error::{Hinted, one_line};
use sys::paths::PathsError;

/// Its severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// No problem.
    Ok,
    /// murmur works, but something needs attention.
    Warn,
    /// Something does not work.
    Fail,
}

/// A check's name: one of [`Check::ALL`], as nothing else can create one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Check(&'static str);

macro_rules! checks {
    ($($name:ident: $text:literal,)*) => {
        impl Check {
            $(pub(super) const $name: Self = Self($text);)*

            /// Every check, in order. docs/guide/troubleshooting.md has a section for each.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

checks! {
    LOGIN_PATH: "login PATH",
    CLAUDE: "claude",
    OUTPUT: "agent output",
    CREDENTIALS: "credentials",
    CODEX: "codex",
    ACP: "acp agents",
    CLAUDE_SETTINGS: "claude settings",
    DATA_FOLDER: "data folder",
    CONFIG: "config.json",
    DISK: "disk",
    JOURNAL: "journal",
    CLOCK: "clock",
    SETTINGS: "config.toml",
    RULES: "permissions.toml",
    NOTIFICATIONS: "notifications",
    SOCKET: "socket",
    DAEMON: "daemon",
    SERVICE: "service",
    HOSTS: "hosts",
    HOOK: "hook",
}

impl Check {
    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0
    }

    pub(super) fn ok(self, found: impl Into<String>) -> Finding {
        Finding { check: self, level: Level::Ok, found: found.into(), hint: None }
    }

    pub(super) fn warn(self, found: impl Into<String>, hint: Hint) -> Finding {
        Finding { check: self, level: Level::Warn, found: found.into(), hint: Some(hint) }
    }

    pub(super) fn fail(self, found: impl Into<String>, hint: Hint) -> Finding {
        Finding { check: self, level: Level::Fail, found: found.into(), hint: Some(hint) }
    }

    /// A check that was skipped because the data folder cannot be used.
    pub(super) fn skipped(self) -> Finding {
        self.warn("skipped", Hint::SKIPPED)
    }

    /// A failure with the error's own hint.
    pub(super) fn failed(self, error: &(impl Hinted + 'static)) -> Finding {
        let failure = error.failure();
        let hint = failure.to_do().map(Hint::of_error);
        Finding { check: self, level: Level::Fail, found: one_line(&failure.to_string()), hint }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// Its severity.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What to do.
    pub hint: Option<Hint>,
}

impl Finding {
    /// The finding if there is no data folder, without which nothing can be checked.
    #[must_use]
    pub fn without_data_folder(error: &PathsError) -> Self {
        Check::DATA_FOLDER.failed(error)
    }

    /// Adds a prefix.
    pub(super) fn after(self, before: &str) -> Self {
        Self { found: format!("{before}{}", self.found), ..self }
    }

    /// Adds what `backend` can't do, unless it can't be used at all.
    pub(super) fn naming_what_lacks(self, backend: &Backend) -> Self {
        match self.level {
            Level::Fail => self,
            Level::Ok | Level::Warn => {
                Self { found: format!("{}; it lacks {}", self.found, backend.lacks()), ..self }
            }
        }
    }

    /// Adds a hint if there is none.
    pub(super) fn or(self, hint: Hint) -> Self {
        Self { hint: self.hint.or(Some(hint)), ..self }
    }

    /// Turns it into a warning.
    pub(super) fn into_warning(self) -> Self {
        Self { level: Level::Warn, ..self }
    }
}

/// `1 line`, `2 lines`.
pub(super) fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}
