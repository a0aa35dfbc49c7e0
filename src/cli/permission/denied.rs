//! Applies the deny list that Claude Code gets (`--disallowedTools`): it overrides the guard and the rules.
//!
//! Claude Code matches the literal text of a call. Here its patterns are interpreted like those of rules, which deny
//! at least as much.

use crate::hook::evaluate;
use murmur_core::config::permissions::Permissions;
use murmur_core::permit::decision::{By, Decision, Verdict};
use murmur_core::permit::deny;
use murmur_core::permit::pipeline::Step;
use murmur_core::permit::rules::Rules;
use serde_json::Value;
use shell_guard::call::Call;
use std::path::Path;

/// The key of the deny list in config.json and frontmatter.
pub(super) const SETTING: &str = "permissions";

/// The decision on `call` with these permissions, given the decision `step` of the guard and the rules.
pub(super) fn over(step: Step, call: &Call, permissions: &Permissions) -> Step {
    let Permissions::Deny(own) = permissions else { return step };
    if matches!(&step, Step::Decided(Decision { verdict: Verdict::Deny, .. })) {
        return step;
    }
    let patterns = deny::union(own.iter().map(|pattern| &**pattern));
    let Some(pattern) = patterns.into_iter().find(|pattern| denies(pattern, call)) else { return step };
    Step::Decided(Decision {
        verdict: Verdict::Deny,
        reason: format!("{pattern:?} in the deny list forbids it; continue without it"),
        by: By::Default(SETTING.to_owned()),
    })
}

/// Whether `pattern`, such as `Bash(curl:*)` or `Edit`, matches `call`.
fn denies(pattern: &str, call: &Call) -> bool {
    let pattern = pattern.trim();
    let inside = pattern.strip_suffix(')').and_then(|pattern| pattern.split_once('('));
    let (tool, inside) = inside.map_or((pattern, None), |(tool, inside)| (tool, Some(inside)));
    // A JSON string without control characters is also a TOML string.
    let inside = inside.map(|inside| format!("pattern = {}\n", Value::from(inside))).unwrap_or_default();
    let rule = format!("[[rules]]\ntool = {}\naction = \"deny\"\n{inside}", Value::from(tool));
    match Rules::parse(rule.as_bytes(), Path::new(SETTING)) {
        Ok(rules) => evaluate::matched(call, &[&rules], false).is_some(),
        // An unparsable pattern may match every call of the tool.
        Err(_) => tool == call.tool,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use shell_guard::call::{Own, Place};

    fn call(tool: &str, input: Value) -> Call {
        let place =
            Place { cwd: "/w".into(), workspace: "/w".into(), home: "/home/u".into(), own: Own::default() };
        Call { tool: tool.to_owned(), input, place }
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
        let allowed = Step::Decided(Decision {
            verdict: Verdict::Allow,
            reason: String::new(),
            by: By::Default("permissions-checker".to_owned()),
        });
        let sudo = call("Bash", json!({ "command": "sudo ls" }));
        assert_eq!(over(allowed.clone(), &sudo, &Permissions::Skip), allowed);
        let denied = over(allowed, &sudo, &Permissions::default());
        let Step::Decided(decision) = &denied else { panic!("{denied:?}") };
        assert_eq!(decision.reason, "\"Bash(sudo *)\" in the deny list forbids it; continue without it");
        assert_eq!(over(denied.clone(), &sudo, &Permissions::Deny([Box::from("Bash")].into())), denied);
    }
}
