//! What would change in a text, as `diff -u` shows it.

use std::ops::Range;

/// Lines around a change that show where it is.
const AROUND: usize = 3;

/// A longer line is shown by what differs in it, with as many characters as this around.
const LONG: usize = 160;

/// Beyond so many pairs of lines the whole middle counts as changed.
const PAIRS: usize = 4_000_000;

/// The lines of a diff from `before` to `after`, without its two headers; none where they are equal.
#[must_use]
pub fn lines(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (split(before), split(after));
    let changes = changes(&old, &new);
    let mut out = Vec::new();
    let mut rest = changes.as_slice();
    while let Some((first_old, first_new)) = rest.first().cloned() {
        let mut count = 1;
        let mut end = (first_old.end, first_new.end);
        while let Some((next_old, next_new)) =
            rest.get(count).filter(|next| next.0.start <= end.0 + 2 * AROUND)
        {
            end = (next_old.end, next_new.end);
            count += 1;
        }
        let (hunk, later) = rest.split_at(count);
        let lead = AROUND.min(first_old.start);
        let tail = AROUND.min(old.len() - end.0);
        let (from, to) = (first_old.start - lead..end.0 + tail, first_new.start - lead..end.1 + tail);
        out.push(format!("@@ -{} +{} @@", extent(&from), extent(&to)));
        let mut shown = from.start;
        for (gone, come) in hunk {
            out.extend(old[shown..gone.start].iter().map(|line| format!(" {}", cut(line, 0..line.len()))));
            changed(&old[gone.clone()], &new[come.clone()], &mut out);
            shown = gone.end;
        }
        out.extend(old[shown..from.end].iter().map(|line| format!(" {}", cut(line, 0..line.len()))));
        rest = later;
    }
    out
}

fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn extent(lines: &Range<usize>) -> String {
    if lines.is_empty() {
        format!("{},0", lines.start)
    } else {
        format!("{},{}", lines.start + 1, lines.len())
    }
}

/// The runs of lines that differ, by their places in both.
fn changes(old: &[&str], new: &[&str]) -> Vec<(Range<usize>, Range<usize>)> {
    let start = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let room = old.len().min(new.len()) - start;
    let end =
        old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(one, other)| one == other).count();
    let (rows, columns) = (old.len() - end - start, new.len() - end - start);
    if rows + columns == 0 {
        return Vec::new();
    }
    if rows.saturating_mul(columns) > PAIRS {
        return vec![(start..start + rows, start..start + columns)];
    }
    // How many lines two ends of the middle have in common.
    let width = columns + 1;
    let mut common = vec![0_u32; (rows + 1) * width];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            common[row * width + column] = if old[start + row] == new[start + column] {
                common[(row + 1) * width + column + 1] + 1
            } else {
                common[(row + 1) * width + column].max(common[row * width + column + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut found: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    while row < rows || column < columns {
        if row < rows && column < columns && old[start + row] == new[start + column] {
            (row, column) = (row + 1, column + 1);
            continue;
        }
        let (from, to) = (start + row, start + column);
        let down = row < rows
            && (column == columns || common[(row + 1) * width + column] >= common[row * width + column + 1]);
        if down {
            row += 1
        } else {
            column += 1
        }
        match found.last_mut() {
            Some((gone, come)) if gone.end == from && come.end == to => {
                (gone.end, come.end) = (start + row, start + column);
            }
            _ => found.push((from..start + row, to..start + column)),
        }
    }
    found
}

/// Lines that go and lines that come.
fn changed(gone: &[&str], come: &[&str], out: &mut Vec<String>) {
    // One long line for another is shown by where they differ.
    let (mut was, mut is) = (None, None);
    if let ([old], [new]) = (gone, come) {
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
    out.extend(gone.iter().map(|line| format!("-{}", cut(line, was.clone().unwrap_or(0..line.len())))));
    out.extend(come.iter().map(|line| format!("+{}", cut(line, is.clone().unwrap_or(0..line.len())))));
}

/// A line without its end; of a long one what is in `differs`, with a little around it.
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
    fn a_diff_has_a_little_around_every_change() {
        assert_eq!(shown("a\n", "a\n"), "");
        assert_eq!(shown("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b");
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n";
        let after = before.replace("2\n3\n", "2\nx\n3\n").replace("13\n", "y\n");
        let expected =
            "@@ -1,5 +1,6 @@\n 1\n 2\n+x\n 3\n 4\n 5\n@@ -10,5 +11,5 @@\n 10\n 11\n 12\n-13\n+y\n 14";
        assert_eq!(shown(before, &after), expected);
    }

    #[test]
    fn a_long_line_is_shown_by_what_differs() {
        let before = format!("{}{}", "ä".repeat(500), "z".repeat(500));
        let after = format!("{}new{}", "ä".repeat(500), "z".repeat(500));
        let (lead, tail) = (format!("…{}", "ä".repeat(40)), format!("{}… [no newline]", "z".repeat(40)));
        assert_eq!(shown(&before, &after), format!("@@ -1,1 +1,1 @@\n-{lead}{tail}\n+{lead}new{tail}"));
    }
}
