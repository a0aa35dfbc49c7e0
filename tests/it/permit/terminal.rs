//! Requests on the terminal of a beat, and of who follows an agent: printed with the command that answers them, and
//! asked about.

use super::{acts, bash, call, line, text};
use crate::env::{Env, MURMUR};
use crate::run::terminal::Terminal;
use serde_json::json;
use sys::clock;

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
        beat.wait_for("allowed Bash for ");
        reply(&mut beat, "q1: a number or a label, or =your own text, or Enter to skip: ", "2");
        beat.wait_for("answered AskUserQuestion for ");
        reply(&mut beat, "[q]uit: ", "n");
        reply(&mut beat, "reason for the agent, or Enter for none: ", "not on a Friday");
        beat.wait_for("denied Bash for ");
        let session = beat.finish();
        assert_eq!(session.code(), Some(0), "{session:?}");
        let told = env.tool_results().pop().unwrap().text;
        assert!(told.contains("not on a Friday"), "{told}");
        let shown = env.run(["show"]);
        assert!(shown.contains("  Bash(git tag v1)  denied by you: not on a Friday, "), "{shown}");
    }
    let mut beat = on_terminal(&env, &["beat", "site"]);
    reply(&mut beat, "[q]uit: ", "n");
    reply(&mut beat, "reason for the agent, or Enter for none: ", "");
    reply(&mut beat, "or Enter to skip: ", "1");
    reply(&mut beat, "[q]uit: ", "y");
    assert_eq!(beat.finish().code(), Some(0));
    let shown = env.run(["show"]);
    assert!(shown.contains("  Bash(git push)  denied by you, "), "{shown}");
    daemon.stop();
}

/// Nothing comes before its cause, also where output and messages go to the same place.
#[test]
fn a_verbose_beat_shows_a_wait_between_the_call_and_its_result() {
    let env = Env::new();
    let script = json!({ "script": [
        [{ "type": "text", "text": "I push." }, bash("t1", "git push")],
        [{ "type": "text", "text": "HEARTBEAT_OK" }],
    ] });
    env.workspace("site", &format!("---\n{MANUAL}\n---\nDo it.")).plays(&script);
    let daemon = env.daemon();
    let mut events = env.events();
    let order = |shown: &str, answer: &str| {
        let steps = [
            "I push.",
            "  Bash(git push)",
            "waiting for your approval of Bash",
            answer,
            "  end of Bash(git push)",
            "HEARTBEAT_OK",
            "ok ",
        ];
        let mut rest = shown;
        for step in steps {
            let at = rest.find(step).unwrap_or_else(|| panic!("no {step:?} where it should be in:\n{shown}"));
            rest = &rest[at + step.len()..];
        }
    };
    let mut beat = on_terminal(&env, &["beat", "site", "-v"]);
    events.until("request_opened");
    reply(&mut beat, "[q]uit: ", "y");
    order(&beat.finish().text(), "allowed Bash for ");
    let log = env.root().join("both");
    let both = std::fs::File::create(&log).unwrap();
    let beat = env.murmur(["beat", "site", "-v"]).stdout(both.try_clone().unwrap()).stderr(both).start();
    events.until("request_opened");
    env.run(["allow", "last"]);
    assert!(beat.wait_with_output().unwrap().status.success());
    order(&std::fs::read_to_string(&log).unwrap(), "run: murmur allow ");
    daemon.stop();
}

#[test]
fn a_request_that_is_answered_elsewhere_is_not_asked_about_any_more() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let mut beat = on_terminal(&env, &["beat", "site"]);
    beat.wait_for("[q]uit: ");
    env.run(["allow", "1"]);
    beat.wait_for("request 1 is no longer open\r\n");
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
    follower.wait_for("allowed Bash for ");
    env.wait_for_tool_results(1);
    env.run(["agent", "stop", "pusher"]);
    let followed = follower.finish();
    assert_eq!(followed.code(), Some(0));
    assert!(followed.text().contains("\r\n[result] no output\r\n"), "{followed:?}");
    // Who answered is not told that the request is closed.
    assert!(!followed.text().contains("no longer open"), "{followed:?}");
    daemon.stop();
}

