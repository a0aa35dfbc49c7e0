//! What an agent works on, in words: `agents/<agent>/current-task.json` (spec 2, Task Lookup Method). A hook reads it at
//! every call, so it is a small file and no question to anybody.

use crate::secrets::mask;
use crate::sys::atomic;
use crate::sys::clock;
use crate::sys::file;
use crate::sys::paths::DataDir;
use serde::{Deserialize, Serialize};
use std::fs::{File, FileTimes};
use std::io;
use std::path::Path;

/// The most characters of a title.
pub const TITLE: usize = 200;

#[derive(Debug, Serialize, Deserialize)]
struct Task {
    title: String,
    /// When it was set, RFC 3339.
    #[serde(default)]
    since: String,
}

/// Says that `agent` works on `title`, the first line of which is kept, what looks like a secret masked, up to [`TITLE`]
/// characters; an empty one takes back what was said. Whoever watches pulses is told.
///
/// # Errors
/// What the system says.
pub fn set(dir: &DataDir, agent: &str, title: &str) -> io::Result<()> {
    let folder = dir.agent(agent);
    let path = folder.join("current-task.json");
    // Some more than is kept, so that a secret is seen that would be cut.
    let title = line(&mask(&line(title, 4 * TITLE)), TITLE);
    if title.is_empty() && !path.exists() {
        return Ok(());
    }
    atomic::create_private_folder(&folder)?;
    let task = Task { title, since: clock::rfc3339(clock::now()) };
    let mut text = serde_json::to_vec(&task)?;
    text.push(b'\n');
    atomic::write(&path, &text)?;
    tell(&dir.pulse(agent));
    Ok(())
}

/// Removes what was said of `agent`, and its folder if nothing else is in it: it has ended, and what it worked on stands in
/// its last pulse.
pub fn forget(dir: &DataDir, agent: &str) {
    let folder = dir.agent(agent);
    let _was_none = std::fs::remove_file(folder.join("current-task.json"));
    let _not_empty = std::fs::remove_dir(folder);
}

/// Has whoever watches pulses look at this one again: that it was read just now is a change of the file, and none of what
/// is in it.
fn tell(pulse: &Path) {
    let touch = || {
        let pulse = File::open(pulse)?;
        // Linux tells of both times only, and of one alone as if somebody had read or written.
        let times = FileTimes::new().set_accessed(clock::now().into());
        pulse.set_times(times.set_modified(pulse.metadata()?.modified()?))
    };
    let _nobody_can_tell: io::Result<()> = touch();
}

/// What `agent` works on; empty where nobody said, or what they said cannot be read.
#[must_use]
pub fn get(dir: &DataDir, agent: &str) -> String {
    said(dir, agent).unwrap_or_default()
}

/// What was said that `agent` works on: empty if it was taken back, `None` if nobody ever said, or what they said cannot be
/// read.
#[must_use]
pub fn said(dir: &DataDir, agent: &str) -> Option<String> {
    let bytes = file::read_regular(&dir.agent(agent).join("current-task.json")).ok().flatten()?;
    let task: Task = serde_json::from_slice(&bytes).ok()?;
    Some(line(&task.title, TITLE))
}

/// The first line of `text` that says something, up to `most` characters of it.
fn line(text: &str, most: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().filter(|character| !character.is_control()).take(most).collect()
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
        assert_eq!(said(&dir, "../a").as_deref(), Some(""));
        forget(&dir, "../a");
        assert!(!dir.agent("../a").exists());
        set(&dir, "b", "").unwrap();
        assert_eq!(said(&dir, "b"), None);
        assert!(!dir.agent("b").exists());
        let secret = ["sk", "-ant-api03-", &"x".repeat(80)].concat();
        set(&dir, "b", &format!("Use {secret} today")).unwrap();
        assert!(!get(&dir, "b").contains("xxxxxxxx"), "{}", get(&dir, "b"));
        std::fs::write(dir.agent("b").join("current-task.json"), "{").unwrap();
        assert_eq!(get(&dir, "b"), "");
    }
}
