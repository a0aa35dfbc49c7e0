//! `(Did you mean --name?)` suggestions, with the algorithm of commander.js, which Claude Code uses.

use crate::options;

const MAX_DISTANCE: usize = 3;

/// Returns the text after `unknown option`, starting with a newline, or an empty string.
pub(crate) fn similar(word: &str) -> String {
    let Some(word) = word.strip_prefix("--") else { return String::new() };
    let candidates = options::ALL.iter().filter(|option| option.listed);
    let mut best = MAX_DISTANCE;
    let mut found: Vec<&str> = Vec::new();
    for candidate in candidates.filter_map(|option| option.names.last()?.strip_prefix("--")) {
        let (length, far) = (word.len().max(candidate.len()), distance(word, candidate));
        // At least two fifths must match.
        if candidate.len() < 2 || (length - far.min(length)) * 5 <= length * 2 || far > best {
            continue;
        }
        if far < best {
            found.clear();
        }
        best = far;
        found.push(candidate);
    }
    found.sort_unstable();
    let words: Vec<String> = found.iter().map(|name| format!("--{name}")).collect();
    match words.len() {
        0 => String::new(),
        1 => format!("\n(Did you mean {}?)", words[0]),
        _ => format!("\n(Did you mean one of {}?)", words.join(", ")),
    }
}

/// The Damerau-Levenshtein distance.
fn distance(one: &str, two: &str) -> usize {
    let (one, two) = (one.as_bytes(), two.as_bytes());
    if one.len().abs_diff(two.len()) > MAX_DISTANCE {
        return one.len().max(two.len());
    }
    let mut table = vec![vec![0; two.len() + 1]; one.len() + 1];
    for i in 0..=one.len() {
        for j in 0..=two.len() {
            if i == 0 || j == 0 {
                table[i][j] = i + j;
                continue;
            }
            let cost = usize::from(one[i - 1] != two[j - 1]);
            let mut least = (table[i - 1][j] + 1).min(table[i][j - 1] + 1).min(table[i - 1][j - 1] + cost);
            if i > 1 && j > 1 && one[i - 1] == two[j - 2] && one[i - 2] == two[j - 1] {
                least = least.min(table[i - 2][j - 2] + 1);
            }
            table[i][j] = least;
        }
    }
    table[one.len()][two.len()]
}
