//! Who decides, in which order.

use super::*;
use crate::permit::policy::{Approval, Role};
use crate::permit::rules::tests::commands;
use serde_json::{Value, json};
use shell_guard::call::{CallPlace, ProtectedPaths};
use std::path::Path;

const POLICY: Policy = Policy {
    guard: true,
    manager: false,
    plan_mode: true,
    checker: Checker::Off,
    approval: Approval::Wait,
    approval_wait: Some(120),
    approval_expiry: Some(86_400),
    questions: Questions::Broker,
};

fn with(checker: Checker) -> Policy {
    Policy { checker, ..POLICY }
}

/// Refuses `sudo`, and cannot tell what begins with `$`.
fn guard(call: &Call) -> Finding {
    match call.command().unwrap_or_default() {
        line if line.contains("sudo") => {
            Finding::Refused { entry: "sudo", why: "no other user's rights".to_owned() }
        }
        line if line.contains('$') => Finding::Doubt { why: "$X is not known".to_owned() },
        _ => Finding::Clear,
    }
}

fn call(tool: &str, input: Value) -> Call {
    let place = CallPlace {
        cwd: "/w".into(),
        workspace: "/w".into(),
        home: "/home/me".into(),
        own: ProtectedPaths::default(),
    };
    Call { tool: tool.to_owned(), input, place }
}

/// The step in a few words: `deny guard sudo`, `allow rule 1`, `ask`.
fn step(policy: &Policy, rules: &str, call: &Call) -> String {
    let rules = Rules::parse(rules.as_bytes(), Path::new("/c/permissions.toml")).unwrap();
    let reading = Reading { commands: &commands, links: &|_| None, doubted: false };
    match decide(call, policy, &[&rules], reading, guard) {
        NextStep::Ask { doubt: None } => "ask".to_owned(),
        NextStep::Ask { doubt: Some(doubt) } => format!("ask: {doubt}"),
        NextStep::Question => "question".to_owned(),
        NextStep::Decided(decision) => {
            let kind = if decision.kind == DecisionKind::Allow { "allow" } else { "deny" };
            match decision.by {
                DecidedBy::Guard(entry) => format!("{kind} guard {entry}"),
                DecidedBy::Rule { number, .. } => format!("{kind} rule {number}"),
                DecidedBy::Default(setting) => format!("{kind} {setting}"),
                other => format!("{kind} {other:?}"),
            }
        }
    }
}

fn of(policy: &Policy, rules: &str, line: &str) -> String {
    step(policy, rules, &call("Bash", json!({ "command": line })))
}

const RULES: &str = "
[[rules]]
tool = 'Bash'
action = 'deny'
pattern = 'rm:*'
[[rules]]
tool = 'Bash'
action = 'pass'
pattern = 'git push:*'
[[rules]]
tool = 'Bash'
action = 'allow'
patterns = ['git:*', 'make $TARGET', 'sudo ls']
";

#[test]
fn the_guard_is_first_and_no_rule_overrides_it() {
    assert_eq!(of(&POLICY, RULES, "sudo ls"), "deny guard sudo");
    assert_eq!(of(&with(Checker::Manual), "", "sudo ls"), "deny guard sudo");
    let off = Policy { guard: false, ..POLICY };
    assert_eq!(of(&off, RULES, "sudo ls"), "allow rule 3");
    assert_eq!(of(&off, "", "sudo ls"), "allow permissions-checker");
    // More than a call needs a person nevertheless.
    let access = call("SandboxAccess", json!({ "host": "example.com" }));
    assert_eq!(step(&off, "", &access), "deny guard doubt");
    assert_eq!(
        step(&Policy { checker: Checker::Manual, ..off }, "", &access),
        "ask: the agent's sandbox forbids it"
    );
}

#[test]
fn a_rule_decides_before_the_checker_and_a_pass_leaves_the_call_to_it() {
    use Checker::{Deny, Llm, Manual, Off};
    for (checker, line, expected) in [
        (Off, "rm x", "deny rule 1"),
        (Deny, "git log", "allow rule 3"),
        (Off, "git push", "allow permissions-checker"),
        (Manual, "git push", "ask"),
        (Llm, "git push", "ask"),
        (Deny, "git push", "deny permissions-checker"),
        (Off, "ls", "allow permissions-checker"),
        (Manual, "ls", "ask"),
        (Llm, "ls", "ask"),
        (Deny, "ls", "deny permissions-checker"),
    ] {
        assert_eq!(of(&with(checker), RULES, line), expected, "{line} with {checker:?}");
    }
}

#[test]
fn doubt_asks_a_person_if_one_is_asked_and_else_denies() {
    use Checker::{Deny, Llm, Manual, Off};
    for (checker, line, expected) in [
        (Off, "$X", "deny guard doubt"),
        (Llm, "$X", "deny guard doubt"),
        (Deny, "$X", "deny guard doubt"),
        (Manual, "$X", "ask: $X is not known"),
        (Manual, "$X; rm y", "deny rule 1"),
        (Manual, "git log; git $X", "ask: $X is not known"),
        (Off, "git $X", "deny guard doubt"),
        (Off, "make $TARGET", "allow rule 3"),
        (Manual, "git push $X", "ask: $X is not known"),
    ] {
        assert_eq!(of(&with(checker), RULES, line), expected, "{line} with {checker:?}");
    }
}

