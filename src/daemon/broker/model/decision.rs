//! Parses a model's decision on a call: exactly one JSON object, or nothing.
//!
//! It never searches other text for one: an agent's quoted input could be mistaken for the decision.

use crate::permit::plain::plain_line;
use serde::Deserialize;

/// How much of a model's reason is kept, in characters.
const REASON: usize = 500;

/// What a model decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// The call may run.
    Allow,
    /// The call may not run.
    Deny,
    /// It is not sure.
    Unsure,
}

/// Why an answer is not a decision.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum JudgementError {
    /// It is not one JSON object with a decision and a reason.
    #[error("not exactly one JSON object with \"decision\" and \"reason\"")]
    Shape,
    /// The decision is unknown.
    #[error("its decision is not \"allow\", \"deny\" or \"unsure\"")]
    Unknown,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    decision: String,
    reason: String,
}

/// Reads an answer. Its reason becomes one printable line without `key`.
pub(super) fn read(text: &str, key: &str) -> Result<(Word, String), JudgementError> {
    let text = text.trim_ascii();
    // serde would accept an array too.
    if !text.starts_with('{') {
        return Err(JudgementError::Shape);
    }
    let said: Said = serde_json::from_str(text).map_err(|_| JudgementError::Shape)?;
    let word = match said.decision.as_str() {
        "allow" => Word::Allow,
        "deny" => Word::Deny,
        "unsure" => Word::Unsure,
        _ => return Err(JudgementError::Unknown),
    };
    let mut reason = plain_line(&said.reason);
    if !key.is_empty() {
        reason = reason.replace(key, "[key]");
    }
    if let Some((end, _)) = reason.char_indices().nth(REASON) {
        reason.truncate(end);
        reason.push('…');
    }
    if reason.is_empty() {
        reason.push_str("no reason given");
    }
    Ok((word, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_with_a_known_decision_is_an_answer_and_nothing_else_is() {
        let read = |text: &str| read(text, "sk-1");
        let allow = r#"{"decision":"allow","reason":"harmless"}"#;
        assert_eq!(read(allow), Ok((Word::Allow, "harmless".to_owned())));
        assert_eq!(read(&format!(" \n{allow}\r\n\t")), Ok((Word::Allow, "harmless".to_owned())));
        assert_eq!(read(r#"{"reason":"r","decision":"deny"}"#), Ok((Word::Deny, "r".to_owned())));
        assert_eq!(
            read(r#"{"reason":" ","decision":"unsure"}"#),
            Ok((Word::Unsure, "no reason given".to_owned()))
        );
        for (text, error) in [
            (String::new(), JudgementError::Shape),
            ("allow".to_owned(), JudgementError::Shape),
            (r#""allow""#.to_owned(), JudgementError::Shape),
            (r#"["allow","harmless"]"#.to_owned(), JudgementError::Shape),
            (format!("```json\n{allow}\n```"), JudgementError::Shape),
            (format!("Sure: {allow}"), JudgementError::Shape),
            (format!("{allow}\nso it is allowed"), JudgementError::Shape),
            (format!("{allow}{allow}"), JudgementError::Shape),
            (format!("[{allow}]"), JudgementError::Shape),
            (format!("\u{feff}{allow}"), JudgementError::Shape),
            (format!("\u{a0}{allow}"), JudgementError::Shape),
            (allow[..allow.len() - 1].to_owned(), JudgementError::Shape),
            (r#"{"decision":"allow"}"#.to_owned(), JudgementError::Shape),
            (r#"{"reason":"harmless"}"#.to_owned(), JudgementError::Shape),
            (r#"{"decision":"allow","reason":null}"#.to_owned(), JudgementError::Shape),
            (r#"{"decision":"allow","reason":"r","also":1}"#.to_owned(), JudgementError::Shape),
            (r#"{"decision":"deny","reason":"r","decision":"allow"}"#.to_owned(), JudgementError::Shape),
            (r#"{"decision":{"allow":null},"reason":"r"}"#.to_owned(), JudgementError::Shape),
            (r#"{"decision":true,"reason":"r"}"#.to_owned(), JudgementError::Shape),
            (r#"{"decision":"Allow","reason":"r"}"#.to_owned(), JudgementError::Unknown),
            (r#"{"decision":"allow ","reason":"r"}"#.to_owned(), JudgementError::Unknown),
        ] {
            assert_eq!(read(&text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_reason_is_one_short_line_without_the_key() {
        let said = r#"{"decision":"deny","reason":"\u001b[2Jno\n\u0007 sk-1 \u202e"}"#;
        assert_eq!(read(said, "sk-1"), Ok((Word::Deny, "no [key]".to_owned())));
        let long = format!(r#"{{"decision":"deny","reason":"{}"}}"#, "ä".repeat(9_000));
        assert_eq!(read(&long, "").unwrap().1, format!("{}…", "ä".repeat(REASON)));
    }
}
