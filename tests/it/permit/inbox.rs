//! The inbox: what waits, in one list; numbers, and the answers that name them.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{bash, call, line, text};
use crate::env::{Env, MURMUR};
use crate::run::terminal::Terminal;

const MANUAL: &str = "permissionsChecker: manual";

/// `shown` without ids and times.
fn stable(shown: &str, row: &Value) -> String {
    let shown = shown.replace(text(row, "agent"), "[AGENT]").replace(text(row, "id"), "[REQUEST]");
    let lines =
        shown.lines().map(|line| if line.starts_with("  asked ") { "  asked [SPAN] ago" } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_empty_inbox_says_so() {
    let env = Env::new();
    assert_snapshot!(env.run(["inbox"]), @"
    nothing is waiting for you
    [exit 0]
    ");
    assert_snapshot!(env.run(["inbox", "--json"]), @r#"
    {"schema":"inbox/1","entries":[]}
    [exit 0]
    "#);
}

#[test]
fn a_request_is_shown_in_full_and_answered_by_its_number() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push\u{1b}[2J origin"), bash("t2", "git tag v1")]);
    let daemon = env.daemon();
    let mut events = env.events();
    let beat = env.beat();
    let row = events.until("request_opened");
    assert_snapshot!(stable(&env.run(["inbox"]), &row), @r"
    1  [REQUEST]  Bash  [AGENT] in [ENV]/site
        git push\u{1b}[2J origin
      asked [SPAN] ago
      run: murmur allow 1, or: murmur deny 1 --reason '...'
    [exit 0]
    ");
    let listed = env.murmur(["inbox", "--json"]).json();
    let entry = &listed["entries"][0];
    assert_eq!((&entry["number"], text(entry, "kind")), (&json!(1), "approval"));
    assert_eq!((&entry["request"]["id"], text(entry, "command")), (&row["id"], "murmur allow 1"));
    // A number that was never shown is refused, also if an id begins with it.
    assert_snapshot!(env.run(["allow", "2"]), @"
    | error: no request has the number 2
    | hint: see: murmur inbox
    [exit 1]
    ");
    assert_snapshot!(stable(&env.run(["allow", "1"]), &row), @r"
    allowed Bash for [AGENT]
        git push\u{1b}[2J origin
    [exit 0]
    ");
    // The number stays with the answered request, and never names the next one.
    let next = events.until("request_opened");
    let again = env.run(["allow", "1"]);
    assert!(again.contains("error: request 1 was already answered\n"), "{again}");
    assert_snapshot!(env.run(["answer", "1"]), @"
    | error: request 1 is no longer open
    | hint: see: murmur inbox
    [exit 1]
    ");
    assert!(env.run(["inbox"]).starts_with("2  "), "{}", env.run(["inbox"]));
    assert_snapshot!(stable(&env.run(["deny", "2", "--reason", "not today"]), &next), @"
    denied Bash for [AGENT]
        git tag v1
    [exit 0]
    ");
    line(beat);
    daemon.stop();
}

#[test]
fn a_rule_is_shown_and_added_only_after_a_yes() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    env.run(["inbox"]);
    let refused = env.run(["allow", "1", "--always"]);
    let project = refused.split("/projects/").nth(1).unwrap().split('/').next().unwrap().to_owned();
    assert_snapshot!(refused.replace(&project, "[PROJECT]"), @r#"
    add one of these rules that allow Bash to [ENV]/data/projects/[PROJECT]/permissions.toml:
      1. only this call
         pattern = "git push"
      2. git push with any arguments, even --force
         pattern = "git push:*"
    | error: nothing was answered, and no rule was added
    | hint: to add a rule, run it again with its number: --rule 1 to --rule 2
    [exit 1]
    "#);
    assert_snapshot!(env.run(["allow", "1", "--always", "--rule", "3"]), @"
    | error: there is no rule 3, only 1 to 2
    | hint: to see them, leave out --rule
    [exit 1]
    ");
    assert!(!env.data().join("projects").exists());
    let said = env.run(["allow", "1", "--always", "--rule", "2"]).replace(&project, "[PROJECT]");
    assert_snapshot!(stable(&said, &row), @"
    allowed Bash for [AGENT]
        git push
    the rule is in [ENV]/data/projects/[PROJECT]/permissions.toml
    [exit 0]
    ");
    let rules = env.data().join("projects").join(project).join("permissions.toml");
    assert!(std::fs::read_to_string(rules).unwrap().ends_with("\npattern = \"git push:*\"\n"));
    line(beat);
    daemon.stop();
}

#[test]
fn tools_that_read_can_be_allowed_always_in_the_workspace_or_everywhere() {
    let env = Env::new();
    let read = |id, file: &str| call(id, "Read", &json!({ "file_path": env.root().join("site").join(file) }));
    let search = |id, query: &str| call(id, "WebSearch", &json!({ "query": query }));
    let calls = [read("t1", "a.rs"), read("t2", "src/b.rs"), search("t3", "x*"), search("t4", "y")];
    env.workspace_calling("permissionsChecker: manual\nmaxTurns: 9", &calls);
    let daemon = env.daemon();
    let mut events = env.events();
    let beat = env.beat();
    events.until("request_opened");
    let refused = env.run(["allow", "last", "--always"]);
    let project = refused.split("/projects/").nth(1).unwrap().split('/').next().unwrap().to_owned();
    assert_snapshot!(refused.replace(&project, "[PROJECT]"), @r#"
    add one of these rules that allow Read to [ENV]/data/projects/[PROJECT]/permissions.toml:
      1. only this call
         pattern = "/[ENV]/site/a.rs"
      2. every file in the workspace
         pattern = "/**"
    | error: nothing was answered, and no rule was added
    | hint: to add a rule, run it again with its number: --rule 1 to --rule 2
    [exit 1]
    "#);
    let allowed = env.run(["allow", "last", "--always", "--rule", "2"]);
    assert!(allowed.starts_with("allowed Read for "), "{allowed}");
    events.until("request_opened");
    assert_snapshot!(env.run(["allow", "last", "--always"]).replace(&project, "[PROJECT]"), @r#"
    add this rule to [ENV]/data/projects/[PROJECT]/permissions.toml:
        [[rules]]
        tool = "WebSearch"
        action = "allow"
    | error: nothing was answered, and no rule was added
    | hint: to add the rule, run it again with --rule 1
    [exit 1]
    "#);
    env.run(["allow", "last", "--always", "--rule", "1"]);
    line(beat);
    let by: Vec<_> = env.decisions().iter().map(|line| line["by"]["kind"].clone()).collect();
    assert_eq!(by, ["person", "rule", "person", "rule"]);
    daemon.stop();
}

#[test]
fn searches_can_be_allowed_always_in_a_folder_or_everywhere() {
    let env = Env::new();
    let site = env.workspace("site", "---\npermissionsChecker: manual\nmaxTurns: 9\n---\nDo it.");
    let search = |id, tool, path: &str| {
        let path = env.root().join("site").join(path);
        call(id, tool, &json!({ "pattern": "*.rs", "path": path }))
    };
    let mut told = super::acts(&[
        search("t1", "Grep", "src/a"),
        search("t2", "Grep", "src/b"),
        search("t3", "Glob", "src/a"),
        search("t4", "Grep", "docs"),
    ]);
    // Later versions search with commands.
    told["version"] = "2.1.197".into();
    site.plays(&told);
    let daemon = env.daemon();
    let mut events = env.events();
    let beat = env.beat();
    events.until("request_opened");
    let refused = env.run(["allow", "last", "--always"]);
    let project = refused.split("/projects/").nth(1).unwrap().split('/').next().unwrap().to_owned();
    assert_snapshot!(refused.replace(&project, "[PROJECT]"), @r#"
    add one of these rules that allow Grep to [ENV]/data/projects/[PROJECT]/permissions.toml:
      1. every search of src/a
         pattern = "/src/a"
      2. every search of src/a/ or a folder in it
         pattern = "/src/a/**"
      3. every search of src/ or a folder in it
         pattern = "/src/**"
      4. every search in the workspace
         pattern = "/**"
    | error: nothing was answered, and no rule was added
    | hint: to add a rule, run it again with its number: --rule 1 to --rule 4
    [exit 1]
    "#);
    assert!(env.run(["allow", "last", "--always", "--rule", "3"]).starts_with("allowed Grep for "));
    events.until("request_opened");
    assert!(env.run(["allow", "last", "--always", "--rule", "4"]).starts_with("allowed Glob for "));
    events.until("request_opened");
    env.run(["deny", "last"]);
    line(beat);
    let by: Vec<_> = env.decisions().iter().map(|line| line["by"]["kind"].clone()).collect();
    assert_eq!(by, ["person", "rule", "person", "person"]);
    daemon.stop();
}

#[test]
fn an_edit_is_shown_as_a_diff() {
    let env = Env::new();
    let edit = json!({ "file_path": "/w/a.rs", "old_string": "one\ntwo\n", "new_string": "one\nthree\n" });
    env.workspace_calling(MANUAL, &[call("t1", "Edit", &edit)]);
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    assert_snapshot!(stable(&env.run(["inbox"]), &row), @"
    1  [REQUEST]  Edit  [AGENT] in [ENV]/site
        file_path: /w/a.rs
          one
        - two
        + three
      asked [SPAN] ago
      run: murmur allow 1, or: murmur deny 1 --reason '...'
    [exit 0]
    ");
    env.run(["deny", "last"]);
    line(beat);
    daemon.stop();
}

#[test]
fn a_question_is_answered_by_number_with_text() {
    let env = Env::new();
    let asked = json!({ "questions": [{ "question": "Which one?", "header": "Pick",
        "options": [{ "label": "Plan A" }, { "label": "B" }] }] });
    env.workspace_calling("model: x", &[call("t1", "AskUserQuestion", &asked)]);
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    assert_snapshot!(stable(&env.run(["inbox"]), &row), @"
    1  [REQUEST]  AskUserQuestion  [AGENT] in [ENV]/site
        q1 [Pick] Which one?
          1. Plan A
          2. B
      asked [SPAN] ago
      run: murmur answer 1, or: murmur deny 1 --reason '...'
    [exit 0]
    ");
    let said = env.run(["answer", "1", "none of these: mock it"]);
    assert!(said.starts_with("answered AskUserQuestion for "), "{said}");
    line(beat);
    let told = env.only_tool_result().text;
    assert!(told.contains(r#""Which one?"="none of these: mock it""#), "{told}");
    daemon.stop();
}

#[test]
fn a_terminal_is_asked_again_only_about_what_was_mistyped() {
    let env = Env::new();
    let asked = json!({ "questions": [
        { "question": "Which one?", "header": "Pick", "options": [{ "label": "A" }, { "label": "B" }] },
        { "question": "When?", "header": "Time", "options": [{ "label": "Now" }, { "label": "Later" }] } ] });
    env.workspace_calling(MANUAL, &[call("t1", "AskUserQuestion", &asked), bash("t2", "git push")]);
    let daemon = env.daemon();
    let mut events = env.events();
    let beat = env.beat();
    events.until("request_opened");
    let program = |words: &[&str]| env.program("setsid", words);
    let mut terminal = Terminal::open().start(program, &[MURMUR, "answer", "last"]);
    for (prompt, typed) in [("q1: ", "2"), ("q2: ", "7"), ("q2: ", "Later")] {
        terminal.wait_for(prompt);
        terminal.send(format!("{typed}\n"));
    }
    let text = terminal.finish().text();
    let refused = r#"q2 cannot be answered with "7"; write one of "Now" (1), "Later" (2), or =your own text"#;
    assert!(text.replace("\r\n", " ").contains(refused), "{text}");
    events.until("request_opened");
    let mut terminal = Terminal::open().start(program, &[MURMUR, "permission", "respond"]);
    for (prompt, typed) in
        [("[q]uit: ", "x"), ("type y, n, a, v, s or q", "n"), ("Enter for none: ", "not on a Friday")]
    {
        terminal.wait_for(prompt);
        terminal.send(format!("{typed}\n"));
    }
    terminal.finish();
    line(beat);
    let told: Vec<String> = env.tool_results().into_iter().map(|told| told.text).collect();
    assert!(told[0].contains(r#""Which one?"="B", "When?"="Later""#), "{told:?}");
    assert_eq!(told[1], "PreToolUse:Bash hook error: not on a Friday");
    daemon.stop();
}

#[test]
fn unreadable_rules_are_listed() {
    let env = Env::new();
    let site = env.workspace("site", " \n");
    env.register(&[&site]);
    env.setting("permissions.toml", "[[rules]\n");
    assert_snapshot!(env.run(["inbox"]), @"
    1  rules  every call is denied: [ENV]/data/config/permissions.toml:1:9: the array table is not closed; write ] at its end
      see: murmur config check
    [exit 0]
    ");
    // A daemon reports it, but the inbox says it once.
    let without_daemon = env.run(["inbox"]);
    let daemon = env.daemon();
    assert_eq!(env.run(["inbox"]), without_daemon);
    drop(daemon);
}

#[test]
fn the_inbox_is_valid_json_whatever_a_call_contains() {
    let env = Env::new();
    let command = "echo \u{202e}x";
    env.workspace_calling(MANUAL, &[bash("t1", command)]);
    let daemon = env.daemon();
    let beat = env.beat();
    env.opened();
    let entry = env.murmur(["inbox", "--json"]).json()["entries"][0].clone();
    assert_eq!((&entry["number"], &entry["request"]["input"]["command"]), (&json!(1), &json!(command)));
    env.run(["deny", "1"]);
    line(beat);
    daemon.stop();
}

#[test]
fn a_watched_inbox_on_a_terminal_prints_what_comes_and_what_goes() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let program = |words: &[&str]| env.program("setsid", words).set("NO_COLOR", "1");
    let mut terminal = Terminal::open().start(program, &[MURMUR, "inbox", "--watch"]);
    terminal.wait_for("nothing is waiting for you");
    let beat = env.beat();
    terminal.wait_for("--reason '...'");
    let row = env.opened();
    env.run(["deny", "1"]);
    terminal.wait_for("denied Bash for");
    line(beat);
    daemon.stop();
    let text = terminal.finish().text().replace("\r\n", "\n");
    assert_snapshot!(stable(&text, &row), @"
    nothing is waiting for you

    1  [REQUEST]  Bash  [AGENT] in [ENV]/site
        git push
      asked [SPAN] ago
      run: murmur allow 1, or: murmur deny 1 --reason '...'

    1  denied Bash for [AGENT]
    error: the daemon has ended
    hint: run: murmur start
    ");
}

#[test]
fn an_answer_whose_confirmation_nobody_reads_is_given() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push"), bash("t2", "git pull")]);
    let daemon = env.daemon();
    let mut events = env.events();
    let beat = env.beat();
    for answer in ["allow", "deny"] {
        events.until("request_opened");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(env.murmur([answer, "last"]).stdout(writer).run(), "[exit 0]", "{answer}");
    }
    line(beat);
    daemon.stop();
}

#[test]
fn the_commands_that_the_guard_reads_are_shown_with_a_command_line() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "cd /srv && timeout 5 git   push | tee 'a b' > log")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    assert_snapshot!(stable(&env.run(["inbox"]), &row), @"
    1  [REQUEST]  Bash  [AGENT] in [ENV]/site
        cd /srv && timeout 5 git   push | tee 'a b' > log
      the guard reads: cd /srv; timeout 5 git push; git push; tee a b > log
      asked [SPAN] ago
      run: murmur allow 1, or: murmur deny 1 --reason '...'
    [exit 0]
    ");
    env.run(["deny", "last"]);
    line(beat);
    daemon.stop();
}