#[test]
fn a_request_that_is_skipped_is_shown_as_waiting_and_a_rule_that_was_saved_is_named() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push"), bash("t2", "git tag v1")]);
    let daemon = env.daemon();
    let mut beat = on_terminal(&env, &["beat", "site"]);
    reply(&mut beat, "[q]uit: ", "s");
    beat.wait_for("  waiting for your approval of Bash; run: murmur allow 1");
    env.run(["allow", "1"]);
    reply(&mut beat, "[q]uit: ", "a");
    reply(&mut beat, "add it? [y]es, [n]o: ", "y");
    beat.wait_for("; the rule is in\r\n");
    beat.wait_for("/permissions.toml\r\n");
    assert_eq!(beat.finish().code(), Some(0));
    daemon.stop();
}

#[test]
fn a_running_beat_that_waits_is_marked_and_its_request_named() {
    let env = Env::new();
    let site = env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    // Only `murmur beat` starts it.
    env.configure(
        &json!({ "workspaces": [{ "path": site.0, "interval": "1h", "enabled": false }] }).to_string(),
    );
    let daemon = env.daemon();
    let beat = env.beat();
    let id = text(&env.opened(), "id").to_owned();
    let status = on_terminal(&env, &["status"]).finish().text();
    assert!(status.contains("\r\nsite  waiting  for "), "{status}");
    assert!(status.contains("  request 1 is waiting; see: murmur inbox\r\n"), "{status}");
    let show = on_terminal(&env, &["show", "--follow", "site"]);
    let whole = env.run(["status"]);
    assert!(whole.contains(&format!("  waits     for you: request {id}; see: murmur inbox\n")), "{whole}");
    let running = &env.murmur(["status", "--json"]).json()["heartbeats"][0]["running"];
    assert_eq!(text(running, "waitsFor"), id);
    let mut show = show;
    show.wait_for("; run: murmur allow 1, or: murmur deny 1");
    env.run(["allow", "1"]);
    line(beat);
    assert_eq!(show.finish().code(), Some(0));
    daemon.stop();
}

#[test]
fn text_is_broken_between_words_and_commands_are_not() {
    let env = Env::new();
    let command = format!("echo {}", "word ".repeat(40).trim());
    env.workspace_calling(MANUAL, &[bash("t1", &command)]);
    let daemon = env.daemon();
    let beat = env.beat();
    env.opened();
    let terminal = Terminal::open();
    terminal.resize(24, 40);
    let program = |words: &[&str]| env.program("setsid", words).set("TERM", "xterm").set("NO_COLOR", "1");
    let inbox = terminal.start(program, &[MURMUR, "inbox"]).finish().text();
    assert!(inbox.contains(&format!("    {command}\r\n")), "{inbox}");
    assert!(
        inbox.contains("\r\n  run: murmur allow 1, or: murmur deny 1\r\n    --reason '...'\r\n"),
        "{inbox}"
    );
    let terminal = Terminal::open();
    terminal.resize(24, 40);
    let wrong = terminal.start(program, &[MURMUR, "allow", "99"]).finish().text();
    assert_eq!(wrong, "error: no request has the number 99\r\nhint: see: murmur inbox\r\n");
    env.run(["deny", "1"]);
    line(beat);
    daemon.stop();
}

#[test]
fn a_request_that_is_deferred_is_still_open() {
    let env = Env::new();
    let settings = "permissionsChecker: manual\napproval: defer\napprovalWait: 1s";
    let site = env.workspace_calling(settings, &[bash("t1", "git push")]);
    // The daemon would continue it, and doesn't start it itself.
    let ran = clock::rfc3339(clock::now());
    let entry = json!({ "path": site.0, "interval": "1h", "lastRun": ran });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    let daemon = env.daemon();
    let mut beat = on_terminal(&env, &["beat", "site"]);
    beat.wait_for("[q]uit: ");
    beat.wait_for("request 1 is deferred: its beat ends now, and continues after your answer\r\n");
    beat.wait_for("waiting for approval; answer with `murmur allow 1` (or deny);");
    assert_eq!(beat.finish().code(), Some(0));
    daemon.stop();
}
