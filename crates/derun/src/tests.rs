//! Tests a session from creation to removal, as seen by readers.

mod limited;
mod times;

use super::id::SessionId;
use super::record::{Channel, Lost, State, TransportMode};
use super::retention;
use super::store::{DEFAULT_RETENTION, NewSession, Store, StoreError};
use super::writer::{End, Writer};
use jiff::{SignedDuration, Timestamp};
use std::ops::ControlFlow;
use std::time::Duration;
use sys::clock;

/// A session to create.
pub(crate) fn new_session(id: Option<SessionId>, group: Option<&str>, max_bytes: Option<u64>) -> NewSession {
    NewSession {
        id,
        command: vec!["make".to_owned(), "test".to_owned()],
        working_directory: "/work".to_owned(),
        retention: Duration::from_secs(60),
        transport: TransportMode::Pipe,
        tty_attached: false,
        max_bytes,
        group: group.map(str::to_owned),
    }
}

struct Scratch {
    store: Store,
    root: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        Self::of(tempfile::tempdir().unwrap())
    }

    /// In memory, if files can be there: for hundreds of sessions, whose files are synced.
    fn in_memory() -> Self {
        Self::of(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap())
    }

    fn of(root: tempfile::TempDir) -> Self {
        Self { store: Store::open(root.path()).unwrap(), root }
    }

    fn session(&self, id: &str) -> Writer {
        self.try_session(id).unwrap()
    }

    fn try_session(&self, id: &str) -> Result<Writer, StoreError> {
        self.begin(id, None)
    }

    /// A session that keeps `most` bytes.
    fn limited(&self, id: &str, most: u64) -> Writer {
        self.begin(id, Some(most)).unwrap()
    }

    fn begin(&self, id: &str, max_bytes: Option<u64>) -> Result<Writer, StoreError> {
        let new = new_session(Some(SessionId::parse(id)?), None, max_bytes);
        self.store.create(new, clock::now())
    }

    fn read(&self, id: &str, cursor: u64, most: usize) -> super::session::Page {
        self.store.session(id).unwrap().read(cursor, most, clock::now()).unwrap()
    }

    fn file(&self, id: &str, name: &str) -> std::path::PathBuf {
        self.root.path().join("sessions").join(id).join(name)
    }

    fn sweep(&self, now: Timestamp) -> retention::Swept {
        let mut log = super::log::Log::open(self.root.path());
        retention::sweep(&self.store, DEFAULT_RETENTION, now, &mut log, || ControlFlow::Continue(())).unwrap()
    }
}

#[test]
fn a_session_can_be_read_during_and_after_writing() {
    let place = Scratch::new();
    let mut writer = place.session("s");
    let status = || place.store.session("s").unwrap().status(clock::now()).unwrap();
    assert_eq!(status().state, State::Starting);
    writer.started(42).unwrap();
    assert_eq!(status().state, State::Running);
    let at = clock::now();
    writer.append(Channel::Stdout, b"out ", at).unwrap();
    writer.append(Channel::Stdout, b"more ", at).unwrap();
    writer.append(Channel::Stderr, b"err ", at).unwrap();
    writer.append(Channel::Stdout, b"end", at).unwrap();
    let page = place.read("s", 0, 1000);
    assert_eq!(page.bytes, b"out more err end");
    let chunks: Vec<_> = page.chunks().map(|(stretch, bytes)| (stretch.channel, bytes)).collect();
    assert_eq!(
        chunks,
        [
            (Channel::Stdout, &b"out more "[..]),
            (Channel::Stderr, &b"err "[..]),
            (Channel::Stdout, &b"end"[..])
        ]
    );
    assert!(!page.eof);
    writer.finish(&End::Exited(3), None, at).unwrap();
    let page = place.read("s", 4, 7);
    assert_eq!((&page.bytes[..], page.next(), page.eof), (&b"more er"[..], 11, false));
    assert!(place.read("s", 11, 7).eof);
    assert!(place.read("s", 16, 7).eof);
    let past = place.store.session("s").unwrap().read(17, 7, at);
    assert_eq!(past.unwrap_err().to_string(), "cursor is past the end: 17 of 16 bytes");
    let status = status();
    assert_eq!((status.state, status.last.unwrap().exit_code), (State::Exited, Some(3)));
}

