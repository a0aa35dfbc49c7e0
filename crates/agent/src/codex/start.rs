//! Starts Codex's app-server with murmur's hooks, and turns off features that bypass hooks.

use super::hooks;
use crate::dialog::Conversation;
use crate::invocation::Invocation;
use crate::settings::{DENY_VARIABLE, denied};
use crate::start::{Plan, Prepared, RunKind};
use sys::error::{Failure, Hinted};

/// Settings that override the user's, all measured on 0.169.0. Everything else stays as the user configured it.
const SETTINGS: [&str; 5] = [
    // Without it no hook runs.
    "features.hooks=true",
    // Text typed into a running command passes no hook; without a terminal there is no such text.
    "features.unified_exec_tty=false",
    // Agents of the agent have calls and costs that no event of the thread shows.
    "agents.enabled=false",
    // Hosted search runs on the server, where no hook sees it.
    "web_search=\"disabled\"",
    // Otherwise a run without network never ends by itself.
    "features.unbounded_connection_retries=false",
];

/// Prepares an agent.
pub(crate) fn start(plan: Plan<'_>) -> Result<Prepared, Failure> {
    let mut args = plan.args;
    if let RunKind::Live { extra } = plan.kind {
        args.extend_from_slice(extra);
    }
    args.push("app-server".to_owned());
    let own = hooks::settings(plan.hook, plan.guarded.policy.timeout())?;
    for value in SETTINGS.into_iter().map(str::to_owned).chain(own) {
        args.extend(["-c".to_owned(), value]);
    }
    let mut env = plan.guarded.environment().map_err(|error| error.failure())?;
    env.push(("PATH", plan.path));
    // Codex has no deny list of its own, so the hook applies it.
    env.push((DENY_VARIABLE, denied(plan.deny, &[]).into()));
    let program_env = plan.env.into_iter().map(|(name, value)| (name, value.into())).collect();
    let cwd = plan.guarded.workspace.to_path_buf();
    let conversation = Conversation {
        cwd: cwd.clone(),
        model: plan.model.map(str::to_owned),
        resume: plan.resume.map(str::to_owned),
        offers: plan.offers,
        hides_claude_files: false,
    };
    let invocation = Invocation { program: plan.program, args, env, program_env, cwd, stdin: plan.stdin };
    // Its own hooks decide on every call. This one decides on what else it asks.
    Ok(Prepared { invocation, conversation, hook: Some(plan.hook.clone()), folder: None })
}
