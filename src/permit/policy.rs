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

/// How long a hook may take for everything but waiting for an answer, in seconds.
const WORK: u32 = 20;

/// How much longer than its own deadline Claude Code waits for a hook, in seconds.
const MARGIN: u32 = 10;

impl Policy {
    /// What holds for a beat where nothing else is said.
    #[must_use]
    pub fn of_beat(guard: bool) -> Self {
        Self {
            guard,
            manager: false,
            checker: Checker::Off,
            approval: Approval::Wait,
            approval_wait: 120,
            approval_expiry: 86_400,
            questions: Questions::Broker,
        }
    }

    /// What holds for a hosted agent where nothing else is said.
    #[must_use]
    pub fn of_hosted() -> Self {
        Self { checker: Checker::Manual, ..Self::of_beat(true) }
    }

    /// How long a hook may take before it denies, in seconds.
    #[must_use]
    pub fn deadline(&self) -> u32 {
        let may_wait =
            matches!(self.checker, Checker::Manual | Checker::Llm) || self.questions == Questions::Broker;
        if may_wait { self.approval_wait.saturating_add(WORK) } else { WORK }
    }

    /// How long Claude Code is to wait for a hook, in seconds: longer than the hook itself, which says why.
    #[must_use]
    pub fn timeout(&self) -> u32 {
        self.deadline().saturating_add(MARGIN)
    }
}
