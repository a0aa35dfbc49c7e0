//! `murmur service`: the daemon as a service of the user's own manager, systemd or launchd.

mod manager;

use super::args::{Service as Args, ServiceCommand};
use super::place::Place;
use super::stop::daemon_pid;
use crate::daemon::instance;
use crate::service::{LABEL, Service, UNIT};
use crate::sys::{atomic, file};
use anyhow::{Context, bail};
use manager::{Answer, IS_LAUNCHD, ManagerError};
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn run(args: &Args, place: &Place) -> anyhow::Result<ExitCode> {
    let (path, text) = file_of(place)?;
    match args.command {
        ServiceCommand::Install { print: true } => io::stdout().write_all(text.as_bytes())?,
        ServiceCommand::Install { print: false } => install(&path, &text, place)?,
        ServiceCommand::Uninstall => uninstall(&path)?,
        ServiceCommand::Status { json } => return status(&path, &text, json),
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the manager looks for the service's file, and what is to be in it.
pub(super) fn file_of(place: &Place) -> anyhow::Result<(PathBuf, String)> {
    let service = Service {
        program: std::env::current_exe().context("cannot find murmur itself")?,
        data_dir: place.data_dir()?.root().to_path_buf(),
        environment: Service::environment_of(&place.home(), |name| std::env::var_os(name)),
        home: place.home(),
    };
    let text = if IS_LAUNCHD { service.plist()? } else { service.unit()? };
    Ok((path(place), text))
}

/// Where the manager looks for it.
fn path(place: &Place) -> PathBuf {
    if IS_LAUNCHD {
        return place.home().join(format!("Library/LaunchAgents/{LABEL}.plist"));
    }
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    config.unwrap_or_else(|| place.home().join(".config")).join("systemd/user").join(UNIT)
}

fn install(path: &Path, text: &str, place: &Place) -> anyhow::Result<()> {
    let found = read(path)?;
    let is_new = found.as_deref() != Some(text.as_bytes());
    if found.is_none() {
        let dir = place.prepared_data_dir()?;
        dir.require_private()?;
        // Two cannot run, and the one that the service starts would end at once.
        if instance::is_running(&dir)? {
            let pid = daemon_pid(&dir)?.map(|pid| format!(" (PID {pid})")).unwrap_or_default();
            bail!("murmur runs already{pid}, and not as a service; run `murmur stop`, then this again");
        }
    }
    if is_new {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        if let Some(found) = &found {
            write(&backup(path), found)?;
        }
        write(path, text.as_bytes())?;
    }
    if let Err(error) = load(path, found.is_some() && is_new) {
        // A file that nobody reads would only be in the way of what starts murmur instead.
        if is_new {
            take_back(path, found.as_deref())?;
        }
        return Err(error.into());
    }
    let mut out = io::stdout();
    match (&found, is_new) {
        (_, false) => writeln!(out, "{} is up to date", path.display())?,
        (None, true) => writeln!(out, "Wrote {}", path.display())?,
        (Some(_), true) => {
            writeln!(
                out,
                "Wrote {}, which was different: as it was it is {}",
                path.display(),
                backup(path).display()
            )?;
            if !IS_LAUNCHD {
                writeln!(
                    out,
                    "What you changed in it stays when it stands in a drop-in: systemctl --user edit {UNIT}"
                )?;
            }
        }
    }
    if !IS_LAUNCHD {
        manager::tell("systemctl", &["--user", "enable", "--now", UNIT])?;
        if found.is_some() && is_new {
            manager::tell("systemctl", &["--user", "restart", UNIT])?;
        }
    }
    writeln!(out, "murmur runs as a service")?;
    if !IS_LAUNCHD {
        writeln!(out, "It ends when you log out, unless you run once: loginctl enable-linger")?;
    }
    Ok(())
}

/// Has the manager read the file.
fn load(path: &Path, is_replaced: bool) -> Result<(), ManagerError> {
    if !IS_LAUNCHD {
        return manager::tell("systemctl", &["--user", "daemon-reload"]);
    }
    if is_replaced {
        manager::unload()?;
    }
    manager::tell("launchctl", &["bootstrap", &manager::domain(), &path.to_string_lossy()])
}

/// Puts what was `found` at `path` back.
fn take_back(path: &Path, found: Option<&[u8]>) -> anyhow::Result<()> {
    match found {
        Some(found) => {
            write(path, found)?;
            let _left = std::fs::remove_file(backup(path));
            Ok(())
        }
        None => std::fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display())),
    }
}

