//! Calls that were refused, or that ran without a decision, as the audit of a run counts them.

use secrets::mask;
use serde::{Deserialize, Serialize};

/// Calls that were refused or ran without a decision during a run, and hooks that failed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Refusals {
    /// The calls that the guard refused.
    pub by_guard: Option<RefusedCalls>,
    /// The calls that were denied because nobody answered in time.
    pub unanswered: Option<RefusedCalls>,
    /// The calls that the backend would not run although they were allowed.
    pub by_backend: Option<RefusedCalls>,
    /// The last call that was denied, and why.
    pub last_denied: Option<String>,
    /// The error of the first hook that failed.
    pub failure: Option<String>,
    /// Calls that ran without a decision, where the backend doesn't ask about every call.
    pub undecided: UndecidedCalls,
}

/// Calls that were refused for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedCalls {
    /// The first one.
    pub first: String,
    /// How many there are.
    pub count: usize,
}

/// Calls that ran without a decision.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndecidedCalls {
    /// The first 20.
    pub calls: Vec<String>,
    /// How many more there are.
    pub more: usize,
    /// All calls that the guard refuses, named or not.
    pub by_guard: Option<RefusedCalls>,
    /// All calls that the rules or the deny list deny, named or not.
    pub by_rules: Option<RefusedCalls>,
}

/// How many calls to name.
const NAMED: usize = 20;

impl UndecidedCalls {
    /// How many calls there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.calls.len() + self.more
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds a call.
    pub fn add(&mut self, call: &str) {
        if self.calls.len() < NAMED {
            self.calls.push(mask(call));
        } else {
            self.more += 1;
        }
    }

    /// Counts a call that `denier` refuses.
    pub fn add_refused(&mut self, denier: DeniedBy, call: &str) {
        let counted = match denier {
            DeniedBy::Guard => &mut self.by_guard,
            DeniedBy::Rules => &mut self.by_rules,
        };
        counted.get_or_insert_with(|| RefusedCalls { first: mask(call), count: 0 }).count += 1;
    }
}

/// What refuses a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeniedBy {
    /// The guard.
    Guard,
    /// The rules or the deny list.
    Rules,
}
