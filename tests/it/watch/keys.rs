//! The keys that act: what each of them changes outside the view.

use super::{SMALL, screen, until, watching};
use crate::env::Env;
use crate::permit::{bash, call, line};
use crate::run::terminal::Terminal;
use serde_json::{Value, json};

/// Registers the heartbeat in `site`, which only a person starts.
fn register(env: &Env) {
    let site = env.root().join("site");
    let workspace = json!({ "path": site, "interval": "1h", "enabled": false });
    env.configure(&json!({ "workspaces": [workspace] }).to_string());
}

/// Waits until the row that begins with `name` has `text`.
fn until_row(terminal: &mut Terminal, name: &str, text: &str) {
    let is_there = |line: &str| line.starts_with(name) && line.contains(text);
    while !screen(terminal.so_far(), 24, 80).lines().any(is_there) {
        terminal.wait_for("\u{1b}[?2026l");
    }
}

/// Waits until `text` is gone.
fn until_gone(terminal: &mut Terminal, text: &str) {
    while screen(terminal.so_far(), 24, 80).contains(text) {
        terminal.wait_for("\u{1b}[?2026l");
    }
}

/// What is paused.
fn paused(env: &Env) -> Vec<Value> {
    let pauses = env.murmur(["status", "--json"]).json()["heartbeats"].clone();
    pauses
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["paused"].clone())
        .filter(|pause| !pause.is_null())
        .collect()
}

#[test]
fn a_heartbeat_is_run_paused_and_resumed() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    register(&env);
    watching(&env, |terminal| {
        until_row(terminal, "site ", "disabled");
        terminal.send("r");
        until(terminal, SMALL, "murmur is not running");
        assert!(env.journal_text().is_empty());
        let daemon = env.daemon();
        until(terminal, SMALL, ", up ");
        for (run, pause, resume) in [("r", "p", "p"), (":run site\r", ":pause site\r", ":resume site\r")] {
            let before = env.journal_text().lines().count();
            terminal.send(run);
            until(terminal, SMALL, "started site");
            assert_eq!(env.wait_for_journal(before + 1)[before]["outcome"], "ok");
            until_row(terminal, "site ", &".".repeat(before + 1));
            terminal.send(pause);
            until(terminal, SMALL, "paused site");
            assert_eq!(paused(&env).len(), 1);
            until_row(terminal, "site ", "paused");
            terminal.send(resume);
            until(terminal, SMALL, "resumed site");
            assert_eq!(paused(&env), [] as [Value; 0]);
            until_row(terminal, "site ", "disabled");
        }
        daemon.stop();
        terminal.send("q");
    });
}

#[test]
fn a_beat_is_stopped_after_a_second_key() {
    let env = Env::new();
    let init = json!({ "type": "system", "subtype": "init", "session_id": "s-1", "model": "m" });
    let call = json!({ "type": "assistant", "message": { "id": "m", "content": [bash("t1", "make")] } });
    env.workspace("site", "Do it.")
        .plays(&json!({ "stdout": format!("{init}\n{call}\n"), "faults": ["hang"] }));
    register(&env);
    watching(&env, |terminal| {
        until_row(terminal, "site ", "disabled");
        terminal.send("s");
        until(terminal, SMALL, "site has no running beat");
        let mut beat = env.murmur(["beat", "site"]).start();
        until_row(terminal, "site ", "running");
        terminal.send("2");
        // Only its host knows the call, and the beat.
        until_row(terminal, "site-", "Bash: make");
        terminal.send("1s");
        until(terminal, SMALL, "stop agent site-");
        terminal.send("s");
        until_gone(terminal, "stop agent site-");
        assert!(beat.try_wait().unwrap().is_none());
        terminal.send("s");
        until(terminal, SMALL, "y, or any other key:");
        terminal.send("y");
        assert_eq!(beat.wait().unwrap().code(), Some(1));
        until_row(terminal, "agent site-", " has ended");
        terminal.send("q");
    });
    assert!(env.run(["log"]).contains("  stopped "), "{}", env.run(["log"]));
}

