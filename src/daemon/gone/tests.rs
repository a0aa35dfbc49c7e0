use super::*;
use crate::pulse::task;

const DAY: SignedDuration = SignedDuration::from_hours(24);

struct Place {
    _folder: tempfile::TempDir,
    dir: DataDir,
    now: Timestamp,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        std::fs::create_dir_all(dir.pulses()).unwrap();
        std::fs::create_dir_all(dir.agents()).unwrap();
        Self { _folder: folder, dir, now: sys::clock::now() }
    }

    /// Creates an agent with a last sign of life `at`, and all its files.
    fn agent(&self, id: &str, at: Timestamp, pid: u32, state: &str) {
        let text = format!(r#"{{"timestamp":"{at}","agent_id":"{id}","pid":{pid},"state":"{state}"}}"#);
        std::fs::write(self.dir.pulse(id), &text).unwrap();
        File::options().write(true).open(self.dir.pulse(id)).unwrap().set_modified(at.into()).unwrap();
        task::set(&self.dir, id, "Fix it").unwrap();
        std::fs::write(self.dir.agent(id).join("activity.jsonl"), text + "\n").unwrap();
    }

    fn clean(&self, now: Timestamp) -> Cleaned {
        let cleaned = clean(&self.dir, now);
        assert!(cleaned.trouble.is_none(), "{cleaned:?}");
        cleaned
    }

    /// The names of all entries.
    fn names(&self) -> [Vec<String>; 2] {
        [self.dir.pulses(), self.dir.agents()].map(|folder| {
            let entries = std::fs::read_dir(folder).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        })
    }
}

/// The id of a process that has ended and was reaped.
fn dead() -> u32 {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

#[test]
fn ended_agents_are_removed_after_a_day_and_live_ones_never() {
    let place = Place::new();
    let (us, later) = (std::process::id(), place.now + DAY + SignedDuration::from_secs(1));
    let young = place.now + SignedDuration::from_hours(1);
    for (id, at, pid, state) in [
        ("lives", place.now, us, "running"),
        ("exited", place.now, us, "exited"),
        ("died", place.now, dead(), "running"),
        ("nobody-knows", place.now, 0, "idle"),
        ("../odd", place.now, 0, "running"),
        ("young", young, dead(), "exited"),
    ] {
        place.agent(id, at, pid, state);
    }
    let all = place.names();
    let soon = place.clean(place.now + DAY - SignedDuration::from_secs(1));
    assert_eq!(place.names(), all);
    // At most once an hour, even if the next is due in a second.
    assert_eq!(soon.next, place.now + DAY + SignedDuration::from_hours(1) - SignedDuration::from_secs(1));
    let cleaned = place.clean(later);
    assert_eq!(place.names(), [["lives.json", "young.json"], ["lives", "young"]]);
    assert_eq!(cleaned.next, later + SignedDuration::from_hours(1));
    assert_eq!(
        place.clean(later + SignedDuration::from_hours(1)).next,
        later + SignedDuration::from_hours(25)
    );
    assert_eq!(place.names(), [["lives.json"], ["lives"]]);
}

#[test]
fn an_agent_whose_hook_is_writing_stays() {
    let place = Place::new();
    place.agent("busy", place.now, 0, "running");
    let hook = File::open(place.dir.agent("busy").join("activity.jsonl")).unwrap();
    hook.lock().unwrap();
    let later = place.now + DAY + DAY;
    place.clean(later);
    assert_eq!(place.names(), [["busy.json"], ["busy"]]);
    drop(hook);
    place.clean(later);
    assert_eq!(place.names(), [[""; 0]; 2]);
}

#[test]
fn stale_temporary_files_and_agents_without_a_pulse_are_removed() {
    let place = Place::new();
    place.agent("lives", place.now, std::process::id(), "running");
    task::set(&place.dir, "never-came", "Fix it").unwrap();
    let new = [place.dir.pulses().join(".new-1"), place.dir.agent("lives").join(".new-2")];
    for path in &new {
        std::fs::write(path, "{").unwrap();
    }
    std::fs::write(place.dir.pulses().join("notes.txt"), "mine").unwrap();
    std::fs::write(place.dir.agents().join("notes.txt"), "mine").unwrap();
    let notes = place.dir.agent("lives").join(".notes");
    std::fs::write(&notes, "mine").unwrap();
    let aged = place.now - SignedDuration::from_secs(10);
    File::options().write(true).open(&new[0]).unwrap().set_modified(aged.into()).unwrap();
    let first = place.clean(place.now);
    assert_eq!(first.next, place.now + SignedDuration::from_hours(1));
    place.clean(first.next - SignedDuration::from_secs(5));
    assert_eq!(new.each_ref().map(|path| path.exists()), [false, true]);
    let second = place.clean(first.next + SignedDuration::from_mins(1));
    assert!(!new[1].exists());
    // Other dotfiles stay.
    assert!(notes.exists());
    // The task was set a moment ago and is checked again in a day.
    assert!(second.next > place.now + SignedDuration::from_hours(23), "{second:?}");
    assert!(place.dir.agent("never-came").exists());
    place.clean(place.now + DAY + SignedDuration::from_mins(1));
    assert_eq!(place.names(), [["lives.json", "notes.txt"], ["lives", "notes.txt"]]);
}

#[test]
fn links_are_never_followed() {
    let place = Place::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let mine = elsewhere.path().join(".new-mine");
    std::fs::write(&mine, "mine").unwrap();
    let old = format!(r#"{{"timestamp":"{}","agent_id":"x"}}"#, place.now - DAY - DAY);
    std::fs::write(elsewhere.path().join("pulse.json"), old).unwrap();
    let link = |to: &Path, at: PathBuf| std::os::unix::fs::symlink(to, at).unwrap();
    link(elsewhere.path(), place.dir.agents().join("linked"));
    link(&elsewhere.path().join("pulse.json"), place.dir.pulse("linked"));
    link(&mine, place.dir.pulses().join(".new-link"));
    let before = place.names();
    let later = place.now + DAY * 30;
    place.clean(later);
    assert_eq!(place.names(), before);
    // Not even where the folder itself is a link.
    for folder in [place.dir.pulses(), place.dir.agents()] {
        std::fs::remove_dir_all(&folder).unwrap();
        link(elsewhere.path(), folder);
    }
    place.clean(later);
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 2);
}

#[test]
fn an_empty_folder_is_checked_again_in_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
    let now = sys::clock::now();
    let cleaned = clean(&dir, now);
    assert_eq!((cleaned.next, cleaned.trouble.is_none()), (now + DAY, true));
}
