//! `murmur rules check|rules`: the decision on a call, and who makes it.

use insta::assert_snapshot;
use serde_json::json;

use crate::env::{Env, Run};

const RULES: &str = "\
# mine
[[rules]]
tool = \"Bash\"
action = \"deny\"
patterns = [\"git push --force:*\", \"git push -f:*\"]

[[rules]]
tool = \"Edit\"
action = \"allow\"
pattern = \"/src/**\"

[[rules]]
tool = \"mcp__db\"
action = \"pass\"
";

/// A run in a folder given by name.
fn here<const WORDS: usize>(env: &Env, words: [&str; WORDS]) -> Run {
    let here = env.root().join("here");
    std::fs::create_dir_all(&here).unwrap();
    env.murmur(words).at(&here)
}

fn check(env: &Env, call: &str) -> String {
    here(env, ["permission", "check", call]).run()
}

#[test]
fn the_shipped_rules_are_valid() {
    let env = Env::new();
    env.setting("permissions.toml", include_str!("../../permissions.toml.default"));
    let rules = here(&env, ["permission", "rules"]).run();
    assert!(rules.contains("1. deny   Bash  git push --force*, git push * --force*, "), "{rules}");
    for call in [
        "Bash(git push -f)",
        "Bash(git push origin main --force-with-lease)",
        "Bash(git push -u origin x -f)",
        "Bash(git push origin +main)",
        "Write(.claude/settings.json)",
        "Edit(~/.claude/settings.json)",
        "Edit(~/.claude/hooks/a.sh)",
        "Edit(~/.ssh/config)",
    ] {
        assert!(check(&env, call).starts_with("deny: rule "), "{call}: {}", check(&env, call));
    }
    for call in [
        "Bash(git push --follow-tags origin x)",
        "Write(src/main.rs)",
        "Write(~/.claude/projects/a/memory/MEMORY.md)",
    ] {
        assert!(check(&env, call).starts_with("allow: "), "{call}: {}", check(&env, call));
    }
}

#[test]
fn without_a_file_there_are_no_rules_and_its_path_is_shown() {
    let env = Env::new();
    assert_snapshot!(here(&env, ["permission", "rules"]).run(), @"
    [ENV]/data/projects/here@[DIGITS]/permissions.toml does not exist, so it has no rules
    [ENV]/data/config/permissions.toml does not exist, so it has no rules
    agents with --role manager may run: murmur:*
    [exit 0]
    ");
    assert_snapshot!(here(&env, ["permission", "rules"]).unset("MURMUR_DIR").set("XDG_CONFIG_HOME", env.root().join("xdg")).run(), @"
    [ENV]/home/.murmur/projects/here@[DIGITS]/permissions.toml does not exist, so it has no rules
    [ENV]/xdg/murmur/permissions.toml does not exist, so it has no rules
    agents with --role manager may run: murmur:*
    [exit 0]
    ");
    assert_snapshot!(here(&env, ["permission", "rules", "--json"]).run(), @r#"
    {"schema":"rules/1","deny":[],"files":[{"exists":false,"path":"[ENV]/data/projects/here@[DIGITS]/permissions.toml"},{"exists":false,"path":"[ENV]/data/config/permissions.toml"}],"manager":["murmur:*"],"project":"here","rules":[]}
    [exit 0]
    "#);
    assert_snapshot!(check(&env, "Bash(ls)"), @r#"
    allow: nothing forbids it
      by permissions-checker = "off"
      for a beat of [ENV]/here, project here
    [exit 0]
    "#);
    assert!(!env.data().exists());
}

#[test]
fn rules_are_listed_in_order_with_the_projects_first() {
    let env = Env::new();
    env.setting("permissions.toml", RULES);
    env.project_rules(
        "site",
        "[[rules]]\ntool = \"Bash\"\naction = \"allow\"\npattern = \"git push -f\"\n[manager]\nallowed_patterns = [\"murmur:*\", \"git :*\"]\n",
    );
    assert_snapshot!(here(&env, ["permission", "rules", "--project", "site"]).run(), @"
    [ENV]/data/projects/site/permissions.toml:1  1. allow  Bash  git push -f
    [ENV]/data/config/permissions.toml:2  1. deny   Bash  git push --force:*, git push -f:*
    [ENV]/data/config/permissions.toml:7  2. allow  Edit  /src/**
    [ENV]/data/config/permissions.toml:12  3. pass   mcp__db  every call
    agents with --role manager may run: murmur:*, git :*
    [exit 0]
    ");
    assert_snapshot!(here(&env, ["permission", "rules", "--json"]).set("MURMUR_PROJECT", "site").run(), @r#"
    {"schema":"rules/1","deny":[],"files":[{"exists":true,"path":"[ENV]/data/projects/site/permissions.toml"},{"exists":false,"path":"[ENV]/data/projects/here@[DIGITS]/permissions.toml"},{"exists":true,"path":"[ENV]/data/config/permissions.toml"}],"manager":["murmur:*","git :*"],"project":"site","rules":[{"action":"allow","file":"[ENV]/data/projects/site/permissions.toml","line":1,"number":1,"patterns":["git push -f"],"tool":"Bash"},{"action":"deny","file":"[ENV]/data/config/permissions.toml","line":2,"number":1,"patterns":["git push --force:*","git push -f:*"],"tool":"Bash"},{"action":"allow","file":"[ENV]/data/config/permissions.toml","line":7,"number":2,"patterns":["/src/**"],"tool":"Edit"},{"action":"pass","file":"[ENV]/data/config/permissions.toml","line":12,"number":3,"patterns":[],"tool":"mcp__db"}]}
    [exit 0]
    "#);
    assert_snapshot!(here(&env, ["permission", "rules", "--project", "../x"]).run(), @r#"
    | error: "../x" is not a valid project name
    | hint: name a folder in {data folder}/projects, such as "site"
    [exit 1]
    "#);
}

#[test]
fn a_checked_call_names_the_deciding_rule() {
    let env = Env::new();
    env.setting("permissions.toml", RULES);
    env.project_rules("site", "[[rules]]\ntool = \"Bash\"\naction = \"allow\"\npattern = \"git push -f\"\n");
    assert_snapshot!(check(&env, "Bash(git push -f)"), @r#"
    deny: rule 1 of [ENV]/data/config/permissions.toml denies it ("git push -f:*"); continue without it
      by rule 1 of [ENV]/data/config/permissions.toml
      for a beat of [ENV]/here, project here
    [exit 0]
    "#);
    assert_snapshot!(here(&env, ["permission", "check", "Bash(git push -f)", "--project", "site"]).run(), @r#"
    allow: rule 1 of [ENV]/data/projects/site/permissions.toml allows it ("git push -f")
      by rule 1 of [ENV]/data/projects/site/permissions.toml
      for a beat of [ENV]/here, project site
    [exit 0]
    "#);
    assert_snapshot!(check(&env, "Edit(src/../../etc/hosts)"), @r#"
    allow: nothing forbids it
      by permissions-checker = "off"
      for a beat of [ENV]/here, project here
    [exit 0]
    "#);
    let site = env.workspace("site", "Do it.");
    std::os::unix::fs::symlink("/etc", site.0.join("out")).unwrap();
    let at = |call: &str, role: &str| env.run(["permission", "check", call, "--cwd", "site", "--as", role]);
    assert_snapshot!(at("Edit(src/a.rs)", "hosted"), @r#"
    allow: rule 2 of [ENV]/data/config/permissions.toml allows it ("/src/**")
      by rule 2 of [ENV]/data/config/permissions.toml
      for a hosted agent in [ENV]/site, project site
    [exit 0]
    "#);
    assert_snapshot!(at("Edit(out/hosts)", "hosted"), @r#"
    ask: a person decides
      the call waits until they answer
      by permissions-checker = "manual"
      for a hosted agent in [ENV]/site, project site
    [exit 0]
    "#);
    assert_snapshot!(at("mcp__db__drop({\"table\":\"x\"})", "hosted"), @r#"
    ask: a person decides
      the call waits until they answer
      by permissions-checker = "manual"
      for a hosted agent in [ENV]/site, project site
    [exit 0]
    "#);
    assert_snapshot!(at("Edit(src/a.rs)", "manager"), @"
    deny: a manager may run only murmur:*; delegate the rest to another agent
      by [manager] in permissions.toml
      for a manager in [ENV]/site, project site
    [exit 0]
    ");
    assert_snapshot!(at("AskUserQuestion", "beat"), @r#"
    question: a person answers
      the call waits 2m for an answer, then is deferred
      by questions = "broker"
      for a beat of [ENV]/site, project site
    [exit 0]
    "#);
}

#[test]
fn settings_and_the_workspace_decide_after_the_rules() {
    let env = Env::new();
    env.setting("config.toml", "permissions-checker = \"llm\"\napproval = \"defer\"\nquestions = \"deny\"\n");
    let site = env.workspace("site", "---\npermissionsChecker: off\napprovalWait: 5m\n---\nDo it.");
    let sub = site.0.join("sub");
    std::fs::create_dir(&sub).unwrap();
    let at = |call: &str| env.murmur(["permission", "check", call]).at(&sub).run();
    assert_snapshot!(at("Task"), @r#"
    ask: a model decides
      by permissions-checker = "llm"
    the call is denied, since the model cannot be asked: no model is configured; add [llm_auth] to [ENV]/data/config/config.toml
      for a beat of [ENV]/site/sub, project sub
    [exit 0]
    "#);
    env.configure(
        &json!({"workspaces": [{"path": site.0, "interval": "1h", "permissionsChecker": "manual"}]})
            .to_string(),
    );
    assert_snapshot!(at("Task"), @r#"
    ask: a person decides
      the call waits 5m for an answer, then is deferred
      by permissions-checker = "manual"
      for a beat of [ENV]/site, project site
    [exit 0]
    "#);
    assert_snapshot!(at("AskUserQuestion"), @r#"
    deny: nobody can answer questions here; decide yourself, or stop and say what you need to know
      by questions = "deny"
      for a beat of [ENV]/site, project site
    [exit 0]
    "#);
    assert_snapshot!(env.run(["permission", "check", "Task", "--json", "--cwd", "site/sub"]), @r#"
    {"schema":"decision/1","by":null,"cwd":"[ENV]/site/sub","decision":"ask","heartbeat":"[ENV]/site","policy":{"approval":"defer","approvalExpiry":null,"approvalWait":300,"checker":"manual","guard":true,"manager":false,"planMode":false,"questions":"deny"},"project":"site","reason":null,"tool":"Task","workspace":"[ENV]/site"}
    [exit 0]
    "#);
}

#[test]
fn permission_check_notes_that_beats_cannot_run() {
    let env = Env::new();
    env.workspace("site", "---\nmodle: x\n---\nDo it.");
    assert_snapshot!(env.run(["permission", "check", "Task", "--cwd", "site"]), @r#"
    allow: nothing forbids it
      by permissions-checker = "off"
      for a beat of [ENV]/site, project site
    | note: beats cannot run there; ignoring this error: [ENV]/site/HEARTBEAT.md:2:1: unknown key "modle"; did you mean "model"?
    [exit 0]
    "#);
}

#[test]
fn an_invalid_file_denies_every_call_and_is_reported_with_its_position() {
    let env = Env::new();
    env.setting("permissions.toml", "[[rules]]\ntool = \"Bash\"\naction = \"alow\"\n");
    assert_snapshot!(check(&env, "Read(a)"), @r#"
    deny: [ENV]/data/config/permissions.toml:3:10: "action": "alow" is not known; write "allow", "deny" or "pass"
      by an unreadable configuration: every call is denied until it is fixed
      for a beat of [ENV]/here, project here
    [exit 0]
    "#);
    assert_snapshot!(here(&env, ["permission", "rules"]).run(), @r#"
    | error: [ENV]/data/config/permissions.toml:3:10: "action": "alow" is not known
    | hint: write "allow", "deny" or "pass"
    [exit 1]
    "#);
    env.setting("permissions.toml", "");
    env.setting("config.toml", "[providers.openai]\napi-key = \"sk-secret\"\nkey = 1\n");
    assert_snapshot!(check(&env, "Read(a)"), @r#"
    deny: [ENV]/data/config/config.toml:3:1: unknown key "key"; use one of api-key, api-key-file, base-url
      by an unreadable configuration: every call is denied until it is fixed
      for a beat of [ENV]/here, project here
    [exit 0]
    "#);
}

#[test]
fn a_call_is_an_argument_or_hook_input_on_stdin() {
    let env = Env::new();
    env.setting("permissions.toml", RULES);
    let hook = env.root().join("hook.json");
    std::fs::write(&hook, r#"{"tool_name":"Bash","tool_input":{"command":"git push -f"}}"#).unwrap();
    let stdin = || std::fs::File::open(&hook).unwrap();
    assert_snapshot!(here(&env, ["permission", "check", "-"]).stdin(stdin()).run(), @r#"
    deny: rule 1 of [ENV]/data/config/permissions.toml denies it ("git push -f:*"); continue without it
      by rule 1 of [ENV]/data/config/permissions.toml
      for a beat of [ENV]/here, project here
    [exit 0]
    "#);
    std::fs::write(&hook, "{}").unwrap();
    assert_snapshot!(here(&env, ["permission", "check", "-"]).stdin(stdin()).run(), @r#"
    | error: stdin has no "tool_name" and "tool_input"
    | hint: write {"tool_name": "Bash", "tool_input": {"command": "ls"}}
    [exit 1]
    "#);
    assert_snapshot!(check(&env, "git push"), @r#"
    | error: "git push" names no tool
    | hint: write it as 'Bash(git push)'
    [exit 1]
    "#);
}

#[test]
fn the_log_shows_decisions_newest_last_and_reads_archives() {
    let env = Env::new();
    assert_snapshot!(env.run(["rules", "log"]), @"
    no decisions to show
    [exit 0]
    ");
    let line = |second: u32, agent: &str, decision: &str, by: serde_json::Value, breach: bool| {
        let mut line = json!({ "ts": format!("2026-02-03T10:00:{second:02}.000Z"), "agent": agent, "project": "site",
            "tool": "Bash", "input": "{\"command\":\"git push\"}", "cwd": "/", "session": "s", "toolUseId": "t",
            "decision": decision, "by": by, "reason": "because\u{1b}", "durationMs": 1 });
        if breach {
            line["breach"] = json!(true);
        }
        line.to_string() + "\n"
    };
    let path = env.data().join("decisions.jsonl");
    std::fs::create_dir_all(env.data()).unwrap();
    let open = |path: &std::path::Path| std::fs::File::options().append(true).create(true).open(path);
    for text in [
        line(1, "site-nightly-0a1b2c3d", "deny", json!({ "kind": "guard", "which": "git" }), false),
        line(
            2,
            "site-4d5e6f70",
            "allow",
            json!({ "kind": "rule", "which": { "file": "p.toml", "number": 2 } }),
            false,
        ),
        line(3, "site-4d5e6f70", "defer", json!({ "kind": "default", "which": "approval" }), false),
        line(4, "site-4d5e6f70", "deny", json!({ "kind": "person" }), true),
    ] {
        rotate::append(&path, text.as_bytes(), 1, open, |_| Ok(())).unwrap();
    }
    // A program that another test has just started may still hold a lock of this process; then a part is left out.
    let is_plain = |entry: &std::fs::DirEntry| entry.path().extension() != Some("zst".as_ref());
    while std::fs::read_dir(env.data().join("archive")).unwrap().flatten().filter(is_plain).count() > 1 {
        rotate::compress(&path).unwrap();
    }
    assert_snapshot!(env.run(["rules", "log"]), @"
    [WHEN]  denied    site-nightly-0a1b2c3d  Bash(git push)  by the guard (git): because
    [WHEN]  allowed   site-4d5e6f70  Bash(git push)  by rule 2 of p.toml: because
    [WHEN]  deferred  site-4d5e6f70  Bash(git push)  by the setting approval: because
    [WHEN]  breach    site-4d5e6f70  Bash(git push)  by a person: because
    [exit 0]
    ");
    let named = env.run(["rules", "log", "--name", "nightly"]);
    assert!(named.lines().count() == 2 && named.contains("site-nightly-0a1b2c3d"), "{named}");
    let site = env.workspace("site", "Look.");
    let in_folder = env.run(["rules", "log", "--name", site.path()]);
    assert!(in_folder.lines().count() == 5, "{in_folder}");
    // Names of heartbeats come before words.
    env.configure(&json!({ "workspaces": [{ "path": site.0, "name": "My site" }] }).to_string());
    assert_eq!(env.run(["rules", "log", "--name", "My site"]), in_folder);
    let raw = env.murmur(["rules", "log", "-n", "1", "--json"]).output().stdout;
    let raw: serde_json::Value = serde_json::from_slice(&raw).unwrap();
    assert_eq!((&raw["breach"], &raw["input"]["command"]), (&json!(true), &json!("git push")));
    assert_eq!(env.run(["rules", "log", "--since", "1s"]), env.run(["rules", "log", "--name", "nobody"]));
    let entries = std::fs::read_dir(env.data().join("archive")).unwrap();
    let oldest = entries.map(|entry| entry.unwrap().path()).min().unwrap();
    std::fs::write(&oldest, "not zstd").unwrap();
    let shown = env.run(["rules", "log"]);
    let warning = format!("| warning: cannot read {}: ", oldest.display());
    assert!(
        shown.contains(&warning) && shown.contains("breach    site-4d5e6f70") && !shown.contains("nightly"),
        "{shown}"
    );
}
