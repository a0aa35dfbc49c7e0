//! A person decides, in a beat: what is listed, whose answer counts, and for what.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout};

use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{ToolResult, bash, line, text, told_to_hook};
use crate::env::{Env, MURMUR, kill};

const MANUAL: &str = "permissionsChecker: manual";

/// The result of `answer` once the call is asked about.
fn answered(env: &Env, answer: &[&str]) -> (String, Value, ToolResult) {
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    let said = env.run([&["permission", "respond", text(&row, "id")], answer].concat());
    let said = said.replace(text(&row, "agent"), "[AGENT]");
    let line = line(beat);
    assert!(env.run(["permission", "list"]).starts_with("no permission requests\n"));
    daemon.stop();
    (said, line, env.only_tool_result())
}

#[test]
fn a_call_that_a_person_allows_runs() {
    let env = Env::new();
    let (said, line, told) = answered(&env, &["allow"]);
    assert_snapshot!(said, @"
    allowed Bash for [AGENT]
        git push
    [exit 0]
    ");
    assert_eq!((&line["outcome"], &line["denials"]), (&json!("ok"), &json!(null)));
    assert!(told.ran());
    let decision = env.decisions().remove(0);
    assert_eq!((text(&decision, "decision"), &decision["by"]), ("allow", &json!({ "kind": "person" })));
}

#[test]
fn a_request_is_named_by_the_beginning_of_its_id_or_as_the_last() {
    for (command, by, word) in [("allow", 3, "allowed"), ("deny", 8, "denied"), ("allow", 0, "allowed")] {
        let env = Env::new();
        env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
        let daemon = env.daemon();
        let beat = env.beat();
        let row = env.opened();
        let name = if by == 0 { "last" } else { &text(&row, "id")[..by] };
        let said = env.run([command, name]);
        assert_eq!(said, format!("{word} Bash for {}\n    git push\n[exit 0]", text(&row, "agent")));
        line(beat);
        assert_eq!(env.only_tool_result().ran(), command == "allow");
        daemon.stop();
    }
}

#[test]
fn a_call_that_a_person_denies_does_not_run_and_the_agent_is_told_why() {
    let env = Env::new();
    let (said, line, told) = answered(&env, &["deny", "--reason", "not on a Friday"]);
    assert_snapshot!(said, @"
    denied Bash for [AGENT]
        git push
    [exit 0]
    ");
    assert_eq!((&line["outcome"], &line["denials"]), (&json!("ok"), &json!(["Bash"])));
    assert_eq!(told.text, "PreToolUse:Bash hook error: not on a Friday");
    let decision = env.decisions().remove(0);
    assert_eq!((text(&decision, "decision"), &decision["by"]), ("deny", &json!({ "kind": "person" })));
}

#[test]
fn requests_are_listed_with_the_whole_command() {
    let env = Env::new();
    let input = json!({ "command": "git push \\\n  origin main", "timeout": 5000 });
    env.workspace_calling(MANUAL, &[super::call("t1", "Bash", &input)]);
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    let id = text(&row, "id");
    let listed =
        env.run(["permission", "list"]).replace(id, "[REQUEST]").replace(text(&row, "agent"), "[AGENT]");
    assert_snapshot!(listed, @r"
    [REQUEST]  Bash  [AGENT] in [ENV]/site
        git push \
          origin main
        timeout: 5000
      the guard reads: git push origin main
      asked [SPAN] ago
    [exit 0]
    ");
    let listed = env.murmur(["permission", "list", "--json"]).json();
    assert_eq!(listed, json!({ "schema": "requests/1", "requests": [row] }));
    let mut keys: Vec<_> = row.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_snapshot!(keys.join(" "), @"agent askedAt cwd defers id input kind state tool workspace");
    assert_eq!((&row["input"], text(&row, "state")), (&input, "waiting"));
    assert!(env.run(["question", "list"]).starts_with("no questions\n"));
    env.run(["permission", "respond", id, "deny"]);
    line(beat);
    daemon.stop();
}

/// `murmur permission list --watch --json`.
struct Watching(Child, Lines<BufReader<ChildStdout>>);

impl Watching {
    fn new(env: &Env) -> Self {
        let mut child = env.murmur(["permission", "list", "--watch", "--json"]).start();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self(child, lines)
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.1.next().unwrap().unwrap()).unwrap()
    }
}

#[test]
fn watching_shows_requests_as_they_open_and_close() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push"), bash("t2", "git pull")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let first = env.opened();
    let mut watching = Watching::new(&env);
    for (row, answer, how) in [(Some(first), "allow", "allowed"), (None, "deny", "denied")] {
        let opened = watching.next()["opened"].clone();
        assert!(row.is_none_or(|row| row == opened));
        env.run(["permission", "respond", text(&opened, "id"), answer]);
        let closed = json!({ "id": opened["id"], "agent": opened["agent"], "how": how });
        assert_eq!(watching.next(), json!({ "closed": closed }));
    }
    line(beat);
    daemon.stop();
    assert_eq!(watching.0.wait().unwrap().code(), Some(1));
}

#[test]
fn the_first_answer_wins_and_others_are_errors() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let id = text(&env.opened(), "id").to_owned();
    let answers: Vec<Child> = ["allow", "deny", "allow", "deny"]
        .map(|decision| env.murmur(["permission", "respond", &id, decision]).start())
        .into();
    let outputs: Vec<_> = answers.into_iter().map(|answer| answer.wait_with_output().unwrap()).collect();
    let taken = outputs.iter().position(|output| output.status.success()).unwrap();
    line(beat);
    assert_eq!(env.only_tool_result().ran(), taken % 2 == 0);
    assert_eq!(outputs.iter().filter(|output| output.status.success()).count(), 1);
    let errors = outputs.iter().filter(|output| !output.status.success());
    let said: Vec<_> =
        errors.map(|output| String::from_utf8_lossy(&output.stderr).replace(&id, "[ID]")).collect();
    assert!(said.windows(2).all(|pair| pair[0] == pair[1]), "{said:?}");
    assert_snapshot!(said[0], @"
    error: request [ID] was already answered
    hint: see: murmur inbox
    ");
    assert_snapshot!(env.run(["permission", "respond", "00000000", "allow"]), @"
    | error: no request 00000000
    | hint: see: murmur inbox
    [exit 1]
    ");
    assert_snapshot!(env.run(["permission", "respond", "../x", "allow"]), @r#"
    | error: "../x" is not the id of a request
    | hint: see: murmur inbox
    [exit 1]
    "#);
    daemon.stop();
    assert_snapshot!(env.run(["permission", "respond", &id, "allow"]), @"
    | error: murmur is not running, so nothing can be answered
    | hint: run: murmur start
    [exit 1]
    ");
}

#[test]
fn a_call_that_nobody_answers_in_time_is_denied_and_no_longer_listed() {
    let env = Env::new();
    env.workspace_calling(&format!("{MANUAL}\napprovalWait: 1s"), &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let mut events = env.events();
    let id = text(&events.until("request_opened"), "id").to_owned();
    assert_eq!(text(&events.until("request_closed"), "how"), "expired");
    assert_eq!(line(beat)["denials"], json!(["Bash"]));
    assert_snapshot!(env.only_tool_result().text, @"PreToolUse:Bash hook error: nobody answered in time, so the call is denied; continue without it, or say what you need");
    assert!(env.run(["permission", "list"]).starts_with("no permission requests\n"));
    let late = env.run(["permission", "respond", &id, "allow"]).replace(&id, "[ID]");
    assert_snapshot!(late, @"
    | error: request [ID] has expired
    | hint: see: murmur inbox
    [exit 1]
    ");
    daemon.stop();
}

#[test]
fn a_dead_agents_request_is_closed() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let mut events = env.events();
    let id = text(&events.until("request_opened"), "id").to_owned();
    kill(env.agents()[0]["pid"].as_i64().unwrap(), Signal::KILL);
    assert_eq!(text(&events.until("request_closed"), "how"), "gone");
    assert_eq!(line(beat)["outcome"], "error");
    assert!(env.run(["permission", "list"]).starts_with("no permission requests\n"));
    let late = env.run(["permission", "respond", &id, "allow"]).replace(&id, "[ID]");
    assert_snapshot!(late, @"
    | error: request [ID] is closed: its agent has ended or was interrupted
    | hint: see: murmur inbox
    [exit 1]
    ");
    daemon.stop();
    assert_eq!(env.tool_results(), []);
}

#[test]
fn an_agent_cannot_answer_its_own_requests() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    let id = text(&row, "id");
    for args in [
        &["permission", "respond", id, "allow"][..],
        &["question", "respond", id, "{}"],
        &["permission", "respond"],
    ] {
        let refused = env.murmur(args).set("MURMUR_AGENT_ID", text(&row, "agent")).run();
        insta::allow_duplicates! { assert_snapshot!(refused, @"
        | error: an agent started this, and agents cannot answer
        | hint: do it yourself, in a terminal
        [exit 1]
        "); }
    }
    // Nor by a process that hides its origin.
    let hidden = format!("env -u MURMUR_AGENT_ID {MURMUR} permission respond {id} allow; true");
    let refused = env.program("/bin/sh", ["-c", &hidden]).set("MURMUR_AGENT_ID", text(&row, "agent")).run();
    assert!(refused.contains("agents cannot answer"), "{refused}");
    env.run(["permission", "respond", id, "deny"]);
    assert_eq!(line(beat)["denials"], json!(["Bash"]));
    daemon.stop();
}

/// Asks the daemon about this call, like an agent's hook.
fn asks(env: &Env, change: impl FnOnce(&mut Value), agent: &str) -> Child {
    let policy = json!({ "guard": true, "checker": "manual", "approval": "wait", "approvalWait": 50,
        "approvalExpiry": 1, "questions": "deny" });
    let mut input = told_to_hook("Bash", &json!({ "command": "git push" }));
    change(&mut input);
    let hook = env.hook("PreToolUse", input.to_string()).set("MURMUR_PERMISSIONS", policy.to_string());
    hook.set("MURMUR_AGENT_ID", agent).start()
}

#[test]
fn an_answer_applies_to_one_call_only() {
    let env = Env::new();
    let daemon = env.daemon();
    let mut events = env.events();
    let first = asks(&env, |_| {}, "site-1");
    let id = text(&events.until("request_opened"), "id").to_owned();
    let others = [
        asks(&env, |_| {}, "site-2"),
        asks(&env, |input| input["tool_use_id"] = "t2".into(), "site-1"),
        asks(&env, |input| input["cwd"] = "/tmp".into(), "site-1"),
        asks(&env, |input| input["tool_input"]["command"] = "git push -f".into(), "site-1"),
        asks(&env, |input| input["tool_name"] = "PowerShell".into(), "site-1"),
    ];
    let ids: Vec<String> =
        others.iter().map(|_| text(&events.until("request_opened"), "id").to_owned()).collect();
    env.run(["permission", "respond", &id, "allow"]);
    let said = |hook: Child| String::from_utf8(hook.wait_with_output().unwrap().stdout).unwrap();
    assert!(said(first).contains("\"allow\""));
    // A new request is a separate call.
    let again = asks(&env, |_| {}, "site-1");
    assert_eq!(text(&events.until("request_opened"), "id"), id);
    for id in ids.iter().chain([&id]) {
        assert!(env.run(["permission", "respond", id, "deny"]).ends_with("[exit 0]"));
    }
    for hook in others.into_iter().chain([again]) {
        assert!(said(hook).contains("\"deny\""));
    }
    daemon.stop();
}
