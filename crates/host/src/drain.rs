//! Host shutdown: clients that are still connected learn that the agent ended, and receive the remaining events.

use super::state::State;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long clients have, in total, to read the remaining events.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Clients that are still connected when the agent has ended.
#[derive(Debug)]
pub struct Drain {
    state: State,
    stops: Vec<oneshot::Sender<State>>,
    serving: Option<JoinHandle<()>>,
    over: watch::Sender<bool>,
}

impl Drain {
    /// `stops` wait for the final `state`; `serving` ends once `over` is true and every client has received the rest.
    pub(super) fn new(
        state: State,
        stops: Vec<oneshot::Sender<State>>,
        serving: Option<JoinHandle<()>>,
        over: watch::Sender<bool>,
    ) -> Self {
        Self { state, stops, serving, over }
    }

    /// Answers clients that wait for the end, and lets the others read the remaining events. Call it after the result
    /// was recorded, so that clients find it.
    pub async fn finish(self) {
        for stop in self.stops {
            let _gone = stop.send(self.state.clone());
        }
        let Some(mut serving) = self.serving else { return };
        self.over.send_replace(true);
        if timeout(DRAIN_TIMEOUT, &mut serving).await.is_err() {
            serving.abort();
        }
    }
}
