//! Finds the known key that an unknown one was probably meant to be.

pub(super) use sys::spelling::{distance, nearest};

/// Whether an unknown key was probably meant to forbid something. Such a key is an error, never just a warning.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_permission_keys_are_recognized() {
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
