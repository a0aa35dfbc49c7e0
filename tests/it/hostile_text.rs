//! Untrusted text, such as the name of a folder, in the output of commands: without control characters.

use serde_json::json;

use crate::env::Env;

/// It clears the screen, reverses the direction of text, and hides a letter.
const NAME: &str = "si\u{1b}[2J\u{1b}[8mte\u{202e}x\u{200b}\u{7}";

/// What a command printed on both streams.
fn said(env: &Env, args: &[&str]) -> String {
    let output = env.murmur(args).output();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

#[test]
fn no_command_prints_control_characters() {
    let env = Env::new();
    let site = env.workspace(NAME, "Do it.");
    std::fs::create_dir_all(site.0.join(".claude")).unwrap();
    std::fs::write(site.0.join(".claude/settings.json"), "{}").unwrap();
    let path = site.path();
    let missing = format!("{path}/none");
    for args in [
        &["workspaces", "add", path][..],
        &["workspaces", "add", path],
        &["workspaces", "list"],
        &["workspaces", "add", &missing],
        &["init", path],
        &["init", path, "--name", "n", "--interval", "1h"],
        &["status"],
        &["beat", path],
        &["beat", path, "--name", NAME],
        &["beat", &missing],
        &["log"],
        &["log", "--workspace", path],
        &["log", "--workspace", &missing],
        &["trust", path],
        &["doctor"],
        &["show", NAME],
        &["permission", "check", NAME],
        &["host", "stop", NAME],
        &["agents", NAME],
        &["workspaces", "remove", path],
        &["workspaces", "remove", path],
        &[NAME],
    ] {
        let said = said(&env, args);
        let obeyed = said.chars().find(|letter| {
            letter.is_control() && *letter != '\n' || matches!(letter, '\u{202e}' | '\u{200b}')
        });
        assert_eq!(obeyed, None, "{args:?}: {said:?}");
    }
}

#[test]
fn a_person_sees_the_whole_command_before_answering() {
    let env = Env::new();
    let daemon = env.daemon();
    let mut hook = env.connect();
    let call = json!({ "agent": "site-1", "session": "s", "toolUseId": "t1", "tool": "Bash",
        "input": { "command": "echo \u{1b}[8mhidden\u{202e} sud\u{43e}" }, "cwd": "/w", "workspace": "/w", "project": "w",
        "whom": "person", "wait": 50, "hook": "00c0ffee00c0ffee" });
    let mut events = env.connect();
    events.ask("attach", &json!({ "from": 0 }));
    hook.say(format!("{}\n", json!({ "msg_type": "permission.request", "id": "1", "payload": call })));
    events.event("request_opened");
    let listed = said(&env, &["permission", "list"]);
    assert!(listed.contains("    echo \\u{1b}[8mhidden\\u{202e} sud\u{43e}\n"), "{listed}");
    let mark = "note: lookalike letters: \u{43e} is U+043E in sud\u{43e}\n";
    assert!(listed.contains(mark), "{listed}");
    daemon.stop();
}
