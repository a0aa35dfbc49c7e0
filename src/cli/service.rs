//! `murmur service`: the daemon as a service of the user's own manager, systemd or launchd.

use super::args::{Service as Args, ServiceCommand};
use super::place::Place;
use super::stop::daemon_pid;
use crate::daemon::instance;
use crate::service::{LABEL, Service, UNIT};
use crate::sys::{atomic, file};
use anyhow::{Context, bail};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const IS_LAUNCHD: bool = cfg!(target_os = "macos");

pub(super) fn run(args: &Args, place: &Place) -> anyhow::Result<ExitCode> {
    let service = Service {
        program: std::env::current_exe().context("cannot find murmur itself")?,
        data_dir: place.data_dir()?.root().to_path_buf(),
        home: place.home(),
    };
    let text = if IS_LAUNCHD { service.plist()? } else { service.unit()? };
    let path = path(place);
    match args.command {
        ServiceCommand::Install { print: true } => io::stdout().write_all(text.as_bytes())?,
        ServiceCommand::Install { print: false } => install(&path, &text, place)?,
        ServiceCommand::Uninstall => uninstall(&path)?,
        ServiceCommand::Status => return status(&path, &text),
    }
    Ok(ExitCode::SUCCESS)
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
        atomic::write(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
        writeln!(io::stdout(), "Wrote {}", path.display())?;
    } else {
        writeln!(io::stdout(), "{} is up to date", path.display())?;
    }
    if IS_LAUNCHD {
        if found.is_some() && is_new {
            // One that is not loaded is none to unload.
            let _not_loaded = ask("launchctl", &["bootout", &target()]);
        }
        manage("launchctl", &["bootstrap", &domain(), &path.to_string_lossy()])?;
    } else {
        manage("systemctl", &["--user", "daemon-reload"])?;
        manage("systemctl", &["--user", "enable", "--now", UNIT])?;
        if found.is_some() && is_new {
            manage("systemctl", &["--user", "restart", UNIT])?;
        }
    }
    writeln!(io::stdout(), "murmur runs as a service")?;
    if !IS_LAUNCHD {
        writeln!(io::stdout(), "It ends when you log out, unless you run once: loginctl enable-linger")?;
    }
    Ok(())
}

fn uninstall(path: &Path) -> anyhow::Result<()> {
    if read(path)?.is_none() {
        writeln!(io::stdout(), "murmur is no service")?;
        return Ok(());
    }
    if IS_LAUNCHD {
        let _not_loaded = ask("launchctl", &["bootout", &target()]);
    } else {
        manage("systemctl", &["--user", "disable", "--now", UNIT])?;
    }
    std::fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    if !IS_LAUNCHD {
        manage("systemctl", &["--user", "daemon-reload"])?;
    }
    writeln!(io::stdout(), "Removed {}; agents that run go on", path.display())?;
    Ok(())
}

fn status(path: &Path, text: &str) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout();
    match read(path)? {
        None => {
            writeln!(out, "murmur is no service; murmur service install makes it one")?;
            return Ok(ExitCode::FAILURE);
        }
        Some(found) if found == text.as_bytes() => writeln!(out, "{}", path.display())?,
        Some(_) => writeln!(
            out,
            "{} is not what this murmur would write; murmur service install replaces it",
            path.display()
        )?,
    }
    let state = if IS_LAUNCHD {
        ask("launchctl", &["print", &target()])?.map_or("not loaded", |_| "loaded").to_owned()
    } else {
        let is = |what: &str| -> anyhow::Result<String> {
            let said = Command::new("systemctl").args(["--user", what, UNIT]).output();
            let said = said.with_context(|| unmanaged("systemctl"))?;
            Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
        };
        format!("{}, {}", is("is-active")?, is("is-enabled")?)
    };
    writeln!(out, "{state}")?;
    let runs = state.starts_with("active") || state == "loaded";
    Ok(if runs { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    file::read_regular(path).with_context(|| format!("cannot read {}", path.display()))
}

fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

fn target() -> String {
    format!("{}/{LABEL}", domain())
}

/// Tells the manager something that it must do.
fn manage(program: &str, words: &[&str]) -> anyhow::Result<()> {
    let said = Command::new(program).args(words).output().with_context(|| unmanaged(program))?;
    if !said.status.success() {
        let why = String::from_utf8_lossy(&said.stderr);
        bail!("{program} {}: {}; see: murmur service status", words.join(" "), why.trim());
    }
    Ok(())
}

/// Asks the manager something; `None` where it says no.
fn ask(program: &str, words: &[&str]) -> anyhow::Result<Option<String>> {
    let said = Command::new(program).args(words).output().with_context(|| unmanaged(program))?;
    Ok(said.status.success().then(|| String::from_utf8_lossy(&said.stdout).into_owned()))
}

fn unmanaged(program: &str) -> String {
    format!(
        "cannot run {program}; without it, have `murmur start --foreground` started by what you have instead"
    )
}
