//! Claude Code: every capability.

use super::{Capability, Description};

pub(super) const DESCRIPTION: Description = Description { name: "claude", capabilities: &Capability::ALL };

/// Another name for it.
pub(super) const LONG_NAME: &str = "claude-code";
