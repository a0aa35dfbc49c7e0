//! Unified diffs of settings files, with long lines cut.

use similar::{DiffOp, DiffTag, TextDiff};
use std::ops::Range;
use std::time::Duration;

/// The lines of context around each change.
const CONTEXT: usize = 3;

/// Changed lines with more characters than this are cut to the part that differs.
const LONG: usize = 160;

/// After this long, the rest of a text counts as one change.
const DEADLINE: Duration = Duration::from_millis(500);

/// The lines of a unified diff from `before` to `after`, without the two file headers. Empty if they are equal.
#[must_use]
pub fn lines(before: &str, after: &str) -> Vec<String> {
    let diff = TextDiff::configure().timeout(DEADLINE).diff_lines(before, after);
    let (old, new) = (diff.old_slices(), diff.new_slices());
    let mut out = Vec::new();
    for hunk in diff.grouped_ops(CONTEXT) {
        let range = |range: fn(&DiffOp) -> Range<usize>| {
            hunk.first().map_or(0, |op| range(op).start)..hunk.last().map_or(0, |op| range(op).end)
        };
        let (removed, added) = (range(DiffOp::old_range), range(DiffOp::new_range));
        out.push(format!("@@ -{} +{} @@", extent(&removed), extent(&added)));
        for op in &hunk {
            let (removed, added) = (&old[op.old_range()], &new[op.new_range()]);
            match op.tag() {
                DiffTag::Equal => {
                    out.extend(removed.iter().map(|line| format!(" {}", cut(line, 0..line.len()))))
                }
                _ => changed(removed, added, &mut out),
            }
        }
    }
    out
}

fn extent(lines: &Range<usize>) -> String {
    if lines.is_empty() {
        format!("{},0", lines.start)
    } else {
        format!("{},{}", lines.start + 1, lines.len())
    }
}

/// Adds a run of removed and added lines to `out`.
fn changed(removed: &[&str], added: &[&str], out: &mut Vec<String>) {
    // When one line replaces another, only the part that differs matters.
    let (mut was, mut is) = (None, None);
    if let ([old], [new]) = (removed, added) {
        let start = old.chars().zip(new.chars()).take_while(|(one, other)| one == other);
        let start: usize = start.map(|(letter, _)| letter.len_utf8()).sum();
        let room = old.len().min(new.len()) - start;
        let mut end = 0;
        for (one, other) in old.chars().rev().zip(new.chars().rev()) {
            if one != other || end + one.len_utf8() > room {
                break;
            }
            end += one.len_utf8();
        }
        (was, is) = (Some(start..old.len() - end), Some(start..new.len() - end));
    }
    out.extend(removed.iter().map(|line| format!("-{}", cut(line, was.clone().unwrap_or(0..line.len())))));
    out.extend(added.iter().map(|line| format!("+{}", cut(line, is.clone().unwrap_or(0..line.len())))));
}

/// A line without its line ending. A long one is cut to `differs` and some characters around it.
fn cut(line: &str, differs: Range<usize>) -> String {
    let text = line.trim_end_matches(['\n', '\r']);
    let note = if line.ends_with('\n') { "" } else { " [no newline]" };
    if text.chars().count() <= LONG {
        return format!("{text}{note}");
    }
    let before: Vec<char> =
        text.get(..differs.start).unwrap_or_default().chars().rev().take(LONG / 4).collect();
    let middle = text.get(differs.start..differs.end.min(text.len())).unwrap_or_default();
    let after = text.get(differs.end.min(text.len())..).unwrap_or_default();
    let lead = if differs.start > LONG / 4 { "…" } else { "" };
    let tail = if after.chars().count() > LONG / 4 { "…" } else { "" };
    let before: String = before.into_iter().rev().collect();
    let after: String = after.chars().take(LONG / 4).collect();
    let middle = if differs.len() >= text.len() {
        format!("{}…", middle.chars().take(LONG).collect::<String>())
    } else {
        middle.to_owned()
    };
    format!("{lead}{before}{middle}{after}{tail}{note}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str) -> String {
        lines(before, after).join("\n")
    }

    #[test]
    fn a_diff_has_context_around_every_change() {
        assert_eq!(shown("a\n", "a\n"), "");
        assert_eq!(shown("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b");
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n";
        let after = before.replace("2\n3\n", "2\nx\n3\n").replace("13\n", "y\n");
        let expected =
            "@@ -1,5 +1,6 @@\n 1\n 2\n+x\n 3\n 4\n 5\n@@ -10,5 +11,5 @@\n 10\n 11\n 12\n-13\n+y\n 14";
        assert_eq!(shown(before, &after), expected);
    }

    #[test]
    fn a_long_line_is_cut_to_what_differs() {
        let before = format!("{}{}", "ä".repeat(500), "z".repeat(500));
        let after = format!("{}new{}", "ä".repeat(500), "z".repeat(500));
        let (lead, tail) = (format!("…{}", "ä".repeat(40)), format!("{}… [no newline]", "z".repeat(40)));
        assert_eq!(shown(&before, &after), format!("@@ -1,1 +1,1 @@\n-{lead}{tail}\n+{lead}new{tail}"));
    }
}
