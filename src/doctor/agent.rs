//! Claude Code: where it is, how old it is, and whether it can log in.

use super::{Environment, Finding};
use crate::agent::find::{self, CLAUDE};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;
use tokio::time::timeout;

/// How long the login shell may take, as for the daemon.
const LOGIN: Duration = Duration::from_secs(5);

/// How long `claude --version` may take.
const VERSION: Duration = Duration::from_secs(20);

/// The oldest version that murmur was tried with.
const OLDEST: [u32; 3] = [2, 1, 197];

/// From when on Claude Code itself blocks a call whose hook is missing or was killed (`onFailure`).
const BLOCKS: [u32; 3] = [2, 1, 295];

pub(super) async fn examine(environment: &Environment) -> Vec<Finding> {
    let path = find::login_path(&environment.shell, &environment.path, LOGIN).await;
    let mut findings = Vec::new();
    match find::find(CLAUDE, &path) {
        Ok(program) => {
            let is_only_ours = find::find(CLAUDE, &environment.path).is_err();
            let found = format!("{} finds {}", environment.shell.display(), program.display());
            findings.push(Finding::ok(
                "login PATH",
                if is_only_ours { format!("{found}, which this PATH does not") } else { found },
            ));
            findings.push(version(&program, &path).await);
        }
        Err(error) => findings.push(Finding::of_error("claude", error)),
    }
    findings.push(credentials(environment));
    findings
}

async fn version(program: &Path, path: &std::ffi::OsStr) -> Finding {
    let asked = Command::new(program)
        .arg("--version")
        .env("PATH", path)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let said = match timeout(VERSION, asked).await {
        Ok(Ok(output)) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        Ok(Ok(output)) => {
            return Finding::fail(
                "claude",
                format!("{} --version ended with {}", program.display(), output.status),
                "install Claude Code anew",
            );
        }
        Ok(Err(error)) => {
            return Finding::fail(
                "claude",
                format!("{} cannot be run: {error}", program.display()),
                "install Claude Code anew",
            );
        }
        Err(_) => {
            return Finding::fail(
                "claude",
                format!("{} --version does not end", program.display()),
                "run it by hand",
            );
        }
    };
    judge(program, &said)
}

/// What it means that `program` calls itself `said`.
fn judge(program: &Path, said: &str) -> Finding {
    let update = "run: claude update";
    let named = said.lines().next().unwrap_or_default();
    let Some(version) = parse(said) else {
        return Finding::warn(
            "claude",
            format!("{} says {named:?}, which is no version", program.display()),
            update,
        );
    };
    let [major, minor, patch] = version;
    let found = format!("{} is {major}.{minor}.{patch}", program.display());
    if version < OLDEST {
        let [major, minor, patch] = OLDEST;
        return Finding::warn(
            "claude",
            format!("{found}; murmur was tried with {major}.{minor}.{patch} and newer"),
            update,
        );
    }
    if version < BLOCKS {
        let [major, minor, patch] = BLOCKS;
        let lacks = "does not block a call whose hook is killed or gone";
        return Finding::warn(
            "claude",
            format!("{found}, older than {major}.{minor}.{patch}: it {lacks}"),
            update,
        );
    }
    Finding::ok("claude", found)
}

fn parse(said: &str) -> Option<[u32; 3]> {
    let mut numbers = said.split_whitespace().next()?.trim_start_matches('v').splitn(3, '.');
    let mut next = || {
        let digits = numbers.next()?;
        let end = digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok()
    };
    Some([next()?, next()?, next()?])
}

/// Whether there are some; never which.
fn credentials(environment: &Environment) -> Finding {
    let check = "credentials";
    if environment.has_credentials {
        return Finding::ok(check, "a key is in the environment; a service does not have this environment");
    }
    if environment.claude.join(".credentials.json").is_file() {
        return Finding::ok(check, "claude has logged in");
    }
    if cfg!(target_os = "macos") {
        return Finding::ok(check, "none in files; they may be in the keychain, which is not looked into");
    }
    Finding::warn(
        check,
        "none in the environment, and claude has not logged in",
        "run `claude` once, and /login",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn a_version_is_well_or_old_or_none() {
        let level = |said| judge(Path::new("/bin/claude"), said).level;
        assert_eq!(level("2.1.329 (Claude Code)\n"), Level::Ok);
        assert_eq!(level("v3.0.0-beta"), Level::Ok);
        for old in ["2.1.294 (Claude Code)", "2.1.197 (Claude Code)", "1.0.0", "hello", ""] {
            assert_eq!(level(old), Level::Warn, "{old:?}");
        }
        let old = judge(Path::new("/bin/claude"), "2.1.197 (Claude Code)");
        assert_eq!(
            old.found,
            "/bin/claude is 2.1.197, older than 2.1.295: it does not block a call whose hook is killed or gone"
        );
    }
}
