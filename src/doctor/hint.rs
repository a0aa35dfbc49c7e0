//! The hints of findings, in one place so that a test can compare them with docs/guide/troubleshooting.md.

use serde::Serialize;
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use sys::shell;

/// A hint: one of [`Hint::ALL`], or another module's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Hint(Cow<'static, str>);

macro_rules! hints {
    ($($name:ident: $text:literal,)*) => {
        impl Hint {
            $(pub(super) const $name: Self = Self(Cow::Borrowed($text));)*

            /// All of the doctor's own hints. `FILE` and `DIR` stand for paths. docs/guide/troubleshooting.md explains
            /// each.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

hints! {
    LOGIN_SHELL_IS_SILENT: "run it as a login shell and check its profile",
    NO_LOGIN_SHELL: "set SHELL to one listed in /etc/shells",
    LOGIN_SHELL_FINDS_NONE: "add its folder to your login shell's PATH, for example in ~/.profile; services see only that PATH",
    UPDATE_CLAUDE: "run: claude update",
    INSTALL_CLAUDE: "reinstall Claude Code",
    RUN_CLAUDE: "run it yourself and see what it waits for",
    SAME_CLAUDE: "remove one of them, or make both PATHs find the same one first",
    NOT_AS_ROOT: "run murmur as another user, or set IS_SANDBOX=1 if the machine is itself a sandbox",
    UPDATE_MURMUR: "update murmur; report it if yours is the newest",
    LOG_IN: "run `claude` and log in with /login",
    LOG_IN_TO_CODEX: "run: codex login, unless your Codex configuration sets a provider that needs no login",
    RUN_CODEX_HERE: "unset CODEX_EXEC_SERVER_URL and remove environments.toml from Codex's folder",
    TRY_A_BEAT: "run: murmur beat, to see whether it can log in",
    NO_NOTIFIER: "install it, or correct the channel in config.toml; then run: murmur notify test",
    RUN_AGENT: "run it yourself and see what it prints",
    UPDATE_AGENT: "update it, or choose another agent",
    SETTINGS_JSON: "correct it; Claude Code allows neither comments nor trailing commas",
    FIX_FLAT: "run: murmur setup hooks --fix-flat, which rewrites it and nothing else",
    FIX_FLAT_OF_PROJECT: "run: cd DIR && murmur setup hooks --scope project --fix-flat",
    FIX_FLAT_OF_FOLDER: "run: cd DIR && murmur setup hooks --scope local --fix-flat",
    HOOK_IS_MISSING: "correct its path, or remove the entry; murmur setup hooks re-adds its own",
    EVENT_IS_UNKNOWN: "check its spelling, and whether your Claude Code knows it",
    OWNER_AND_MODE: "check its owner and mode",
    START_CREATES_IT: "run: murmur start, which creates it",
    MAKE_WRITABLE: "run: chmod u+rwx FILE",
    CLOSE_FOLDER: "run: chmod 700 FILE",
    NO_FOLDER: "move it away; murmur creates a folder there",
    SKIPPED: "fix the data folder first",
    NO_FILE: "move it away; murmur writes a file there",
    CLOSE_FILE: "run: chmod 600 FILE",
    ASKS_TOO_MUCH: "raise the limit in config.json, or remove it from HEARTBEAT.md",
    CHECK_THE_DISK: "check the disk",
    FREE_SPACE_NOW: "free up disk space now",
    FREE_SPACE: "free up disk space; old captures are removed automatically",
    LINES_SKIPPED: "look at them in FILE; murmur skips them",
    SET_THE_CLOCK: "set the clock; if it is right, ignore this",
    FORGET_THE_LAST_RUN: "set the clock; if it is right, run: murmur start, which corrects lastRun",
    RULES_BY_NAME: "in the project's folder, run: murmur rules list; move the rules to that file",
    SHORTER_FOLDER: "choose a shorter MURMUR_DIR",
    START: "run: murmur start, or murmur service install",
    SERVICE_IS_ANOTHER: "run: murmur service install, which rewrites it",
    LINGER: "run once: loginctl enable-linger",
    CHECK_THE_PID_FILE: "check the owner and mode of murmur.pid",
    RESTART: "run: murmur restart; agents keep running",
    RESTART_BY_FORCE: "run: murmur restart --force; agents keep running",
    CHECK_THE_FOLDER: "check the owner and mode of the data folder",
    STOP_BY_FORCE: "run: murmur agent stop --force AGENT, or check its log",
    CLEAN_UP: "run: murmur agent stop AGENT, which cleans up after it",
    START_AGAIN: "stop these agents with the murmur version that started them, then start them again",
    INSTALL_MURMUR: "reinstall murmur",
    RUN_NO_AGENTS: "do not run agents until you reinstall murmur",
}

impl Hint {
    /// Replaces `FILE` with the shell-quoted path.
    pub(super) fn about(self, file: &Path) -> Self {
        Self(self.0.replace("FILE", &shell::path(file)).into())
    }

    /// Replaces `DIR` with the shell-quoted path.
    pub(super) fn in_folder(self, folder: &Path) -> Self {
        Self(self.0.replace("DIR", &shell::path(folder)).into())
    }

    /// The hint of an error.
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
