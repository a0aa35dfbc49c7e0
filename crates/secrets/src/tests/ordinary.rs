//! Ordinary lines from repositories and sessions that resemble secrets.

use super::super::mask;
use super::super::samples::ordinary;

#[test]
fn ordinary_lines_are_unchanged() {
    let lines = ordinary();
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
