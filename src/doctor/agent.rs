//! Claude Code: where it is, and which features it is too old for.

mod lacks;
mod root;

use super::{Check, Environment, Finding, Hint};
use lacks::Versions;
use murmur_agent::find::{self, CLAUDE};
use murmur_gate::ask::{self, first_line};
pub use root::VARIABLES as SANDBOX_VARIABLES;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::time::Duration;

/// How long `claude --version` may take.
const VERSION: Duration = Duration::from_secs(20);

/// Examines Claude Code, which the daemon starts with the PATH `login`.
pub(super) async fn examine(environment: &Environment, login: &OsStr) -> Vec<Finding> {
    let (shell, own) = (environment.shell.display(), &environment.path);
    let check = Check::LOGIN_PATH;
    let (program, finding) = match (find::find(CLAUDE, login), find::find(CLAUDE, own)) {
        (Ok(program), here) => {
            let finding = both(&environment.shell, &program, here.ok().as_deref());
            (program, finding)
        }
        (Err(_), Ok(program)) => {
            let here = format!("; this PATH has {}", program.display());
            let silent = broken(&environment.shell, login, &here);
            let finds_none =
                || check.warn(format!("{shell} does not find claude{here}"), Hint::LOGIN_SHELL_FINDS_NONE);
            (program, silent.unwrap_or_else(finds_none))
        }
        // Report the login PATH's error, which may be a file that is not executable.
        (Err(on_login), Err(own)) => {
            let is_missing = matches!(on_login, find::FindError::Missing { .. });
            let missing = Check::CLAUDE.failed(if is_missing { &own } else { &on_login });
            return broken(&environment.shell, login, "").into_iter().chain([missing]).collect();
        }
    };
    let version = version(&program, &both_paths(login, own)).await;
    vec![finding, root::over(environment, version)]
}

/// The folders of `login`, then those of `own`.
pub(super) fn both_paths(login: &OsStr, own: &OsStr) -> OsString {
    let folders = std::env::split_paths(login).chain(std::env::split_paths(own));
    std::env::join_paths(folders).unwrap_or_else(|_| own.to_os_string())
}

/// The finding if the login shell finds `program` and this PATH `here`.
fn both(shell: &Path, program: &Path, here: Option<&Path>) -> Finding {
    let (check, found) = (Check::LOGIN_PATH, format!("{} finds {}", shell.display(), program.display()));
    let Some(here) = here else { return check.ok(format!("{found}, which this PATH does not")) };
    if here == program {
        return check.ok(found);
    }
    let found = format!("{found}, and this PATH {}", here.display());
    let is_same = program.canonicalize().is_ok_and(|one| here.canonicalize().is_ok_and(|other| one == other));
    if is_same { check.ok(found) } else { check.warn(found, Hint::SAME_CLAUDE) }
}

/// The finding if there is no login shell, or it does not print its PATH.
fn broken(shell: &Path, login: &OsStr, more: &str) -> Option<Finding> {
    let (check, shown) = (Check::LOGIN_PATH, shell.display());
    if shell.is_absolute() && !shell.is_file() {
        let found = format!("login shell {shown} does not exist{more}");
        return Some(check.warn(found, Hint::NO_LOGIN_SHELL));
    }
    let found = format!("{shown} does not print its PATH{more}");
    login.is_empty().then(|| check.warn(found, Hint::LOGIN_SHELL_IS_SILENT))
}

async fn version(program: &Path, path: &OsStr) -> Finding {
    let check = Check::CLAUDE;
    let answer = ask::version(program, path, VERSION).await;
    let program = program.display();
    match answer {
        Ok(answer) => match answer.status {
            Some(status) if !status.success() => {
                let why = first_line(&answer.stderr).map_or(String::new(), |line| format!(": {line}"));
                check.fail(format!("{program} --version ended with {status}{why}"), Hint::INSTALL_CLAUDE)
            }
            _ => assess(&program.to_string(), String::from_utf8_lossy(&answer.stdout).trim()),
        },
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            check.fail(format!("{program} --version did not finish"), Hint::RUN_CLAUDE)
        }
        Err(error) => check.fail(format!("cannot run {program}: {error}"), Hint::INSTALL_CLAUDE),
    }
}

/// The finding if `program` reports its version as `reported`.
fn assess(program: &str, reported: &str) -> Finding {
    let check = Check::CLAUDE;
    let Some(version) = parse(reported) else {
        let named = first_line(reported.as_bytes()).unwrap_or_default();
        return check
            .warn(format!("{program} reports {named:?}, which is not a version"), Hint::UPDATE_CLAUDE);
    };
    let found = format!("{program} is {}", dotted(version));
    let versions = Versions::compiled_in();
    let lacks = versions.lacks(version);
    if lacks.is_empty() {
        return check.ok(found);
    }
    let lacks: Vec<String> =
        lacks.iter().map(|lack| format!("{} (before {})", lack.without, dotted(lack.since))).collect();
    let oldest = versions.oldest_tested().filter(|oldest| version < *oldest);
    let untested = oldest.map(|oldest| format!("; murmur was tested with {} and newer", dotted(oldest)));
    let found = format!("{found}, outdated: {}{}", lacks.join("; "), untested.unwrap_or_default());
    check.warn(found, Hint::UPDATE_CLAUDE)
}

fn dotted([major, minor, patch]: [u32; 3]) -> String {
    format!("{major}.{minor}.{patch}")
}

fn parse(reported: &str) -> Option<[u32; 3]> {
    let mut numbers = reported.split_whitespace().next()?.trim_start_matches('v').splitn(3, '.');
    let mut next = || {
        let digits = numbers.next()?;
        let end = digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok()
    };
    Some([next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn a_version_is_ok_or_old_or_invalid() {
        let level = |reported| assess("/bin/claude", reported).level;
        assert_eq!(level("2.1.329 (Claude Code)\n"), Level::Ok);
        assert_eq!(level("2.1.300 (Claude Code)"), Level::Ok);
        assert_eq!(level("v3.0.0-beta"), Level::Ok);
        for old in ["2.1.299 (Claude Code)", "2.1.197 (Claude Code)", "1.0.0", "hello", ""] {
            assert_eq!(level(old), Level::Warn, "{old:?}");
        }
    }

    #[test]
    fn an_old_version_is_reported_with_what_it_lacks() {
        let found = |reported| assess("/bin/claude", reported).found;
        let blocks = "a call runs without a decision if its hook's shell is killed or the hook exceeds its timeout (before 2.1.295)";
        let agents = "`toolTimeout` counts subagents' work (before 2.1.250); a long answer may be cut off on a busy \
                      machine (before 2.1.250)";
        let newest = "only murmur prevents calls in plan mode (before 2.1.300); `retry` knows a failure's status \
                      only from earlier retries (before 2.1.300); `Read` fails on long files (before 2.1.300)";
        assert_eq!(
            found("2.1.197 (Claude Code)"),
            format!("/bin/claude is 2.1.197, outdated: {agents}; {blocks}; {newest}")
        );
        assert_eq!(
            found("2.1.88"),
            format!(
                "/bin/claude is 2.1.88, outdated: deferred calls are denied (before 2.1.89); pulses lack \
                 durations (before 2.1.160); agents ask although nobody can answer (before 2.1.197); \
                 {agents}; {blocks}; {newest}; murmur was tested with 2.1.110 and newer"
            )
        );
    }
}
