//! Bounds the work spent on one command line. Work is counted in steps rather than time, so that tests are
//! reproducible.

use crate::line::Doubt;

/// Steps allowed per command line; one takes about 1.5 µs in a release build.
const MAX_STEPS: u32 = 24_000;
/// Bytes read in one step.
const BYTES_PER_STEP: usize = 128;
/// How deeply commands may run other commands.
pub const MAX_DEPTH: u32 = 40;

/// The steps left for one command line.
#[derive(Debug)]
pub struct Budget {
    left: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: MAX_STEPS }
    }
}

impl Budget {
    /// Takes `steps` from the budget.
    pub fn spend(&mut self, steps: u32) -> Result<(), Doubt> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(Doubt(
                    "the command is too long to check: split it, or save it as a script and run that"
                        .to_owned(),
                ))
            }
        }
    }

    /// Takes the cost of reading `bytes` from the budget.
    pub fn read(&mut self, bytes: usize) -> Result<(), Doubt> {
        self.spend(1 + u32::try_from(bytes / BYTES_PER_STEP).unwrap_or(u32::MAX))
    }

    /// Returns the steps taken so far.
    #[must_use]
    pub fn spent(&self) -> u32 {
        MAX_STEPS - self.left
    }
}