#[test]
fn an_agent_is_stopped_in_its_pane() {
    let env = Env::new();
    env.workspace("site", "").plays(&json!({ "live": "echo" }));
    env.run(["agent", "start", "--agent-id", "fixer", "--worktree", "site", "Hi"]);
    watching(&env, |terminal| {
        terminal.send("2");
        until_row(terminal, "fixer ", "active");
        terminal.send("s");
        until(terminal, SMALL, "stop agent fixer? y, or any other key:");
        terminal.send("y");
        until(terminal, SMALL, "agent fixer has ended");
        terminal.send("q");
    });
    assert!(env.run(["agent", "list", "--all"]).contains("fixer  exited"));
}

#[test]
fn a_request_is_denied_also_with_a_reason() {
    for (key, pane, reason) in [("n", "2", None), ("N", "3", Some("open a pull request"))] {
        let env = Env::new();
        env.workspace_calling("permissionsChecker: manual", &[bash("t1", "git push")]);
        let daemon = env.daemon();
        let beat = env.beat();
        watching(&env, |terminal| {
            until(terminal, SMALL, "1 waiting for you");
            terminal.send(pane);
            until(terminal, SMALL, "git push");
            terminal.send("n");
            until(terminal, SMALL, "N deny with a reason");
            terminal.send(key);
            if let Some(reason) = reason {
                until(terminal, SMALL, "why not?");
                terminal.send(format!("{reason}\r"));
            }
            until(terminal, SMALL, "denied Bash for site-");
            terminal.send("q");
        });
        assert_eq!(line(beat)["denials"], json!(["Bash"]));
        let told = env.only_tool_result();
        assert!(!told.ran() && reason.is_none_or(|reason| told.text.contains(reason)), "{told:?}");
        daemon.stop();
    }
}

#[test]
fn a_request_that_the_guard_doubts_needs_yes_in_full() {
    let env = Env::new();
    env.workspace_calling("permissionsChecker: manual", &[bash("t1", "\"$TOOL\" --now")]);
    let daemon = env.daemon();
    let beat = env.beat();
    watching(&env, |terminal| {
        until(terminal, SMALL, "1 waiting for you");
        terminal.send("3y");
        until(terminal, SMALL, "y allow");
        terminal.send("y");
        until(terminal, SMALL, "type yes to allow it:");
        terminal.send("y\r");
        until(terminal, SMALL, "not allowed: type yes in full to allow it");
        assert!(env.run(["inbox"]).contains("--now"));
        terminal.send("yyes\r");
        until(terminal, SMALL, "allowed Bash for site-");
        terminal.send("q");
    });
    assert_eq!(line(beat)["outcome"], "ok");
    assert!(env.only_tool_result().ran());
    daemon.stop();
}

#[test]
fn a_question_is_answered_with_a_digit_or_in_words() {
    let asked = json!({ "questions": [{ "question": "Which database?", "header": "Database",
        "options": [{ "label": "Postgres" }, { "label": "SQLite" }] }] });
    for (keys, answer) in [("22", "SQLite"), ("a=DuckDB\r", "DuckDB")] {
        let env = Env::new();
        env.workspace_calling("model: x", &[call("t1", "AskUserQuestion", &asked)]);
        let daemon = env.daemon();
        let beat = env.beat();
        watching(&env, |terminal| {
            until(terminal, SMALL, "1 waiting for you");
            terminal.send("3\r");
            until(terminal, SMALL, "1-9 choose");
            // Neither an answer nor an option.
            terminal.send("y");
            until(terminal, SMALL, "this is a question; press a to answer it");
            terminal.send("3");
            until_gone(terminal, "this is a question; press a to answer it");
            terminal.send(keys);
            until(terminal, SMALL, "answered site-");
            terminal.send("q");
        });
        assert_eq!(line(beat)["outcome"], "ok");
        let told = env.only_tool_result();
        assert!(told.text.contains(answer), "{told:?}");
        daemon.stop();
    }
}
