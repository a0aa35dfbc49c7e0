//! The capture store against everything that could go wrong: links, races, crashes, full disks, garbage.
//!
//! Each check runs a few rounds; `just soak` and `just fuzz` run many.

mod crowd;
mod full;
mod fuzz;
mod ids;
mod limited;
mod links;
mod retention;
mod soak;
mod torn;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use derun::id::SessionId;
use derun::record::{Channel, TransportMode};
use derun::session::{Page, Session};
use derun::store::{NewSession, Store, StoreError};
use derun::writer::{End, Writer};
use sys::clock;

use crate::env::{Env, MURMUR, programs};
use serde_json::Value;

/// A store in its own folder of an Env.
pub(crate) struct Vault {
    pub(crate) env: Env,
    pub(crate) store: Store,
}

impl Vault {
    pub(crate) fn new() -> Self {
        Self::of(Env::new())
    }

    pub(crate) fn of(env: Env) -> Self {
        let store = Store::open(&env.root().join("state")).unwrap();
        Self { env, store }
    }

    /// A path below `sessions/`.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.store.root().join("sessions").join(below)
    }

    /// `program` with the Env's environment and this store, and no input.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.env.root()).stdin(Stdio::null());
        // The Env finds the processes to kill by the last one.
        command.env("PATH", programs()).env("HOME", self.env.home());
        command.env("DERUN_STATE_ROOT", self.store.root()).env("MURMUR", MURMUR);
        command.env("FAKE_CLAUDE_LOG", self.env.root().join("log/agents"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// `murmur` with these arguments.
    pub(crate) fn murmur<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = self.command(MURMUR);
        command.args(args);
        command
    }

    /// `sh -c script`, in which `$MURMUR` is the program.
    pub(crate) fn shell(&self, script: &str) -> Command {
        let mut command = self.command("/bin/sh");
        command.arg("-c").arg(script);
        command
    }

    pub(crate) fn begin(&self, id: &str) -> Writer {
        create(&self.store, id).unwrap()
    }

    /// An ended session that wrote to both channels.
    pub(crate) fn ended(&self, id: &str) {
        let mut writer = self.begin(id);
        writer.started(7).unwrap();
        for (channel, bytes) in
            [(Channel::Stdout, "out\n"), (Channel::Stderr, "err\n"), (Channel::Stdout, "end\n")]
        {
            writer.append(channel, bytes.as_bytes(), clock::now()).unwrap();
        }
        writer.finish(&End::Exited(0), None, clock::now()).unwrap();
        // Written by a process that has ended, not by this one.
        let meta = self.path(id).join("meta.json");
        let mut value: Value = serde_json::from_slice(&std::fs::read(&meta).unwrap()).unwrap();
        value["owner"]["started"] = 1.into();
        std::fs::write(&meta, value.to_string()).unwrap();
    }

    pub(crate) fn session(&self, id: &str) -> Session {
        self.store.session(id).unwrap()
    }

    /// All output of an ended session.
    pub(crate) fn all(&self, id: &str) -> Page {
        self.session(id).read(0, usize::MAX, clock::now()).unwrap()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.store.root().join("logs/derun.log")).unwrap()
    }
}

/// Creates a session that is kept for a minute after its end.
pub(crate) fn create(store: &Store, id: &str) -> Result<Writer, StoreError> {
    let new = NewSession {
        id: Some(SessionId::parse(id)?),
        command: vec!["make".to_owned(), "test".to_owned()],
        working_directory: "/work".to_owned(),
        retention: Duration::from_secs(60),
        transport: TransportMode::Pipe,
        tty_attached: false,
        max_bytes: None,
        group: None,
    };
    store.create(new, clock::now())
}

/// The bytes of one channel.
pub(crate) fn of_channel(page: &Page, channel: Channel) -> Vec<u8> {
    let chunks = page.chunks().filter(|(stretch, _)| stretch.channel == channel);
    chunks.flat_map(|(_, bytes)| bytes.iter().copied()).collect()
}

/// Everything in `folder`: each name with its kind, mode and contents. Links are not followed.
pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let seen = path.symlink_metadata().unwrap();
            let inside = if seen.is_file() {
                std::fs::read(&path).unwrap()
            } else if seen.is_symlink() {
                std::fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
            } else {
                Vec::new()
            };
            if seen.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path, (seen.mode(), inside));
        }
    }
    found
}
