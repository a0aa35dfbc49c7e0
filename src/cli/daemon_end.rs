//! Tells users who follow a waiting agent that the daemon has ended: nobody can answer until one runs again.

use super::inbox;
use super::style::plain_line;
use crate::daemon::client;
use derun::cli::screen::Sink;
use murmur_rpc::client::AskError;
use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration;
use sys::paths::DataDir;
use tokio::task::JoinHandle;

/// Half of the longest gap during a restart of the daemon.
const PAUSE: Duration = Duration::from_millis(500);

/// Waits until no daemon listens and none is being restarted.
pub(super) async fn daemon_ended(dir: &DataDir) {
    let mut was_gone = false;
    loop {
        let is_gone = match client::connect(dir).await {
            Ok(mut daemon) => {
                while daemon.next_event().await.is_ok() {}
                false
            }
            // A daemon that does not answer may do so later.
            Err(error) => matches!(error, AskError::Gone(_)),
        };
        if is_gone && was_gone {
            return;
        }
        was_gone = is_gone;
        tokio::time::sleep(PAUSE).await;
    }
}

/// Reports on stderr, for each waiting request, that the daemon has ended.
pub(super) struct DaemonEnds {
    dir: DataDir,
    /// The screen, if it has lines below the output.
    sink: Option<Sink>,
    waiting: HashMap<String, JoinHandle<()>>,
}

impl DaemonEnds {
    pub(super) fn new(dir: DataDir, sink: Option<Sink>) -> Self {
        Self { dir, sink, waiting: HashMap::new() }
    }

    /// Adds a waiting request.
    pub(super) fn waits(&mut self, request: &str) {
        let words = words(&inbox::name_of(&self.dir, request));
        let (dir, sink) = (self.dir.clone(), self.sink.clone());
        let telling = tokio::spawn(async move {
            daemon_ended(&dir).await;
            match sink {
                Some(sink) => sink.error(&words),
                None => _ = writeln!(io::stderr(), "{words}"),
            }
        });
        self.waiting.insert(request.to_owned(), telling);
    }

    /// Removes a request.
    pub(super) fn waits_no_more(&mut self, request: &str) {
        self.waiting.remove(request).inspect(JoinHandle::abort);
    }
}

impl Drop for DaemonEnds {
    fn drop(&mut self) {
        self.waiting.values().for_each(JoinHandle::abort);
    }
}

/// The message for the request with this name.
pub(super) fn words(request: &str) -> String {
    format!("the daemon has ended; to answer request {}, run: murmur start", plain_line(request))
}
