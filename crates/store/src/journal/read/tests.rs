use super::*;
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

fn backward(text: &[u8], needle: Option<&str>) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    std::fs::write(&path, text).unwrap();
    let mut lines = Backward::open(&path).unwrap();
    if let Some(needle) = needle {
        lines = lines.containing(needle);
    }
    std::iter::from_fn(|| lines.next_line().unwrap()).collect()
}

#[test]
fn a_workspace_is_read_as_it_is_written() {
    let workspace =
        |line: &str| raw_workspace(line.as_bytes()).map(|raw| String::from_utf8(raw.to_vec()).unwrap());
    assert_eq!(workspace(r#"{"ts":"x","workspace":"/a b","outcome":"ok"}"#).unwrap(), r#""/a b""#);
    assert_eq!(workspace(r#"{"workspace":"/a\"\\","outcome":"ok"}"#).unwrap(), r#""/a\"\\""#);
    assert_eq!(workspace(r#"{"workspace":"/a"#), None);
    assert_eq!(workspace(r#"{"workspace":"/a\"#), None);
    assert_eq!(workspace("{}"), None);
}

#[test]
fn a_line_written_late_hides_no_older_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let line = |at: &str| {
        format!(r#"{{"ts":"2026-02-03T{at}Z","workspace":"/w","outcome":"ok","durationMs":0}}"#) + "\n"
    };
    std::fs::write(&path, line("09:40:00") + &line("09:50:00") + &line("08:30:00") + &line("09:55:00"))
        .unwrap();
    let filter = Filter { since: Some("2026-02-03T09:00:00Z".parse().unwrap()), ..Filter::default() };
    let found = newest(&path, None, &filter, 20).unwrap().found;
    let times: Vec<&str> = found.iter().map(|found| &found.entry.ts[11..16]).collect();
    assert_eq!(times, ["09:40", "09:50", "09:55"]);
}

#[test]
fn a_file_that_is_not_there_has_no_lines() {
    assert!(Backward::open(Path::new("/nonexistent/journal")).unwrap().next_line().unwrap().is_none());
}

#[test]
fn lines_longer_than_a_block_and_lines_still_being_written() {
    let long = "x".repeat(3 * BLOCK + 7);
    let text = format!("first\n{long}\nlast\ntorn");
    let lines = backward(text.as_bytes(), None);
    assert_eq!(lines, [b"last".to_vec(), long.into_bytes(), b"first".to_vec()]);
}

#[test]
fn a_workspace_is_found_by_the_end_of_its_path_unless_another_ends_alike() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let line = |workspace: &str| {
        format!(
            "{{\"ts\":\"2026-02-03T10:00:00Z\",\"workspace\":{workspace:?},\"outcome\":\"ok\",\"durationMs\":1}}\n"
        )
    };
    let workspaces = ["/w", "/a/größe-größe-größe", "/b/größe-größe-größe", "/größe-größe-größe"];
    std::fs::write(&path, workspaces.map(line).concat()).unwrap();
    for workspace in workspaces {
        let filter = Filter { workspace: Some(workspace.to_owned()), ..Filter::default() };
        let found = newest(&path, None, &filter, 20).unwrap().found;
        assert_eq!(found.iter().map(|found| &found.entry.workspace).collect::<Vec<_>>(), [workspace]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn backward_is_forward_reversed(lines in prop::collection::vec("[ab]{0,9}", 0..40), torn in "[ab]{0,3}") {
        let mut text = String::new();
        for line in &lines {
            text.push_str(line);
            text.push('\n');
        }
        text.push_str(&torn);
        let mut expected: Vec<Vec<u8>> = lines.iter().rev().map(|line| line.clone().into_bytes()).collect();
        prop_assert_eq!(backward(text.as_bytes(), None), expected.clone());
        expected.retain(|line| memmem::find(line, b"ab").is_some());
        prop_assert_eq!(backward(text.as_bytes(), Some("ab")), expected);
    }
}

#[test]
fn archived_parts_are_read_after_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let line = |minute: usize| {
        format!(r#"{{"ts":"2026-02-03T10:{minute:02}:00Z","workspace":"/w","outcome":"ok","durationMs":0}}"#)
            + "\n"
    };
    let append = |minute: usize| super::super::append::append_line_within(&path, &line(minute), 200).unwrap();
    (0..20).for_each(append);
    let minutes = |end, most| {
        let selected = newest(&path, end, &Filter::default(), most).unwrap();
        let minute = |found: &FoundEntry| found.entry.ts[14..16].parse().unwrap();
        (selected.found.iter().map(minute).collect::<Vec<usize>>(), selected.skipped.len())
    };
    assert_eq!(minutes(None, 100), ((0..20).collect(), 0));
    assert_eq!(minutes(None, 7), ((13..20).collect(), 0));
    // The end of a file that was rotated since.
    let end = super::super::tail::Tail::from_end(path.clone()).unwrap().position();
    (20..22).for_each(append);
    assert_eq!(minutes(Some(end), 5), ((15..20).collect(), 0));
    let count = |end, since: Option<&str>| {
        let since = since.map(|since| since.parse().unwrap());
        let skipped = AtomicUsize::new(0);
        let skip = |_| _ = skipped.fetch_add(1, Ordering::Relaxed);
        let text: Vec<String> = readers(&path, end, since, &skip)
            .unwrap()
            .filter_map(|input| match input {
                Input::Open(reader) => Some(io::read_to_string(reader).unwrap()),
                Input::Closed(read_whole) => {
                    let mut bytes = Vec::new();
                    read_whole(&mut bytes).then(|| String::from_utf8(bytes).unwrap())
                }
            })
            .collect();
        (text.concat().lines().count(), skipped.into_inner())
    };
    assert_eq!((count(None, None), count(Some(end), None)), ((22, 0), (20, 0)));
    // Only the file that is still written to.
    assert_eq!(
        count(None, Some("2099-02-03T10:00:00Z")).0,
        std::fs::read_to_string(&path).unwrap().lines().count()
    );
    let parts = History::open(&path).unwrap().parts;
    std::fs::write(parts[2].path(), "x").unwrap();
    let (read, skipped) = minutes(None, 100);
    assert_eq!((read.len(), read[0], skipped), (19, 0, 1));
    assert_eq!(count(None, None), (19, 1));
}
