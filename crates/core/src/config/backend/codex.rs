//! Codex, as measured on 0.169.0.

use super::{Capability, Description};

pub(super) const DESCRIPTION: Description = Description {
    name: "codex",
    capabilities: &[Capability::Hooks, Capability::Limits, Capability::Interrupt, Capability::Resume],
};
