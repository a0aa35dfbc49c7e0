//! A deferred call: the beat ends, no process remains, and it resumes when somebody has answered, hours or a reboot
//! later.

use insta::assert_snapshot;
use serde_json::{Value, json};
use sys::clock;

use super::{bash, text};
use crate::env::{Daemon, Env, Socket, Workspace, wait_for_end};

/// Instructions for a beat that waits a second for an answer and is then deferred.
const DEFERS: &str = "permissionsChecker: manual\napproval: defer\napprovalWait: 1s";

/// A deferred beat.
struct Deferred<'a> {
    env: &'a Env,
    site: Workspace,
    /// The daemon's events after the end of the beat.
    events: Socket,
    /// The request.
    id: String,
    /// The beat's line.
    line: Value,
}

impl<'a> Deferred<'a> {
    /// A heartbeat that the daemon started when it was due, and that is now deferred.
    fn new(env: &'a Env, frontmatter: &str, calls: &[Value]) -> (Self, Daemon) {
        let site = env.workspace_calling(frontmatter, calls);
        env.register(&[&site]);
        let daemon = env.daemon();
        let mut events = env.events();
        let id = text(&events.until("request_opened"), "id").to_owned();
        let line = events.until("beat_ended");
        (Self { env, site, events, id, line }, daemon)
    }

    fn respond(&self, words: &[&str]) -> String {
        let id = self.id.as_str();
        let said = self.env.run([&["permission", "respond", id], words].concat());
        said.replace(text(&self.line, "agent"), "[AGENT]")
    }

    /// The contents of `approvals/`.
    fn kept(&self) -> String {
        self.env.names(&self.env.data().join("approvals")).replace(&self.id, "[REQUEST]")
    }

    fn heartbeat(&self) -> Value {
        self.env.murmur(["status", "--json"]).json()["heartbeats"][0].clone()
    }
}

/// Checks that the beat resumed with the answer, once, and that nothing is left of it.
fn assert_ended(deferred: &Deferred<'_>, line: &Value, denials: &Value) {
    assert_eq!(line["outcome"], "ok", "{line}");
    assert_resumed(deferred, line, denials);
}

/// Checks the same after nobody answered in time.
fn assert_ended_unanswered(deferred: &Deferred<'_>, line: &Value) {
    assert_eq!(line["outcome"], "attention", "{line}");
    assert_eq!(line["summary"], "HEARTBEAT_OK, but nobody answered the request for Bash(git push)");
    assert_resumed(deferred, line, &json!(["Bash"]));
}

fn assert_resumed(deferred: &Deferred<'_>, line: &Value, denials: &Value) {
    let (env, before) = (deferred.env, &deferred.line);
    assert_eq!((&line["denials"], &line["waiting"]), (denials, &Value::Null));
    assert_eq!((&line["resumes"], &line["sessionId"]), (&json!(deferred.id), &before["sessionId"]));
    assert_eq!(line["agent"], before["agent"]);
    assert_ne!(line["beat"], before["beat"]);
    let argv: Vec<String> = env.agents().iter().map(|agent| agent["argv"].to_string()).collect();
    let resume = format!("\"--resume\",{}", before["sessionId"]);
    assert_eq!(argv.iter().map(|argv| argv.contains(&resume)).collect::<Vec<_>>(), [false, true]);
    assert_eq!((env.tool_results().len(), deferred.kept()), (1, String::new()));
}

#[test]
fn a_beat_with_a_deferred_call_has_ended_and_waits() {
    let env = Env::new();
    let (deferred, daemon) = Deferred::new(&env, DEFERS, &[bash("t1", "git push")]);
    let line = &deferred.line;
    assert_eq!((text(line, "outcome"), text(line, "waiting")), ("attention", deferred.id.as_str()));
    assert_snapshot!(text(line, "summary").replace(&deferred.id, "[REQUEST]"), @"waiting for approval; answer with `murmur allow [REQUEST]` (or deny); Bash: git push");
    assert_eq!((deferred.kept().as_str(), env.tool_results()), ("[REQUEST].json", vec![]));
    // All processes of the beat end, and none starts.
    env.alive().into_iter().filter(|pid| *pid != daemon.pid()).for_each(wait_for_end);
    assert_eq!((env.alive(), env.agents().len()), (vec![daemon.pid()], 1));
    let listed = env.run(["permission", "list"]);
    assert!(listed.contains(" ago, its beat continues after your answer\n"), "{listed}");
    let heartbeat = deferred.heartbeat();
    assert_eq!((&heartbeat["running"], &heartbeat["waiting"]), (&Value::Null, &json!(false)));
    let decision = &env.decisions()[0];
    assert_eq!((text(decision, "decision"), text(decision, "request")), ("defer", deferred.id.as_str()));
    daemon.stop();
    // It is listed without a daemon, too.
    let listed = env.murmur(["permission", "list", "--json"]).json();
    assert_eq!(
        (&listed["requests"][0]["id"], &listed["requests"][0]["state"]),
        (&json!(deferred.id), &json!("deferred"))
    );
}

