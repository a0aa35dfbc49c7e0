//! Whether a command printed what a document says: line by line, except for values that differ between runs.
//!
//! Times, durations, PIDs, ids, versions and free space match any other value; so do the widths of columns.
//! A line `...` matches any lines. Made-up ids are learned, so that a later command can use them.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The values that differ, each kind with a name; the first match counts. `kept` only looks like one of them.
const KINDS: [(&str, &str); 14] = [
    ("kept", r"\bevery \d+\w*( \d+[smhd])*|\b(retention|timeout|interval|grace|within) \d+\w*"),
    ("id", r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9A-HJKMNP-TV-Z]{26}\b"),
    ("time", r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?"),
    ("date", r"\b(19|20)\d\d-\d\d-\d\d\b"),
    ("folder", r"/tmp/murmur-[a-z]+-\w{6}\b"),
    (
        "number",
        r#""(pid|agent_pid|started|uptimeSeconds|durationMs|duration_ms|waited_ms|age_ms|journalInode|journalEnd)": ?\d+"#,
    ),
    ("pid", r"\bPIDs?:? \d+|\bpid=\d+|\bhost \d+\b"),
    ("free", r"\b\d+(\.\d+)? [KMGT]iB free"),
    ("short", r"\b[0-9a-f]{8}-[0-9a-f]{2,9}\b"),
    ("clock", r"\b\d\d:\d\d\b"),
    ("hash", r"-[0-9a-f]{8}\b"),
    ("version", r"\b\d+\.\d+\.\d+\b"),
    ("span", r"\b\d+(\.\d+)?( ?ms|s|m|h|d)\b( \d+(s|m|h)\b)*"),
    ("request", r"\b[0-9a-hjkmnp-tv-z]{8}\b"),
];

static VOLATILE: LazyLock<Regex> = LazyLock::new(|| {
    let kinds = KINDS.map(|(name, pattern)| format!("(?P<{name}>{pattern})"));
    Regex::new(&kinds.join("|")).unwrap()
});

/// What a request's id looks like. In a document, only one with a digit counts as an id; in the output any may match
/// it, since some real ids have no digit and look like words.
const REQUEST: &str = "([0-9a-hjkmnp-tv-z]{8})";

/// A line without the values that differ between runs.
struct ExpectedLine {
    text: String,
    /// The ids in it.
    ids: Vec<String>,
    requests: Vec<String>,
}

/// The line; `written` says whether it is from a document.
fn normal(line: &str, written: bool) -> ExpectedLine {
    let (mut ids, mut requests) = (Vec::new(), Vec::new());
    let fixed = VOLATILE.replace_all(line.trim_end(), |found: &Captures<'_>| {
        let text = found[0].to_owned();
        let kind = KINDS.iter().map(|(kind, _)| *kind).find(|kind| found.name(kind).is_some()).unwrap();
        match kind {
            "kept" => return text,
            "request" if !written || !text.contains(|c: char| c.is_ascii_digit()) => return text,
            "request" => requests.push(text),
            "id" | "hash" => ids.push(text),
            "number" => return format!("{}:[number]", text.rsplit_once([':', '=']).unwrap().0),
            _ => {}
        }
        format!("[{kind}]")
    });
    let indentation = fixed.len() - fixed.trim_start().len();
    let words: Vec<&str> = fixed.split_whitespace().collect();
    ExpectedLine { text: format!("{}{}", &fixed[..indentation], words.join(" ")), ids, requests }
}

/// The ids of a document's line, each with its actual value; `None` if the output is a different line.
fn fit(written: &ExpectedLine, came: &ExpectedLine) -> Option<Vec<(String, String)>> {
    let pattern = regex::escape(&written.text).replace(r"\[request\]", REQUEST);
    let found = Regex::new(&format!("^{pattern}$")).unwrap().captures(&came.text)?;
    let requests = found.iter().skip(1).flatten().map(|found| found.as_str().to_owned());
    let requests = written.requests.iter().cloned().zip(requests);
    Some(written.ids.iter().cloned().zip(came.ids.iter().cloned()).chain(requests).collect())
}

fn both(written: &[String], came: &str) -> (Vec<ExpectedLine>, Vec<ExpectedLine>) {
    let mut came: Vec<ExpectedLine> = came.lines().map(|line| normal(line, false)).collect();
    while came.last().is_some_and(|line| line.text.is_empty()) {
        came.pop();
    }
    (written.iter().map(|line| normal(line, true)).collect(), came)
}

