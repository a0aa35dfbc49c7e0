use super::*;
use murmur_store::pulse::task;

const DAY: SignedDuration = SignedDuration::from_hours(24);

struct Fixture {
    _folder: tempfile::TempDir,
    dir: DataDir,
    now: Timestamp,
}

fn collector(fixture: &Fixture) -> Collector<'_> {
    Collector {
        dir: &fixture.dir,
        now: fixture.now,
        is_dry_run: false,
        hosted: HashSet::new(),
        next: fixture.now,
        removed: Vec::new(),
        error: None,
    }
}

impl Fixture {
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

    fn scope(&self, is_dry_run: bool) -> Scope<'_> {
        Scope { dir: &self.dir, captures: None, is_dry_run }
    }

    fn collect(&self, now: Timestamp) -> Collected {
        let collected = collect(&self.scope(false), now);
        assert!(collected.error.is_none(), "{collected:?}");
        collected
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
    let fixture = Fixture::new();
    let (us, later) = (std::process::id(), fixture.now + DAY + SignedDuration::from_secs(1));
    let young = fixture.now + SignedDuration::from_hours(1);
    for (id, at, pid, state) in [
        ("lives", fixture.now, us, "running"),
        ("exited", fixture.now, us, "exited"),
        ("died", fixture.now, dead(), "running"),
        ("nobody-knows", fixture.now, 0, "idle"),
        ("../odd", fixture.now, 0, "running"),
        ("young", young, dead(), "exited"),
    ] {
        fixture.agent(id, at, pid, state);
    }
    let all = fixture.names();
    let soon = fixture.collect(fixture.now + DAY - SignedDuration::from_secs(1));
    assert_eq!(fixture.names(), all);
    // At most once an hour, even if the next is due in a second.
    assert_eq!(soon.next, fixture.now + DAY + SignedDuration::from_hours(1) - SignedDuration::from_secs(1));
    let dry = collect(&fixture.scope(true), later).removed;
    assert_eq!(fixture.names(), all);
    let collected = fixture.collect(later);
    let paths = |removed: Vec<Removed>| removed.into_iter().map(|removed| removed.path).collect::<Vec<_>>();
    assert!(dry.iter().all(|removed| removed.bytes > 0), "{dry:?}");
    assert_eq!(paths(dry), paths(collected.removed));
    assert_eq!(fixture.names(), [["lives.json", "young.json"], ["lives", "young"]]);
    assert_eq!(collected.next, later + SignedDuration::from_hours(1));
    assert_eq!(
        fixture.collect(later + SignedDuration::from_hours(1)).next,
        later + SignedDuration::from_hours(25)
    );
    assert_eq!(fixture.names(), [["lives.json"], ["lives"]]);
}

#[test]
fn an_agent_whose_hook_is_writing_stays() {
    let fixture = Fixture::new();
    fixture.agent("busy", fixture.now, 0, "running");
    let hook = File::open(fixture.dir.agent("busy").join("activity.jsonl")).unwrap();
    hook.lock().unwrap();
    let later = fixture.now + DAY + DAY;
    fixture.collect(later);
    assert_eq!(fixture.names(), [["busy.json"], ["busy"]]);
    drop(hook);
    fixture.collect(later);
    assert_eq!(fixture.names(), [[""; 0]; 2]);
}

#[test]
fn stale_temporary_files_and_agents_without_a_pulse_are_removed() {
    let fixture = Fixture::new();
    fixture.agent("lives", fixture.now, std::process::id(), "running");
    task::set(&fixture.dir, "never-came", "Fix it").unwrap();
    let new = [fixture.dir.pulses().join(".new-1"), fixture.dir.agent("lives").join(".new-2")];
    for path in &new {
        std::fs::write(path, "{").unwrap();
    }
    std::fs::write(fixture.dir.pulses().join("notes.txt"), "mine").unwrap();
    std::fs::write(fixture.dir.agents().join("notes.txt"), "mine").unwrap();
    let notes = fixture.dir.agent("lives").join(".notes");
    std::fs::write(&notes, "mine").unwrap();
    let aged = fixture.now - SignedDuration::from_secs(10);
    File::options().write(true).open(&new[0]).unwrap().set_modified(aged.into()).unwrap();
    let first = fixture.collect(fixture.now);
    assert_eq!(first.next, fixture.now + SignedDuration::from_hours(1));
    fixture.collect(first.next - SignedDuration::from_secs(5));
    assert_eq!(new.each_ref().map(|path| path.exists()), [false, true]);
    let second = fixture.collect(first.next + SignedDuration::from_mins(1));
    assert!(!new[1].exists());
    // Other dotfiles stay.
    assert!(notes.exists());
    // The task was set a moment ago and is checked again in a day.
    assert!(second.next > fixture.now + SignedDuration::from_hours(23), "{second:?}");
    assert!(fixture.dir.agent("never-came").exists());
    fixture.collect(fixture.now + DAY + SignedDuration::from_mins(1));
    assert_eq!(fixture.names(), [["lives.json", "notes.txt"], ["lives", "notes.txt"]]);
}

