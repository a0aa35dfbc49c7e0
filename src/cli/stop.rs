//! `murmur stop`: tells the daemon to end and returns when it is gone.

use super::place::Place;
use crate::daemon::{instance, rpc};
use crate::sys::paths::DataDir;
use crate::sys::process::{self, Signal};
use anyhow::bail;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

/// How long it may take: beats have 5 s to end by themselves and 2 s to be ended.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(place: &Place) -> anyhow::Result<ExitCode> {
    let dir = place.data_dir()?;
    if !instance::is_running(&dir)? {
        writeln!(io::stdout(), "murmur is not running")?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(pid) = daemon_pid(&dir)? else { bail!("murmur is just being started or stopped; try again") };
    process::signal(pid, Signal::TERM);
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let _late = tell.send(instance::wait_until_gone(&dir));
    });
    match told.recv_timeout(PATIENCE) {
        Ok(gone) => gone?,
        Err(_) => bail!(
            "murmur (PID {pid}) did not end within {} s; if it hangs: kill -9 {pid}",
            PATIENCE.as_secs()
        ),
    }
    writeln!(io::stdout(), "murmur stopped (PID {pid})")?;
    Ok(ExitCode::SUCCESS)
}

/// The process that is the daemon now: who has the lock, or, on file systems where the list of locks does not tell
/// whose it is (overlay, btrfs), who listens on the socket. Never a number that somebody wrote down once.
pub(super) fn daemon_pid(dir: &DataDir) -> anyhow::Result<Option<u32>> {
    if let Some(pid) = instance::pid(dir)? {
        return Ok(Some(pid));
    }
    Ok(super::runtime()?.block_on(rpc::listener_pid(dir)).ok())
}
