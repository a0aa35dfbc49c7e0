//! The keys of a hook's messages. Until the daemon and the hosts are restarted after an update, they only know earlier
//! keys.

use murmur_core::permit::request::Request;
use serde_json::{Value, json};

/// The keys that the receiver knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// Those of this version.
    Current,
    /// Those of earlier versions, in `snake_case`.
    Earlier,
}

/// Each key, and its earlier one.
const RENAMED: [(&str, &str); 2] = [("toolUseId", "tool_use_id"), ("askedAt", "asked_at")];

impl Keys {
    /// The payload that asks `request`.
    pub(super) fn ask(self, request: &Request) -> Value {
        let mut payload = serde_json::to_value(request).unwrap_or_default();
        if let (Self::Earlier, Some(fields)) = (self, payload.as_object_mut()) {
            for (key, earlier) in RENAMED {
                if let Some(value) = fields.remove(key) {
                    fields.insert(earlier.to_owned(), value);
                }
            }
        }
        payload
    }

    /// The payload that reports that the time is up.
    pub(super) fn late(self, may_defer: bool, waits: bool) -> Value {
        let mut payload = match self {
            Self::Current => json!({ "mayDefer": may_defer }),
            Self::Earlier => json!({ "may_defer": may_defer }),
        };
        if waits {
            payload["waits"] = true.into();
        }
        payload
    }

    /// Whether the receiver's `error` is about a key that it knows only by its earlier name.
    pub(super) fn are_too_new(self, error: &str) -> bool {
        self == Self::Current && error.contains("missing field `tool_use_id`")
    }
}