#[test]
fn an_id_is_used_once() {
    let place = Scratch::new();
    let writer = place.session("s");
    assert!(matches!(place.try_session("s"), Err(StoreError::Exists(_))));
    writer.finish(&End::Exited(0), None, clock::now()).unwrap();
    let before = std::fs::read(place.file("s", "final.json")).unwrap();
    assert!(matches!(place.try_session("s"), Err(StoreError::Exists(_))));
    assert_eq!(std::fs::read(place.file("s", "final.json")).unwrap(), before);
}

#[test]
fn a_folder_without_meta_json_may_be_taken() {
    let place = Scratch::new();
    std::fs::create_dir(place.root.path().join("sessions/s")).unwrap();
    std::fs::write(place.file("s", "output.bin"), "of somebody who died").unwrap();
    let mut writer = place.session("s");
    writer.append(Channel::Stdout, b"ours", clock::now()).unwrap();
    assert_eq!(place.read("s", 0, 100).bytes, b"ours");
}

#[test]
fn a_session_whose_owner_died_has_failed() {
    let place = Scratch::new();
    let mut writer = place.session("s");
    writer.started(1).unwrap();
    drop(writer);
    let path = place.file("s", "meta.json");
    let mut meta: super::record::Meta = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    meta.owner.as_mut().unwrap().started -= 1;
    std::fs::write(&path, serde_json::to_vec(&meta).unwrap()).unwrap();
    let status = place.store.session("s").unwrap().status(clock::now()).unwrap();
    assert_eq!((status.state, status.last), (State::Failed, None));
    assert!(place.read("s", 0, 10).eof);
}

#[test]
fn the_index_may_extend_past_the_output() {
    let place = Scratch::new();
    let mut writer = place.session("s");
    writer.append(Channel::Stdout, &[b'x'; 100_000], clock::now()).unwrap();
    std::fs::OpenOptions::new()
        .write(true)
        .open(place.file("s", "output.bin"))
        .unwrap()
        .set_len(70_000)
        .unwrap();
    let page = place.read("s", 60_000, 1 << 20);
    assert_eq!((page.bytes.len(), page.stretches.len(), page.stretches[0].length), (10_000, 1, 10_000));
}

