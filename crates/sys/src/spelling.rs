//! Finds the known word nearest to a misspelled one.

/// Returns the known key nearest to `found`, if it is near enough to be a typo.
#[must_use]
pub fn nearest<'a>(found: &str, known: &[&'a str]) -> Option<&'a str> {
    let (distance, key) = known.iter().map(|key| (distance(found, key), *key)).min()?;
    (distance <= 1 + key.len() / 4).then_some(key)
}

/// Returns the edit distance: how many letters to change, insert, delete or swap with the next one. Ignores case.
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
    fn a_misspelled_key_gets_a_suggestion() {
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
