//! An environment for one test: a home, a data folder, workspaces, and `fake-claude` in place of
//! `claude`. Runs the real `murmur` there with nothing else in its environment, and ends everything on drop.
//!
//! While an `Env` lives, snapshots of this thread are filtered: its folder, ids, times, durations and PIDs differ
//! between runs and are replaced by names in brackets.

mod daemon;
mod disk;
mod files;
mod programs;
mod reap;
mod run;
mod socket;

use std::path::{Path, PathBuf};
use std::sync::{LazyLock, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use insta::Settings;
use insta::internals::SettingsBindDropGuard;
use serde_json::Value;
use sys::watch::{Watch, WatchedFolder};
use tempfile::TempDir;

pub(crate) use daemon::Daemon;
pub(crate) use disk::Disk;
pub(crate) use files::{Workspace, fixture, result};
pub(crate) use programs::{fake_claude, fake_model, programs};
pub(crate) use reap::{ends_within, is_agent, kill, wait_for_end};
pub(crate) use run::{Run, ended, quiet, show};
pub(crate) use socket::Socket;

pub(crate) const MURMUR: &str = env!("CARGO_BIN_EXE_murmur");

/// Longer than any test takes; one that reaches it hangs and is ended.
const DEADLINE: Duration = Duration::from_secs(60);

/// The values that differ between runs, and their placeholders in snapshots.
const FILTERS: [(&str, &str); 26] = [
    (r"@[0-9a-f]{16}\b", "@[DIGITS]"),
    (r"\bCapture: [0-9A-HJKMNP-TV-Z]{26}", "Capture: [SESSION]"),
    (r"'[^']*/murmur-hook'", "'[HOOK]'"),
    (r"\bPID: \d+ \(host \d+\)", "PID: [PID] (host [PID])"),
    (r#""(capture|gateCapture)": ?"[0-9A-HJKMNP-TV-Z]{26}""#, "\"$1\":\"[SESSION]\""),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "[BEAT]"),
    (r#"("agent": ?"|MURMUR_AGENT_ID=|"MURMUR_AGENT_ID":")([^"\n]*)-[0-9a-f]{8}"#, "$1$2-[ID]"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z", "[TIME]"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "[WHEN]"),
    (r#"("durationMs": ?)\d+"#, "$1[MS]"),
    (r"\b\d+ ms\b", "[MS] ms"),
    (r" +\d+\.\ds\b|   +\d+ms\b", " [S]"),
    (r"(\[2m)\d+\.\ds\b", "$1[S]"),
    (r"\bPID \d+", "PID [PID]"),
    (r#"("pid": ?)\d+"#, "$1[PID]"),
    (r#"("uptimeSeconds": ?)\d+"#, "$1[S]"),
    (r"\bup \d+s", "up [SPAN]"),
    (r"running   for \d+s", "running   for [SPAN]"),
    (r"(paused.*) for \d+s", "$1 for [SPAN]"),
    (r"\b(stopped|by you) after \d+s", "$1 after [SPAN]"),
    (r"\b(the model|was running|an answer) \(\d+s\)", "$1 ([SPAN])"),
    (r"(^|[^\[\w])\d+[smhd]( \d+[smhd])? ago\b", "$1[SPAN] ago"),
    (r"\bin \d+[smhd]( \d+[smhd])? \(", "in [SPAN] ("),
    (r"(last-beat-[-\w]*)-[0-9a-f]{8}\.json", "$1-[HASH].json"),
    (r"(\.new-|\.murmur-|\.tmp)\w{6}\b", "$1[RANDOM]"),
    ("\u{202e}", "[RLO]"),
];

/// How the folders of environments begin.
const PREFIX: &str = "env-";

/// Where the folders of environments are: in memory, if there is enough, unless TMPDIR asks for another place. On a
/// disk, these tests take a sixth longer, because ext4 searches for inodes that weren't freed in the last seconds.
static PARENT: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let room = |fs: rustix::fs::StatVfs| fs.f_bavail * fs.f_frsize >= 2 << 30;
    let in_memory = std::env::var_os("TMPDIR").is_none() && rustix::fs::statvfs(memory).is_ok_and(room);
    let parent = if in_memory { memory.to_owned() } else { std::env::temp_dir() };
    parent.canonicalize().unwrap()
});

/// The snapshot settings while an [`Env`] lives. Shared, because compiling the filters takes longer than most tests.
static SETTINGS: LazyLock<Settings> = LazyLock::new(|| {
    let mut settings = Settings::new();
    let environment = format!(r"{}/{PREFIX}\w{{6}}", regex::escape(PARENT.to_str().unwrap()));
    settings.add_filter(&environment, "[ENV]");
    settings.add_filter(&regex::escape(programs()), "[PROGRAMS]");
    for (pattern, stands_for) in FILTERS {
        settings.add_filter(pattern, stands_for);
    }
    settings
});

/// The environment.
pub(crate) struct Env {
    // Dropped in this order: `drop` ends the processes before the folder is removed.
    _filters: SettingsBindDropGuard,
    watchdog: Option<mpsc::Sender<()>>,
    late: Option<JoinHandle<bool>>,
    root: PathBuf,
    _folder: TempDir,
}

impl Env {
    pub(crate) fn new() -> Self {
        Self::for_as_long_as(DEADLINE)
    }

    /// For a test that may take longer than others.
    pub(crate) fn for_as_long_as(deadline: Duration) -> Self {
        let folder = tempfile::Builder::new().prefix(PREFIX).rand_bytes(6).tempdir_in(&*PARENT).unwrap();
        let root = folder.path().to_owned();
        let (watchdog, told) = mpsc::channel();
        let doomed = root.clone();
        let late = std::thread::spawn(move || {
            let late = told.recv_timeout(deadline) == Err(mpsc::RecvTimeoutError::Timeout);
            if late {
                reap::end_all(&doomed);
            }
            late
        });
        let env = Self {
            _filters: SETTINGS.bind_to_scope(),
            watchdog: Some(watchdog),
            late: Some(late),
            root,
            _folder: folder,
        };
        // The repository of all workspaces without their own, whatever is above the temporary folder.
        std::fs::create_dir(env.root.join(".git")).unwrap();
        std::fs::create_dir_all(env.home().join("bin")).unwrap();
        std::os::unix::fs::symlink(fake_claude(), env.claude()).unwrap();
        // Login shells find the agent through this, like users' shells.
        std::fs::write(env.home().join(".profile"), "PATH=\"$HOME/bin:$PATH\"\n").unwrap();
        env
    }

    /// The folder that contains everything; `[ENV]` in snapshots.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The data folder, which doesn't exist yet.
    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// Where `claude` is found.
    pub(crate) fn claude(&self) -> PathBuf {
        self.home().join("bin/claude")
    }

    /// Makes fake-claude imitate another agent: `codex`, or `opencode` for ACP. Returns its path.
    pub(crate) fn agent(&self, name: &str) -> PathBuf {
        let link = self.home().join("bin").join(name);
        std::os::unix::fs::symlink(fake_claude(), &link).unwrap();
        link
    }

    fn agent_log(&self) -> PathBuf {
        self.root.join("log/agents")
    }

    /// The log of every agent, in the order in which they started.
    pub(crate) fn agents(&self) -> Vec<Value> {
        files::json_lines(&self.agent_log())
    }

    /// Waits until `count` agents have started.
    pub(crate) fn wait_for_agents(&self, count: usize) -> Vec<Value> {
        let folder = self.root.join("log");
        std::fs::create_dir_all(&folder).unwrap();
        self.wait(&folder, || Some(self.agents()).filter(|agents| agents.len() >= count))
    }

    /// Waits until no beat is running, under any daemon.
    pub(crate) fn wait_for_no_beats(&self) {
        let beats = self.create_data().join("beats");
        self.wait(&beats, || self.names(&beats).is_empty().then_some(()));
    }

    /// Waits until an agent and its leftovers are dead.
    pub(crate) fn wait_until_dead(&self, agent: &Value) {
        let children = agent["children"].as_array().cloned().unwrap_or_default();
        for pid in children.into_iter().chain([agent["pid"].clone()]).filter_map(|pid| pid.as_i64()) {
            if is_agent(pid) {
                wait_for_end(pid);
            }
        }
    }

    /// Every live process of an agent that was started here.
    pub(crate) fn agents_alive(&self) -> Vec<i64> {
        let pids = |agent: &Value| {
            let children = agent["children"].as_array().cloned().unwrap_or_default();
            children.into_iter().chain([agent["pid"].clone()]).filter_map(|pid| pid.as_i64())
        };
        self.agents().iter().flat_map(pids).filter(|pid| is_agent(*pid)).collect()
    }

    /// Every live process that was started here.
    pub(crate) fn alive(&self) -> Vec<i64> {
        reap::all(&self.root)
    }

    /// Waits until `look` finds something, looking again whenever something in `folder` has changed.
    pub(crate) fn wait<T>(&self, folder: &Path, mut look: impl FnMut() -> Option<T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let looking = async {
            let mut watch = Watch::new([&WatchedFolder::new(folder, &[])]).unwrap();
            loop {
                if let Some(found) = look() {
                    return found;
                }
                watch.changed().await.unwrap();
            }
        };
        let found = runtime.block_on(async { tokio::time::timeout(DEADLINE, looking).await });
        found.unwrap_or_else(|_| panic!("timed out waiting for a change in {}", folder.display()))
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        reap::end_all(&self.root);
        for pid in self.agents_alive() {
            kill(pid, rustix::process::Signal::KILL);
        }
        drop(self.watchdog.take());
        let late = self.late.take().is_some_and(|late| late.join().unwrap_or(true));
        assert!(!late || std::thread::panicking(), "the deadline has passed, and what ran was ended");
    }
}
