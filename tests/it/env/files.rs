//! Files that a test writes and reads.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use murmur::daemon::approved;
use serde_json::{Value, json};
use sys::paths::DataDir;

use super::Env;

/// The maximum file size under [`Env::limited`], in bytes: sh counts in blocks of 512.
const LIMIT: usize = 256 * 512;

/// A folder with a HEARTBEAT.md.
pub(crate) struct Workspace(pub(crate) PathBuf);

impl Env {
    /// Creates the workspace `name` with these instructions; its agent plays the fixture `ok`.
    pub(crate) fn workspace(&self, name: &str, heartbeat: &str) -> Workspace {
        let workspace = Workspace(self.root().join(name));
        std::fs::create_dir_all(&workspace.0).unwrap();
        workspace.heartbeat(heartbeat);
        workspace.plays(&json!({ "fixture": fixture("ok") }));
        workspace
    }

    /// The data folder, created and private.
    pub(crate) fn create_data(&self) -> PathBuf {
        DirBuilder::new().recursive(true).mode(0o700).create(self.data()).unwrap();
        self.data()
    }

    /// Writes config.json.
    pub(crate) fn configure(&self, config: &str) {
        std::fs::write(self.create_data().join("config.json"), config).unwrap();
    }

    /// Registers these workspaces, each with an interval of an hour, and so due at once, since none has run.
    pub(crate) fn register(&self, workspaces: &[&Workspace]) {
        let entries: Vec<Value> =
            workspaces.iter().map(|workspace| json!({ "path": workspace.0, "interval": "1h" })).collect();
        self.configure(&json!({ "workspaces": entries }).to_string());
    }

    pub(crate) fn config(&self) -> String {
        std::fs::read_to_string(self.data().join("config.json")).unwrap()
    }

    /// The journal's text.
    /// Creates a journal of size [`LIMIT`] without a beat's line.
    pub(crate) fn fill_journal(&self) {
        std::fs::write(self.create_data().join("heartbeats.jsonl"), "\n".repeat(LIMIT)).unwrap();
    }

    pub(crate) fn journal_text(&self) -> String {
        std::fs::read_to_string(self.data().join("heartbeats.jsonl")).unwrap_or_default()
    }

    /// The journal's lines.
    pub(crate) fn journal(&self) -> Vec<Value> {
        json_lines(&self.data().join("heartbeats.jsonl"))
    }

    /// Makes all known past beats long past. config.json is not changed.
    pub(crate) fn age(&self) {
        let old = |mut line: Value| {
            line["ts"] = json!("2020-02-03T10:00:00.000Z");
            format!("{line}\n")
        };
        let text: String = self.journal().into_iter().map(old).collect();
        std::fs::write(self.data().join("heartbeats.jsonl"), text).unwrap();
        let _none_yet = std::fs::remove_file(self.data().join("last-runs.json"));
    }

    /// Waits until the journal has `count` lines.
    pub(crate) fn wait_for_journal(&self, count: usize) -> Vec<Value> {
        self.wait(&self.create_data(), || Some(self.journal()).filter(|lines| lines.len() >= count))
    }

    /// The names in a folder, sorted, one per line.
    pub(crate) fn names(&self, folder: &Path) -> String {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names.join("\n")
    }

    /// Creates a FIFO on which agents wait: opened on both sides, so that neither blocks.
    pub(crate) fn gate(&self, name: &str) -> (String, std::fs::File) {
        let path = self.root().join(name);
        sys::fifo::make(&path).unwrap();
        let gate = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        (format!("gate:{}", path.display()), gate)
    }
}

impl Workspace {
    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    pub(crate) fn heartbeat(&self, text: impl AsRef<[u8]>) {
        std::fs::write(self.0.join("HEARTBEAT.md"), text).unwrap();
    }

    /// Adds a named heartbeat that a person has approved.
    pub(crate) fn named(&self, name: &str, text: &str) {
        let data = self.0.parent().unwrap().join("data");
        DirBuilder::new().recursive(true).mode(0o700).create(&data).unwrap();
        let dir = DataDir::find(Some(&data), None, None).unwrap();
        approved::approve(&dir, &self.0, &[name]).unwrap();
        self.unapproved(name, text);
    }

    /// Adds a named heartbeat, as an agent can.
    pub(crate) fn unapproved(&self, name: &str, text: &str) {
        let folder = self.0.join("heartbeats").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("HEARTBEAT.md"), text).unwrap();
    }

    /// The instructions for its agent (fake-claude/README.md).
    pub(crate) fn plays(&self, instructions: &Value) {
        std::fs::write(self.0.join(".fake-claude.json"), instructions.to_string()).unwrap();
    }
}

/// Complete lines of JSON; none if the file doesn't exist.
pub(super) fn json_lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn fixture(name: &str) -> String {
    format!("{}/fixtures/claude/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A stream with only a result.
pub(crate) fn result(text: &str) -> String {
    let result = json!({ "type": "result", "subtype": "success", "is_error": false, "result": text });
    format!("{result}\n")
}
