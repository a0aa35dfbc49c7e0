//! What looks like a secret in a text, and the text without it.
//!
//! In come bytes, out go places of keys, tokens and passwords, told by their shape or by the name before them. It knows
//! nothing of where the text comes from.

mod mask;
pub(crate) mod shape;
pub(crate) mod text;

pub use mask::mask;

/// What stands for a secret.
pub const REMOVED: &str = "[removed]";
