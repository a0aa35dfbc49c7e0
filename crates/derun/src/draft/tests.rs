use super::*;
use crate::pack::{self, Label};
use crate::record::{Channel, State};
use crate::retention;
use crate::session::Session;
use crate::store::{DEFAULT_RETENTION, Store};
use crate::tests::new_session;
use crate::unpacked;
use crate::writer::{End, Writer};
use jiff::{SignedDuration, Timestamp};
use std::io::Read;
use std::path::Path;
use sys::clock;

fn begin(store: &Store, group: Option<&str>, max_bytes: Option<u64>) -> Writer {
    store.create(new_session(None, group, max_bytes), clock::now()).unwrap()
}

fn names(root: &Path) -> Vec<String> {
    let names = std::fs::read_dir(root.join("sessions")).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The size, the output, its stretches and how it ended.
type View = (u64, Vec<u8>, Vec<(u64, u64, Channel)>, Option<State>);

/// All that readers see, without ids.
fn seen(session: &Session) -> View {
    let page = session.read(0, usize::MAX >> 1, at(100)).unwrap();
    let stretches = page.stretches.iter().map(|stretch| (stretch.offset, stretch.length, stretch.channel));
    let last = session.status(at(100)).unwrap().last;
    (session.end().unwrap(), page.bytes, stretches.collect(), last.map(|last| last.state))
}

fn at(second: i64) -> Timestamp {
    "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_secs(second)
}

#[test]
fn a_draft_is_one_file_and_reads_like_a_folder() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let mut draft = begin(&store, Some("site"), Some(1 << 20));
    let id = draft.id().clone();
    assert_eq!(names(root.path()), [format!("{id}.draft")]);
    let mut folder = begin(&store, None, Some(1 << 20));
    let sessions = [&draft, &folder].map(|writer| store.session(writer.id().as_str()).unwrap());
    let events = |session: &Session| {
        let mut text = String::new();
        session.beside("events.jsonl").unwrap().read_to_string(&mut text).unwrap();
        text
    };
    let is_same = || {
        let [one, other] = sessions.each_ref().map(seen);
        assert_eq!(one, other);
        one
    };
    is_same();
    for writer in [&mut draft, &mut folder] {
        writer.started(std::process::id()).unwrap();
        writer.append_beside("events.jsonl", b"1\n").unwrap();
    }
    for second in 0..20 {
        for writer in [&mut draft, &mut folder] {
            let channel = if second % 3 == 0 { Channel::Stderr } else { Channel::Stdout };
            writer.append(channel, format!("line {second}\n").as_bytes(), at(second / 2)).unwrap();
            writer.append_beside("events.jsonl", b"2\n").unwrap();
        }
        is_same();
        assert_eq!(events(&sessions[0]), events(&sessions[1]));
    }
    assert_eq!(sessions[0].status(clock::now()).unwrap().state, State::Starting);
    assert_eq!(store.session(id.as_str()).unwrap().status(clock::now()).unwrap().state, State::Running);
    let label = Label { group: "site".to_owned(), failed: false };
    assert!(!pack::pack(&store, &[&id], &label, false).unwrap());
    draft.finish(&End::Exited(0), None, at(30)).unwrap();
    folder.finish(&End::Exited(0), None, at(30)).unwrap();
    let before = is_same();
    assert_eq!(before.3, Some(State::Exited));
    assert!(pack::pack(&store, &[&id], &label, false).unwrap());
    assert!(names(root.path()).contains(&format!("{id}.zst")));
    assert_eq!(names(root.path()).len(), 2);
    assert_eq!(is_same(), before);
    assert_eq!(store.list().unwrap().len(), 2);
}

