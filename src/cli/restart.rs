//! `murmur restart`: replaces the daemon; its agents keep running, and the new daemon waits for them. Only its
//! manager restarts a service, or there would be two daemons.

use super::args::Restart;
use super::service;
use super::start::{StartResult, start_behind, start_or_find};
use super::stop::{kill_if_silent, leave};
use super::user_env::UserEnv;
use crate::daemon::instance;
use anyhow::bail;
use derun::cli::stdout::stdout;
use std::io::Write;
use std::process::ExitCode;
use sys::failure;

pub(super) fn run(args: &Restart, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.agents_data_dir()?;
    let is_service = match service::daemon(&dir, env) {
        // Don't kill a daemon that a manager may restart.
        Err(error) if args.force => return Err(error),
        asked => asked.is_ok_and(|daemon| daemon.is_some()),
    };
    if is_service && args.tick.is_some() {
        bail!(
            failure!("--tick has no effect: murmur runs as a service, whose file sets its options"; "remove --tick")
        );
    }
    let killed = match args.force && instance::is_running(&dir)? {
        true => kill_if_silent(&dir)?,
        false => None,
    };
    let old = match killed.is_none() && instance::is_running(&dir)? {
        true => leave(&dir, "murmur restart --force", |daemon| {
            if daemon.foreground && !is_service {
                let pid = daemon.pid;
                bail!(
                    failure!("murmur (PID {pid}) runs in the foreground"; "run: murmur stop --leave-agents, then start it again")
                );
            }
            Ok(())
        })?,
        false => None,
    };
    let kept = old.as_ref().and_then(|old| humantime::parse_duration(old.tick.as_deref()?).ok());
    let new = match is_service {
        true => service::start_again(killed.is_some())?,
        // Another daemon may have started meanwhile, for example after two concurrent restarts.
        false => match start_or_find(&dir, || start_behind(args.tick.or(kept), &dir, env))? {
            StartResult::Now(pid) | StartResult::Before(pid) => Some(pid),
        },
    };
    let new = new.map_or_else(|| "?".to_owned(), |pid| pid.to_string());
    match killed.or(old.as_ref().map(|old| old.pid)) {
        Some(old) => writeln!(stdout(), "murmur was restarted (PID {old} -> {new})")?,
        None => writeln!(stdout(), "murmur was not running; started it (PID {new})")?,
    }
    Ok(ExitCode::SUCCESS)
}
