//! A wait that is for a duration and not for an event: what was recorded is played at its own speed, and of some things
//! the system tells nobody, so that one can only look again.

use std::time::Duration;

/// Lets `length` pass. Only for playing something at a pace, and between two looks at what no event tells of.
pub fn pause(length: Duration) {
    if length.is_zero() {
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "there is no event that one could wait for")]
    std::thread::sleep(length);
}
