//! Agents that speak the Agent Client Protocol: whether those that are configured or installed start and answer
//! `initialize`. A program may create its own files when it is started.

use super::agent::both_paths;
use super::tested::check_version;
use super::{Check, Environment, Finding, Hint, Level, named_backends};
use murmur_agent::acp::{self, Introduction};
use murmur_agent::{backend, find};
use murmur_core::config::backend::{Backend, Command, built_in_names};
use murmur_core::config::heartbeat::Resolved;
use murmur_core::config::settings::Settings;
use murmur_gate::ask::{self, ProgramInput, first_line};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// How long an agent may take to answer `initialize`. The slowest that was measured needs 6 s on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// How long an installed agent that nothing uses may take.
const UNUSED_LIMIT: Duration = Duration::from_secs(5);

/// Examines the agents of heartbeats and config.toml, and the built-in ones on the PATH, all at once. The daemon starts
/// them with the PATH `login`.
pub(super) async fn examine(
    environment: &Environment,
    settings: &Settings,
    config: Option<&Resolved>,
    login: &OsStr,
) -> Vec<Finding> {
    let path = both_paths(login, &environment.path);
    let mut asking = JoinSet::new();
    let used = names(settings, config);
    let unused = built_in_names().map(Arc::from).filter(|name| !used.contains(name));
    let unused = unused.filter(|name| is_installed(name, &path)).map(|name| (name, UNUSED_LIMIT));
    for (name, limit) in used.iter().map(|name| (Arc::clone(name), LIMIT)).chain(unused) {
        let backend = Backend::Acp(name);
        let command = settings.command(&backend).map_err(|error| Check::ACP.failed(&error));
        let (home, path) = (environment.user.home.clone(), path.clone());
        asking.spawn(async move {
            let found = match command {
                Ok(command) => {
                    let offers = command.offers;
                    let found = one(&backend, command, &home, &path, limit).await;
                    // What nothing uses needs no more than its name and version.
                    match found.level {
                        Level::Ok | Level::Warn if limit == LIMIT => {
                            let found = Finding { found: format!("{}; {offers}", found.found), ..found };
                            found.naming_what_lacks(&backend)
                        }
                        _ => found,
                    }
                }
                Err(finding) => finding,
            };
            let is_harmless = limit == UNUSED_LIMIT && found.level == Level::Fail;
            let found = if is_harmless { found.into_warning() } else { found };
            (backend.to_string(), found.after(&format!("{backend}: ")))
        });
    }
    let mut findings = asking.join_all().await;
    findings.sort_by(|(one, _), (other, _)| one.cmp(other));
    findings.into_iter().map(|(_, finding)| finding).collect()
}

/// Whether the built-in agent with this name is found on `path`.
fn is_installed(name: &Arc<str>, path: &OsStr) -> bool {
    let command = Backend::Acp(Arc::clone(name)).built_in();
    command.is_some_and(|command| find::find(&command.program, path).is_ok())
}

/// The names of the agents that are configured or used.
fn names(settings: &Settings, config: Option<&Resolved>) -> BTreeSet<Arc<str>> {
    let used = named_backends(settings, config).filter_map(|backend| match backend {
        Backend::Acp(name) => Some(Arc::clone(name)),
        Backend::Claude | Backend::Codex => None,
    });
    used.chain(settings.acp.keys().map(|name| name.as_str().into())).collect()
}

/// The finding about one agent, which is started as for a beat, but outside all workspaces.
async fn one(backend: &Backend, command: Command, home: &Path, path: &OsStr, limit: Duration) -> Finding {
    let check = Check::ACP;
    let Backend::Acp(name) = backend else { return check.ok("not an ACP agent") };
    let program = match find::find(&command.program, path) {
        Ok(program) => program,
        Err(error) => return check.failed(&error),
    };
    let env: Vec<(String, OsString)> = match acp::environment(name, command.env, home, None) {
        Ok(env) => env,
        Err(error) => return check.failed(&error),
    };
    let mut start = tokio::process::Command::new(&program);
    start.args(&command.args).env("PATH", path).envs(env).current_dir("/");
    let question = ProgramInput {
        text: &acp::hello(command.offers),
        is_answer: |line| Introduction::read(line).is_some(),
        grace: Duration::ZERO,
    };
    let answer = ask::with_input(start, &question, limit).await;
    let program = program.display();
    match answer {
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            let limit = humantime::format_duration(limit);
            check.fail(format!("{program} did not answer within {limit}"), Hint::RUN_AGENT)
        }
        Err(error) => check.fail(format!("cannot run {program}: {error}"), Hint::RUN_AGENT),
        Ok(answer) => match answer.stdout.split(|byte| *byte == b'\n').find_map(Introduction::read) {
            Some(Ok(introduction)) => {
                let found = described(&program.to_string(), &introduction);
                match backend::tested(backend).filter(|_| !introduction.version.is_empty()) {
                    Some((_, tested)) => check_version(check, &found, &introduction.version, tested),
                    None => check.ok(found),
                }
            }
            Some(Err(why)) => check.fail(
                format!("{program}: {}", first_line(why.to_string().as_bytes()).unwrap_or_default()),
                Hint::UPDATE_AGENT,
            ),
            None => {
                let why = first_line(&answer.stderr).or_else(|| first_line(&answer.stdout));
                let why = why.map_or(String::new(), |line| format!(": {line}"));
                let ended = answer.status.map_or_else(
                    || "printed something else".to_owned(),
                    |status| format!("ended with {status}"),
                );
                check.fail(
                    format!("{program} {ended} instead of answering `initialize`{why}"),
                    Hint::RUN_AGENT,
                )
            }
        },
    }
}