#[test]
fn a_heartbeat_with_a_waiting_beat_is_not_due() {
    let env = Env::new();
    let (deferred, daemon) = Deferred::new(&env, DEFERS, &[bash("t1", "git push")]);
    // Long overdue, if it weren't for the pending answer.
    daemon.stop();
    env.age();
    let mut config: Value = serde_json::from_str(&env.config()).unwrap();
    config["workspaces"][0]["lastRun"] = "2020-01-01T00:00:00Z".into();
    let shop = env.workspace("shop", "Do it.");
    config["workspaces"].as_array_mut().unwrap().push(json!({ "path": shop.0, "interval": "1h" }));
    env.configure(&config.to_string());
    let daemon = env.daemon();
    let ended = env.events().until("beat_ended");
    assert_eq!(text(&ended, "workspace"), shop.path());
    assert_eq!((env.journal().len(), env.agents().len()), (2, 2));
    assert_eq!(deferred.heartbeat()["running"], Value::Null);
    deferred.respond(&["deny"]);
    assert_eq!(env.wait_for_journal(3)[2]["resumes"], json!(deferred.id));
    daemon.stop();
}

#[test]
fn a_beat_resumes_with_its_answer_after_a_killed_daemon() {
    let env = Env::new();
    let (deferred, daemon) = Deferred::new(&env, DEFERS, &[bash("t1", "git push")]);
    daemon.crash();
    let daemon = env.daemon();
    assert_eq!(deferred.kept(), "[REQUEST].json");
    let mut events = env.events();
    assert_snapshot!(deferred.respond(&["allow"]), @"
    allowed Bash for [AGENT]; its beat resumes soon
        git push
    [exit 0]
    ");
    assert_snapshot!(deferred.respond(&["deny"]).replace(&deferred.id, "[REQUEST]"), @"
    | error: request [REQUEST] was already answered
    | hint: see: murmur inbox
    [exit 1]
    ");
    let line = events.until("beat_ended");
    env.wait_for_no_approvals();
    assert_ended(&deferred, &line, &Value::Null);
    assert!(env.only_tool_result().ran());
    assert_eq!(env.decisions()[1]["by"], json!({ "kind": "person" }));
    daemon.stop();
}

#[test]
fn a_beat_resumes_with_a_denial_and_its_reason() {
    let env = Env::new();
    let (mut deferred, daemon) = Deferred::new(&env, DEFERS, &[bash("t1", "git push")]);
    deferred.respond(&["deny", "--reason", "not on a Friday"]);
    let line = deferred.events.until("beat_ended");
    env.wait_for_no_approvals();
    assert_ended(&deferred, &line, &json!(["Bash"]));
    assert_eq!(env.only_tool_result().text, "PreToolUse:Bash hook error: not on a Friday");
    daemon.stop();
}

#[test]
fn an_expired_request_is_a_denial() {
    let env = Env::new();
    let expires = format!("{DEFERS}\napprovalExpiry: 1s");
    let (mut deferred, daemon) = Deferred::new(&env, &expires, &[bash("t1", "git push")]);
    let line = deferred.events.until("beat_ended");
    env.wait_for_no_approvals();
    assert_ended_unanswered(&deferred, &line);
    assert_snapshot!(env.only_tool_result().text, @"PreToolUse:Bash hook error: nobody answered in time; continue without it, or say what you need and why");
    daemon.stop();
}

#[test]
fn a_request_that_expired_without_a_daemon_is_a_denial() {
    let env = Env::new();
    let expires = format!("{DEFERS}\napprovalExpiry: 1s");
    let (deferred, daemon) = Deferred::new(&env, &expires, &[bash("t1", "git push")]);
    daemon.crash();
    let daemon = env.daemon();
    let line = env.events().until("beat_ended");
    env.wait_for_no_approvals();
    assert_ended_unanswered(&deferred, &line);
    daemon.stop();
}

#[test]
fn a_daemon_killed_right_after_the_answer_leaves_the_beat_to_the_next() {
    for _ in 0..3 {
        let env = Env::new();
        let (deferred, daemon) = Deferred::new(&env, DEFERS, &[bash("t1", "git push")]);
        deferred.respond(&["allow"]);
        daemon.crash();
        let daemon = env.daemon();
        let line = env.wait_for_journal(2).remove(1);
        env.wait_for_no_approvals();
        assert_ended(&deferred, &line, &Value::Null);
        assert!(env.only_tool_result().ran());
        daemon.stop();
        assert_eq!(env.journal().len(), 2);
    }
}

#[test]
fn an_answer_is_kept_while_the_beat_cannot_be_resumed() {
    let env = Env::new();
    let (deferred, daemon) = Deferred::new(&env, DEFERS, &[bash("t1", "git push")]);
    // Another agent holds the workspace.
    let (pace, gate) = env.gate("gate");
    deferred.site.plays(&json!({ "stdout": crate::env::result("HEARTBEAT_OK"), "pace": pace }));
    let by_hand = env.murmur(["beat", "site"]).start();
    env.wait_for_agents(2);
    deferred.respond(&["allow"]);
    daemon.crash();
    deferred.site.plays(&super::acts(&[bash("t1", "git push")]));
    let daemon = env.daemon();
    std::io::Write::write_all(&mut { gate }, b".").unwrap();
    crate::env::ended(by_hand).success();
    let lines = env.wait_for_journal(3);
    assert_eq!((&lines[1]["resumes"], &lines[2]["resumes"]), (&Value::Null, &json!(deferred.id)));
    assert!(env.only_tool_result().ran());
    daemon.stop();
}

#[test]
fn two_calls_in_one_message_are_denied_instead_of_deferred() {
    let env = Env::new();
    let site = env.workspace_calling(DEFERS, &[]);
    let both = json!([bash("t1", "git push"), bash("t2", "git pull")]);
    site.plays(&json!({ "script": [both, [{ "type": "text", "text": "HEARTBEAT_OK" }]] }));
    let daemon = env.daemon();
    let line = env.run_beat();
    assert_eq!((&line["outcome"], &line["denials"]), (&json!("attention"), &json!(["Bash", "Bash"])));
    let summary = "HEARTBEAT_OK, but nobody answered the request for Bash(git push) and another call";
    assert_eq!(line["summary"], summary);
    assert_eq!(env.tool_results().iter().map(|told| told.ran()).collect::<Vec<_>>(), [false, false]);
    assert!(!env.data().join("approvals").exists() || env.names(&env.data().join("approvals")).is_empty());
    daemon.stop();
}

#[test]
fn a_resumed_beat_can_be_deferred_again() {
    let env = Env::new();
    let (mut deferred, daemon) =
        Deferred::new(&env, DEFERS, &[bash("t1", "git push"), bash("t2", "git pull")]);
    deferred.respond(&["allow"]);
    let second = deferred.events.until("request_opened");
    let line = deferred.events.until("beat_ended");
    assert_eq!((&line["resumes"], &line["waiting"]), (&json!(deferred.id), &second["id"]));
    env.run(["permission", "respond", text(&second, "id"), "allow"]);
    let line = deferred.events.until("beat_ended");
    assert_eq!((&line["resumes"], text(&line, "outcome")), (&second["id"], "ok"));
    env.wait_for_no_approvals();
    let told = env.tool_results();
    assert_eq!(
        told.iter().map(|told| (told.call.as_str(), told.ran())).collect::<Vec<_>>(),
        [("t1", true), ("t2", true)]
    );
    daemon.stop();
}

#[test]
fn a_manual_beat_that_no_daemon_would_resume_is_denied() {
    let env = Env::new();
    env.workspace_calling(DEFERS, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let line = env.run_beat();
    assert_eq!((&line["denials"], &line["waiting"]), (&json!(["Bash"]), &Value::Null));
    assert!(!env.data().join("approvals").exists());
    daemon.stop();
}

#[test]
fn a_manual_beat_of_a_named_heartbeat_is_resumed_by_the_daemon() {
    let env = Env::new();
    let site = env.workspace_calling("model: x", &[bash("t1", "git push")]);
    site.named("nightly", &format!("---\n{DEFERS}\ninterval: 1000h\n---\nCount."));
    let now = clock::rfc3339(clock::now());
    let entry =
        json!({ "path": site.0, "interval": "1000h", "lastRun": now, "lastRuns": { "nightly": now } });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    let daemon = env.daemon();
    let line = super::line(env.murmur(["beat", "site", "--name", "nightly", "--json"]).start());
    env.run(["permission", "respond", text(&line, "waiting"), "allow"]);
    let lines = env.wait(&env.data(), || {
        Some(env.journal()).filter(|lines| lines.iter().any(|line| line["resumes"].is_string()))
    });
    let resumed = lines.iter().find(|line| line["resumes"].is_string()).unwrap();
    assert_eq!((&resumed["resumes"], text(resumed, "heartbeat")), (&line["waiting"], "nightly"));
    assert_eq!(resumed["outcome"], "ok");
    daemon.stop();
}
