//! Applies the deny list that Claude Code gets (`--disallowedTools`): it overrides the guard and the rules.

use murmur_core::config::permissions::Permissions;
use murmur_core::permit::deny_list;
use murmur_core::permit::pipeline::NextStep;
use murmur_hook::evaluate;
use shell_guard::call::Call;

/// The decision on `call` with these permissions, given the decision `step` of the guard and the rules.
pub(super) fn over(step: NextStep, call: &Call, permissions: &Permissions) -> NextStep {
    let Permissions::Deny(own) = permissions else { return step };
    evaluate::over(step, call, deny_list::build(own.iter().map(|pattern| &**pattern)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_core::permit::decision::{DecidedBy, Decision, DecisionKind};
    use serde_json::{Value, json};
    use shell_guard::call::{CallPlace, ProtectedPaths};

    fn call(tool: &str, input: Value) -> Call {
        let place = CallPlace {
            cwd: "/w".into(),
            workspace: "/w".into(),
            home: "/home/u".into(),
            own: ProtectedPaths::default(),
        };
        Call { tool: tool.to_owned(), input, place }
    }

    fn denies(pattern: &str, call: &Call) -> bool {
        matches!(evaluate::over(NextStep::Question, call, [pattern]), NextStep::Decided(_))
    }

    #[test]
    fn a_claude_code_pattern_denies_matching_calls() {
        let curl = call("Bash", json!({ "command": "curl -s example.com" }));
        for (pattern, is_denied) in [
            ("Bash", true),
            ("Bash(curl:*)", true),
            ("Bash(curl *)", true),
            ("Bash(curl)", false),
            ("Bash(wget:*)", false),
            ("Edit", false),
            ("Bash(:*)", true),
            ("Edit(:*)", false),
        ] {
            assert_eq!(denies(pattern, &curl), is_denied, "{pattern}");
        }
        let edit = call("Edit", json!({ "file_path": "/w/a b.rs" }));
        assert!(denies("Edit", &edit) && denies("Edit(/a b.rs)", &edit) && !denies("Edit(/c.rs)", &edit));
        assert!(denies("mcp__db", &call("mcp__db__drop", json!({}))));
    }

    #[test]
    fn a_denied_call_keeps_its_decision_and_skip_denies_nothing() {
        let allowed = NextStep::Decided(Decision {
            kind: DecisionKind::Allow,
            reason: String::new(),
            by: DecidedBy::Default("permissions-checker".to_owned()),
        });
        let sudo = call("Bash", json!({ "command": "sudo ls" }));
        assert_eq!(over(allowed.clone(), &sudo, &Permissions::Skip), allowed);
        let denied = over(allowed, &sudo, &Permissions::default());
        let NextStep::Decided(decision) = &denied else { panic!("{denied:?}") };
        assert_eq!(decision.reason, "\"Bash(sudo *)\" in the deny list forbids it; continue without it");
        assert_eq!(over(denied.clone(), &sudo, &Permissions::Deny([Box::from("Bash")].into())), denied);
    }
}
