//! What an agent works on, in words: `agents/<agent>/current-task.json` (spec 2, Task Lookup Method). A hook reads it at
//! every call, so it is a small file and no question to anybody.

use crate::sys::atomic;
use crate::sys::clock;
use crate::sys::file;
use crate::sys::paths::DataDir;
use serde::{Deserialize, Serialize};
use std::io;

/// The most characters of a title.
pub const TITLE: usize = 200;

#[derive(Debug, Serialize, Deserialize)]
struct Task {
    title: String,
    /// When it was set, RFC 3339.
    #[serde(default)]
    since: String,
}

/// Says that `agent` works on `title`, the first line of which is kept, up to [`TITLE`] characters; an empty one takes
/// back what was said.
///
/// # Errors
/// What the system says.
pub fn set(dir: &DataDir, agent: &str, title: &str) -> io::Result<()> {
    let folder = dir.agent(agent);
    let path = folder.join("current-task.json");
    let title = first_line(title);
    if title.is_empty() {
        return match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    atomic::create_private_folder(&folder)?;
    let task = Task { title, since: clock::rfc3339(clock::now()) };
    let mut text = serde_json::to_vec(&task)?;
    text.push(b'\n');
    atomic::write(&path, &text)
}

/// What `agent` works on; empty where nobody said, or what they said cannot be read.
#[must_use]
pub fn get(dir: &DataDir, agent: &str) -> String {
    let bytes = file::read_regular(&dir.agent(agent).join("current-task.json")).ok().flatten();
    let task: Option<Task> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    task.map(|task| first_line(&task.title)).unwrap_or_default()
}

fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().filter(|character| !character.is_control()).take(TITLE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_set_replaced_and_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        assert_eq!(get(&dir, "../a"), "");
        set(&dir, "../a", "\n  Mend the build \nand more").unwrap();
        assert_eq!(get(&dir, "../a"), "Mend the build");
        set(&dir, "../a", &"ü".repeat(1000)).unwrap();
        assert_eq!(get(&dir, "../a"), "ü".repeat(TITLE));
        set(&dir, "../a", "").unwrap();
        set(&dir, "../a", "").unwrap();
        assert_eq!(get(&dir, "../a"), "");
        std::fs::write(dir.agent("../a").join("current-task.json"), "{").unwrap();
        assert_eq!(get(&dir, "../a"), "");
    }
}
