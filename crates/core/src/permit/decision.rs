//! The decision on a call, and who made it.

use serde::{Deserialize, Serialize};

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecisionKind {
    /// It runs.
    Allow,
    /// It does not run.
    Deny,
    /// It waits for an answer, and the agent's process ends meanwhile.
    Defer,
}

/// Who decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind", content = "which")]
pub enum DecidedBy {
    /// The guard, with the entry of its table.
    Guard(String),
    /// A rule of a permissions.toml.
    Rule {
        /// The file.
        file: String,
        /// The rule's number in the file, from 1.
        number: usize,
    },
    /// A person who answered.
    Person,
    /// A model, by its name.
    Model(String),
    /// Nobody; a default applied, named by its setting.
    Default(String),
    /// Nobody; the person who was asked did not answer in time.
    Nobody,
    /// The backend, which would not run a call that was allowed.
    Backend,
    /// Nobody; something failed.
    Failure,
}

/// A decision. The reason is for the agent: what was denied, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What happens to the call.
    pub kind: DecisionKind,
    /// Why.
    pub reason: String,
    /// Who decided.
    pub by: DecidedBy,
}
