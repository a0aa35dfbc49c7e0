//! What holds for one agent where neither guard nor rule decides. It travels to the hook in an environment variable.

use serde::{Deserialize, Serialize};

/// Who decides what neither guard nor rules decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Checker {
    /// Nobody: it is allowed.
    Off,
    /// A person.
    Manual,
    /// A model.
    Llm,
    /// Nobody: it is denied.
    Deny,
}

/// What happens when a person does not answer in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// The call is denied.
    Wait,
    /// The call is put off, the agent ends, and is resumed when the answer is there.
    Defer,
}

/// Who answers an agent's questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Questions {
    /// A person.
    Broker,
    /// Nobody: asking is denied.
    Deny,
}

/// All of it, resolved for one agent. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// Whether the guard looks at commands; not with `permissions: "skip"`.
    pub guard: bool,
    /// Whether it is the manager: only what its patterns allow is allowed.
    #[serde(default)]
    pub manager: bool,
    /// Who decides.
    pub checker: Checker,
    /// What happens when a person does not answer in time.
    pub approval: Approval,
    /// How long a person has to answer, in seconds: until the call is denied or put off.
    pub approval_wait: u32,
    /// How long a call that was put off waits for its answer, in seconds.
    pub approval_expiry: u32,
    /// Who answers its questions.
    pub questions: Questions,
}
