//! The prompt of a beat (spec 0, Prompt Construction).

use jiff::Timestamp;
use std::path::Path;

/// Wraps `instructions`, a HEARTBEAT.md without its frontmatter, in the exact text of spec 0.
#[must_use]
pub fn beat(workspace: &Path, at: Timestamp, instructions: &str) -> String {
    format!(
        "You are a heartbeat agent. Follow the instructions below.

WORKSPACE: {}
TIME: {}

---
{}
---

Rules:
- Do what the instructions above ask.
- If there is nothing to report: respond with exactly HEARTBEAT_OK (nothing else).
- If something needs human attention: respond with ATTENTION: followed by a concise summary.
- Be brief.
",
        workspace.display(),
        sys::clock::rfc3339(at),
        instructions.trim_end_matches(['\n', '\r']),
    )
}

/// What an agent is told whose last turn a usage limit stopped. Its session has the prompt.
#[must_use]
pub fn after_limit(at: Timestamp) -> String {
    format!(
        "A usage limit stopped you; it has been reset. Continue with the instructions above, and answer by the same rules.

TIME: {}
",
        sys::clock::rfc3339(at)
    )
}
