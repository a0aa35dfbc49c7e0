//! What came of a check.

use super::hint::Hint;
use serde::Serialize;
use sys::error::{Hinted, one_line};
use sys::paths::PathsError;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// murmur works, and something is worth a look.
    Warn,
    /// Something does not work.
    Fail,
}

/// What is looked at, in one or two words: one of [`Check::ALL`], since nothing else can make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Check(&'static str);

macro_rules! checks {
    ($($name:ident: $text:literal,)*) => {
        impl Check {
            $(pub(super) const $name: Self = Self($text);)*

            /// Every check, in the order in which they are done. docs/guide/troubleshooting.md has a section for each.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

checks! {
    LOGIN_PATH: "login PATH",
    CLAUDE: "claude",
    CREDENTIALS: "credentials",
    CLAUDE_SETTINGS: "claude settings",
    DATA_FOLDER: "data folder",
    CONFIG: "config.json",
    DISK: "disk",
    JOURNAL: "journal",
    CLOCK: "clock",
    SETTINGS: "config.toml",
    RULES: "permissions.toml",
    SOCKET: "socket",
    DAEMON: "daemon",
    SERVICE: "service",
    HOSTS: "hosts",
    HOOK: "hook",
}

impl Check {
    /// The word or words.
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

    /// What can only be looked at in a data folder, where that one cannot be used: why is told there.
    pub(super) fn not_looked_at(self) -> Finding {
        self.warn("not looked at", Hint::NOT_LOOKED_AT)
    }

    /// A failure that says itself what to do; its causes come after what failed.
    pub(super) fn failed(self, error: &(impl Hinted + 'static)) -> Finding {
        let failure = error.failure();
        let hint = failure.to_do().map(Hint::of_error);
        Finding { check: self, level: Level::Fail, found: one_line(&failure.to_string()), hint }
    }
}

/// What came of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What to do.
    pub hint: Option<Hint>,
}

impl Finding {
    /// That there is no data folder, without which nothing can be looked at.
    #[must_use]
    pub fn homeless(error: &PathsError) -> Self {
        Check::DATA_FOLDER.failed(error)
    }

    /// The same, said after `before`.
    pub(super) fn after(self, before: &str) -> Self {
        Self { found: format!("{before}{}", self.found), ..self }
    }

    /// The same, with this to do where it does not say what.
    pub(super) fn or(self, hint: Hint) -> Self {
        Self { hint: self.hint.or(Some(hint)), ..self }
    }

    /// The same, as something that murmur works with.
    pub(super) fn into_warning(self) -> Self {
        Self { level: Level::Warn, ..self }
    }
}

/// So many of them, as a person says it.
pub(super) fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}
