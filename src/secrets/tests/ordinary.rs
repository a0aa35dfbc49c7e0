//! Lines as they stand in every repository and session, with much in them that could be taken for a secret.

use super::super::mask;

/// All of them.
pub(crate) fn lines() -> Vec<&'static str> {
    include_str!("../../../fixtures/secrets/ordinary.txt")
        .lines()
        .filter(|line| !line.starts_with("## "))
        .collect()
}

#[test]
fn no_ordinary_line_is_altered() {
    let lines = lines();
    assert!(lines.len() >= 500, "{}", lines.len());
    let altered: Vec<String> = lines
        .iter()
        .filter(|line| mask(line) != **line)
        .map(|line| format!("{line}\n    → {}", mask(line)))
        .collect();
    assert!(altered.is_empty(), "{} of {} altered:\n{}", altered.len(), lines.len(), altered.join("\n"));
    for line in &lines {
        let json = serde_json::json!({ "text": line }).to_string();
        assert_eq!(mask(&json), json);
    }
    let all = lines.join("\n");
    assert_eq!(mask(&all), all);
}