/// What a file that is replaced is kept as; no manager takes it for one of its own.
fn backup(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".murmur-backup");
    name.into()
}

fn write(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    atomic::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn uninstall(path: &Path) -> anyhow::Result<()> {
    if read(path)?.is_none() {
        writeln!(io::stdout(), "murmur is no service")?;
        return Ok(());
    }
    let ended = match IS_LAUNCHD {
        true => manager::unload(),
        false => manager::tell("systemctl", &["--user", "disable", "--now", UNIT]),
    };
    std::fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    // A manager that does not answer leaves the link by which it would start at the next login.
    let link = path.with_file_name("default.target.wants").join(UNIT);
    if std::fs::symlink_metadata(&link).is_ok_and(|found| found.is_symlink()) {
        std::fs::remove_file(&link).with_context(|| format!("cannot remove {}", link.display()))?;
    }
    writeln!(io::stdout(), "Removed {}; agents that run go on", path.display())?;
    let read_anew = match IS_LAUNCHD || ended.is_err() {
        true => Ok(()),
        false => manager::tell("systemctl", &["--user", "daemon-reload"]),
    };
    if let Err(error) = ended.and(read_anew) {
        let said = error.to_string();
        let said = said.split("; ").next().unwrap_or_default();
        writeln!(
            io::stderr(),
            "note: its manager was not told: {said}; a daemon that runs goes on, up to: murmur stop"
        )?;
    }
    Ok(())
}

fn status(path: &Path, text: &str, json: bool) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout();
    let found = read(path)?;
    let is_current = found.as_deref().map(|found| found == text.as_bytes());
    let (active, enabled) = match (is_current, IS_LAUNCHD) {
        (None, _) => (Answer::default(), None),
        (Some(_), true) => (manager::is_loaded(), None),
        (Some(_), false) => (manager::ask("is-active"), Some(manager::ask("is-enabled"))),
    };
    let problem = active.problem.or_else(|| enabled.as_ref()?.problem.clone());
    let word = |word: String| if word.is_empty() { "unknown".to_owned() } else { word };
    let enabled = enabled.map(|answer| word(answer.word));
    let active = is_current.map(|_| word(active.word));
    let runs = active.as_deref().is_some_and(|active| active == "active" || active == "loaded");
    if json {
        let object = json!({
            "file": path.display().to_string(),
            "installed": is_current.is_some(),
            "current": is_current,
            "state": active,
            "enabled": enabled,
            "problem": problem,
        });
        writeln!(out, "{object}")?;
    } else {
        match is_current {
            None => writeln!(out, "murmur is no service; murmur service install makes it one")?,
            Some(true) => writeln!(out, "{}", path.display())?,
            Some(false) => writeln!(
                out,
                "{} is not what this murmur would write here; murmur service install replaces it, and keeps it as a backup",
                path.display()
            )?,
        }
        let states: Vec<&str> = active.iter().chain(&enabled).map(String::as_str).collect();
        if !states.is_empty() {
            writeln!(out, "{}", states.join(", "))?;
        }
        if let Some(problem) = problem {
            writeln!(out, "problem: {problem}")?;
        }
    }
    Ok(if runs { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    file::read_regular(path).with_context(|| format!("cannot read {}", path.display()))
}
