use super::*;
use murmur_core::id::BeatId;
use std::io::Write;

struct Journal {
    folder: tempfile::TempDir,
}

impl Journal {
    fn new(text: &str) -> Self {
        let journal = Self { folder: tempfile::tempdir().unwrap() };
        journal.add(text);
        journal
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    fn add(&self, text: &str) {
        let file = File::options().append(true).create(true).open(self.path());
        file.unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn move_away(&self) {
        std::fs::rename(self.path(), self.folder.path().join("old")).unwrap();
    }
}

fn read(tail: &mut Tail) -> Vec<String> {
    let mut lines = Vec::new();
    let mut take = |line: &TailLine<'_>| {
        lines.push(String::from_utf8(line.bytes()?).unwrap());
        Ok(())
    };
    while tail.read(1, &mut take).unwrap() {}
    lines
}

#[test]
fn every_complete_line_is_read_once() {
    let journal = Journal::new("old\nto");
    let mut tail = Tail::from_end(journal.path()).unwrap();
    assert_eq!(tail.position().end, 4);
    assert!(read(&mut tail).is_empty());
    journal.add("rn\n\nnext\nhal");
    assert_eq!(read(&mut tail), ["torn", "", "next"]);
    journal.add("f\n");
    assert_eq!(read(&mut tail), ["half"]);
    assert!(read(&mut tail).is_empty());
    assert_eq!(read(&mut Tail::from_start(journal.path())).len(), 5);
}

#[test]
fn a_journal_that_is_not_there_yet_is_read_from_its_start() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal { folder };
    let mut tail = Tail::from_end(journal.path()).unwrap();
    assert!(read(&mut tail).is_empty());
    journal.add("one\n");
    assert_eq!(read(&mut tail), ["one"]);
}

#[test]
fn a_moved_journal_is_read_to_its_end_and_the_new_one_from_its_start() {
    let journal = Journal::new("one\n");
    let mut tail = Tail::from_end(journal.path()).unwrap();
    journal.add("two\n");
    journal.move_away();
    journal.add("a much longer first line\n");
    assert_eq!(read(&mut tail), ["two", "a much longer first line"]);
    journal.add("three\n");
    journal.move_away();
    assert_eq!(read(&mut tail), ["three"]);
    assert_eq!(tail.position(), Position::default());
    journal.add("four\n");
    assert_eq!(read(&mut tail), ["four"]);
}

#[test]
fn a_truncated_journal_starts_over_and_a_copy_continues() {
    let journal = Journal::new("one\ntwo\n");
    let mut tail = Tail::from_end(journal.path()).unwrap();
    File::create(journal.path()).unwrap();
    journal.add("1\n");
    assert_eq!(read(&mut tail), ["1"]);
    File::create(journal.path()).unwrap();
    journal.add("2\n");
    assert_eq!(read(&mut tail), ["2"]);
    journal.move_away();
    std::fs::copy(journal.folder.path().join("old"), journal.path()).unwrap();
    journal.add("3\n");
    assert_eq!(read(&mut tail), ["3"]);
}

#[test]
fn a_link_to_a_device_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal { folder };
    std::os::unix::fs::symlink("/dev/zero", journal.path()).unwrap();
    let refused = Tail::from_end(journal.path()).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn an_entry_is_read_without_its_turns() {
    let turns = format!(r#"[{{"role":"assistant","text":"{}"}}]"#, "x".repeat(3 * BLOCK));
    let line = format!(
        r#"{{"ts":"2026-02-03T10:00:00Z","workspace":"/w","outcome":"ok","durationMs":1,"turns":{turns},"beat":"b"}}"#
    );
    let journal = Journal::new(&format!("{line}\nnot ours\n"));
    let mut found = Vec::new();
    let mut tail = Tail::from_start(journal.path());
    let more = tail.read(u64::MAX, |line| {
        found.push((line.entry().and_then(|entry| entry.beat), line.position().end));
        Ok(())
    });
    assert!(!more.unwrap());
    let end = line.len() as u64 + 1;
    assert_eq!(found, [(Some(BeatId::new("b")), end), (None, end + 9)]);
}

#[test]
fn every_line_is_read_once_across_rotations() {
    let journal = Journal::new("0\n");
    let mut tail = Tail::from_end(journal.path()).unwrap();
    let append = |line: usize| {
        super::super::append::append_line_within(&journal.path(), &format!("{line}\n"), 10).unwrap();
    };
    let mut seen = Vec::new();
    // None, one, and many rotations between reads, the older of which are compressed.
    for count in [1, 4, 6, 40] {
        let first = seen.len() + 1;
        (first..first + count).for_each(append);
        seen.extend(read(&mut tail));
    }
    assert_eq!(seen, (1..=51).map(|line| line.to_string()).collect::<Vec<_>>());
    let parts = std::fs::read_dir(journal.folder.path().join("archive")).unwrap().count();
    assert!(parts > 10, "{parts}");
    // A part that is not readable is left out.
    (52..=80).for_each(append);
    let archive = std::fs::read_dir(journal.folder.path().join("archive")).unwrap();
    let mut parts: Vec<PathBuf> = archive.map(|entry| entry.unwrap().path()).collect();
    parts.sort();
    let lost = &parts[parts.len() - 3];
    std::fs::write(lost, "x").unwrap();
    let rest = read(&mut tail);
    assert_eq!((rest.last().unwrap().as_str(), rest.len() < 29), ("80", true));
}

#[test]
fn a_reader_goes_on_where_another_one_stopped_also_after_rotations() {
    let journal = Journal::new("0\n");
    let append = |line: usize| {
        super::super::append::append_line_within(&journal.path(), &format!("{line}\n"), 10).unwrap();
    };
    let mut tail = Tail::from_end(journal.path()).unwrap();
    let mut seen = Vec::new();
    // The file is the same, was rotated, or was rotated long ago and compressed.
    for count in [1, 2, 6, 40] {
        let first = seen.len() + 1;
        (first..first + count).for_each(append);
        tail = Tail::after(journal.path(), tail.number().unwrap(), tail.position()).unwrap();
        seen.extend(read(&mut tail));
    }
    assert_eq!(seen, (1..=49).map(|line| line.to_string()).collect::<Vec<_>>());
    // The journal is replaced by another one.
    let (number, position) = (tail.number().unwrap(), tail.position());
    std::fs::write(journal.folder.path().join("new"), "a\nb\n").unwrap();
    std::fs::rename(journal.folder.path().join("new"), journal.path()).unwrap();
    let mut tail = Tail::after(journal.path(), number, position).unwrap();
    assert_eq!(read(&mut tail), [""; 0]);
    // There is none for a while.
    journal.move_away();
    let mut tail = Tail::from_end(journal.path()).unwrap();
    let (number, position) = (tail.number().unwrap(), tail.position());
    assert_eq!(read(&mut tail), [""; 0]);
    journal.add("50\n");
    let mut tail = Tail::after(journal.path(), number, position).unwrap();
    assert_eq!(read(&mut tail), ["50"]);
}
