//! What a model says of a call: exactly one JSON object, or nothing.
//!
//! No attempt is made to find one in other text: whoever writes around what it was told to write may mean anything, and
//! an agent's input that is quoted there could be taken for the answer.

use crate::permit::plain::plain_line;
use serde::Deserialize;

/// How much of a model's reason is kept, in characters.
const REASON: usize = 500;

/// What a model decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// The call may run.
    Allow,
    /// It may not.
    Deny,
    /// It cannot say.
    Unsure,
}

/// Why an answer is none.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum JudgementError {
    /// It is something else than one JSON object with a decision and a reason.
    #[error("not exactly one JSON object with \"decision\" and \"reason\"")]
    Shape,
    /// It decides on something of its own.
    #[error("its decision is neither \"allow\" nor \"deny\" nor \"unsure\"")]
    Unknown,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    decision: String,
    reason: String,
}

/// Reads an answer. Its reason is made fit for one line of text, and for a log: `key` is not in it.
pub(super) fn read(text: &str, key: &str) -> Result<(Word, String), JudgementError> {
    let text = text.trim_ascii();
    // serde would take an array for it too.
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
        reason.push_str("it says no reason");
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
            Ok((Word::Unsure, "it says no reason".to_owned()))
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
