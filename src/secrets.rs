//! What looks like a secret in a text, and the text without it.
//!
//! In come bytes, out go places of keys, tokens and passwords, told by their shape, by the name, the option or the header
//! before them, or by the address they stand in. It knows nothing of where the text comes from. What murmur writes down
//! and what it records go through the same scanner (docs/secrets.md).

mod assignment;
mod header;
mod login;
mod mask;
mod names;
mod options;
mod private_key;
mod programs;
mod providers;
pub(crate) mod scan;
mod shape;
pub(crate) mod text;
mod value;

pub use mask::mask;
pub(crate) use names::is_secret;
pub use names::is_secret_name;

/// What stands for a secret.
pub const REMOVED: &str = "[removed]";

#[cfg(test)]
pub(crate) mod tests;
