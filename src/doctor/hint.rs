//! What to do about a finding: all texts in one place, so that docs/guide/troubleshooting.md can be held against them.

use serde::Serialize;
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use sys::shell;

/// What to do: one of [`Hint::ALL`], or what an error of another module says itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Hint(Cow<'static, str>);

macro_rules! hints {
    ($($name:ident: $text:literal,)*) => {
        impl Hint {
            $(pub(super) const $name: Self = Self(Cow::Borrowed($text));)*

            /// Every hint that is the doctor's own. `FILE` and `DIR` stand for paths. docs/guide/troubleshooting.md has each.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

hints! {
    LOGIN_SHELL_IS_SILENT: "run it as a login shell by hand, and look at what its profile does",
    NO_LOGIN_SHELL: "set SHELL to one that is there: /etc/shells lists them",
    LOGIN_SHELL_FINDS_NONE: "add its folder to the PATH of your login shell, as in ~/.profile: a service has no other",
    UPDATE_CLAUDE: "run: claude update",
    INSTALL_CLAUDE: "install Claude Code anew",
    RUN_CLAUDE: "run it by hand, and see what it waits for",
    SAME_CLAUDE: "take one of them away, or have both PATHs find the same one first",
    NOT_AS_ROOT: "run murmur as another user, or set IS_SANDBOX=1 where the machine is itself a sandbox",
    LOG_IN: "run `claude` once, and /login",
    TRY_IT: "run: murmur beat, and see whether it can log in",
    SETTINGS_JSON: "correct it; Claude Code allows neither comments nor trailing commas",
    FIX_FLAT: "run: murmur setup hooks --fix-flat, which rewrites it and nothing else",
    FIX_FLAT_OF_PROJECT: "run: cd DIR && murmur setup hooks --scope project --fix-flat",
    FIX_FLAT_OF_FOLDER: "run: cd DIR && murmur setup hooks --scope local --fix-flat",
    HOOK_IS_GONE: "correct its path, or take the entry out; murmur setup hooks writes entries of its own anew",
    EVENT_IS_UNKNOWN: "check its spelling, or see that your Claude Code knows it",
    OWNER_AND_MODE: "check its owner and mode",
    START_MAKES_IT: "run: murmur start, which makes it",
    LET_ME_WRITE: "run: chmod u+rwx FILE",
    CLOSE_FOLDER: "run: chmod 700 FILE",
    NO_FOLDER: "move it away; murmur makes a folder there",
    NOT_LOOKED_AT: "see to the data folder first",
    NO_FILE: "move it away; murmur writes a file there",
    KEEP_OTHERS_OUT: "run: chmod 600 FILE",
    ASKS_TOO_MUCH: "raise the limit in config.json, or remove it from HEARTBEAT.md",
    LOOK_AT_THE_DISK: "look at the disk",
    MAKE_ROOM_NOW: "make room now, before nothing can be written down",
    MAKE_ROOM: "make room; old captures go by murmur's own rules",
    LINES_PASSED_OVER: "they are passed over; look at them in FILE",
    SET_THE_CLOCK: "set it; if it is right, the line was written while it was wrong, and counts for nothing",
    FORGET_THE_LAST_RUN: "set it; if it is right, run: murmur start, which corrects lastRun",
    RULES_BY_NAME: "run: murmur permission rules, in the folder of the project that is meant, and move them to where that says",
    SHORTER_FOLDER: "choose a shorter MURMUR_DIR",
    START: "run: murmur start, or murmur service install",
    SERVICE_IS_ANOTHER: "run: murmur service install, which writes it anew",
    LINGER: "run once: loginctl enable-linger",
    LOOK_AT_THE_PID_FILE: "look at murmur.pid",
    RESTART: "run: murmur restart; agents go on",
    RESTART_BY_FORCE: "run: murmur restart --force; agents go on",
    CHECK_THE_FOLDER: "check the data folder",
    STOP_BY_FORCE: "run: murmur host stop --force AGENT, or look at its log",
    DISCOVER: "run: murmur host discover, which cleans up after them",
    SPAWN_ANEW: "stop them with that murmur, and spawn them anew",
    INSTALL_MURMUR: "install murmur anew",
    RUN_NO_AGENTS: "run no agents; install murmur anew",
}

impl Hint {
    /// The same about this file, as a shell takes it.
    pub(super) fn about(self, file: &Path) -> Self {
        Self(self.0.replace("FILE", &shell::path(file)).into())
    }

    /// The same in this folder, as a shell takes it.
    pub(super) fn in_folder(self, folder: &Path) -> Self {
        Self(self.0.replace("DIR", &shell::path(folder)).into())
    }

    /// What an error says.
    pub(super) fn of_error(text: &str) -> Self {
        Self(text.to_owned().into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