#[test]
fn a_manager_runs_only_what_its_patterns_match() {
    let manager =
        Policy::resolve(Role::Manager, &Default::default(), &Default::default(), &Default::default(), true);
    for (rules, line, expected) in [
        ("", "murmur status", "allow manager"),
        ("", "murmur agent start x && murmur log", "allow manager"),
        ("", "murmur status; ls", "deny manager"),
        ("", "timeout 5 murmur status", "allow manager"),
        ("", "murmur status > /w/x", "deny manager"),
        ("", "murmur permission respond 1 allow", "deny manager"),
        ("", "PATH=. murmur status", "deny manager"),
        ("", "murmur log $X", "deny manager"),
        ("", "sudo murmur log", "deny guard sudo"),
        ("", "git log", "deny manager"),
        (RULES, "git log", "deny manager"),
        (RULES, "rm x", "deny rule 1"),
        ("[manager]\nallowed_patterns = ['git :*']", "git log", "allow manager"),
        ("[manager]\nallowed_patterns = ['git :*']", "murmur status", "deny manager"),
        ("[manager]\nallowed_patterns = ['timeout 5:*']", "timeout 5 rm x", "deny manager"),
        ("[[rules]]\ntool = 'Bash'\naction = 'deny'\npattern = 'murmur log:*'", "murmur log", "deny rule 1"),
    ] {
        assert_eq!(of(&manager, rules, line), expected, "{line}");
    }
    assert_eq!(step(&manager, "", &call("Edit", json!({ "file_path": "/w/x" }))), "deny manager");
    assert_eq!(step(&manager, "", &call("mcp__murmur__list", json!({}))), "allow manager");
    assert_eq!(step(&manager, "", &call("mcp__murmurs__list", json!({}))), "deny manager");
    assert_eq!(step(&manager, "", &call(ASK, json!({}))), "question");
    assert_eq!(manager::allow_settings(&manager::patterns(&[])), ["Bash(murmur:*)"]);
}

#[test]
fn a_question_goes_to_a_person_unless_a_rule_or_the_policy_denies_it() {
    let ask = call(ASK, json!({ "questions": [] }));
    let rule = |action: &str| format!("[[rules]]\ntool = '{ASK}'\naction = '{action}'");
    for checker in [Checker::Off, Checker::Manual, Checker::Llm, Checker::Deny] {
        assert_eq!(step(&with(checker), "", &ask), "question");
        assert_eq!(step(&with(checker), &rule("allow"), &ask), "question");
        assert_eq!(step(&with(checker), &rule("deny"), &ask), "deny rule 1");
        let quiet = Policy { questions: Questions::Deny, ..with(checker) };
        assert_eq!(step(&quiet, &rule("allow"), &ask), "deny questions");
    }
}

#[test]
fn a_beat_never_enters_plan_mode_and_a_live_agent_may_enter_and_leave_it() {
    let rule = "[[rules]]\ntool = \"*PlanMode\"\naction = \"ACTION\"\n";
    for tool in PLAN {
        let call = call(tool, json!({}));
        for checker in [Checker::Off, Checker::Llm, Checker::Manual, Checker::Deny] {
            for guard in [true, false] {
                let beat = Policy { guard, plan_mode: false, ..with(checker) };
                assert_eq!(step(&beat, "", &call), "deny plan-mode");
                assert_eq!(step(&beat, &rule.replace("ACTION", "allow"), &call), "deny plan-mode");
            }
            for manager in [true, false] {
                let live = Policy { manager, ..with(checker) };
                assert_eq!(step(&live, "", &call), "allow plan-mode");
                assert_eq!(step(&live, &rule.replace("ACTION", "deny"), &call), "deny rule 1");
            }
        }
    }
}

#[test]
fn what_controls_the_next_run_is_allowed_by_a_rule_that_names_it_alone() {
    let decided = |rules: &str, call: &Call| {
        let rules = Rules::parse(rules.as_bytes(), Path::new("permissions.toml")).unwrap();
        let reading = Reading { commands: &shell_guard::shell::commands, links: &|_| None, doubted: false };
        match decide(call, &Policy::of_beat(), &[&rules], reading, shell_guard::guard::inspect_call) {
            NextStep::Decided(decision) => (decision.kind, decision.by),
            step => panic!("{step:?}"),
        }
    };
    let place = || CallPlace {
        cwd: "/w".into(),
        workspace: "/w".into(),
        home: "/home/me".into(),
        own: ProtectedPaths::default(),
    };
    let call = |tool: &str, key: &str, value: &str| Call {
        tool: tool.to_owned(),
        input: serde_json::json!({ key: value }),
        place: place(),
    };
    let rule = |tool: &str, action: &str, pattern: &str| {
        format!("[[rules]]\ntool = \"{tool}\"\naction = \"{action}\"\n{pattern}\n")
    };
    let (edit, shell) =
        (call("Edit", "file_path", "/home/me/.bashrc"), call("Bash", "command", "echo x >> ~/.bashrc"));
    let guard = (DecisionKind::Deny, DecidedBy::Guard("control".to_owned()));
    for (call, rules) in [
        (&edit, String::new()),
        (&edit, rule("Edit", "allow", "")),
        (&edit, rule("Edit", "allow", "pattern = \"//**\"")),
        (&edit, rule("Edit", "allow", "pattern = \"~/**\"")),
        (&edit, rule("Write", "allow", "pattern = \"~/.bashrc\"")),
        (&edit, rule("Edit", "pass", "pattern = \"~/.bashrc\"")),
        (&shell, rule("Bash", "allow", "")),
        (&shell, rule("Bash", "allow", "pattern = \"echo:*\"")),
    ] {
        assert_eq!(decided(&rules, call), guard, "{rules}");
    }
    for (call, rules) in [
        (&edit, rule("Edit", "allow", "pattern = \"~/.bashrc\"")),
        (&shell, rule("Bash", "allow", "pattern = \"echo x >> ~/.bashrc\"")),
    ] {
        assert_eq!(decided(&rules, call).0, DecisionKind::Allow, "{rules}");
    }
}
