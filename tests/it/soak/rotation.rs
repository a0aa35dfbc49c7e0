//! Many processes append to a journal that is rotated again and again: no line is lost, torn or repeated.

use murmur_store::journal::append::append_line_within;
use rotate::History;
use std::path::Path;
use std::process::{Child, Command};

/// The variable that makes [`writer`] write: the journal, the process's number, and how many lines each thread appends.
const WRITER: &str = "MURMUR_TEST_WRITER";

const THREADS: usize = 10;

#[test]
fn a_hundred_writers_lose_no_line() {
    const PROCESSES: usize = 10;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heartbeats.jsonl");
    let lines = usize::try_from(super::times(30, 10_000)).unwrap();
    let start = |process: usize| -> Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "soak::rotation::writer"]);
        command.env(WRITER, format!("{process} {lines} {}", path.display())).spawn().unwrap()
    };
    let writers: Vec<Child> = (0..PROCESSES).map(start).collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let history = History::open(&path).unwrap();
    let (parts, plain) =
        (history.parts.len(), history.parts.iter().filter(|part| !part.is_compressed()).count());
    let mut next = vec![0; PROCESSES * THREADS];
    for part in history.into_bytes() {
        for line in String::from_utf8(part.unwrap()).unwrap().lines() {
            let (writer, number) = line.split_once(' ').unwrap();
            let next = &mut next[writer.parse::<usize>().unwrap()];
            // In each writer's order, so neither lost nor repeated.
            assert_eq!(number.parse(), Ok(*next), "writer {writer}");
            *next += 1;
        }
    }
    assert!(next.iter().all(|next| *next == lines), "{next:?}");
    assert!(parts >= 10, "{parts} parts");
    assert!(plain <= 2, "{plain} parts are not compressed");
}

#[test]
fn writer() {
    let Ok(task) = std::env::var(WRITER) else { return };
    let mut words = task.splitn(3, ' ');
    let mut number = || words.next().unwrap().parse::<usize>().unwrap();
    let (process, lines) = (number(), number());
    let path = Path::new(words.next().unwrap());
    let limit = u64::try_from(lines * 50).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for line in 0..lines {
                    append_line_within(path, &format!("{} {line}\n", process * THREADS + thread), limit)
                        .unwrap();
                }
            });
        }
    });
}