/// The ids that a document made up, each with its actual value; an error if the output differs.
pub(super) fn compare(written: &[String], came: &str) -> Result<Vec<(String, String)>, ()> {
    let (written, came) = both(written, came);
    in_order(&written, &came).ok_or(())
}

fn in_order(written: &[ExpectedLine], came: &[ExpectedLine]) -> Option<Vec<(String, String)>> {
    let Some((line, rest)) = written.split_first() else { return came.is_empty().then(Vec::new) };
    if line.text == "..." {
        return (0..=came.len()).find_map(|skipped| in_order(rest, &came[skipped..]));
    }
    let (first, others) = came.split_first()?;
    let mut learned = fit(line, first)?;
    learned.extend(in_order(rest, others)?);
    Some(learned)
}

/// The same for lines in any order; `...` matches any number of further lines.
pub(super) fn compare_in_any_order(written: &[String], came: &str) -> Result<(), ()> {
    let (written, mut came) = both(written, came);
    came.retain(|line| !line.text.is_empty());
    for line in written.iter().filter(|line| !line.text.is_empty() && line.text != "...") {
        let found = came.iter().position(|theirs| fit(line, theirs).is_some()).ok_or(())?;
        came.remove(found);
    }
    let more = written.iter().any(|line| line.text == "...");
    if more || came.is_empty() { Ok(()) } else { Err(()) }
}

#[cfg(test)]
mod tests {
    use super::compare;

    fn same(written: &str, came: &str) -> bool {
        let written: Vec<String> = written.lines().map(str::to_owned).collect();
        compare(&written, came).is_ok()
    }

    #[test]
    fn volatile_values_match() {
        for (written, came) in [
            ("attention 41.3s Two fail", "attention   0.1s Two fail\n"),
            ("murmur 0.1.0 started (PID 4242)", "murmur 1.22.3 started (PID 7)"),
            ("site-20444f29  in 29m (2026-02-03 10:30:00)", "site-00c0ffee   in 1h 2m (2027-12-13 00:00:01)"),
            (
                r#"{"ts":"2026-02-03T10:00:00Z","durationMs": 5}"#,
                r#"{"ts":"2031-02-03T10:00:00.123Z","durationMs":4711}"#,
            ),
            ("asked 12s ago, 1m 48s left", "asked 0s ago, 2m left"),
            ("7ggs733k  Bash", "svydxqke  Bash"),
            (r#"murmur allow 5q0s1n3v {"id":"5q0s1n3v"}"#, r#"murmur allow wajadqqg {"id":"wajadqqg"}"#),
            ("a\n...\nz", "a\nz"),
            ("a\n...\nz", "a\nb\nz\nc\nz"),
            ("...", ""),
        ] {
            // `"key": 5` and `"key":5` are equal.
            assert!(same(written, came), "{written} / {came}");
        }
    }

    #[test]
    fn other_values_must_be_equal() {
        for (written, came) in [
            ("ok", "attention"),
            ("ok", ""),
            ("ok", "ok\nok"),
            ("ok\nok", "ok"),
            ("", "ok"),
            ("  indented", "indented"),
            ("every 30m", "every 29m"),
            ("3 beats", "4 beats"),
            (r#"{"durationMs":5}"#, r#"{"numTurns":5}"#),
            ("question", "quotient"),
            ("a\n...\nz", "a\nz\nb"),
            ("exit code 1", "exit code 2"),
            ("is attached", "is research"),
            ("request svydxqke", "request 7ggs733k"),
            ("respond 5q0s1n3v", "respond wajadqq"),
        ] {
            assert!(!same(written, came), "{written} / {came}");
        }
    }

    #[test]
    fn lines_in_any_order_must_all_be_present() {
        let same = |written: &[&str], came| {
            let written: Vec<String> = written.iter().map(|line| (*line).to_owned()).collect();
            super::compare_in_any_order(&written, came).is_ok()
        };
        assert!(same(&["b 1s", "", "a"], "a\nb 2s\n") && same(&["...", "a"], "a\nb\n"));
        assert!(!same(&["a", "b"], "a\n") && !same(&["a"], "a\nb\n") && !same(&["a", "a", "..."], "a\nb\n"));
    }

    #[test]
    fn ids_are_learned_from_matching_lines() {
        let written = ["...".to_owned(), "7ggs733k  site-20444f29".to_owned()];
        let learned = compare(&written, "39kvtd0y  shop-00c0ffee\n\n39kvtd0y  site-00c0ffee\n").unwrap();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(learned, [pair("-20444f29", "-00c0ffee"), pair("7ggs733k", "39kvtd0y")]);
    }
}
