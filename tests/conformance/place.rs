//! murmur with the real Claude Code, in its own home, with fake-model.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use jiff::SignedDuration;
use murmur_core::usage_limit::{self, Account};
use serde_json::Value;
use sys::clock;
use tempfile::TempDir;

use crate::run::{Model, PATIENT, QUIET};

const MURMUR: &str = env!("CARGO_BIN_EXE_murmur");
const HOOK: &str = env!("CARGO_BIN_EXE_murmur-hook");

/// An MCP server for Node: its arguments are the file that its tool `mark` writes, and, if the tool says that it only
/// reads, any text.
pub(crate) const MCP_SERVER: &str = include_str!("server.js");

/// A home with the real `claude` on its PATH, and a data folder.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    port: u16,
    /// The variable with which the CLI logs in.
    credential: &'static str,
    /// Claude Code's folder, if it isn't the usual one.
    config: Option<PathBuf>,
    /// `None` only while it restarts.
    model: Option<Model>,
}

impl Place {
    /// An environment with `claude` on the PATH and a model that plays `script`.
    pub(crate) fn new(claude: &Path, script: &Value) -> Result<Self> {
        Self::with(claude, script, "ANTHROPIC_API_KEY")
    }

    /// The same for a user with a subscription, whose account is on hold for at most a second after a limit's reset.
    pub(crate) fn subscribed(claude: &Path, script: &Value) -> Result<Self> {
        let mut place = Self::with(claude, script, "CLAUDE_CODE_OAUTH_TOKEN")?;
        let mut folders = (0..10_000).map(|number| place.folder.path().join(format!("claude-{number}")));
        place.config = Some(folders.find(|folder| is_prompt(folder)).context("every account waits")?);
        Ok(place)
    }

    fn with(claude: &Path, script: &Value, credential: &'static str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        for name in ["site", "home/bin", "bin", "requests"] {
            std::fs::create_dir_all(at(name))?;
        }
        std::os::unix::fs::symlink(claude, at("home/bin/claude"))?;
        // Its own programs, so that a hook can be replaced by a failing one.
        for (program, name) in [(MURMUR, "bin/murmur"), (HOOK, "bin/murmur-hook")] {
            std::fs::copy(program, at(name))?;
        }
        let mut place = Self { port: 0, credential, config: None, model: None, folder };
        place.play(script)?;
        Ok(place)
    }

    /// From now on, the model plays `script`.
    pub(crate) fn play(&mut self, script: &Value) -> Result<()> {
        self.model = None;
        let at = |name: &str| self.folder.path().join(name);
        std::fs::write(at("script.json"), script.to_string())?;
        let (port, requests) = (self.port.to_string(), self.requests());
        let arguments = ["--port", &port, "--requests"].map(OsStr::new);
        let model =
            Model::start_with(&at("script.json"), &[&arguments[..], &[requests.as_os_str()]].concat())?;
        self.port = model.port;
        self.model = Some(model);
        Ok(())
    }

    /// The folder with every request to the model.
    pub(crate) fn requests(&self) -> PathBuf {
        self.folder.path().join("requests")
    }

    /// Where the model listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn murmur(&self, args: &[&str]) -> Command {
        self.program("bin/murmur", args)
    }

    /// The real CLI, as a person starts it.
    pub(crate) fn claude(&self, args: &[&str]) -> Command {
        self.program("home/bin/claude", args)
    }

    /// A program in its folder.
    pub(crate) fn program(&self, program: &str, args: &[&str]) -> Command {
        let at = |name: &str| self.folder.path().join(name);
        let mut command = Command::new(at(program));
        command.args(args).current_dir(at("site")).env_clear();
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", at("home/bin").display()));
        command.env("HOME", at("home")).env("MURMUR_DIR", at("data"));
        command.env("IS_SANDBOX", "1").env(self.credential, "scripted");
        command.envs(self.config.iter().map(|folder| ("CLAUDE_CONFIG_DIR", folder)));
        command.env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", self.port));
        command.envs(QUIET.map(|name| (name, "1"))).envs([PATIENT]).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Result<Output> {
        let output = self.murmur(args).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "murmur {args:?}: {} {said}", output.status);
        Ok(output)
    }

    /// Replaces the hook with a script.
    pub(crate) fn replace_hook(&self, script: &str) -> Result<()> {
        // A new file: the old one may be shared.
        let hook = self.folder.path().join("bin/murmur-hook");
        std::fs::remove_file(&hook)?;
        std::fs::write(&hook, format!("#!/bin/sh\n{script}\n"))?;
        Ok(std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755))?)
    }

    /// Makes the hook not executable.
    pub(crate) fn forbid_hook(&self) -> Result<()> {
        let hook = self.folder.path().join("bin/murmur-hook");
        Ok(std::fs::set_permissions(hook, PermissionsExt::from_mode(0o644))?)
    }

    /// Kills the daemon without warning.
    pub(crate) fn kill_daemon(&self) -> Result<()> {
        let pid = std::fs::read_to_string(self.folder.path().join("data/murmur.pid"))?;
        let pid = rustix::process::Pid::from_raw(pid.trim().parse()?).context("no PID")?;
        Ok(rustix::process::kill_process(pid, rustix::process::Signal::KILL)?)
    }
}

/// Whether the account with its settings in this folder starts soon after a limit's reset.
fn is_prompt(folder: &Path) -> bool {
    let account = Account::new("claude", &folder.to_string_lossy(), "OAuth token");
    let (now, in_an_hour) = (clock::now(), clock::now() + SignedDuration::from_hours(1));
    usage_limit::hold(&account, "five_hour", Some(in_an_hour), now)
        .is_ok_and(|hold| hold.until <= in_an_hour + SignedDuration::from_secs(1))
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(self.murmur(&["host", "stop", "--all", "--force"]).output());
        drop(self.murmur(&["stop"]).output());
    }
}