#[test]
fn a_draft_that_grows_moves_to_a_folder_and_readers_follow() {
    for max_bytes in [None, Some(64 << 10), Some(1 << 20)] {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(root.path()).unwrap();
        let mut writer = begin(&store, Some("site"), max_bytes);
        let id = writer.id().to_string();
        let reader = store.session(&id).unwrap();
        let mut all = Vec::new();
        for number in 0..400 {
            let line = format!("{number:>999}\n");
            all.extend_from_slice(line.as_bytes());
            writer.append(Channel::Stdout, line.as_bytes(), at(number)).unwrap();
            writer.append_beside("events.jsonl", b"2\n").unwrap();
            assert_eq!(reader.end().unwrap(), all.len() as u64);
        }
        assert!(names(root.path()).iter().all(|name| *name == id), "{:?}", names(root.path()));
        let page = reader.read(0, 1 << 20, clock::now()).unwrap();
        assert_eq!(page.bytes, all[..page.bytes.len()]);
        assert_eq!(page.gap.is_some(), max_bytes == Some(64 << 10));
        let mut text = String::new();
        reader.beside("events.jsonl").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "2\n".repeat(400));
        assert_eq!(writer.finish(&End::Exited(0), None, at(500)).map_err(|error| error.kind()), Ok(()));
        assert_eq!(reader.status(at(501)).unwrap().state, State::Exited);
        let label = Label { group: "site".to_owned(), failed: false };
        let packed = SessionId::parse(&id).unwrap();
        assert!(pack::pack(&store, &[&packed], &label, true).unwrap());
        assert_eq!(names(root.path()), [format!("{id}.zst")]);
    }
}

#[tokio::test]
async fn a_follower_notices_output_before_and_after_the_move() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let mut writer = begin(&store, Some("site"), None);
    let reader = store.session(writer.id().as_str()).unwrap();
    let mut following = reader.follow().unwrap();
    for length in [10, 300_000, 10, 10] {
        let end = reader.end().unwrap();
        writer.append(Channel::Stdout, &vec![b'x'; length], clock::now()).unwrap();
        while reader.end().unwrap() == end {
            following.changed().await.unwrap();
        }
        following.changed().await.unwrap();
    }
}

#[test]
fn a_torn_draft_keeps_what_came_before() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let mut writer = begin(&store, Some("site"), None);
    let path = root.path().join("sessions").join(name(writer.id()));
    let id = writer.id().to_string();
    writer.append(Channel::Stdout, b"one\n", at(1)).unwrap();
    writer.append(Channel::Stderr, b"two\n", at(2)).unwrap();
    drop(writer);
    let whole = std::fs::read(&path).unwrap();
    let first = whole.windows(4).position(|bytes| bytes == b"one\n").unwrap();
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let Ok(session) = store.session(&id) else {
            assert!(length < first);
            continue;
        };
        let page = session.read(0, 100, clock::now()).unwrap();
        assert!(b"one\ntwo\n".starts_with(&page.bytes));
        assert!(length < first + 4 || page.bytes.len() >= 4, "{length}");
    }
}

#[test]
fn the_draft_of_a_killed_process_has_failed_and_is_removed_once_it_expires() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let id = |name: &str| format!("01KGHT5Q3M8V5Q0Z5J2D3W4X6{name}.draft");
    let meta = |id: &str, more: &str| {
        let id = id.trim_end_matches(".draft");
        format!(
            r#"{{"schema_version":"v1alpha1","session_id":"{id}","command":[],"working_directory":"/","started_at":"2026-01-01T00:00:00Z","retention_seconds":60,"transport_mode":"pipe","tty_attached":false,"pid":1{more}}}"#
        )
    };
    let write =
        |name: &str, text: String| std::fs::write(root.path().join("sessions").join(name), text).unwrap();
    let record = |text: &str| format!("{{\"name\":\"meta.json\",\"size\":{}}}\n{text}", text.len());
    write(&id("A"), record(&meta(&id("A"), "")));
    write(&id("C"), record(&meta(&id("C"), r#","group":"g""#)));
    write(&id("B"), "torn".to_owned());
    let state = |name, now| store.session(&id(name)[..26]).unwrap().status(now).unwrap().state;
    let now = clock::now();
    assert_eq!(["A", "C"].map(|name| state(name, now)), [State::Failed; 2]);
    let found = unpacked::list(&store, now).unwrap();
    assert_eq!((found.len(), found[0].label.failed), (1, true));
    let expired = |now| retention::expired(&store, DEFAULT_RETENTION, now).unwrap();
    assert!(expired(now).is_empty());
    assert_eq!(expired(now + SignedDuration::from_secs(120)), [&*id("A")]);
    // One of a group stays: it may be the newest.
    assert_eq!(expired(now + SignedDuration::from_hours(48)), [&*id("A"), &id("B")]);
    assert!(unpacked::remove(&store, &found[0].id, now).unwrap());
    assert_eq!(names(root.path()), [id("A"), id("B")]);
}
