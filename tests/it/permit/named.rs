//! What requests are called by the commands that answer them, and prompts whose answer is refused.

use super::{bash, call};
use crate::env::{Env, MURMUR};
use crate::run::terminal::Terminal;
use serde_json::json;

#[test]
fn a_heartbeat_title_or_folder_stands_for_its_request() {
    let env = Env::new();
    let site = env.workspace("site", "---\nenabled: false\n---\nDo it.");
    let settings = "name: Night Watch\nenabled: false\npermissionsChecker: manual";
    site.named("nightly", &format!("---\n{settings}\n---\nCount."));
    let done = json!({ "type": "text", "text": "HEARTBEAT_OK" });
    site.plays(&json!({ "script": [[bash("t1", "git push")], [done]] }));
    env.register(&[&site]);
    let daemon = env.daemon();
    let mut events = env.events();
    for name in [".", "Night Watch", "nightly", "site::nightly", site.path()] {
        let beat = env.murmur(["beat", "nightly"]).start();
        events.until("request_opened");
        let said = env.murmur(["allow", name]).at(&site.0).run();
        assert!(said.starts_with("allowed Bash for "), "{name}: {said}");
        beat.wait_with_output().unwrap();
    }
    daemon.stop();
}

#[test]
fn a_prompted_answer_that_is_refused_or_left_out_fails() {
    let env = Env::new();
    let asked = json!({ "questions": [{ "question": "Which one?", "header": "Pick",
        "options": [{ "label": "A" }, { "label": "B" }] }] });
    env.workspace_calling("model: x", &[call("t1", "AskUserQuestion", &asked)]);
    let daemon = env.daemon();
    let beat = env.beat();
    env.opened();
    let prompted = || {
        let program = |words: &[&str]| env.program("setsid", words);
        let mut terminal = Terminal::open().start(program, &[MURMUR, "answer", "last"]);
        terminal.wait_for("q1: ");
        terminal
    };
    let (left, late) = (prompted(), prompted());
    left.send("\u{4}");
    let left = left.finish();
    assert!(left.status.code() == Some(1) && left.text().ends_with("\r\nnothing was answered\r\n"));
    env.run(["answer", "last", "B"]);
    late.send("A\n");
    let late = late.finish();
    let text = late.text();
    assert!(late.status.code() == Some(1) && text.contains("\r\nerror: request "), "{text}");
    assert!(text.contains(" was already answered\r\n"), "{text}");
    beat.wait_with_output().unwrap();
    daemon.stop();
}
