//! The end of a host: whoever is still connected hears of it, and gets the rest.

use super::state::State;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long clients have, together, to take what is left for them.
const LAST: Duration = Duration::from_secs(5);

/// Clients that are still there when the agent is not.
#[derive(Debug)]
pub struct Farewell {
    state: State,
    stops: Vec<oneshot::Sender<State>>,
    serving: Option<JoinHandle<()>>,
    over: watch::Sender<bool>,
}

impl Farewell {
    /// `stops` wait for the end in `state`; `serving` ends when `over` is true and every client has the rest.
    pub(super) fn new(
        state: State,
        stops: Vec<oneshot::Sender<State>>,
        serving: Option<JoinHandle<()>>,
        over: watch::Sender<bool>,
    ) -> Self {
        Self { state, stops, serving, over }
    }

    /// Answers those who wait for the end, and lets the others take the rest of the events. To be called when it is
    /// written down what came of the agent, so that whoever is told finds it so.
    pub async fn say(self) {
        for stop in self.stops {
            let _gone = stop.send(self.state.clone());
        }
        let Some(mut serving) = self.serving else { return };
        self.over.send_replace(true);
        if timeout(LAST, &mut serving).await.is_err() {
            serving.abort();
        }
    }
}
