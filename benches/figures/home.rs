//! A separate murmur in a temporary folder: data folder, workspaces, a stub agent, and a daemon.

use super::programs;
use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use sys::atomic;
use sys::clock;
use tempfile::TempDir;

/// The folder, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    /// One with an agent that is the shell script `agent`.
    pub(crate) fn new(agent: &str) -> anyhow::Result<Self> {
        let home = Self { folder: tempfile::Builder::new().prefix("murmur-figures-").tempdir()? };
        atomic::create_private_folder(&home.data())?;
        fs::create_dir_all(home.path().join("bin"))?;
        let profile = format!("PATH={}\n", home.search_path());
        fs::write(home.path().join(".profile"), profile)?;
        let claude = home.claude();
        fs::write(&claude, agent)?;
        fs::set_permissions(&claude, fs::Permissions::from_mode(0o755))?;
        Ok(home)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("murmur")
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.data().join("heartbeats.jsonl")
    }

    pub(crate) fn claude(&self) -> PathBuf {
        self.path().join("bin/claude")
    }

    fn search_path(&self) -> String {
        format!("{}:/usr/local/bin:/usr/bin:/bin", self.path().join("bin").display())
    }

    pub(crate) fn workspace(&self, number: usize) -> PathBuf {
        self.path().join(format!("workspaces/{number:05}"))
    }

    /// Creates and registers `count` workspaces that run every day. `last_run` returns when they last ran, by number.
    pub(crate) fn register(
        &self,
        count: usize,
        last_run: impl Fn(usize) -> Option<Timestamp>,
    ) -> anyhow::Result<()> {
        self.register_with(count, 4, last_run)
    }

    /// The same, with at most `slots` beats at a time.
    pub(crate) fn register_with(
        &self,
        count: usize,
        slots: usize,
        last_run: impl Fn(usize) -> Option<Timestamp>,
    ) -> anyhow::Result<()> {
        let mut workspaces = Vec::with_capacity(count);
        for number in 0..count {
            let folder = self.workspace(number);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("HEARTBEAT.md"), "Look at the build and say how it is.\n")?;
            workspaces.push(serde_json::json!({
                "path": folder,
                "interval": "1d",
                "lastRun": last_run(number).map(clock::rfc3339),
            }));
        }
        let config = serde_json::json!({ "workspaces": workspaces, "maxConcurrent": slots });
        fs::write(self.data().join("config.json"), serde_json::to_vec_pretty(&config)?)?;
        Ok(())
    }

    /// `program` in an environment with only this home.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env_clear().env("HOME", self.path()).env("MURMUR_DIR", self.data());
        command.env("PATH", self.search_path()).env("SHELL", "/bin/sh").env("TZ", "UTC");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub(crate) fn murmur(&self) -> Command {
        self.command(programs::murmur())
    }

    /// Starts the daemon and returns when it reports that it is running.
    pub(crate) fn daemon(&self) -> anyhow::Result<Daemon> {
        let mut command = self.murmur();
        command.args(["start", "--foreground", "--announce"]).stdout(Stdio::piped());
        let mut daemon = Daemon(command.spawn()?);
        let mut said = String::new();
        BufReader::new(daemon.0.stdout.take().context("no stdout")?).read_line(&mut said)?;
        anyhow::ensure!(said.starts_with("ready "), "the daemon did not start: {said}");
        Ok(daemon)
    }
}

/// A daemon that ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Daemon(Child);

impl Daemon {
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        sys::process::signal(self.0.id(), sys::process::Signal::TERM);
        let _ended = self.0.wait();
    }
}

/// Now plus so many milliseconds.
pub(crate) fn after(milliseconds: i64) -> anyhow::Result<Timestamp> {
    Ok(clock::now().checked_add(SignedDuration::from_millis(milliseconds))?)
}

/// A day before `at`: the last run of a daily heartbeat that is due at `at`.
pub(crate) fn a_day_before(at: Timestamp) -> anyhow::Result<Timestamp> {
    Ok(at.checked_sub(SignedDuration::from_hours(24))?)
}

/// A recorded run of Claude Code.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/claude").join(name)
}
