//! Which known key an unknown one was meant to be.

/// The known key nearest to `found`, where it is near enough to be what was meant.
pub(crate) fn nearest<'a>(found: &str, known: &[&'a str]) -> Option<&'a str> {
    let (distance, key) = known.iter().map(|key| (distance(found, key), *key)).min()?;
    (distance <= 1 + key.len() / 4).then_some(key)
}

/// Whether an unknown key was probably meant to forbid something. Such a key is never skipped with a warning.
pub(super) fn is_about_permission(found: &str) -> bool {
    let found = found.to_lowercase();
    ["permission", "deny", "denied", "disallow", "forbid", "approv"]
        .iter()
        .any(|start| found.starts_with(start))
        || distance(&found, "permissions") <= 3
        || distance(&found, "deny") <= 1
        || distance(&found, "approval") <= 2
        || distance(&found, "questions") <= 2
}

/// How many letters must be changed, put in or left out to turn one into the other; letter case costs nothing.
pub(crate) fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    // A key of a thousand letters is nobody's slip.
    for (line, letter) in left.to_lowercase().chars().take(100).enumerate() {
        let mut diagonal = line;
        let mut before = line + 1;
        for (cell, other) in row.iter_mut().skip(1).zip(&right) {
            let here = (diagonal + usize::from(letter != *other)).min(before + 1).min(*cell + 1);
            diagonal = std::mem::replace(cell, here);
            before = here;
        }
        if let Some(first) = row.first_mut() {
            *first = line + 1;
        }
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

    #[test]
    fn what_was_meant_to_forbid_is_recognised() {
        for found in [
            "permission",
            "Permissions",
            "premissions",
            "persmissions",
            "denny",
            "Deny",
            "denyList",
            "disallowedTools",
            "aproval",
            "approval_wait",
            "question",
        ] {
            assert!(is_about_permission(found), "{found}");
        }
        for found in ["comment", "end", "person", "notes", "day", "mission"] {
            assert!(!is_about_permission(found), "{found}");
        }
    }
}
