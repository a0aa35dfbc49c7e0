//! Sleeping until a time if there is one; and for a fixed time, for pacing and for the few states that the system sends
//! no event for.

use std::time::Duration;

/// Sleeps for `length`. Only for replaying at a given pace, and between two checks of something that no event
/// reports.
pub fn pause(length: Duration) {
    if length.is_zero() {
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "there is no event to wait for")]
    std::thread::sleep(length);
}

/// Waits until `time`; forever without one.
pub async fn wait_until(time: Option<tokio::time::Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