#[test]
fn links_are_never_followed() {
    let fixture = Fixture::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let mine = elsewhere.path().join(".new-mine");
    std::fs::write(&mine, "mine").unwrap();
    let old = format!(r#"{{"timestamp":"{}","agent_id":"x"}}"#, fixture.now - DAY - DAY);
    std::fs::write(elsewhere.path().join("pulse.json"), old).unwrap();
    let link = |to: &Path, at: PathBuf| std::os::unix::fs::symlink(to, at).unwrap();
    link(elsewhere.path(), fixture.dir.agents().join("linked"));
    link(&elsewhere.path().join("pulse.json"), fixture.dir.pulse("linked"));
    link(&mine, fixture.dir.pulses().join(".new-link"));
    let before = fixture.names();
    let later = fixture.now + DAY * 30;
    fixture.collect(later);
    assert_eq!(fixture.names(), before);
    // Not even where the folder itself is a link.
    for folder in [fixture.dir.pulses(), fixture.dir.agents()] {
        std::fs::remove_dir_all(&folder).unwrap();
        link(elsewhere.path(), folder);
    }
    fixture.collect(later);
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 2);
}

#[test]
fn an_empty_folder_is_checked_again_in_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
    let now = sys::clock::now();
    let collected = collect(&Scope { dir: &dir, captures: None, is_dry_run: false }, now);
    assert_eq!((collected.next, collected.error.is_none()), (now + DAY, true));
}

/// A capture of the heartbeat `group` in `root`, of a beat whose process was killed.
fn killed(root: &Path, group: &str, bytes: usize, now: Timestamp) -> derun::id::SessionId {
    use derun::record::{Channel, TransportMode};
    let store = derun::store::Store::open(root).unwrap();
    let new = derun::store::NewSession {
        id: None,
        command: vec!["claude".to_owned()],
        working_directory: "/work".to_owned(),
        retention: std::time::Duration::from_secs(86_400),
        transport: TransportMode::Pipe,
        tty_attached: false,
        max_bytes: None,
        group: Some(group.to_owned()),
    };
    let mut writer = store.create(new, now).unwrap();
    writer.append(Channel::Stdout, &vec![b'x'; bytes], now).unwrap();
    let id = writer.id().clone();
    drop(writer);
    // A small one is a single file.
    let draft = root.join("sessions").join(format!("{id}.draft"));
    let path = if draft.exists() { draft } else { root.join("sessions").join(id.as_str()).join("meta.json") };
    let ours = identity::Identity::ours().started.to_string();
    let others = format!("{}{}", &ours[..ours.len() - 1], if ours.ends_with('1') { '2' } else { '1' });
    let bytes = std::fs::read(&path).unwrap();
    let key = memchr::memmem::find(&bytes, b"\"started\"").unwrap();
    let at = key + memchr::memmem::find(&bytes[key..], ours.as_bytes()).unwrap();
    std::fs::write(&path, [&bytes[..at], others.as_bytes(), &bytes[at + ours.len()..]].concat()).unwrap();
    id
}

