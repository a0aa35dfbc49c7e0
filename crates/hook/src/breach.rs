//! Checks a call that wrote a file again after it has run: a link on its path may have been changed since the decision.
//!
//! If the call would be denied now, it may have written to a protected file. It is recorded as a breach, on which the
//! host ends the run. A link that is changed back in time goes unnoticed; only a sandbox prevents that
//! (docs/design/promises.md).

use super::audit::{self, CallIds};
use super::context::HookContext;
use super::decide::Checked;
use super::event::Input;
use murmur_agent::settings::POLICY_VARIABLE;
use murmur_core::permit::decision::{DecidedBy, DecisionKind};
use murmur_core::permit::deny_list;
use murmur_core::permit::pipeline::NextStep;
use murmur_store::journal::decisions::DecisionError;
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
    let Ok(checked) = Checked::of(tool_name, tool_input, cwd, &context) else { return Ok(()) };
    let writes = checked.parts.iter().flatten().any(|part| !guard::written_paths(part).is_empty());
    if !writes {
        return Ok(());
    }
    match checked.step(&context) {
        NextStep::Decided(decision)
            if decision.kind == DecisionKind::Deny && is_about_files(&decision.by) =>
        {
            let ids = CallIds {
                session: session.as_ref(),
                tool_use_id: &tool_use_id,
                request: None,
                answered_by: None,
            };
            audit::breach(&context, &checked.call, ids, &decision)
        }
        _ => Ok(()),
    }
}

/// Whether a denial by `by` depends on the files that a call writes.
fn is_about_files(by: &DecidedBy) -> bool {
    match by {
        DecidedBy::Guard(_) | DecidedBy::Rule { .. } => true,
        DecidedBy::Default(setting) => setting == deny_list::SETTING,
        _ => false,
    }
}
