//! That no daemon runs while an agent waits for a person, for who watches the agent: nobody can answer until one does.

use super::style::plain_line;
use crate::daemon::client;
use crate::rpc::client::AskError;
use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration;
use sys::paths::DataDir;
use tokio::task::JoinHandle;

/// How long a daemon that is restarted is gone at most, half of it.
const PAUSE: Duration = Duration::from_millis(500);

/// Waits until no daemon listens, and none is just being restarted.
pub(super) async fn daemon_ended(dir: &DataDir) {
    let mut was_gone = false;
    loop {
        let is_gone = match client::connect(dir).await {
            Ok(mut daemon) => {
                while daemon.next_event().await.is_ok() {}
                false
            }
            // One that does not answer may yet do so.
            Err(error) => matches!(error, AskError::Gone(_)),
        };
        if is_gone && was_gone {
            return;
        }
        was_gone = is_gone;
        tokio::time::sleep(PAUSE).await;
    }
}

/// Tells on stderr that the daemon has ended, for each request that waits then.
#[derive(Debug)]
pub(super) struct DaemonEnds {
    dir: DataDir,
    waiting: HashMap<String, JoinHandle<()>>,
}

impl DaemonEnds {
    pub(super) fn new(dir: DataDir) -> Self {
        Self { dir, waiting: HashMap::new() }
    }

    /// `request` waits from now on.
    pub(super) fn waits(&mut self, request: &str) {
        let (dir, words) = (self.dir.clone(), words(request));
        let telling = tokio::spawn(async move {
            daemon_ended(&dir).await;
            let _closed = writeln!(io::stderr(), "{words}");
        });
        self.waiting.insert(request.to_owned(), telling);
    }

    /// It does not any more.
    pub(super) fn waits_no_more(&mut self, request: &str) {
        self.waiting.remove(request).inspect(JoinHandle::abort);
    }
}

impl Drop for DaemonEnds {
    fn drop(&mut self) {
        self.waiting.values().for_each(JoinHandle::abort);
    }
}

/// What is said of `request` then.
pub(super) fn words(request: &str) -> String {
    format!("the daemon has ended; to answer request {}, run: murmur start", plain_line(request))
}
