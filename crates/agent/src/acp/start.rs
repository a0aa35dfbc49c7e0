//! How a program that speaks the Agent Client Protocol is started.

use super::program::{self, ModelBy, Program};
use crate::dialog::Conversation;
use crate::invocation::Invocation;
use crate::settings::{DENY_VARIABLE, denied};
use crate::start::{Plan, Prepared, RunKind};
use std::ffi::OsString;
use sys::error::{Failure, Hinted};

/// Prepares the program called `name`.
pub(crate) fn start(name: &str, plan: Plan<'_>) -> Result<Prepared, Failure> {
    let program = Program::named(name);
    let mut args = plan.args;
    let mut program_env: Vec<(String, OsString)> =
        program.env.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect();
    if name == program::OPENCODE {
        let configured = plan.env.iter().find(|(name, _)| name == program::OPENCODE_SETTINGS);
        let inherited =
            std::env::var(program::OPENCODE_SETTINGS).ok().filter(|settings| !settings.is_empty());
        let settings = configured.map(|(_, settings)| settings.clone()).or(inherited);
        let env = program::opencode(settings.as_deref());
        program_env.extend(env.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    // What makes a program ask can't be set otherwise.
    let is_free = |name: &str| !program_env.iter().any(|(known, _)| known == name);
    let configured: Vec<(String, OsString)> = plan
        .env
        .into_iter()
        .filter(|(name, _)| is_free(name))
        .map(|(name, value)| (name, value.into()))
        .collect();
    program_env.extend(configured);
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
    env.push((DENY_VARIABLE, denied(plan.deny).into()));
    let cwd = plan.guarded.workspace.to_path_buf();
    let conversation = Conversation { cwd: cwd.clone(), model, resume: plan.resume.map(str::to_owned) };
    let invocation = Invocation { program: plan.program, args, env, program_env, cwd, stdin: plan.stdin };
    Ok(Prepared { invocation, conversation, hook: Some(plan.hook.clone()), folder: None })
}
