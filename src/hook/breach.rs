//! A call that wrote a file, looked at once more when it has run: a link on its path may have been changed since it was
//! decided.
//!
//! What is refused by now was reached perhaps, and is written down as a breach, by which the host ends the run. A link that
//! is changed back in time is not noticed; only a sandbox prevents that (docs/promises.md).

use super::audit::{self, Names};
use super::decide;
use super::event::Input;
use super::surroundings::Surroundings;
use crate::agent::settings::POLICY_VARIABLE;
use crate::permit::decision::{By, Verdict};
use crate::permit::guard;
use crate::permit::pipeline::Step;

/// Looks at the call that `text` tells of, for an agent that murmur started.
///
/// # Errors
/// That a breach could not be written down.
pub(super) fn look(text: &[u8]) -> Result<(), audit::AuditError> {
    if std::env::var_os(POLICY_VARIABLE).is_none() {
        return Ok(());
    }
    let (Ok(surroundings), Ok(input)) = (Surroundings::read(), serde_json::from_slice::<Input>(text)) else {
        return Ok(());
    };
    let Input { session_id: session, tool_use_id, cwd, tool_name, tool_input, .. } = input;
    let Ok((call, project)) = decide::call(tool_name, tool_input, cwd, &surroundings) else { return Ok(()) };
    if guard::written(&call).is_empty() {
        return Ok(());
    }
    match decide::step(&call, &project, &surroundings) {
        Step::Decided(decision)
            if decision.verdict == Verdict::Deny && matches!(decision.by, By::Guard(_) | By::Rule { .. }) =>
        {
            let names =
                Names { session: &session, tool_use_id: &tool_use_id, request: None, answered_by: None };
            audit::breach(&surroundings, &call, names, &decision)
        }
        _ => Ok(()),
    }
}
