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

/// The keys that keep beats from running, costing or being believed. Without one of them, a heartbeat does more than it
/// may.
const LIMITS: [&str; 22] = [
    "activeHours",
    "breaker",
    "budget",
    "catchUp",
    "enabled",
    "except",
    "gates",
    "idleTimeout",
    "maxBudgetUsd",
    "maxTurns",
    "mcp",
    "minFree",
    "onLimit",
    "overlap",
    "requires",
    "reserve",
    "startDeadline",
    "startTimeout",
    "timeout",
    "toolTimeout",
    "verify",
    "when",
];

/// Whether an unknown key was probably meant to limit beats, since the nearest of the `known` keys does. Such a key is
/// an error, too.
pub(super) fn is_about_limits(found: &str, known: &[&str]) -> bool {
    let is_near = |meant: &str| distance(found, meant) <= 1 + meant.len() / 8;
    nearest(found, known).is_some_and(|meant| LIMITS.contains(&meant) && is_near(meant))
}

#[cfg(test)]
mod tests {
    use super::super::file::KEYS;
    use super::*;

    #[test]
    fn misspelled_limits_are_recognized() {
        for found in [
            "budgets",
            "Budget",
            "maxBudgetUSD",
            "max_budget_usd",
            "maxBudget_Usd",
            "wehn",
            "When",
            "verfy",
            "verifyy",
            "gate",
            "enable",
            "Enabled",
            "reserv",
            "reserves",
            "activehours",
            "active_hours",
            "onlimit",
            "minfree",
            "require",
            "excepts",
            "idletimeout",
            "toolTimeOut",
            "tooltimeouts",
            "startdeadline",
            "startDeadlin",
            "catchup",
            "catch_up",
            "overlaps",
            "breakr",
            "timout",
            "Timeout",
            "max_turns",
            "maxTurn",
        ] {
            assert!(is_about_limits(found, &KEYS), "{found}");
        }
        for found in
            ["comment", "intervall", "notes", "owner", "description", "x", "crn", "jiter", "retries", "tags"]
        {
            assert!(!is_about_limits(found, &KEYS), "{found}");
        }
        assert!(LIMITS.iter().all(|key| KEYS.contains(key)));
    }

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
