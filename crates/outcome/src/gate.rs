//! The outcome of a beat that starts no agent, or whose verifiers ran: `skipped`, `attention` or `error`.

use super::{EarlyEnd, Outcome, SUMMARY, StopReason, first_characters, interrupted};
use secrets::mask;
use std::time::Duration;

/// What keeps a beat from starting its agent, or the success of its agent from counting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The agent, a gate or a verifier can't run or gave no answer: what failed.
    Failed(String),
    /// A gate says that there is nothing to do, and why.
    NothingToDo(String),
    /// A verifier says that the success doesn't count, and why.
    Unverified(String),
    /// The beat was stopped while a gate or verifier ran.
    Stopped {
        /// Why.
        reason: StopReason,
        /// How long the gate or verifier had run.
        after: Duration,
        /// The gate or verifier.
        gate: String,
    },
}

impl Obstacle {
    /// The outcome.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Failed(what) => Outcome::Error(what.clone()),
            Self::NothingToDo(why) => Outcome::Skipped(first_characters(&mask(why), SUMMARY)),
            Self::Unverified(why) => Outcome::Attention(why.clone()),
            Self::Stopped { reason, after, gate } => {
                Outcome::Error(mask(&interrupted::stopped_in_gate(*reason, *after, gate)))
            }
        }
    }

    /// How murmur ended the beat early; `None` if it didn't.
    #[must_use]
    pub fn early_end(&self) -> Option<EarlyEnd> {
        match self {
            Self::Stopped { reason, .. } => super::stopped(*reason),
            Self::Failed(_) | Self::NothingToDo(_) | Self::Unverified(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_skip_and_verifiers_ask_for_attention() {
        let skipped = Obstacle::NothingToDo("no new mail".to_owned());
        assert_eq!(skipped.outcome(), Outcome::Skipped("no new mail".to_owned()));
        let long = Obstacle::NothingToDo("ü".repeat(300));
        assert_eq!(long.outcome(), Outcome::Skipped("ü".repeat(SUMMARY)));
        let unverified = Obstacle::Unverified("verify: just check exited with code 1".to_owned());
        assert_eq!(
            unverified.outcome(),
            Outcome::Attention("verify: just check exited with code 1".to_owned())
        );
        let failed = Obstacle::Failed("when: ./gate was killed by SIGKILL".to_owned());
        assert_eq!(failed.outcome(), Outcome::Error("when: ./gate was killed by SIGKILL".to_owned()));
        assert!([skipped, long, unverified, failed].iter().all(|obstacle| obstacle.early_end().is_none()));
    }

    #[test]
    fn only_a_beat_that_somebody_stopped_counts_as_stopped() {
        let of = |reason| {
            let stopped = Obstacle::Stopped {
                reason,
                after: Duration::from_millis(75_900),
                gate: "./slow.sh".to_owned(),
            };
            (stopped.outcome(), stopped.early_end())
        };
        let error = |text: &str| Outcome::Error(text.to_owned());
        assert_eq!(
            of(StopReason::Asked),
            (error("stopped after 1m 15s, in ./slow.sh"), Some(EarlyEnd::Stopped))
        );
        assert_eq!(
            of(StopReason::Replaced),
            (error("replaced by the next run after 1m 15s, in ./slow.sh"), Some(EarlyEnd::Replaced))
        );
    }
}
