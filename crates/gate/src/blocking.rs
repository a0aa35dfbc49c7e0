//! Blocking work in a thread of its own, within a time limit.

use super::{GateContext, Problem, stopped};
use murmur_core::config::interval::Interval;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

/// Tells the work to end early.
#[derive(Debug, Clone, Default)]
pub(super) struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Whether nobody waits for the result anymore.
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` for at most `limit`. The thread doesn't keep this process alive.
pub(super) async fn run<T: Send + 'static>(
    context: &GateContext<'_>,
    limit: Interval,
    work: impl FnOnce(&Cancel) -> T + Send + 'static,
) -> Result<T, Problem> {
    let begun = Instant::now();
    let cancel = Cancel::default();
    let (sender, outputs) = oneshot::channel();
    let given = cancel.clone();
    std::thread::spawn(move || _ = sender.send(work(&given)));
    tokio::select! {
        done = timeout(limit.duration(), outputs) => match done {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(_)) => Err(Problem::Failed("failed unexpectedly".to_owned())),
            Err(_) => Err(Problem::Failed(format!("timed out after {limit}"))),
        },
        () = stopped(&context.stop) => Err(Problem::Stopped(begun.elapsed())),
    }
}
