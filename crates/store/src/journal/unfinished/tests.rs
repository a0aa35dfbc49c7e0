use super::*;
use murmur_core::outcome::OutcomeKind;

fn data() -> (tempfile::TempDir, DataDir) {
    let folder = tempfile::tempdir().unwrap();
    let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
    (folder, dir)
}

fn begun(beat: &str) -> BeatRecord {
    let entry = JournalEntry {
        error: Some("died".to_owned()),
        beat: Some(BeatId::new(beat)),
        agent: "w-1".to_owned(),
        ..JournalEntry::new("2026-02-03T10:00:00Z".to_owned(), "/w".to_owned(), OutcomeKind::Error, 0)
    };
    BeatRecord { entry, phase: Phase::Running { pid: 1, scheduled: true, data_dir: None } }
}

#[test]
fn an_announced_beat_begins_once_or_is_withdrawn() {
    let (_folder, dir) = data();
    let (beats, journal) = (dir.beats(), dir.journal());
    let announced = |beat| BeatRecord { phase: Phase::Announced { before: None }, ..begun(beat) };
    announce(&dir, &announced("one")).unwrap();
    announce(&dir, &announced("two")).unwrap();
    assert_eq!(recover(&dir, Timestamp::UNIX_EPOCH).unwrap().lines, 0);
    let record = Record::take_announced(&dir, &begun("one")).unwrap().unwrap();
    assert!(!withdraw(&dir, &BeatId::new("one")).unwrap());
    assert!(withdraw(&dir, &BeatId::new("two")).unwrap());
    assert!(Record::take_announced(&dir, &begun("two")).unwrap().is_none());
    let seen = survey(&beats).unwrap();
    assert_eq!((seen.running.len(), seen.dead.len(), seen.announced.len()), (1, 0, 0));
    record.finish(&dir, &begun("one").entry).unwrap();
    assert!(!withdraw(&dir, &BeatId::new("one")).unwrap());
    assert_eq!(std::fs::read_to_string(&journal).unwrap().lines().count(), 1);
}

#[test]
fn a_running_beat_is_seen_and_a_finished_one_is_only_in_the_journal() {
    let (_folder, dir) = data();
    let (beats, journal) = (dir.beats(), dir.journal());
    let record = Record::create(&dir, &begun("one")).unwrap();
    assert_eq!(survey(&beats).unwrap().running.len(), 1);
    assert_eq!(recover(&dir, Timestamp::UNIX_EPOCH).unwrap().lines, 0);
    record.finish(&dir, &begun("one").entry).unwrap();
    assert_eq!(std::fs::read_dir(&beats).unwrap().count(), 0);
    assert_eq!(std::fs::read_to_string(&journal).unwrap().lines().count(), 1);
}

#[test]
fn a_dead_process_leaves_one_line_however_often_it_is_recovered() {
    let (_folder, dir) = data();
    let journal = dir.journal();
    drop(Record::create(&dir, &begun("one")).unwrap());
    for _ in 0..3 {
        assert_eq!(recover(&dir, Timestamp::UNIX_EPOCH).unwrap().lines, 0);
    }
    assert_eq!(std::fs::read_to_string(&journal).unwrap().lines().count(), 1);
}

#[test]
fn a_process_that_died_after_its_line_gets_no_second_one() {
    let (_folder, dir) = data();
    let journal = dir.journal();
    drop(Record::create(&dir, &begun("one")).unwrap());
    append::append(&journal, &begun("one").entry).unwrap();
    recover(&dir, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(std::fs::read_to_string(&journal).unwrap().lines().count(), 1);
}

#[test]
fn a_record_without_contents_is_removed() {
    let (_folder, dir) = data();
    std::fs::create_dir(dir.beats()).unwrap();
    for (name, contents) in [("empty", vec![]), ("zeros", vec![0; 4096]), ("torn", b"{".to_vec())] {
        std::fs::write(dir.beats().join(format!("{name}.json")), contents).unwrap();
    }
    assert_eq!(recover(&dir, Timestamp::UNIX_EPOCH).unwrap().lines, 0);
    let left: Vec<_> =
        std::fs::read_dir(dir.beats()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["torn.json"]);
}

/// Makes the journal not writable, as on a full disk.
fn block(dir: &DataDir) -> impl Fn() {
    let journal = dir.journal();
    sys::fifo::make(&journal).unwrap();
    move || std::fs::remove_file(&journal).unwrap()
}

#[test]
fn a_line_that_does_not_fit_into_the_journal_is_kept_in_the_record_or_the_reserve() {
    for has_reserve in [false, true] {
        let (_folder, dir) = data();
        let record = Record::create(&dir, &begun("one")).unwrap();
        if has_reserve {
            allocate(&dir).unwrap();
        }
        let unblock = block(&dir);
        let done = JournalEntry { outcome: OutcomeKind::Ok, error: None, ..begun("one").entry };
        let kept = record.finish(&dir, &done).unwrap_err().kept;
        assert_eq!((kept, waiting(&dir).unwrap()), (LineKept::OnDisk, 1));
        let records = std::fs::read_dir(dir.beats()).unwrap().count();
        assert_eq!(records, usize::from(!has_reserve));
        unblock();
        assert_eq!(recover(&dir, Timestamp::UNIX_EPOCH).unwrap().lines, 0);
        assert_eq!(waiting(&dir).unwrap(), 0);
        assert_eq!(std::fs::read_to_string(dir.journal()).unwrap(), done.line().unwrap());
    }
}

#[test]
fn a_line_that_is_in_the_reserve_and_in_its_record_is_written_once() {
    let (_folder, dir) = data();
    allocate(&dir).unwrap();
    drop(Record::create(&dir, &BeatRecord { phase: Phase::Over, ..begun("one") }).unwrap());
    Reserve::new(&dir).keep(&begun("one").entry, || {}).unwrap();
    for _ in 0..2 {
        assert_eq!(recover(&dir, Timestamp::UNIX_EPOCH).unwrap().lines, 0);
    }
    assert_eq!(std::fs::read_to_string(dir.journal()).unwrap().lines().count(), 1);
    assert_eq!(waiting(&dir).unwrap(), 0);
}

#[test]
fn a_beat_is_over_when_its_record_is_gone_or_has_only_its_line_left() {
    let (_folder, dir) = data();
    let announced = |beat| BeatRecord { phase: Phase::Announced { before: None }, ..begun(beat) };
    announce(&dir, &announced("one")).unwrap();
    announce(&dir, &announced("two")).unwrap();
    let take = |beat| Record::take_announced(&dir, &begun(beat)).unwrap().unwrap();
    let over = || ["one", "two"].map(|beat| is_over(&dir, &BeatId::new(beat)));
    assert_eq!(over(), [false, false]);
    let (one, two) = (take("one"), take("two"));
    assert_eq!(over(), [false, false]);
    one.finish(&dir, &begun("one").entry).unwrap();
    assert_eq!(over(), [true, false]);
    std::fs::remove_file(dir.journal()).unwrap();
    let _unblock = block(&dir);
    two.finish(&dir, &begun("two").entry).unwrap_err();
    assert_eq!(over(), [true, true]);
    assert!(dir.beats().join("two.json").exists());
}
