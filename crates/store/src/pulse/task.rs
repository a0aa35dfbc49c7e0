//! An agent's current task, `agents/<agent>/current-task.json` (spec 2, Task Lookup Method). A small file, as hooks
//! read it at every call. A beat's agent has none until its task is set: until then, its host's record has the task.

use super::activity::{make, replace};
use murmur_core::id::AgentId;
use secrets::mask;
use serde::{Deserialize, Serialize};
use std::fs::{File, FileTimes};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use sys::clock;
use sys::file;
use sys::paths::DataDir;

/// The most characters of a title.
pub const TITLE: usize = 200;

/// The most bytes of the file; a longer one is ignored.
const MAX_FILE_SIZE: u64 = 64 << 10;

#[derive(Debug, Serialize, Deserialize)]
struct Task {
    title: String,
    /// When it was set, RFC 3339.
    #[serde(default)]
    since: String,
}

/// The part of a host's record that is read here.
#[derive(Debug, Deserialize)]
struct HostRecord {
    #[serde(default)]
    task: String,
}

/// Sets the task of `agent` to the first line of `title`, with secrets masked and at most [`TITLE`] characters; an
/// empty one clears it. A link in the file's place is replaced, not followed. Notifies watchers of pulses.
pub fn set(dir: &DataDir, agent: &str, title: &str) -> io::Result<()> {
    let folder = dir.agent(agent);
    let path = folder.join("current-task.json");
    let title = self::title(title);
    if title.is_empty() && path.symlink_metadata().is_err() && of_host(dir, agent).is_none() {
        return Ok(());
    }
    make(&folder)?;
    let task = Task { title, since: clock::rfc3339(clock::now()) };
    let mut text = serde_json::to_vec(&task)?;
    text.push(b'\n');
    replace(&path, &text)?;
    notify_watchers(&dir.pulse(agent));
    Ok(())
}

/// The first line of `text` as a title: with secrets masked and at most [`TITLE`] characters.
#[must_use]
pub fn title(text: &str) -> String {
    // Mask more than is kept, to catch a secret across the cut.
    line(&mask(&line(text, 4 * TITLE)), TITLE)
}

/// Removes the task of the ended `agent`, and its folder if empty. Its last pulse still has the task.
pub fn forget(dir: &DataDir, agent: &str) {
    let folder = dir.agent(agent);
    let _was_none = std::fs::remove_file(folder.join("current-task.json"));
    let _not_empty = std::fs::remove_dir(folder);
}

/// Notifies watchers of this pulse by changing its access time.
fn notify_watchers(pulse: &Path) {
    let touch = || {
        // Do not block, whatever is there.
        let pulse =
            File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(pulse)?;
        if !pulse.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // Linux only reports a change of both times as such; one alone looks like a read or write.
        let times = FileTimes::new().set_accessed(clock::now().into());
        pulse.set_times(times.set_modified(pulse.metadata()?.modified()?))
    };
    let _nobody_can_tell: io::Result<()> = touch();
}

/// The task of `agent`; empty if not set or not readable.
#[must_use]
pub fn get(dir: &DataDir, agent: &str) -> String {
    find(dir, agent).unwrap_or_default()
}

/// The task of `agent`: empty if cleared, `None` if never set or not readable.
#[must_use]
pub fn find(dir: &DataDir, agent: &str) -> Option<String> {
    let Some(bytes) = file::read_short(&dir.agent(agent).join("current-task.json"), MAX_FILE_SIZE).ok()?
    else {
        return of_host(dir, agent);
    };
    let task: Task = serde_json::from_slice(&bytes).ok()?;
    Some(line(&task.title, TITLE))
}

/// The task of `agent` in its host's record; `None` if there is none.
fn of_host(dir: &DataDir, agent: &str) -> Option<String> {
    let record = dir.hosts().join(AgentId::parse(agent).ok()?.record());
    let record: HostRecord = serde_json::from_slice(&file::read_short(&record, MAX_FILE_SIZE).ok()??).ok()?;
    Some(line(&record.task, TITLE)).filter(|task| !task.is_empty())
}

/// The first nonblank line of `text`, up to `most` characters.
fn line(text: &str, most: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().filter(|character| !character.is_control()).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_set_replaced_and_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        assert_eq!(get(&dir, "../a"), "");
        set(&dir, "../a", "\n  Mend the build \nand more").unwrap();
        assert_eq!(get(&dir, "../a"), "Mend the build");
        set(&dir, "../a", &"ü".repeat(1000)).unwrap();
        assert_eq!(get(&dir, "../a"), "ü".repeat(TITLE));
        set(&dir, "../a", "").unwrap();
        set(&dir, "../a", "").unwrap();
        assert_eq!(find(&dir, "../a").as_deref(), Some(""));
        forget(&dir, "../a");
        assert!(!dir.agent("../a").exists());
        set(&dir, "b", "").unwrap();
        assert_eq!(find(&dir, "b"), None);
        assert!(!dir.agent("b").exists());
        let secret = ["sk", "-ant-api03-", &"x".repeat(80)].concat();
        set(&dir, "b", &format!("Use {secret} today")).unwrap();
        assert!(!get(&dir, "b").contains("xxxxxxxx"), "{}", get(&dir, "b"));
        std::fs::write(dir.agent("b").join("current-task.json"), "{").unwrap();
        assert_eq!(get(&dir, "b"), "");
        let long = format!("{{\"title\":\"x\"}}{}", " ".repeat(64 << 10));
        std::fs::write(dir.agent("b").join("current-task.json"), long).unwrap();
        assert_eq!(get(&dir, "b"), "");
    }

    #[test]
    fn the_record_of_a_host_has_the_task_until_it_is_set() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        std::fs::create_dir(dir.hosts()).unwrap();
        let record = dir.hosts().join("a.json");
        std::fs::write(&record, format!("{{\"task\":\"tests\",\"pid\":1}}{}", " ".repeat(100))).unwrap();
        assert_eq!(get(&dir, "a"), "tests");
        set(&dir, "a", "").unwrap();
        assert_eq!(find(&dir, "a").as_deref(), Some(""));
        set(&dir, "a", "Fix it").unwrap();
        assert_eq!(get(&dir, "a"), "Fix it");
        forget(&dir, "a");
        std::fs::write(&record, "{}").unwrap();
        assert_eq!(find(&dir, "a"), None);
    }

    #[test]
    fn links_and_pipes_in_place_of_the_files_are_not_followed_or_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(&folder.path().join("data")), None, None).unwrap();
        let (path, other) = (dir.agent("a").join("current-task.json"), folder.path().join("other"));
        for made in [dir.pulses(), dir.agent("a")] {
            std::fs::create_dir_all(made).unwrap();
        }
        std::fs::write(&other, "other").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        sys::fifo::make(&dir.pulse("a")).unwrap();
        set(&dir, "a", "Fix it").unwrap();
        assert!(!path.is_symlink());
        assert_eq!(get(&dir, "a"), "Fix it");
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "other");
        std::fs::remove_file(&path).unwrap();
        sys::fifo::make(&path).unwrap();
        assert_eq!(find(&dir, "a"), None);
    }
}
