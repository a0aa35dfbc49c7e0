//! Optional timers and signals for the host's event loop.

use std::time::Duration;
use tokio::signal::unix::Signal as Signals;

/// After this long without a turn, an agent is expected to stay idle. By then its output has been synced to disk, which
/// would bring back memory that is released before.
pub(super) const REST: Duration = Duration::from_secs(2);

/// Waits until a child dies; forever if signals can't be received.
pub(super) async fn died(child_signals: &mut Option<Signals>) {
    match child_signals {
        Some(child_signals) => {
            child_signals.recv().await;
        }
        None => std::future::pending().await,
    }
}
