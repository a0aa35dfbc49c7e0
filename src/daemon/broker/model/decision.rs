//! Parses a model's decision on a call: exactly one JSON object, or nothing.
//!
//! It never searches other text for one: an agent's quoted input could be mistaken for the decision.

use serde::Deserialize;
use sys::plain::plain_line;

/// How much of a model's reason is kept, in characters.
const REASON: usize = 500;

/// What a model decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// The call may run.
    Allow,
    /// The call may not run.
    Deny,
    /// It is not sure.
    Unsure,
}

/// Why an answer is not a decision.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DecisionError {
    /// It is not one JSON object with a decision and a reason.
    #[error("not exactly one JSON object with \"decision\" and \"reason\"")]
    Shape,
    /// The decision is unknown.
    #[error("its decision is not \"allow\", \"deny\" or \"unsure\"")]
    Unknown,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Response {
    decision: String,
    reason: String,
}

/// Reads an answer. Its reason becomes one printable line without `key`.
pub(super) fn read(text: &str, key: &str) -> Result<(Decision, String), DecisionError> {
    let text = text.trim_ascii();
    // serde would accept an array too.
    if !text.starts_with('{') {
        return Err(DecisionError::Shape);
    }
    let response: Response = serde_json::from_str(text).map_err(|_| DecisionError::Shape)?;
    let decision = match response.decision.as_str() {
        "allow" => Decision::Allow,
        "deny" => Decision::Deny,
        "unsure" => Decision::Unsure,
        _ => return Err(DecisionError::Unknown),
    };
    let mut reason = plain_line(&response.reason);
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
    Ok((decision, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_with_a_known_decision_is_an_answer_and_nothing_else_is() {
        let read = |text: &str| read(text, "sk-1");
        let allow = r#"{"decision":"allow","reason":"harmless"}"#;
        assert_eq!(read(allow), Ok((Decision::Allow, "harmless".to_owned())));
        assert_eq!(read(&format!(" \n{allow}\r\n\t")), Ok((Decision::Allow, "harmless".to_owned())));
        assert_eq!(read(r#"{"reason":"r","decision":"deny"}"#), Ok((Decision::Deny, "r".to_owned())));
        assert_eq!(
            read(r#"{"reason":" ","decision":"unsure"}"#),
            Ok((Decision::Unsure, "no reason given".to_owned()))
        );
        for (text, error) in [
            (String::new(), DecisionError::Shape),
            ("allow".to_owned(), DecisionError::Shape),
            (r#""allow""#.to_owned(), DecisionError::Shape),
            (r#"["allow","harmless"]"#.to_owned(), DecisionError::Shape),
            (format!("```json\n{allow}\n```"), DecisionError::Shape),
            (format!("Sure: {allow}"), DecisionError::Shape),
            (format!("{allow}\nso it is allowed"), DecisionError::Shape),
            (format!("{allow}{allow}"), DecisionError::Shape),
            (format!("[{allow}]"), DecisionError::Shape),
            (format!("\u{feff}{allow}"), DecisionError::Shape),
            (format!("\u{a0}{allow}"), DecisionError::Shape),
            (allow[..allow.len() - 1].to_owned(), DecisionError::Shape),
            (r#"{"decision":"allow"}"#.to_owned(), DecisionError::Shape),
            (r#"{"reason":"harmless"}"#.to_owned(), DecisionError::Shape),
            (r#"{"decision":"allow","reason":null}"#.to_owned(), DecisionError::Shape),
            (r#"{"decision":"allow","reason":"r","also":1}"#.to_owned(), DecisionError::Shape),
            (r#"{"decision":"deny","reason":"r","decision":"allow"}"#.to_owned(), DecisionError::Shape),
            (r#"{"decision":{"allow":null},"reason":"r"}"#.to_owned(), DecisionError::Shape),
            (r#"{"decision":true,"reason":"r"}"#.to_owned(), DecisionError::Shape),
            (r#"{"decision":"Allow","reason":"r"}"#.to_owned(), DecisionError::Unknown),
            (r#"{"decision":"allow ","reason":"r"}"#.to_owned(), DecisionError::Unknown),
        ] {
            assert_eq!(read(&text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_reason_is_one_short_line_without_the_key() {
        let answer = r#"{"decision":"deny","reason":"\u001b[2Jno\n\u0007 sk-1 \u202e"}"#;
        assert_eq!(read(answer, "sk-1"), Ok((Decision::Deny, "no [key]".to_owned())));
        let long = format!(r#"{{"decision":"deny","reason":"{}"}}"#, "ä".repeat(9_000));
        assert_eq!(read(&long, "").unwrap().1, format!("{}…", "ä".repeat(REASON)));
    }
}
