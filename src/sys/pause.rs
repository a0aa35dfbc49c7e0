//! A wait that is for a duration and not for an event: what was recorded is played at its own speed.

use std::time::Duration;

/// Lets `length` pass. Only for playing something at a pace; nothing that works waits like this.
pub fn pause(length: Duration) {
    if length.is_zero() {
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "a recorded gap is not an event one could wait for")]
    std::thread::sleep(length);
}
