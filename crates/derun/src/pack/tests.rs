use super::*;
use crate::record::{Channel, State};
use crate::tests::new_session;
use crate::writer::{End, Writer};
use sys::clock;

fn begin(store: &Store) -> Writer {
    store.create(new_session(None, None, None), clock::now()).unwrap()
}

fn label(failed: bool) -> Label {
    Label { group: "site-0123abcd".to_owned(), failed }
}

#[test]
fn a_packed_session_is_one_file_and_reads_as_before() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let mut writer = begin(&store);
    let id = writer.id().clone();
    writer.append(Channel::Stdout, b"one\n", clock::now()).unwrap();
    writer.append(Channel::Stderr, b"two\n", clock::now()).unwrap();
    writer.beside("events.jsonl").unwrap().write_all(b"{}\n").unwrap();
    assert!(!pack(&store, &[&id], &label(false), false).unwrap());
    // A reader that opened it before.
    let before = store.session(id.as_str()).unwrap();
    writer.finish(&End::Exited(0), None, clock::now()).unwrap();
    let read = before.read(0, 100, clock::now()).unwrap();
    assert!(pack(&store, &[&id], &label(false), false).unwrap());
    let names = std::fs::read_dir(root.path().join("sessions")).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, [format!("{id}.zst")]);
    let after = store.session(id.as_str()).unwrap();
    for session in [before, after] {
        assert_eq!(session.read(0, 100, clock::now()).unwrap(), read);
        assert_eq!(session.status(clock::now()).unwrap().state, State::Exited);
        assert_eq!((session.end().unwrap(), session.stretches().unwrap().0), (8, 2));
        let mut events = String::new();
        session.beside("events.jsonl").unwrap().read_to_string(&mut events).unwrap();
        assert_eq!(events, "{}\n");
    }
    assert_eq!(store.list().unwrap(), std::slice::from_ref(&id));
    let packs = list(&store).unwrap();
    assert_eq!((packs.len(), &packs[0].id), (1, &id));
    assert!(packs[0].size < 2000, "{packs:?}");
    assert_eq!(super::label(&store, &id).unwrap(), label(false));
    remove(&store, &packs[0]).unwrap();
    assert!(store.session(id.as_str()).is_err() && store.list().unwrap().is_empty());
}

#[test]
fn sessions_that_belong_together_share_a_file() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let mut ids = ["gates\n", "agent\n"].map(|text| {
        let mut writer = begin(&store);
        let id = writer.id().clone();
        writer.append(Channel::Stdout, text.as_bytes(), clock::now()).unwrap();
        writer.finish(&End::Exited(0), None, clock::now()).unwrap();
        (id, text)
    });
    let running = begin(&store);
    let [(gates, _), (agent, _)] = &ids;
    assert!(!pack(&store, &[agent, running.id()], &label(false), false).unwrap());
    assert!(list(&store).unwrap().is_empty());
    assert!(pack(&store, &[agent, gates], &label(false), true).unwrap());
    for (id, text) in &ids {
        let session = store.session(id.as_str()).unwrap();
        assert_eq!(session.read(0, 100, clock::now()).unwrap().bytes, text.as_bytes());
        assert_eq!(session.meta().session_id, *id);
        assert_eq!(super::label(&store, id).unwrap(), label(false));
    }
    assert_eq!(store.list().unwrap().len(), 3);
    ids.sort();
    let [(older, _), (newer, _)] = &ids;
    let packs = list(&store).unwrap();
    assert_eq!((packs.len(), &packs[0].id, &packs[0].others[..]), (1, older, std::slice::from_ref(newer)));
    remove(&store, &packs[0]).unwrap();
    assert_eq!(store.list().unwrap(), std::slice::from_ref(running.id()));
}

#[test]
fn a_crash_while_packing_loses_nothing() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let mut writer = begin(&store);
    let id = writer.id().clone();
    writer.append(Channel::Stdout, b"one\n", clock::now()).unwrap();
    writer.finish(&End::Exited(0), None, clock::now()).unwrap();
    assert!(pack(&store, &[&id], &label(true), true).unwrap());
    // Some of the files were not removed yet.
    let folder = root.path().join("sessions").join(id.as_str());
    std::fs::create_dir(&folder).unwrap();
    for left in [&[][..], &[file::META]] {
        for name in left {
            let mut from = unpack(store.sessions(), &id).unwrap().open(name).unwrap();
            io::copy(&mut from, &mut File::create(folder.join(name)).unwrap()).unwrap();
        }
        let session = store.session(id.as_str()).unwrap();
        assert_eq!(session.read(0, 100, clock::now()).unwrap().bytes, b"one\n");
    }
}

#[test]
fn a_damaged_pack_is_an_error_and_no_other_session_is_affected() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let ids = [0, 1].map(|_| {
        let writer = begin(&store);
        let id = writer.id().clone();
        writer.finish(&End::Exited(0), None, clock::now()).unwrap();
        assert!(pack(&store, &[&id], &label(true), false).unwrap());
        id
    });
    let path = root.path().join("sessions").join(name(&ids[0]));
    let whole = std::fs::read(&path).unwrap();
    for cut in 0..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert!(store.session(ids[0].as_str()).is_err(), "{cut}");
    }
    assert!(store.session(ids[1].as_str()).is_ok());
    assert!(super::label(&store, &ids[0]).is_ok(), "the label is at the beginning");
    std::fs::write(&path, "x").unwrap();
    assert!(super::label(&store, &ids[0]).is_err());
}
