//! What is decided on a call, and who decided it.

use serde::{Deserialize, Serialize};

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It runs.
    Allow,
    /// It does not.
    Deny,
    /// It waits, without the process that asked, until somebody has answered.
    Defer,
}

/// Who decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind", content = "which")]
pub enum By {
    /// The guard: the entry of its table.
    Guard(String),
    /// A rule: the file it stands in and its number there, from 1.
    Rule {
        /// The file.
        file: String,
        /// The rule's number in it, from 1.
        number: usize,
    },
    /// A person who answered.
    Person,
    /// A model that was asked.
    Model(String),
    /// Nobody: what holds where nothing else decides, by the name of the setting.
    Default(String),
    /// Nobody: the person who was asked did not answer in time.
    Nobody,
    /// Nobody could: something failed.
    Failure,
}

/// A decision. Its reason is for the agent: what was not done, and what it can do instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What becomes of the call.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// Who says so.
    pub by: By,
}
