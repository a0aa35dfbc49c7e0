//! `murmur service`: runs the daemon as a service of the user's systemd or launchd.

mod file;
pub(super) mod manager;
mod status;

use super::args::{Service as Args, ServiceCommand};
use super::stop::{daemon_pid, leave};
use super::user_env::UserEnv;
use crate::daemon::instance;
use crate::service::{Service, UNIT};
use anyhow::{Context, bail};
use derun::cli::stdout::stdout;
use manager::{IS_LAUNCHD, ManagerError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use sys::failure;
use sys::paths::DataDir;
use sys::text::Shown;

pub(super) fn run(args: &Args, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let (path, text) = file_of(env)?;
    match args.command {
        ServiceCommand::Install { print: true } => stdout().write_all(text.as_bytes())?,
        ServiceCommand::Install { print: false } => install(&path, &text, env)?,
        ServiceCommand::Uninstall => uninstall(&path, env)?,
        ServiceCommand::Status { json } => return status::run(&path, &text, json),
    }
    Ok(ExitCode::SUCCESS)
}

/// The path and content of the service file.
pub(super) fn file_of(env: &UserEnv) -> anyhow::Result<(PathBuf, String)> {
    let service = Service {
        program: std::env::current_exe().context("cannot find murmur itself")?,
        data_dir: env.data_dir()?.root().to_path_buf(),
        environment: Service::environment_of(&env.home(), |name| std::env::var_os(name)),
        home: env.home(),
    };
    let text = if IS_LAUNCHD { service.plist()? } else { service.unit()? };
    Ok((file::path(&env.home()), text))
}

/// The daemon of `dir` if the service manager started it and will restart it. The manager is not asked unless a
/// service is installed.
pub(super) fn daemon(dir: &DataDir, env: &UserEnv) -> anyhow::Result<Option<u32>> {
    if !file::path(&env.home()).exists() || !instance::is_running(dir)? {
        return Ok(None);
    }
    let Some(pid) = daemon_pid(dir)? else { return Ok(None) };
    Ok((manager::pid()? == Some(pid)).then_some(pid))
}

/// Has the manager start the service's daemon after it was stopped or, if `was_killed`, killed; returns its PID if
/// known.
pub(super) fn start_again(was_killed: bool) -> anyhow::Result<Option<u32>> {
    manager::start_again(was_killed)?;
    Ok(manager::pid()?)
}

fn install(path: &Path, text: &str, env: &UserEnv) -> anyhow::Result<()> {
    file::require_ours(path)?;
    let found = file::read(path)?;
    let is_new = found.as_deref() != Some(text.as_bytes());
    let dir = env.own_data_dir()?;
    // Two daemons cannot run: that of the service would exit at once.
    if instance::is_running(&dir)? && daemon(&dir, env)?.is_none() {
        let pid = daemon_pid(&dir)?.map(|pid| format!(" (PID {pid})")).unwrap_or_default();
        bail!(
            failure!("murmur is already running{pid}, but not as a service"; "run `murmur stop --leave-agents`, then run this again")
        );
    }
    let was_loaded = IS_LAUNCHD && manager::is_loaded()?;
    if is_new {
        file::replace(path, found.as_deref(), text)?;
    }
    let loaded = match IS_LAUNCHD {
        true => load_in_launchd(path, was_loaded, is_new, env),
        false => manager::command("systemctl", &["--user", "daemon-reload"]).map_err(Into::into),
    };
    if let Err(error) = loaded {
        // Don't leave a file that no manager uses.
        if is_new {
            file::take_back(path, found.as_deref())?;
            if was_loaded {
                let _first_error_counts = manager::bootstrap(path);
            }
        }
        return Err(error);
    }
    report_written(path, found.is_some(), is_new)?;
    if !IS_LAUNCHD {
        manager::command("systemctl", &["--user", "enable", "--now", UNIT])?;
        if found.is_some() && is_new {
            manager::command("systemctl", &["--user", "restart", UNIT])?;
        }
    }
    let mut out = stdout();
    writeln!(out, "murmur runs as a service")?;
    if !IS_LAUNCHD {
        writeln!(out, "it stops when you log out; to keep it running, run: loginctl enable-linger")?;
    }
    Ok(())
}

/// Loads `path` into launchd, replacing the previous service if it `was_loaded`.
fn load_in_launchd(path: &Path, was_loaded: bool, is_new: bool, env: &UserEnv) -> anyhow::Result<()> {
    if was_loaded && !is_new {
        return match manager::pid()? {
            Some(_) => Ok(()),
            None => Ok(manager::start_again(false)?),
        };
    }
    if was_loaded {
        unload(env)??;
    }
    Ok(manager::bootstrap(path)?)
}

/// Unloads the service from launchd without ending its beats: launchd only sends SIGTERM, which makes the daemon end
/// them.
fn unload(env: &UserEnv) -> anyhow::Result<Result<(), ManagerError>> {
    let dir = env.read_data_dir()?;
    if let Ok(Some(_)) = daemon(&dir, env) {
        leave(&dir, "murmur stop --force", |_| Ok(()))?;
    }
    Ok(manager::bootout())
}

fn report_written(path: &Path, was_there: bool, is_new: bool) -> io::Result<()> {
    let mut out = Shown(stdout());
    let shown = path.display();
    if !is_new {
        return writeln!(out, "{shown} is up to date");
    }
    if !was_there {
        return writeln!(out, "wrote {shown}");
    }
    let backup = file::backup(path);
    writeln!(out, "wrote {shown}, and saved the previous version as {}", backup.display())?;
    if !IS_LAUNCHD {
        writeln!(out, "to keep changes to it, use a drop-in: systemctl --user edit {UNIT}")?;
    }
    Ok(())
}

fn uninstall(path: &Path, env: &UserEnv) -> anyhow::Result<()> {
    file::require_ours(path)?;
    if file::read(path)?.is_none() {
        writeln!(stdout(), "the service is not installed")?;
        return Ok(());
    }
    let ended = match IS_LAUNCHD {
        true => unload(env)?,
        false => manager::command("systemctl", &["--user", "disable", "--now", UNIT]),
    };
    file::remove(path)?;
    // If the manager does not answer, this link would start the service at the next login.
    let link = path.with_file_name("default.target.wants").join(UNIT);
    if link.is_symlink() {
        file::remove(&link)?;
    }
    writeln!(Shown(stdout()), "removed {}; hosted agents keep running", path.display())?;
    let reloaded = match IS_LAUNCHD || ended.is_err() {
        true => Ok(()),
        false => manager::command("systemctl", &["--user", "daemon-reload"]),
    };
    if let Err(error) = ended.and(reloaded) {
        writeln!(
            Shown(io::stderr()),
            "note: cannot reach the service manager: {}; if the daemon is running, stop it with: murmur stop",
            error
        )?;
    }
    Ok(())
}
