//! `murmur stop`: stops the daemon and returns when it has ended.

use super::args::Stop;
use super::requests;
use super::status::waits;
use super::user_env::UserEnv;
use crate::daemon::client::{self, Beats, Ping};
use crate::daemon::instance::{self, DaemonExit};
use crate::daemon::status;
use anyhow::bail;
use derun::cli::stdout::stdout;
use murmur_host::discover;
use murmur_rpc::client::{AskError, Client};
use murmur_store::journal::unfinished;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;
use sys::failure;
use sys::paths::DataDir;
use sys::process::{self, Signal};

/// How long stopping may take: beats have 5 s to end by themselves and 2 s to be killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) fn run(args: &Stop, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.read_data_dir()?;
    if !instance::is_running(&dir)? {
        writeln!(stdout(), "murmur is not running")?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.force
        && let Some(pid) = kill_if_silent(&dir)?
    {
        writeln!(stdout(), "murmur (PID {pid}) did not answer and was killed; its agents keep running")?;
        report_waiting_lines(&dir)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.leave_agents {
        match leave(&dir, "murmur stop --force", |_| Ok(()))? {
            Some(daemon) => {
                writeln!(stdout(), "murmur stopped (PID {}); its agents keep running", daemon.pid)?
            }
            None => writeln!(stdout(), "murmur is not running")?,
        }
        report_waiting_lines(&dir)?;
        return Ok(ExitCode::SUCCESS);
    }
    let end = instance::end(&dir)?;
    let Some(pid) = daemon_pid(&dir)? else { bail!(failure!("murmur is starting or stopping"; "try again")) };
    // Send SIGTERM in any case: a daemon that does not answer may still handle signals.
    let is_silent = is_silent(&dir)?;
    process::signal(pid, Signal::TERM);
    if is_silent {
        if ends_within(end, ANSWER).transpose()?.is_none() {
            bail!(failure!("murmur (PID {pid}) does not answer"; "{KILLS} murmur stop --force"));
        }
    } else {
        wait(end, pid, STOP_TIMEOUT)?;
    }
    writeln!(stdout(), "murmur stopped (PID {pid})")?;
    // They stay unanswered until a daemon runs again.
    let asked = super::runtime()?.block_on(requests::without_daemon(&dir));
    match asked.iter().filter(|row| requests::is_open(row)).count() {
        0 => {}
        1 => writeln!(stdout(), "1 request is still waiting for you; to answer it, run: murmur start")?,
        many => writeln!(
            stdout(),
            "{many} requests are still waiting for you; to answer them, run: murmur start"
        )?,
    }
    // Remind the user of them: they don't need the daemon.
    match discover::live(&dir.hosts()).unwrap_or_default().len() {
        0 => {}
        1 => writeln!(stdout(), "1 hosted agent keeps running; stop it with: murmur agent stop --all")?,
        many => {
            writeln!(stdout(), "{many} hosted agents keep running; stop them with: murmur agent stop --all")?
        }
    }
    report_waiting_lines(&dir)?;
    Ok(ExitCode::SUCCESS)
}

/// Reports journal lines that wait for a daemon or a beat, and why.
fn report_waiting_lines(dir: &DataDir) -> io::Result<()> {
    // `murmur status` reports read errors.
    match unfinished::waiting(dir).unwrap_or_default() {
        0 => Ok(()),
        count => writeln!(stdout(), "{}", status::waiting(count, waits(dir).as_deref(), false)),
    }
}

/// How long a daemon may take to answer before it counts as hanging, and how long a hanging one may take to end.
const ANSWER: Duration = Duration::from_secs(2);

/// The beginning of the hint for a hanging daemon; a command follows.
const KILLS: &str = "kill only the daemon:";

/// Whether the daemon does not answer.
fn is_silent(dir: &DataDir) -> anyhow::Result<bool> {
    let asked = super::runtime()?.block_on(async {
        let mut client = Client::connect(dir.root(), dir.socket_name(), ANSWER).await?;
        client.answer("ping", serde_json::Value::Null, ANSWER).await
    });
    Ok(matches!(asked, Err(AskError::Silent(_))))
}

/// Kills the daemon if it does not answer; returns its PID once it has ended.
pub(super) fn kill_if_silent(dir: &DataDir) -> anyhow::Result<Option<u32>> {
    // Wait for the daemon that is asked, not for a later one.
    let end = instance::end(dir)?;
    let Some(pid) = daemon_pid(dir)? else { return Ok(None) };
    if !is_silent(dir)? {
        return Ok(None);
    }
    process::signal_if(pid, Signal::KILL, || daemon_pid(dir).is_ok_and(|now| now == Some(pid)));
    match ends_within(end, STOP_TIMEOUT).transpose()? {
        Some(()) => Ok(Some(pid)),
        None => bail!(
            failure!("murmur (PID {pid}) cannot be killed"; "see what it waits for: ps -o stat,wchan {pid}")
        ),
    }
}

/// Stops the daemon but not its beats, if `may` allows it, and returns once it has ended. `None` if it ended by
/// itself. `force` is the command to suggest if it hangs.
pub(super) fn leave(
    dir: &DataDir,
    force: &str,
    may: impl FnOnce(&Ping) -> anyhow::Result<()>,
) -> anyhow::Result<Option<Ping>> {
    let asked = super::runtime()?.block_on(async {
        let mut client = client::connect(dir).await?;
        // Wait for the daemon that is connected now.
        let end = instance::end(dir)?;
        let daemon = client::ping(&mut client).await?;
        if let Err(refusal) = may(&daemon) {
            return Ok(Err(refusal));
        }
        match client::stop(&mut client, Beats::Leave).await {
            Err(AskError::Silent(limit)) => Err(AskError::Silent(limit)),
            // Another command may have stopped it first; then it is about to end.
            stopped => Ok(Ok((daemon, end, stopped))),
        }
    });
    match asked {
        Ok(Ok((daemon, end, Ok(())))) => {
            wait(end, daemon.pid, STOP_TIMEOUT)?;
            Ok(Some(daemon))
        }
        Ok(Ok((daemon, end, Err(error)))) => match wait(end, daemon.pid, client::ANSWER_TIMEOUT) {
            Ok(()) => Ok(Some(daemon)),
            Err(_) => {
                bail!(
                    failure!("murmur (PID {}) rejected the request", daemon.pid; "try: murmur stop").because(&error)
                )
            }
        },
        Ok(Err(refusal)) => Err(refusal),
        Err(_) if !instance::is_running(dir)? => Ok(None),
        Err(AskError::Gone(_)) if has_ended_soon(dir)? => Ok(None),
        Err(error @ AskError::Silent(_)) => match daemon_pid(dir)? {
            Some(pid) => bail!(failure!("murmur (PID {pid}) does not answer"; "{KILLS} {force}").because(&error)),
            None => bail!(failure!("murmur is starting or stopping"; "try again")),
        },
        Err(error) => bail!(
            failure!("cannot ask the daemon"; "if it is starting or stopping, try again; otherwise run: murmur stop")
                .because(&error)
        ),
    }
}

/// How long a killed daemon may hold its lock while the kernel tears it down, and how long a daemon may take to
/// report that it runs.
const SHORT_TIMEOUT: Duration = Duration::from_millis(500);

/// Whether the holder of the lock was a killed daemon, which has ended when this returns.
fn has_ended_soon(dir: &DataDir) -> anyhow::Result<bool> {
    // Wait for the current holder, before asking whether it is a daemon.
    let end = instance::end(dir)?;
    let asked = super::runtime()?.block_on(async {
        let mut client = Client::connect(dir.root(), dir.socket_name(), SHORT_TIMEOUT).await?;
        client.answer("ping", serde_json::Value::Null, SHORT_TIMEOUT).await
    });
    match asked {
        Err(AskError::Gone(_)) => Ok(ends_within(end, SHORT_TIMEOUT).transpose()?.is_some()),
        _ => Ok(false),
    }
}

/// Waits for the end, at most for `limit`.
pub(super) fn ends_within(end: DaemonExit, limit: Duration) -> Option<io::Result<()>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let _late = sender.send(end.wait());
    });
    receiver.recv_timeout(limit).ok()
}

/// Waits for the daemon `pid` to end.
pub(super) fn wait(end: DaemonExit, pid: u32, limit: Duration) -> anyhow::Result<()> {
    match ends_within(end, limit) {
        Some(gone) => Ok(gone?),
        None => bail!(
            failure!("murmur (PID {pid}) did not end within {}", humantime::format_duration(limit); "if it hangs, {KILLS} murmur stop --force")
        ),
    }
}

/// The daemon's process: the holder of the lock or, on file systems that don't report it (overlay, btrfs), the
/// listener on the socket. Never a PID from a file.
pub(super) fn daemon_pid(dir: &DataDir) -> anyhow::Result<Option<u32>> {
    if let Some(pid) = instance::pid(dir)? {
        return Ok(Some(pid));
    }
    Ok(super::runtime()?.block_on(client::listener_pid(dir)))
}