#[test]
fn captures_of_killed_beats_count_and_expire_like_others() {
    let fixture = Fixture::new();
    let root = fixture._folder.path().join("captures");
    let begin = |days: i64, group, bytes| killed(&root, group, bytes, fixture.now - DAY * days as i32);
    let ids = [begin(100, "a", 10), begin(50, "a", 600_000), begin(40, "b", 10), begin(3, "a", 600_000)];
    let collect = |limits: Captures, is_dry_run| {
        let scope = Scope { dir: &fixture.dir, captures: Some((&root, limits)), is_dry_run };
        let collected = collect(&scope, fixture.now);
        assert!(collected.error.is_none(), "{collected:?}");
        let name = |removed: &Removed| removed.path.file_stem().unwrap().to_str().unwrap().to_owned();
        collected.removed.iter().map(|removed| (name(removed), removed.why)).collect::<Vec<_>>()
    };
    let limits = Captures { max: "1MiB".parse().unwrap(), ..Captures::default() };
    let expected = [(ids[0].to_string(), "too old"), (ids[1].to_string(), "captures exceed max")];
    assert_eq!(collect(limits, true), expected);
    assert_eq!(collect(limits, false), expected);
    assert_eq!(collect(limits, false), []);
    let left = std::fs::read_dir(root.join("sessions")).unwrap().count();
    assert_eq!(left, 2, "the newest of each stays");
}

#[test]
fn old_parts_of_rotated_files_are_removed_except_the_newest_of_each() {
    let fixture = Fixture::new();
    let live = fixture.dir.rotated();
    for path in &live {
        for _ in 0..3 {
            std::fs::write(path, "{}\n").unwrap();
            let file = rotate::open_locked(path, sys::atomic::open_append).unwrap();
            assert!(rotate::rotate_if_full(path, &file, 1).unwrap());
        }
        rotate::compress(path).unwrap();
    }
    let left = || live.each_ref().map(|path| rotate::parts(path).unwrap().len());
    let later = fixture.now + ARCHIVES;
    assert_eq!(fixture.collect(later - DAY).removed.len(), 0);
    let would = collect(&fixture.scope(true), later + DAY);
    assert_eq!((would.removed.len(), left()), (8, [3; 4]));
    assert!(would.removed.iter().all(|removed| removed.why == "rotated two years ago"), "{would:?}");
    assert_eq!(fixture.collect(later + DAY).removed.len(), 8);
    assert_eq!(left(), [1; 4]);
}

#[test]
fn the_oldest_parts_are_removed_while_all_are_too_large() {
    let fixture = Fixture::new();
    let live = fixture.dir.rotated();
    for path in &live {
        for days in [60, 50, 40, 0] {
            std::fs::write(path, "{}\n").unwrap();
            let written = fixture.now - DAY * days;
            let file = rotate::open_locked(path, sys::atomic::open_append).unwrap();
            file.set_modified(written.into()).unwrap();
            assert!(rotate::rotate_if_full(path, &file, 1).unwrap());
        }
    }
    let left = || live.each_ref().map(|path| rotate::parts(path).unwrap().len());
    let size = rotate::parts(&live[0]).unwrap()[0].path().metadata().unwrap().len();
    let remove = |parts: u64, now| {
        let mut collector = Collector { now, ..collector(&fixture) };
        collector.archives(parts * size);
        assert!(collector.removed.iter().all(|removed| removed.why == "archives exceed 4 GiB"));
        collector.removed.len()
    };
    assert_eq!((remove(16, fixture.now), left()), (0, [4; 4]));
    assert_eq!((remove(12, fixture.now), left()), (4, [3; 4]), "the oldest of each");
    let earlier = fixture.now - DAY * 10;
    assert_eq!((remove(0, earlier), left()), (7, [2, 1, 1, 1]), "the journal's last month stays");
    assert_eq!((remove(0, fixture.now), left()), (1, [1; 4]));
}

#[test]
fn what_could_not_be_removed_is_not_listed() {
    let fixture = Fixture::new();
    let path = fixture.dir.log();
    let mut collector = collector(&fixture);
    // Another process removed the first.
    for kind in [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied] {
        collector.remove(removal(&path, "temporary file", "left over"), |_| Err(kind.into()));
        assert!(collector.removed.is_empty());
        assert_eq!(collector.error.is_some(), kind == io::ErrorKind::PermissionDenied);
    }
    collector.remove(removal(&path, "temporary file", "left over"), |_| Ok(()));
    assert_eq!(collector.removed.len(), 1);
}
