//! Codex, if a heartbeat or config.toml names it: where it is, whether murmur was tested with its version, whether its
//! app-server answers, and whether it is logged in. What it prints about the login is not shown. It may create its own
//! files when it is started.

use super::agent::both_paths;
use super::tested::check_version;
use super::{Check, Environment, Finding, Hint, Level, named_backends};
use murmur_agent::{codex, find};
use murmur_core::config::backend::Backend;
use murmur_core::config::heartbeat::Resolved;
use murmur_core::config::settings::Settings;
use murmur_gate::ask::{self, ProgramInput, ProgramOutput, first_line};
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use sys::error::Failure;

/// How long each of its three answers may take.
const LIMIT: Duration = Duration::from_secs(20);

/// Examines the Codex that the daemon finds on the PATH `login`; `None` if nothing uses it.
pub(super) async fn examine(
    environment: &Environment,
    settings: &Settings,
    config: Option<&Resolved>,
    login: &OsStr,
) -> Option<Finding> {
    if !named_backends(settings, config).any(|backend| *backend == Backend::Codex) {
        return None;
    }
    let command = match settings.command(&Backend::Codex) {
        Ok(command) => command,
        Err(error) => return Some(Check::CODEX.failed(&error)),
    };
    let path = both_paths(login, &environment.path);
    Some(match find::find(&command.program, &path) {
        Ok(program) => {
            let finding = one(&program, &path, LIMIT).await;
            let finding = finding.naming_what_lacks(&Backend::Codex);
            match environment.codex_elsewhere.as_deref() {
                Some(place) => elsewhere(finding, place),
                None => finding,
            }
        }
        Err(error) => Check::CODEX.failed(&error),
    })
}

/// Adds that `place` has Codex run calls elsewhere, so that murmur runs no turns.
fn elsewhere(finding: Finding, place: &str) -> Finding {
    if finding.level == Level::Fail {
        return finding;
    }
    let found =
        format!("{}; calls would run in the environment of {place}, so murmur runs none", finding.found);
    Check::CODEX.warn(found, Hint::RUN_CODEX_HERE)
}

async fn one(program: &Path, path: &OsStr, limit: Duration) -> Finding {
    let (check, shown) = (Check::CODEX, program.display());
    let output = match ask(program, path, &["--version"], limit).await {
        Ok(answer) => answer,
        Err(finding) => return finding,
    };
    if let Some(status) = output.status.filter(|status| !status.success()) {
        let why = first_line(&output.stderr).map_or(String::new(), |line| format!(": {line}"));
        return check.fail(format!("{shown} --version ended with {status}{why}"), Hint::RUN_AGENT);
    }
    let Some(version) = first_line(&output.stdout) else {
        return check.fail(format!("{shown} does not print its version"), Hint::RUN_AGENT);
    };
    let tested = check_version(check, &format!("{shown} is {version}"), &version, codex::TESTED);
    if let Err(failure) = app_server(program, path, limit).await {
        return check.fail(format!("{}, but {failure}", tested.found), Hint::UPDATE_AGENT);
    }
    if tested.level != Level::Ok {
        return tested;
    }
    let found = tested.found;
    // Its app-server ignores `CODEX_API_KEY`, unlike `codex exec`.
    match ask(program, path, &["login", "status"], limit).await {
        Ok(ProgramOutput { status: Some(status), .. }) if status.success() => {
            check.ok(format!("{found}, logged in"))
        }
        Ok(_) => check.warn(format!("{found}, not logged in"), Hint::LOG_IN_TO_CODEX),
        Err(finding) => finding,
    }
}

/// Checks that Codex's app-server, which runs all its beats, answers.
async fn app_server(program: &Path, path: &OsStr, limit: Duration) -> Result<(), Failure> {
    let mut command = tokio::process::Command::new(program);
    command.arg("app-server").env("PATH", path).current_dir("/");
    let input = ProgramInput { text: &codex::hello(), is_answer: codex::is_hello, grace: Duration::ZERO };
    match ask::with_input(command, &input, limit).await {
        Ok(answer) if answer.stdout.split(|byte| *byte == b'\n').any(codex::is_hello) => Ok(()),
        Ok(answer) => {
            let why = first_line(&answer.stderr).or_else(|| first_line(&answer.stdout));
            let failure = Failure::new("its app-server does not work");
            Err(match why {
                Some(line) => failure.about(line),
                None => failure,
            })
        }
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            Err(Failure::new("its app-server did not answer"))
        }
        Err(error) => Err(Failure::new("its app-server does not start").because(&error)),
    }
}

async fn ask(program: &Path, path: &OsStr, args: &[&str], limit: Duration) -> Result<ProgramOutput, Finding> {
    let mut command = tokio::process::Command::new(program);
    command.args(args).env("PATH", path).current_dir("/").stdin(Stdio::null());
    ask::exit(command, limit).await.map_err(|error| {
        let (program, args) = (program.display(), args.join(" "));
        if error.kind() == io::ErrorKind::TimedOut {
            Check::CODEX.fail(format!("{program} {args} did not finish"), Hint::RUN_AGENT)
        } else {
            Check::CODEX.fail(format!("cannot run {program}: {error}"), Hint::RUN_AGENT)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use std::os::unix::fs::PermissionsExt;

    /// The finding about a script as Codex.
    async fn of(script: &str, limit: Duration) -> (Level, String) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("codex");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let finding = one(&program, &path, limit).await;
        (finding.level, finding.found.replace(&program.display().to_string(), "CODEX"))
    }

    #[tokio::test(flavor = "current_thread")]
    async fn codex_is_found_with_its_version_and_login() {
        let limit = Duration::from_secs(60);
        let serves = r#"[ $1 = app-server ] && { echo '{"id":"initialize","result":{}}'; exec cat; };"#;
        let logged_in = format!(
            "{serves} [ $1 = --version ] && echo codex-cli 0.169.0 || echo 'API key configured - sk-1***2'"
        );
        let not = format!(
            "{serves} [ $1 = --version ] && echo codex-cli 0.169.0 || {{ echo Not logged in >&2; exit 1; }}"
        );
        let without = "[ $1 = --version ] && echo codex-cli 0.170.1 || { echo unknown command >&2; exit 2; }";
        let (logged_in, not) = (logged_in.as_str(), not.as_str());
        for (script, level, found) in [
            (logged_in, Level::Ok, "CODEX is codex-cli 0.169.0, logged in"),
            (not, Level::Warn, "CODEX is codex-cli 0.169.0, not logged in"),
            (
                without,
                Level::Fail,
                "CODEX is codex-cli 0.170.1, but its app-server does not work: unknown command",
            ),
            ("exit 0", Level::Fail, "CODEX does not print its version"),
            ("echo no >&2; exit 3", Level::Fail, "CODEX --version ended with exit status: 3: no"),
        ] {
            assert_eq!(of(script, limit).await, (level, found.to_owned()));
        }
        let silent = of("exec sleep 1000", Duration::from_millis(50)).await;
        assert_eq!(silent, (Level::Fail, "CODEX --version did not finish".to_owned()));
    }
}
