//! Whether Claude Code refuses to run as root: without permission prompts it only runs in a declared sandbox (tested
//! with 2.1.329).

use super::super::credentials;
use super::super::{Check, Environment, Finding, Hint};
use serde_json::Value;
use std::collections::BTreeMap;

/// The variables that declare a sandbox.
pub const VARIABLES: [&str; 2] = ["IS_SANDBOX", "CLAUDE_CODE_BUBBLEWRAP"];

/// Returns `finding`, unless Claude Code refuses. Claude Code's settings take precedence over this environment; the
/// daemon's is not checked.
pub(super) fn over(environment: &Environment, finding: Finding) -> Finding {
    let mut variables = environment.sandbox.clone();
    let settings = credentials::object(&environment.claude.join("settings.json")).unwrap_or_default();
    for name in VARIABLES {
        if let Some(value) = settings.get("env").and_then(|set| set.get(name)).and_then(Value::as_str) {
            variables.insert(name, value.to_owned());
        }
    }
    if finding.hint == Some(Hint::INSTALL_CLAUDE) || !is_refused(environment.uid, &variables) {
        return finding;
    }
    let why = "it does not run beats or agents as root unless the environment declares a sandbox";
    Check::CLAUDE.fail(format!("{}; {why}", finding.found), Hint::NOT_AS_ROOT)
}

fn is_refused(uid: u32, variables: &BTreeMap<&'static str, String>) -> bool {
    let of = |name: &str| variables.get(name).map_or("", String::as_str);
    let is_in_bubblewrap = ["1", "true", "yes", "on"];
    let [sandbox, bubblewrap] = VARIABLES.map(of);
    uid == 0 && sandbox != "1" && !is_in_bubblewrap.contains(&bubblewrap.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_refused_unless_a_variable_has_exactly_the_right_value() {
        let refused = |uid, name: &'static str, value: &str| {
            is_refused(uid, &BTreeMap::from([(name, value.to_owned())]))
        };
        assert!(is_refused(0, &BTreeMap::new()));
        assert!(!is_refused(1000, &BTreeMap::new()));
        for wrong in ["0", "true", "yes", "1 ", ""] {
            assert!(refused(0, "IS_SANDBOX", wrong), "{wrong:?}");
            assert!(!refused(1000, "IS_SANDBOX", wrong), "{wrong:?}");
        }
        assert!(!refused(0, "IS_SANDBOX", "1"));
        for right in ["1", "true", "TRUE", "yes", "on"] {
            assert!(!refused(0, "CLAUDE_CODE_BUBBLEWRAP", right), "{right:?}");
        }
        for wrong in ["0", "2", "x", ""] {
            assert!(refused(0, "CLAUDE_CODE_BUBBLEWRAP", wrong), "{wrong:?}");
        }
    }
}
