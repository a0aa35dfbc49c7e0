//! Which known word a misspelled one was probably meant to be.

/// The known key nearest to `found`, where it is near enough to be what was meant.
#[must_use]
pub fn nearest<'a>(found: &str, known: &[&'a str]) -> Option<&'a str> {
    let (distance, key) = known.iter().map(|key| (distance(found, key), *key)).min()?;
    (distance <= 1 + key.len() / 4).then_some(key)
}

/// How many letters must be changed, put in, left out or swapped with the next to turn one into the other; letter case
/// costs nothing.
#[must_use]
pub fn distance(left: &str, right: &str) -> usize {
    // Nobody mistypes a key of a thousand letters.
    let left: Vec<char> = left.to_lowercase().chars().take(100).collect();
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, letter) in left.iter().enumerate() {
        let mut next = vec![line + 1];
        for (cell, other) in right.iter().enumerate() {
            let changed = row[cell] + usize::from(letter != other);
            let mut least = changed.min(row[cell + 1] + 1).min(next[cell] + 1);
            if line > 0 && cell > 0 && *letter == right[cell - 1] && left[line - 1] == *other {
                least = least.min(before[cell - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_key_that_was_meant() {
        let known = ["path", "interval", "maxTurns", "timeout"];
        for (found, meant) in [
            ("maxturns", Some("maxTurns")),
            ("max_turns", Some("maxTurns")),
            ("intervall", Some("interval")),
            ("Path", Some("path")),
            ("timout", Some("timeout")),
            ("comment", None),
            ("", None),
        ] {
            assert_eq!(nearest(found, &known), meant, "{found}");
        }
    }
}
