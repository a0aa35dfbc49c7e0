//! How Claude Code is started (spec 0, Claude CLI Invocation).

use crate::dialog::Conversation;
use crate::invocation::{BeatOptions, Invocation, beat_args, live_args};
use crate::start::{Plan, Prepared, RunKind};
use sys::error::{Failure, Hinted};

/// A variable that makes Claude Code wait for the reset of a usage limit.
const RETRY_WATCHDOG: &str = "CLAUDE_CODE_RETRY_WATCHDOG";

/// Prepares an agent.
pub(crate) fn start(plan: Plan<'_>) -> Result<Prepared, Failure> {
    let guarded = plan.guarded.args(plan.hook).map_err(|error| error.failure())?;
    let own = match plan.kind {
        RunKind::Beat { max_turns, max_budget } => {
            let options = BeatOptions { max_turns, max_budget, deny: plan.deny, model: plan.model };
            let mut args = beat_args(options);
            args.extend_from_slice(plan.trust);
            args.extend(guarded);
            args
        }
        RunKind::Live { extra } => {
            let hooks = [plan.trust, &guarded].concat();
            live_args(plan.deny, plan.model, extra, &hooks)
        }
    };
    let mut args = plan.args;
    args.extend(own);
    if let Some(session) = plan.resume {
        args.extend(["--resume".to_owned(), session.to_owned()]);
    }
    let mut env = plan.guarded.environment().map_err(|error| error.failure())?;
    env.push(("PATH", plan.path));
    let cwd = plan.guarded.workspace.to_path_buf();
    // With it, Claude Code waits for the reset of a usage limit itself, longer than most beats may take.
    let waits = std::env::var_os(RETRY_WATCHDOG).is_some_and(|value| !value.is_empty());
    let program_env = waits.then(|| (RETRY_WATCHDOG.to_owned(), "".into())).into_iter().collect();
    let invocation = Invocation { program: plan.program, args, env, program_env, cwd, stdin: plan.stdin };
    // A beat's stdin is closed, so nothing can be answered there; its hook decides everything.
    let hook = matches!(plan.kind, RunKind::Live { .. }).then(|| plan.hook.clone());
    Ok(Prepared { invocation, conversation: Conversation::default(), hook, folder: None })
}
