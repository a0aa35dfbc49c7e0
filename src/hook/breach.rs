//! Checks a call that wrote a file again after it has run: a link on its path may have been changed since the decision.
//!
//! If the call would be denied now, it may have written to a protected file. It is recorded as a breach, on which the host
//! ends the run. A link that is changed back in time goes unnoticed; only a sandbox prevents that
//! (docs/design/promises.md).

use super::audit::{self, CallIds};
use super::context::HookContext;
use super::decide;
use super::event::Input;
use crate::journal::decisions::DecisionError;
use murmur_agent::settings::POLICY_VARIABLE;
use murmur_core::permit::decision::{By, Verdict};
use murmur_core::permit::pipeline::Step;
use shell_guard::guard;

/// Checks the call in the event `text`, if murmur started the agent.
pub(super) fn check(text: &[u8]) -> Result<(), DecisionError> {
    if std::env::var_os(POLICY_VARIABLE).is_none() {
        return Ok(());
    }
    let (Ok(context), Ok(input)) = (HookContext::read(), serde_json::from_slice::<Input>(text)) else {
        return Ok(());
    };
    let Input { session_id: session, tool_use_id, cwd, tool_name, tool_input, .. } = input;
    let Ok((call, project)) = decide::call(tool_name, tool_input, cwd, &context) else { return Ok(()) };
    if guard::written_paths(&call).is_empty() {
        return Ok(());
    }
    match decide::step(&call, &project, &context) {
        Step::Decided(decision)
            if decision.verdict == Verdict::Deny && matches!(decision.by, By::Guard(_) | By::Rule { .. }) =>
        {
            let ids = CallIds {
                session: session.as_ref(),
                tool_use_id: &tool_use_id,
                request: None,
                answered_by: None,
            };
            audit::breach(&context, &call, ids, &decision)
        }
        _ => Ok(()),
    }
}
