//! How a program that speaks the Agent Client Protocol is started.

use super::goose;
use super::opencode;
use super::program::{self, ModelBy, Program};
use crate::codex;
use crate::dialog::Conversation;
use crate::invocation::Invocation;
use crate::settings::{DENY_VARIABLE, denied};
use crate::start::{Plan, Prepared, RunKind};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use sys::error::{Failure, Hinted};
use sys::failure;

/// The variables with which the program called `name` runs for the user with this `home`, and in `workspace`: what
/// makes it ask about its calls, and what is `configured`.
///
/// # Errors
/// If the user's settings conflict with those that make the program ask, or are unreadable.
pub fn environment(
    name: &str,
    configured: Vec<(String, String)>,
    home: &Path,
    workspace: Option<&Path>,
) -> Result<Vec<(String, OsString)>, Failure> {
    let program = Program::named(name);
    let variable = |wanted: &str| variable(&configured, wanted);
    let mut env: Vec<(String, OsString)> =
        program.env.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect();
    if name == program::OPENCODE {
        let settings = variable(program::OPENCODE_SETTINGS);
        let [xdg, named] =
            ["XDG_CONFIG_HOME", "OPENCODE_CONFIG"].map(|name| variable(name).map(PathBuf::from));
        let files = opencode::files(home, xdg, named);
        opencode::check(&files, settings.as_deref(), variable("OPENCODE_PERMISSION").as_deref())?;
        let instructions = workspace.map(opencode::instructions).unwrap_or_default();
        let own = program::opencode(opencode::settings(settings.as_deref())?, instructions);
        env.extend(own.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    if name == program::CODEX {
        // The variable for another environment is unset below.
        let place = |wanted: &str| variable(wanted).filter(|_| wanted == codex::HOME).map(OsString::from);
        if let Some(file) = codex::configured_environment(home, &place) {
            return Err(failure!(
                "the guard cannot check calls in the environments of {file}, only on this machine"; "remove it"
            ));
        }
    }
    let is_chosen = configured.iter().any(|(name, _)| name == goose::PLUGINS);
    if let Some(workspace) = workspace.filter(|_| name == program::GOOSE && !is_chosen) {
        let user = goose::UserFiles::new(home, |name| variable(name).map(PathBuf::from));
        let plugins = goose::disabled(workspace, &user)?;
        env.extend(plugins.map(|plugins| (goose::PLUGINS.to_owned(), plugins.into())));
    }
    // What makes a program ask can't be set otherwise.
    let is_free = |name: &str| !env.iter().any(|(known, _)| known == name);
    let free: Vec<(String, OsString)> = configured
        .into_iter()
        .filter(|(name, _)| is_free(name))
        .map(|(name, value)| (name, value.into()))
        .collect();
    env.extend(free);
    Ok(env)
}

/// A variable of an agent that inherits ours besides what is `configured`.
fn variable(configured: &[(String, String)], wanted: &str) -> Option<String> {
    let configured = configured.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    configured.or_else(|| std::env::var(wanted).ok()).filter(|value| !value.is_empty())
}

/// Prepares the program called `name`.
pub(crate) fn start(name: &str, plan: Plan<'_>) -> Result<Prepared, Failure> {
    let program = Program::named(name);
    let mut args = plan.args;
    let mut program_env = environment(name, plan.env, &plan.guarded.user.home, Some(plan.guarded.workspace))?;
    let mut model = plan.model.map(str::to_owned);
    match program.model {
        ModelBy::Dialog => {}
        ModelBy::Option(option) => {
            args.extend(model.take().into_iter().flat_map(|model| [option.to_owned(), model]))
        }
        ModelBy::Variable(name) => {
            program_env.extend(model.take().map(|model| (name.to_owned(), model.into())));
        }
    }
    if let RunKind::Live { extra } = plan.kind {
        args.extend_from_slice(extra);
    }
    let mut env = plan.guarded.environment().map_err(|error| error.failure())?;
    env.push(("PATH", plan.path));
    env.push((DENY_VARIABLE, denied(plan.deny, program.unseen).into()));
    let cwd = plan.guarded.workspace.to_path_buf();
    let resume = plan.resume.map(str::to_owned);
    let (offers, hides_claude_files) = (plan.offers, plan.hides_claude_files);
    let conversation = Conversation { cwd: cwd.clone(), model, resume, offers, hides_claude_files };
    let invocation = Invocation { program: plan.program, args, env, program_env, cwd, stdin: plan.stdin };
    Ok(Prepared { invocation, conversation, hook: Some(plan.hook.clone()), folder: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codex_acp_runs_its_calls_on_this_machine_whatever_is_configured() {
        let elsewhere = ("CODEX_EXEC_SERVER_URL".to_owned(), "ws://host".to_owned());
        let other = ("OTHER".to_owned(), "1".to_owned());
        let env = environment("codex-acp", vec![elsewhere, other], Path::new("/home/u"), None).unwrap();
        let found = env.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
        assert_eq!(found.collect::<Vec<_>>(), [("CODEX_EXEC_SERVER_URL", ""), ("OTHER", "1")]);
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("environments.toml");
        std::fs::write(&file, "").unwrap();
        let configured = || vec![("CODEX_HOME".to_owned(), home.path().display().to_string())];
        let error = environment("codex-acp", configured(), Path::new("/home/u"), None).unwrap_err();
        let expected = format!(
            "the guard cannot check calls in the environments of {}, only on this machine; remove it",
            file.display()
        );
        assert_eq!(error.line(), expected);
        assert!(environment("goose", configured(), home.path(), None).is_ok());
    }
}
