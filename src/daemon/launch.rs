//! A beat's own process: started by the daemon, given its job on stdin, heard on stdout when it is over.
//!
//! It leads a session of its own, so that neither a closed terminal nor the daemon's death ends it.

use crate::beat::Job;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;
use sys::notify;
use sys::process::{self, Signal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How long after its timeout a beat's process that goes on is told to continue, if it was stopped.
const LATE: Duration = Duration::from_secs(5);

/// What a beat's process says on stdout when it is over.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", tag = "beat")]
pub enum Said {
    /// The line is in the journal.
    Journalled,
    /// The line waits in the reserve or in the beat's record for room in the journal.
    Waiting,
    /// The line is here and nowhere else.
    Homeless {
        /// The journal line.
        line: String,
    },
    /// Another beat holds the workspace; this one did not begin.
    Busy,
}

/// Starts the process. `data_dir` is the daemon's.
///
/// # Errors
/// What the system says of starting it.
pub fn start(data_dir: &Path) -> io::Result<Child> {
    // The running executable itself, even if its file has been replaced since.
    let program = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe()? };
    let mut command = std::process::Command::new(program);
    command.arg0("murmur-host").arg("--data-dir").arg(data_dir).arg("--beat");
    notify::keep_from(&mut command);
    let mut command = Command::from(command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
}

/// Hands over `job` and waits for the end.
///
/// # Errors
/// That the process died without a word, and how.
pub async fn attend(mut child: Child, job: Job) -> Result<Said, String> {
    let text = serde_json::to_vec(&job).map_err(|error| format!("cannot hand over the beat: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A process that died early says so by its end.
        let _died_early = stdin.write_all(&text).await;
    }
    let mut said = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        let mut reading = pin!(stdout.read_to_end(&mut said));
        // A host that was stopped, as by its agent, ends no agent in time. One that runs takes no notice.
        while timeout(Duration::from_secs(job.timeout.into()) + LATE, &mut reading).await.is_err() {
            if let Some(pid) = child.id() {
                process::signal(pid, Signal::CONT);
            }
        }
    }
    let ended = child.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string());
    serde_json::from_slice(&said).map_err(|_| format!("the beat's process ended without a word ({ended})"))
}
