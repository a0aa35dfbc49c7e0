use super::*;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use sys::atomic;

struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("beats.jsonl")
    }

    /// Appends `line`, and rotates first if the file has at least `limit` bytes.
    fn append(&self, line: &str, limit: u64) {
        let line = format!("{line}\n");
        append(&self.path(), line.as_bytes(), limit, atomic::open_append, |_| Ok(())).unwrap();
    }

    fn lines(&self) -> Vec<String> {
        let parts = History::open(&self.path()).unwrap().into_bytes();
        let text = parts.map(|part| String::from_utf8(part.unwrap()).unwrap()).collect::<String>();
        text.lines().map(str::to_owned).collect()
    }

    /// The names in the archive, without their dates.
    fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.folder.path().join("archive")) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names.iter().map(|name| name.replacen(&name[5..16], "", 1)).collect()
    }

    fn part(&self, number: usize) -> PathBuf {
        History::open(&self.path()).unwrap().parts[number].path()
    }
}

#[test]
fn a_full_file_becomes_a_part_and_older_parts_are_compressed() {
    let fixture = Fixture::new();
    for line in ["one", "two", "three"] {
        fixture.append(line, 4);
    }
    assert_eq!(fixture.names(), ["beats-000001.jsonl.zst", "beats-000002.jsonl"]);
    assert_eq!(fs::read_to_string(fixture.path()).unwrap(), "three\n");
    assert_eq!(fixture.lines(), ["one", "two", "three"]);
    let mode =
        |path: PathBuf| std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
    assert_eq!(mode(fixture.part(0)) & 0o777, 0o600);
}

#[test]
fn other_files_are_not_parts() {
    let fixture = Fixture::new();
    fixture.append("one", 4);
    fixture.append("two", 4);
    let archive = fixture.folder.path().join("archive");
    for name in
        ["beats-2026-02-03-x.jsonl", "beats-2026-02-03-+1.jsonl", "other-2026-02-03-000001.jsonl", ".new-1"]
    {
        fs::write(archive.join(name), "no\n").unwrap();
    }
    assert_eq!(fixture.lines(), ["one", "two"]);
}

#[test]
fn what_an_older_version_appends_to_the_newest_part_is_read_and_compressed() {
    let fixture = Fixture::new();
    fixture.append("one", 4);
    let mut held = File::options().append(true).open(fixture.path()).unwrap();
    fixture.append("three", 4);
    held.write_all(b"two\n").unwrap();
    assert_eq!(fixture.lines(), ["one", "two", "three"]);
    fixture.append("four", 4);
    assert_eq!(fixture.names(), ["beats-000001.jsonl.zst", "beats-000002.jsonl"]);
    assert_eq!(fixture.lines(), ["one", "two", "three", "four"]);
}

#[test]
fn a_crash_between_compressing_and_removing_repeats_nothing() {
    let fixture = Fixture::new();
    for line in ["one", "two", "three"] {
        fixture.append(line, 4);
    }
    let part = fixture.part(0);
    fs::write(part.with_extension(""), "one\n").unwrap();
    assert_eq!(fixture.lines(), ["one", "two", "three"]);
    compress(&fixture.path()).unwrap();
    assert_eq!(fixture.names(), ["beats-000001.jsonl.zst", "beats-000002.jsonl"]);
    assert_eq!(fixture.lines(), ["one", "two", "three"]);
}

#[test]
fn a_corrupt_part_is_reported_and_the_rest_is_read() {
    let fixture = Fixture::new();
    for line in ["one", "two", "three", "four"] {
        fixture.append(line, 4);
    }
    let part = fixture.part(1);
    let whole = fs::read(&part).unwrap();
    // Cut at every byte, and with every byte changed.
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        for bytes in [&whole[..at], &changed] {
            fs::write(&part, bytes).unwrap();
            let mut read = Vec::new();
            let mut errors = Vec::new();
            for part in History::open(&fixture.path()).unwrap().into_bytes() {
                match part {
                    Ok(bytes) => read.extend(bytes),
                    Err(error) => errors.push(error.path),
                }
            }
            assert_eq!((read, errors), (b"one\nthree\nfour\n".to_vec(), vec![part.clone()]), "byte {at}");
        }
    }
}

#[test]
fn a_part_is_read_as_a_whole_however_it_is_stored() {
    let fixture = Fixture::new();
    ["one", "two", "three"].iter().for_each(|line| fixture.append(line, 4));
    let parts = part::list(&fixture.path()).unwrap();
    let read = |part: &Part| {
        let mut bytes = Vec::new();
        part.read_into(&mut bytes).map(|()| bytes)
    };
    assert_eq!(parts.iter().map(Part::is_compressed).collect::<Vec<_>>(), [true, false]);
    assert_eq!([&parts[0], &parts[1]].map(|part| read(part).unwrap()), [b"one\n", b"two\n"]);
    // As `zstd` and `cat` make it: of two frames, the first without a size.
    let frame = |text: &[u8]| zstd::stream::encode_all(text, 1).unwrap();
    fs::write(parts[0].path(), [frame(b"one\n"), zstd::bulk::compress(b"more\n", 1).unwrap()].concat())
        .unwrap();
    assert_eq!(read(&parts[0]).unwrap(), b"one\nmore\n");
    fs::write(parts[0].path(), [zstd::bulk::compress(b"one\n", 1).unwrap(), frame(b"more\n")].concat())
        .unwrap();
    assert_eq!(read(&parts[0]).unwrap(), b"one\nmore\n");
    fs::remove_file(parts[0].path()).unwrap();
    assert_eq!(read(&parts[0]).unwrap_err().path, parts[0].path());
}

#[test]
fn a_link_is_never_rotated() {
    let fixture = Fixture::new();
    let real = fixture.folder.path().join("real");
    fs::write(&real, "one\n").unwrap();
    std::os::unix::fs::symlink(&real, fixture.path()).unwrap();
    fixture.append("two", 4);
    assert!(fixture.path().is_symlink() && fixture.names().is_empty());
    assert_eq!(fs::read_to_string(&real).unwrap(), "one\ntwo\n");
}

#[test]
fn many_writers_and_readers_lose_and_repeat_no_line() {
    const WRITERS: usize = 16;
    const LINES: usize = 60;
    let fixture = Fixture::new();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let fixture = &fixture;
                scope.spawn(move || {
                    (0..LINES).for_each(|line| fixture.append(&format!("{writer}-{line}"), 200));
                })
            })
            .collect();
        let fixture = &fixture;
        scope.spawn(move || {
            let mut before = 0;
            while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                let lines = fixture.lines();
                assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), lines.len());
                assert!(lines.len() >= before);
                before = lines.len();
            }
        });
    });
    let lines = fixture.lines();
    let all: BTreeSet<String> =
        (0..WRITERS).flat_map(|writer| (0..LINES).map(move |line| format!("{writer}-{line}"))).collect();
    assert_eq!(lines.len(), all.len());
    assert_eq!(lines.into_iter().collect::<BTreeSet<_>>(), all);
    assert!(fixture.names().len() > 10);
    assert_eq!(fixture.names().iter().filter(|name| !name.ends_with(".zst")).count(), 1);
}