/// What a `program` that answered `initialize` says about itself.
fn described(program: &str, introduction: &Introduction) -> String {
    let reported = first_line(introduction.program.as_bytes());
    let reported = reported.unwrap_or_else(|| "an agent that does not report its version".to_owned());
    let sessions = first_line(introduction.sessions.join(", ").as_bytes());
    let sessions = sessions.unwrap_or_else(|| "none".to_owned());
    let found = format!("{program} is {reported}, protocol 1; session capabilities: {sessions}");
    if introduction.resumes() { found } else { format!("{found}; conversations cannot be resumed") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_core::config::acp_program::Offers;
    use std::os::unix::fs::PermissionsExt;

    /// The finding about a script.
    async fn of(script: &str, limit: Duration) -> (Level, String) {
        named("mine", script, limit).await
    }

    /// The finding about a script as the agent with this name.
    async fn named(name: &str, script: &str, limit: Duration) -> (Level, String) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("agent");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let command = Command {
            program: "agent".to_owned(),
            args: vec!["x y".to_owned()],
            env: Vec::new(),
            offers: Offers::default(),
        };
        let path = both_paths(folder.path().as_os_str(), &std::env::var_os("PATH").unwrap());
        let finding = one(&Backend::Acp(name.into()), command, folder.path(), &path, limit).await;
        (finding.level, finding.found.replace(&program.display().to_string(), "AGENT"))
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_agent_is_met_or_its_problem_is_told() {
        let response = |fields: &str| {
            format!(
                r#"read hello; echo 'a note'; printf '%s\n' '{{"id":"murmur-initialize",{fields}}}'; cat"#
            )
        };
        let limit = Duration::from_secs(60);
        let met = of(&response(r#""result":{"protocolVersion":1}"#), limit).await;
        let found = "AGENT is an agent that does not report its version, protocol 1; session capabilities: none; \
                     conversations cannot be resumed";
        assert_eq!(met, (Level::Ok, found.to_owned()));
        let hostile = r#""result":{"protocolVersion":1,"agentInfo":{"name":"\u001b[31mX","version":"2\n3"},"agentCapabilities":{"loadSession":true}}"#;
        let found = of(&response(hostile), limit).await.1;
        assert_eq!(found, "AGENT is X 2, protocol 1; session capabilities: load");
        for (script, problem) in [
            (
                response(r#""result":{"protocolVersion":2}"#),
                "AGENT: the agent uses version 2 of the Agent Client Protocol, but murmur needs version 1",
            ),
            (response(r#""error":{"code":-32603,"message":"no disk"}"#), "AGENT: no disk"),
            (
                "echo \"no such option: $1\" >&2; exit 2".to_owned(),
                "AGENT ended with exit status: 2 instead of answering `initialize`: no such option: x y",
            ),
        ] {
            assert_eq!(of(&script, limit).await, (Level::Fail, problem.to_owned()));
        }
        let silent = of("cat >/dev/null", Duration::from_millis(50)).await;
        assert_eq!(silent, (Level::Fail, "AGENT did not answer within 50ms".to_owned()));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_version_of_a_known_agent_is_compared_with_the_tested_ones() {
        for (name, version, level, suffix) in [
            ("goose", "1.52.3", Level::Ok, ""),
            (
                "goose",
                "1.33.0",
                Level::Warn,
                ", which is older than 1.34; murmur was tested with 1.34 to 1.52",
            ),
            ("codex-acp", "2.7.0", Level::Ok, " (newer than 2.6; murmur was tested with 2.6)"),
            ("codex-acp", "", Level::Ok, ""),
            ("mine", "0.0.1", Level::Ok, ""),
        ] {
            let script = format!(
                r#"read hello; printf '%s\n' '{{"id":"murmur-initialize","result":{{"protocolVersion":1,"agentInfo":{{"name":"X","version":"{version}"}},"agentCapabilities":{{"loadSession":true}}}}}}'; cat"#
            );
            let shown = format!("X {version}");
            let found = named(name, &script, Duration::from_secs(60)).await;
            let expected =
                format!("AGENT is {}, protocol 1; session capabilities: load{suffix}", shown.trim());
            assert_eq!(found, (level, expected), "{name} {version}");
        }
    }

    #[test]
    fn agents_of_config_toml_are_asked_each_once() {
        let settings =
            "agent = \"acp:goose\"\n[acp.mine]\ncommand = \"x\"\n[acp.goose]\ncommand = \"goose\"\n";
        let settings = Settings::parse(settings.as_bytes(), Path::new("config.toml")).unwrap();
        let names: Vec<_> = names(&settings, None).into_iter().collect();
        assert_eq!(names, ["goose".into(), "mine".into()]);
        assert!(super::names(&Settings::default(), None).is_empty());
    }
}
