//! Finds secrets in text and masks them.
//!
//! Input: bytes. Output: the ranges of keys, tokens and passwords, recognized by their shape, by a preceding name,
//! option or header, or by the URL that contains them. Knows nothing about the source of the text. Everything that
//! murmur writes and records goes through the same scanner (docs/guide/secrets.md).

mod assignment;
mod header;
mod mask;
mod names;
mod options;
mod private_key;
mod programs;
mod providers;
#[doc(hidden)]
pub mod samples;
pub mod scan;
mod shape;
pub mod text;
mod url;
mod value;

pub use mask::mask;
pub use names::{is_secret, is_secret_name};

/// The replacement for a secret.
pub const REMOVED: &str = "[removed]";

#[cfg(test)]
mod tests;
