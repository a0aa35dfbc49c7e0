//! The errors of runs that were killed because a call had no decision, or ran against one.

/// The message for an agent that was killed because its hook didn't decide on `call`.
#[must_use]
pub fn undecided(call: &str, has_run: bool) -> String {
    match has_run {
        true => format!("a call ran without a decision: {call}"),
        false => format!("murmur's hook made no decision on a call, so it did not run: {call}"),
    }
}

/// The message for an agent that was killed because `call` wrote where it may not.
#[must_use]
pub fn breached(call: &str) -> String {
    format!("a call wrote where it is not allowed, because a link changed after the decision: {call}")
}

/// The message for an agent that was killed because `call` ran after it was denied.
#[must_use]
pub fn ran_denied(call: &str) -> String {
    format!("a call ran although it was denied: {call}")
}