#[test]
fn output_without_an_index_is_ignored() {
    let place = Scratch::new();
    let mut writer = place.session("s");
    writer.append(Channel::Stdout, b"whose?", clock::now()).unwrap();
    std::fs::write(place.file("s", "index.jsonl"), r#"{"offset":0,"len"#).unwrap();
    assert_eq!(place.read("s", 0, 100).bytes, b"");
}

#[test]
fn lost_output_is_reported() {
    let place = Scratch::new();
    let writer = place.session("s");
    let lost = Lost { kept_bytes: 0, lost_bytes: 5, reason: "No space left on device".to_owned() };
    writer.finish(&End::Exited(0), Some(lost.clone()), clock::now()).unwrap();
    assert_eq!(
        place.store.session("s").unwrap().status(clock::now()).unwrap().last.unwrap().lost,
        Some(lost)
    );
}

#[test]
fn an_incomplete_end_is_ignored() {
    let place = Scratch::new();
    let writer = place.session("s");
    std::fs::write(place.file("s", "final.json"), "").unwrap();
    assert_eq!(place.store.session("s").unwrap().status(clock::now()).unwrap().state, State::Starting);
    drop(writer);
    std::fs::write(place.file("s", "final.json"), r#"{"schema_ver"#).unwrap();
    let status = place.store.session("s").unwrap().status(clock::now()).unwrap();
    assert_eq!(status.last, None);
}

fn counts(swept: retention::Swept) -> (usize, usize) {
    (swept.checked, swept.removed)
}

#[test]
fn a_sweep_removes_only_expired_sessions() {
    let place = Scratch::new();
    let ended = |id: &str| place.session(id).finish(&End::Exited(0), None, clock::now()).unwrap();
    ended("old");
    let _active = place.session("active");
    std::fs::create_dir(place.root.path().join("sessions/orphan")).unwrap();
    std::fs::write(place.file("orphan", "meta.json"), "{").unwrap();
    let now = clock::now();
    let in_a_minute = now + SignedDuration::from_secs(61);
    let in_two_days = now + SignedDuration::from_hours(48);
    assert_eq!(counts(place.sweep(now)), (3, 0));
    let status = place.store.session("old").unwrap().status(in_a_minute).unwrap();
    assert_eq!(status.state, State::Expired);
    assert_eq!(counts(place.sweep(in_a_minute)), (3, 1));
    assert!(matches!(place.store.session("old"), Err(StoreError::NotFound(_))));
    assert_eq!(counts(place.sweep(in_two_days)), (2, 1));
    assert_eq!(place.store.list().unwrap().len(), 1);
    let log = std::fs::read_to_string(place.root.path().join("logs/derun.log")).unwrap();
    for reason in ["not_expired", "active_session", "expired", "unreadable_not_expired", "unreadable_expired"]
    {
        assert!(log.contains(&format!(r#""cleanup_reason":"{reason}""#)), "{reason}: {log}");
    }
}

#[test]
fn a_session_that_expires_early_makes_a_sweep_due() {
    let place = Scratch::new();
    let now = clock::now();
    let sweep_lock = retention::lock_sweep(&place.store, now).unwrap();
    retention::sweep_all(&place.store, &sweep_lock, || ());
    drop(sweep_lock);
    place.session("s").finish(&End::Exited(0), None, now).unwrap();
    retention::expect(&place.store, Duration::from_secs(60), now);
    assert!(retention::lock_sweep(&place.store, now + SignedDuration::from_secs(59)).is_none());
    assert!(retention::lock_sweep(&place.store, now + SignedDuration::from_secs(60)).is_some());
}

#[test]
fn an_interrupted_sweep_is_due_again() {
    let place = Scratch::new();
    let now = clock::now();
    drop(retention::lock_sweep(&place.store, now).unwrap());
    let sweep_lock = retention::lock_sweep(&place.store, now).unwrap();
    retention::sweep_all(&place.store, &sweep_lock, || ());
    drop(sweep_lock);
    assert!(retention::lock_sweep(&place.store, now).is_none());
}

#[test]
fn a_long_sweep_resumes_where_it_was_interrupted() {
    let place = Scratch::new();
    let long_ago = clock::now() - SignedDuration::from_mins(5);
    for id in ["a", "b", "c"] {
        place.session(id).finish(&End::Exited(0), None, long_ago).unwrap();
    }
    let left = || {
        let mut left = place.store.list().unwrap();
        left.sort_unstable();
        left.iter().map(ToString::to_string).collect::<String>()
    };
    std::fs::write(place.root.path().join("sweep-reached"), "\nb\n").unwrap();
    let sweep_lock = retention::lock_sweep(&place.store, clock::now()).unwrap();
    retention::sweep_all(&place.store, &sweep_lock, || ());
    assert_eq!(left(), "ab");
    assert!(!place.root.path().join("sweep-reached").exists());
    retention::sweep_all(&place.store, &sweep_lock, || ());
    assert_eq!(left(), "");
}

#[test]
fn only_one_sweep_runs_at_a_time_and_only_when_due() {
    let place = Scratch::new();
    let now = clock::now();
    let sweep_lock = retention::lock_sweep(&place.store, now).unwrap();
    assert!(retention::lock_sweep(&place.store, now).is_none());
    retention::sweep_all(&place.store, &sweep_lock, || ());
    drop(sweep_lock);
    assert!(retention::lock_sweep(&place.store, now).is_none());
    assert!(retention::lock_sweep(&place.store, now + SignedDuration::from_mins(11)).is_some());
}

#[tokio::test(flavor = "current_thread")]
async fn a_follower_is_notified_of_output_and_the_end() {
    let place = Scratch::new();
    let mut writer = place.session("s");
    let session = place.store.session("s").unwrap();
    let mut following = session.follow().unwrap();
    writer.append(Channel::Stdout, b"x", clock::now()).unwrap();
    following.changed().await.unwrap();
    writer.finish(&End::Exited(0), None, clock::now()).unwrap();
    following.changed().await.unwrap();
}

#[test]
fn a_log_is_rotated_while_it_is_written() {
    let place = Scratch::new();
    let logs = place.root.path().join("logs");
    let mut log = super::log::Log::open(place.root.path());
    std::fs::write(logs.join("derun.log"), vec![b'\n'; 8 << 20]).unwrap();
    // It is written at once.
    let error = "no space ".repeat(4000);
    let note = |log: &mut super::log::Log| {
        let event = super::log::Event::CaptureStopped { session_id: "s", kept_bytes: 1, error: &error };
        log.note(&event);
    };
    note(&mut log);
    assert!(!logs.join("derun.log.1").exists());
    note(&mut log);
    assert!(std::fs::metadata(logs.join("derun.log.1")).unwrap().len() > 8 << 20);
    assert_eq!(std::fs::read_to_string(logs.join("derun.log")).unwrap().lines().count(), 1);
}
