//! Codex, as measured on 0.169.0.

use super::{Capability, Description};

pub(super) const DESCRIPTION: Description = Description {
    name: "codex",
    capabilities: &[
        Capability::Hooks,
        Capability::Asks,
        Capability::Tokens,
        Capability::Limits,
        Capability::Interrupt,
        Capability::Resume,
        Capability::Errors,
        Capability::Trust,
    ],
};
