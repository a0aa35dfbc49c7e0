//! Rules, in a beat: which file counts, what a pattern covers, and rules added by a person's answer.

use insta::assert_snapshot;
use serde_json::json;

use super::{ToolResult, bash, call, line, text};
use crate::env::Env;

fn rule(action: &str, pattern: &str) -> String {
    format!("[[rules]]\ntool = \"Bash\"\naction = \"{action}\"\npattern = {pattern:?}\n")
}

/// Which of the calls ran.
fn ran(env: &Env) -> Vec<bool> {
    env.tool_results().iter().map(ToolResult::ran).collect()
}

#[test]
fn project_rules_come_before_the_users() {
    let env = Env::new();
    env.workspace_calling(
        "permissionsChecker: deny",
        &[bash("t1", "git push"), bash("t2", "git pull"), bash("t3", "make")],
    );
    env.project_rules("site", &(rule("allow", "git push") + &rule("deny", "git pull")));
    env.setting("permissions.toml", &(rule("deny", "git push") + &rule("allow", "git pull")));
    assert_eq!(env.run_beat()["denials"], json!(["Bash", "Bash"]));
    assert_eq!(ran(&env), [true, false, false]);
    let by: Vec<_> = env.decisions().iter().map(|line| line["by"]["kind"].clone()).collect();
    assert_eq!(by, ["rule", "rule", "default"]);
    assert_snapshot!(env.tool_results()[1].text, @r#"PreToolUse:Bash hook error: rule 2 of [ENV]/data/projects/site/permissions.toml denies it ("git pull"); continue without it"#);
}

#[test]
fn permission_check_agrees_with_a_beat() {
    let env = Env::new();
    let lines = ["git push", "git pull", "curl -s x", "make", "sudo ls", "git push && make"];
    let calls: Vec<_> = lines.iter().enumerate().map(|(n, line)| bash(&format!("t{n}"), line)).collect();
    let site = env.workspace_calling(
        "maxTurns: 9\npermissions:\n  deny: [\"Bash(curl:*)\", \"Bash(git log)\"]",
        &calls,
    );
    env.project_rules("site", &rule("deny", "git push:*"));
    env.setting("permissions.toml", &(rule("allow", "git push") + &rule("deny", "git pull")));
    env.run_beat();
    let ran = ran(&env);
    assert_eq!(ran, [false, false, false, true, false, false]);
    for (line, runs) in lines.into_iter().zip(ran) {
        let checked =
            env.murmur(["permission", "check", "--json", &format!("Bash({line})")]).at(&site.0).json();
        assert_eq!(checked["decision"], if runs { "allow" } else { "deny" }, "{line}: {checked}");
        assert_eq!((&checked["project"], &checked["heartbeat"]), (&json!("site"), &json!(site.0)), "{line}");
    }
    let at = |words: &[&str]| env.murmur(["permission"].iter().chain(words)).at(&site.0).run();
    assert_snapshot!(at(&["check", "Bash(curl x)"]), @r#"
    deny: "Bash(curl:*)" in the deny list forbids it; continue without it
      by permissions: murmur's deny list
      for a beat of [ENV]/site, project site
    [exit 0]
    "#);
    // Only beats have the deny list.
    let hosted =
        env.murmur(["permission", "check", "--json", "Bash(curl x)", "--as", "hosted"]).at(&site.0).json();
    assert_eq!(hosted["decision"], "ask", "{hosted}");
    assert_snapshot!(at(&["rules"]), @"
    [ENV]/data/projects/site/permissions.toml:1  1. deny   Bash  git push:*
    note: that file applies to every project named site; move its rules to [ENV]/data/projects/site@[DIGITS]/permissions.toml
    [ENV]/data/projects/site@[DIGITS]/permissions.toml does not exist, so it has no rules
    [ENV]/data/config/permissions.toml:1  1. allow  Bash  git push
    [ENV]/data/config/permissions.toml:5  2. deny   Bash  git pull
    added to murmur's deny list for a beat of [ENV]/site: Bash(curl:*), Bash(git log)
    agents with --role manager may run: murmur:*
    [exit 0]
    ");
}

#[test]
fn deny_needs_one_command_of_a_line_and_allow_needs_all() {
    let env = Env::new();
    let lines = ["git log && git status", "git log && make", "git log; echo $(git push)", "git -C x push"];
    let calls: Vec<_> = lines.iter().enumerate().map(|(n, line)| bash(&format!("t{n}"), line)).collect();
    env.workspace_calling("permissionsChecker: deny\nmaxTurns: 9", &calls);
    env.setting(
        "permissions.toml",
        &(rule("deny", "git push:*") + &rule("allow", "git:*") + &rule("allow", "echo:*")),
    );
    env.run_beat();
    assert_eq!(ran(&env), [true, false, false, true]);
    let by: Vec<_> = env.decisions().iter().map(|line| line["by"]["kind"].clone()).collect();
    assert_eq!(by, ["rule", "default", "rule", "rule"]);
}

#[test]
fn an_always_answer_adds_a_rule_that_decides_from_then_on() {
    for (decision, runs) in [("allow", true), ("deny", false)] {
        let env = Env::new();
        let site =
            env.workspace_calling("permissionsChecker: manual", &[bash("t1", "git push origin 'a b'")]);
        let daemon = env.daemon();
        let beat = env.beat();
        env.run(["permission", "respond", text(&env.opened(), "id"), decision, "--always"]);
        line(beat);
        daemon.stop();
        let mut projects = std::fs::read_dir(env.data().join("projects")).unwrap().flatten();
        let own = projects.next().unwrap();
        assert!(own.file_name().to_str().unwrap().starts_with("site@"), "{own:?}");
        let rules = std::fs::read_to_string(own.path().join("permissions.toml")).unwrap();
        assert_eq!(rules, rule(decision, "git push origin 'a b'"));
        // Without a daemon, calls that need a person would be denied.
        site.plays(&super::acts(&[bash("t2", "git push origin 'a b'"), bash("t3", "git push")]));
        env.run_beat();
        assert_eq!(ran(&env).iter().filter(|ran| **ran).count(), if runs { 2 } else { 0 });
        let by: Vec<_> = env.decisions().iter().map(|line| line["by"]["kind"].clone()).collect();
        assert_eq!(by, ["person", "rule", "failure"]);
    }
}

#[test]
fn an_always_answer_is_refused_if_no_pattern_matches_only_this_call() {
    let env = Env::new();
    env.workspace_calling(
        "permissionsChecker: manual",
        &[bash("t1", "ls *.txt"), call("t2", "Glob", &json!({ "pattern": "x" }))],
    );
    let daemon = env.daemon();
    let mut events = env.events();
    let beat = env.beat();
    let row = events.until("request_opened");
    let refused = env.run(["permission", "respond", text(&row, "id"), "allow", "--always"]);
    assert_snapshot!(refused, @"
    | error: no pattern matches only this call of Bash
    | hint: to choose a rule that covers more, run: murmur allow ID --always
    [exit 1]
    ");
    assert!(!env.data().join("projects").exists());
    // It waits as before.
    env.run(["permission", "respond", text(&row, "id"), "allow"]);
    line(beat);
    assert!(env.tool_results()[0].ran());
    daemon.stop();
}

#[test]
fn a_rule_without_effect_is_not_added() {
    let env = Env::new();
    env.workspace_calling("permissionsChecker: manual", &[bash("t1", "git push")]);
    env.project_rules("site", &rule("pass", "git:*"));
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    assert_snapshot!(env.run(["permission", "respond", text(&row, "id"), "allow", "--always"]), @"
    | error: rule 1 of [ENV]/data/projects/site/permissions.toml takes precedence over a new one
    | hint: change it, or answer without --always
    [exit 1]
    ");
    let rules = std::fs::read_to_string(env.data().join("projects/site/permissions.toml")).unwrap();
    assert_eq!(rules, rule("pass", "git:*"));
    env.run(["permission", "respond", text(&row, "id"), "deny"]);
    line(beat);
    daemon.stop();
}

/// The answer applies to this folder, not to others of its name.
#[test]
fn an_always_answer_does_not_apply_to_another_project_of_that_name() {
    let env = Env::new();
    let site = env.workspace_calling("permissionsChecker: manual", &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    env.murmur(["permission", "respond", text(&row, "id"), "allow", "--always"]).assert().success();
    line(beat);
    daemon.stop();
    let other = env.root().join("other/site");
    std::fs::create_dir_all(&other).unwrap();
    let check = ["permission", "check", "--json", "Bash(git push)", "--as", "hosted"];
    let decision = |folder| env.murmur(check).at(folder).json()["decision"].clone();
    assert_eq!([decision(&site.0), decision(&other)], ["allow", "ask"]);
}
