//! A tool call of another backend, in the vocabulary that guard and rules know.

use serde_json::Value;

/// A call in the vocabulary of guard and rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Translated {
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Value,
    /// The calls to check instead, if it does several things at once.
    pub parts: Vec<(String, Value)>,
}

/// A call whose effects can't be read from its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;
