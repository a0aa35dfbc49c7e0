//! Whether everything murmur needs is there and as it should be: one finding a check, each with what to do about it.
//!
//! In comes what the environment says, out go findings; nothing is changed. Doubt is a finding too: what could not be
//! looked at is never called well.

mod agent;
mod files;
mod guard;
mod processes;
mod settings;

use crate::sys::paths::{DataDir, User};
use jiff::tz::TimeZone;
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;

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

/// What came of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check, in one or two words.
    pub check: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, found: found.into(), hint: None }
    }

    fn warn(check: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check, level: Level::Warn, found: found.into(), hint: Some(hint.into()) }
    }

    fn fail(check: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check, level: Level::Fail, found: found.into(), hint: Some(hint.into()) }
    }

    /// A failure that says itself what to do, behind `; `, as murmur's errors do.
    fn of_error(check: &'static str, error: impl std::fmt::Display) -> Self {
        let text = error.to_string();
        let (found, hint) = text.split_once("; ").map_or((&*text, None), |(found, hint)| (found, Some(hint)));
        Self { check, level: Level::Fail, found: found.to_owned(), hint: hint.map(str::to_owned) }
    }
}

/// What the environment says.
#[derive(Debug)]
pub struct Environment {
    /// murmur's data folder.
    pub dir: DataDir,
    /// The user.
    pub user: User,
    /// The user's login shell.
    pub shell: PathBuf,
    /// This process's PATH.
    pub path: OsString,
    /// The time zone of cron expressions that name none.
    pub time_zone: TimeZone,
    /// Whether a variable holds credentials for Claude Code; their values are not known here.
    pub has_credentials: bool,
    /// Claude Code's own folder.
    pub claude: PathBuf,
}

/// Examines everything. Starts the login shell, `claude --version` and the hook, and ends within seconds.
pub async fn examine(environment: &Environment) -> Vec<Finding> {
    let mut findings = agent::examine(environment).await;
    findings.extend(settings::examine(environment));
    findings.extend(files::examine(environment));
    findings.extend(processes::examine(environment).await);
    findings.extend(guard::examine(environment).await);
    findings
}
