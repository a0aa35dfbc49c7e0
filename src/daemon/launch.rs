//! A beat's process: the daemon starts it, passes its job on stdin, and reads its report from stdout.
//!
//! It leads its own session, so it survives a closed terminal and the daemon's death.

use crate::beat::Job;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;
use sys::error::Failure;
use sys::process::{self, Signal};
use sys::{failure, notify};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How long after its timeout a beat's process gets SIGCONT, in case it was stopped.
const LATE: Duration = Duration::from_secs(5);

/// A beat process's report on stdout when it ends.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", tag = "beat")]
pub enum BeatReport {
    /// The line is in the journal.
    #[serde(rename = "journalled")]
    Journaled,
    /// The line is in the journal reserve or the beat's record until it can be written to the journal.
    Waiting,
    /// The line could not be stored anywhere else.
    #[serde(rename = "homeless")]
    Unsaved {
        /// The journal line.
        line: String,
    },
    /// Another beat holds the workspace; this one did not start.
    Busy,
}

/// Starts the process with the daemon's `data_dir`.
pub fn start(data_dir: &Path) -> io::Result<Child> {
    // The running executable, even if its file was replaced.
    let program = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe()? };
    let mut command = std::process::Command::new(program);
    command.arg0("murmur-host").arg("--data-dir").arg(data_dir).arg("--beat");
    notify::keep_from(&mut command);
    let mut command = Command::from(command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
}

/// Passes `job` to the process and waits for it to end.
pub async fn run_to_end(mut child: Child, job: Job) -> Result<BeatReport, Failure> {
    let text = serde_json::to_vec(&job)
        .map_err(|error| failure!("cannot pass the job to the beat's process").because(&error))?;
    if let Some(mut stdin) = child.stdin.take() {
        // If the process died early, its exit status says so.
        let _died_early = stdin.write_all(&text).await;
    }
    let mut report = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        let mut reading = pin!(stdout.read_to_end(&mut report));
        // A stopped host cannot enforce the timeout. SIGCONT has no effect on a running one.
        while timeout(Duration::from_secs(job.timeout.into()) + LATE, &mut reading).await.is_err() {
            if let Some(pid) = child.id() {
                process::signal(pid, Signal::CONT);
            }
        }
    }
    let ended = child.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string());
    serde_json::from_slice(&report)
        .map_err(|_| failure!("the beat's process ended without a report ({ended})"))
}
