//! `murmur host beat`: a beat's own process, started by the daemon. A job on stdin, one word on stdout when over.

use super::args::{Host, HostCommand};
use super::captures;
use super::place::Place;
use super::verbose;
use crate::agent::event::Event;
use crate::beat::{self, BeatError, Job};
use crate::daemon::launch::Said;
use crate::journal::unfinished::Kept;
use crate::sys::{clock, process};
use anyhow::Context;
use std::io::{self, Write};
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

pub(super) fn run(args: &Host, place: &Place) -> anyhow::Result<ExitCode> {
    match args.command {
        HostCommand::Beat => run_beat(place),
    }
}

/// Says in murmur.log, which is this process's stderr, that the agent is of a version murmur was not tried with.
fn note_version(event: &Event<'_>) {
    if let Some(note) = verbose::unknown_version(event) {
        let _full = writeln!(io::stderr(), "{} warning: {note}", clock::rfc3339(clock::now()));
    }
}

fn run_beat(place: &Place) -> anyhow::Result<ExitCode> {
    // A session of our own: a terminal that closes and a Ctrl-C are the daemon's business, not the agent's.
    let _leads_already = process::lead_session();
    process::call_ourselves(c"murmur-host");
    process::adopt_orphans().context("cannot become the parent of orphans")?;
    let dir = place.data_dir()?;
    let said = super::runtime()?.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let job = io::read_to_string(io::stdin())?;
        let job: Job = serde_json::from_str(&job).context("cannot read the job on stdin")?;
        let stop = async {
            terminate.recv().await;
        };
        anyhow::Ok(match beat::run(&job, &dir, captures::root().ok(), stop, note_version).await {
            Ok(report) => match report.unwritten {
                None => Said::Journalled,
                Some((_, Kept::InRecord)) => Said::Waiting,
                Some((_, Kept::Nowhere)) => Said::Homeless { line: report.entry.line()? },
            },
            Err(BeatError::Busy { .. }) => Said::Busy,
            Err(error) => Said::Homeless { line: job.failed(clock::now(), error.to_string()).line()? },
        })
    })?;
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(&mut stdout, &said)?;
    stdout.flush()?;
    Ok(ExitCode::SUCCESS)
}
