//! Removes old sessions while the server runs (spec 4, "Retention contract"), on a thread of its own, so that no
//! answer waits for it.

use super::state_root::StateRoot;
use crate::log::Log;
use crate::retention;
use crate::store::DEFAULT_RETENTION;
use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;
use sys::clock;

/// Sweeps until it is dropped. A sweep in progress then stops at the next session.
#[derive(Debug)]
pub struct Sweeper {
    _stop: Sender<()>,
}

impl Sweeper {
    /// Sweeps now, unless that was done recently, and then every `interval`.
    pub fn start(root: StateRoot, interval: Duration) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel::<()>();
        let work = move || {
            // Without a store there is nothing to sweep; an error is retried.
            if let Ok(Some(store)) = root.open() {
                retention::sweep_if_due(&store);
            }
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let go_on = || match stopped.try_recv() {
                    Err(mpsc::TryRecvError::Disconnected) => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                };
                let Ok(Some(store)) = root.open() else { continue };
                let mut log = Log::open(store.root());
                let _next_time = retention::sweep(&store, DEFAULT_RETENTION, clock::now(), &mut log, go_on);
            }
        };
        std::thread::Builder::new().name("sweep".to_owned()).spawn(work)?;
        Ok(Self { _stop: stop })
    }
}
