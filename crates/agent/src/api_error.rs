//! The body of an API's error response, which some agents pass on whole. Pure.

use serde_json::Value;

/// The message in `text`, if it is such a body: `{"error":{"message":"…"}}`, or one of the other usual forms.
pub(crate) fn message(text: &str) -> Option<String> {
    let body: Value = serde_json::from_str(text).ok()?;
    let places = ["/error/message", "/message", "/detail", "/error"];
    places
        .iter()
        .find_map(|place| body.pointer(place)?.as_str().filter(|told| !told.is_empty()))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::message;

    #[test]
    fn the_message_of_a_body_is_found() {
        for (text, expected) in [
            (r#"{"error":{"message":"no such model","type":"t"}}"#, Some("no such model")),
            (r#"{"message":"no"}"#, Some("no")),
            (r#"{"detail":"Unsupported parameter"}"#, Some("Unsupported parameter")),
            (r#"{"error":"no"}"#, Some("no")),
            (r#"{"error":{"message":""}}"#, None),
            (r#"{"error":{"message":1}}"#, None),
            ("[]", None),
            ("\"text\"", None),
            ("429 Too Many Requests", None),
            ("", None),
        ] {
            assert_eq!(message(text).as_deref(), expected, "{text}");
        }
    }
}
