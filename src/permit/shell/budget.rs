//! How much work one line is worth. Time is measured in steps, so that a test on any machine sees the same.

use crate::permit::line::Doubt;

/// The steps a line may take: about a microsecond and a half each in a release build.
const STEPS: u32 = 24_000;
/// Bytes that are read in one step.
const BYTES: usize = 128;
/// How deep commands may stand within commands, of all that are read in their turn.
pub const DEPTH: u32 = 40;

/// What is left of the work that one line is worth.
#[derive(Debug)]
pub struct Budget {
    left: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: STEPS }
    }
}

impl Budget {
    /// Takes `steps` away.
    ///
    /// # Errors
    /// When there are not as many.
    pub fn spend(&mut self, steps: u32) -> Result<(), Doubt> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(Doubt("it is too long to be read: split it, or write it to a script file".to_owned()))
            }
        }
    }

    /// Takes away what reading so many bytes takes.
    ///
    /// # Errors
    /// When there are not as many steps.
    pub fn read(&mut self, bytes: usize) -> Result<(), Doubt> {
        self.spend(1 + u32::try_from(bytes / BYTES).unwrap_or(u32::MAX))
    }

    /// The steps that were taken.
    #[must_use]
    pub fn spent(&self) -> u32 {
        STEPS - self.left
    }
}
