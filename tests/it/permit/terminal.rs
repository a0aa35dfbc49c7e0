//! Requests on the terminal of a beat, and of who follows an agent: printed with the command that answers them, and asked
//! about.

use super::{acts, bash, call, text};
use crate::env::{Env, MURMUR};
use crate::run::terminal::Terminal;
use serde_json::json;

const MANUAL: &str = "permissionsChecker: manual";

/// `murmur` with these arguments on a terminal.
fn on_terminal(env: &Env, args: &[&str]) -> Terminal {
    let program = |words: &[&str]| env.program("setsid", words).set("TERM", "xterm").set("NO_COLOR", "1");
    Terminal::open().start(program, &[&[MURMUR], args].concat())
}

/// Types `line` once `prompt` is shown.
fn reply(terminal: &mut Terminal, prompt: &str, line: &str) {
    terminal.wait_for(prompt);
    terminal.send(format!("{line}\n"));
}

#[test]
fn a_beat_asks_about_its_requests() {
    let env = Env::new();
    let asked = json!({ "questions": [
        { "question": "Which one?", "header": "Pick", "options": [{ "label": "A" }, { "label": "B" }] },
    ] });
    let calls = [bash("t1", "git push"), call("t2", "AskUserQuestion", &asked), bash("t3", "git tag v1")];
    env.workspace_calling("permissionsChecker: manual\nmaxTurns: 9", &calls);
    let daemon = env.daemon();
    for flags in [&[][..], &["-v"]] {
        let mut beat = on_terminal(&env, &[&["beat", "site"], flags].concat());
        beat.wait_for("    git push\r\n");
        beat.wait_for("--reason '...'\r\n");
        reply(&mut beat, "allow it? [y]es, [n]o, [a]lways, ne[v]er, [s]kip, [q]uit: ", "y");
        beat.wait_for("allowed Bash\r\n");
        reply(&mut beat, "q1: a number or a label, or a text of your own, or Enter to skip: ", "2");
        beat.wait_for("answered AskUserQuestion\r\n");
        reply(&mut beat, "[q]uit: ", "n");
        reply(&mut beat, "reason for the agent, or Enter for none: ", "not on a Friday");
        beat.wait_for("denied Bash\r\n");
        let session = beat.finish();
        assert_eq!(session.code(), Some(0), "{session:?}");
        let told = env.tool_results().pop().unwrap().text;
        assert!(told.contains("not on a Friday"), "{told}");
    }
    daemon.stop();
}

#[test]
fn a_request_that_is_answered_elsewhere_is_not_asked_about_any_more() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let mut beat = on_terminal(&env, &["beat", "site"]);
    beat.wait_for("[q]uit: ");
    let id = text(&env.opened(), "id").to_owned();
    env.run(["allow", "1"]);
    beat.wait_for(format!("request {id} is no longer open\r\n"));
    assert_eq!(beat.finish().code(), Some(0));
    daemon.stop();
}

#[test]
fn who_follows_an_agent_is_asked_about_its_requests() {
    let env = Env::new();
    let site = env.workspace("site", "");
    site.plays(&acts(&[bash("t1", "git push")]));
    let daemon = env.daemon();
    env.run(["agent", "start", "--agent-id", "pusher", "--worktree", site.path(), "Go."]);
    env.opened();
    let mut follower = on_terminal(&env, &["agent", "attach", "pusher", "--from", "0"]);
    follower.wait_for("[waiting] for your approval of Bash\r\n1  ");
    follower.wait_for("  run: murmur allow 1, or: murmur deny 1 --reason '...'\r\n");
    reply(&mut follower, "[q]uit: ", "yes");
    follower.wait_for("allowed Bash\r\n");
    env.wait_for_tool_results(1);
    env.run(["agent", "stop", "pusher"]);
    assert_eq!(follower.finish().code(), Some(0));
    daemon.stop();
}
