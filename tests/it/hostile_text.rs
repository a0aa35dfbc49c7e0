//! Untrusted text, such as the name of a folder, in the output of commands: without control characters.

use insta::assert_snapshot;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::env::{Env, MURMUR};
use crate::run::terminal::Terminal;

/// It clears the screen, colors text as murmur does, reverses its direction, and hides a letter.
const NAME: &str = "si\u{1b}[2J\u{1b}[31m\u{1b}[8mte\u{202e}x\u{200b}\u{7}";

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
        &["show", path],
        &["permission", "check", NAME],
        &["beat", path, "--dry-run"],
        &["rules", "list", path],
        &["rules", "log", "--name", path],
        &["set", path, "--every", "2h"],
        &["approve", path],
        &["pause", path],
        &["status", "-v"],
        &["inbox"],
        &["resume", path],
        &["log", "--stat"],
        &["usage"],
        &["config"],
        &["config", "check"],
        &["gc"],
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
fn json_stays_valid_and_has_no_hidden_characters() {
    let env = Env::new();
    let site = env.workspace(NAME, "Do it.");
    env.run(["add", site.path()]);
    env.run(["beat", site.path()]);
    for args in
        [&["list", "--json"][..], &["status", "--json"], &["log", "--json"], &["log", "--stat", "--json"]]
    {
        let printed = env.murmur(args).output().stdout;
        let printed = String::from_utf8(printed).unwrap();
        assert!(printed.contains(r"\u202ex\u200b"), "{args:?}: {printed}");
        for line in printed.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
        assert!(!printed.contains(['\u{202e}', '\u{200b}', '\u{1b}']), "{args:?}: {printed}");
    }
}

#[test]
fn the_daemon_logs_names_without_control_characters() {
    let env = Env::new();
    let site = env.workspace(NAME, "---\ninterval: never\n---\nDo it.");
    env.register(&[&site]);
    let daemon = env.daemon();
    let line = daemon.says("si\\u{1b}[2J\\u{1b}[31m");
    assert_eq!(line.chars().find(|letter| letter.is_control()), None, "{line:?}");
    daemon.stop();
}

/// What a command prints on a terminal of this size, without colors.
pub(crate) fn on_terminal(env: &Env, (rows, columns): (u16, u16), args: &[&str]) -> String {
    let terminal = Terminal::open();
    terminal.resize(rows, columns);
    let program = |words: &[&str]| {
        env.program("setsid", words).set("TERM", "xterm").set("NO_COLOR", "1").set("PAGER", "cat")
    };
    let words = [&[MURMUR], args].concat();
    terminal.start(program, &words).finish().text().replace("\r\n", "\n")
}

/// A registered heartbeat whose last beat has a summary of 10 MiB, with escape codes.
pub(crate) fn with_a_huge_summary(env: &Env) {
    let site = env.workspace("site", "Do it.");
    env.configure(&json!({ "workspaces": [{ "path": site.0, "interval": "1h" }] }).to_string());
    let summary = format!("ATTENTION: {}", "\u{1b}[2Jwide \u{202e}".repeat((10 << 20) / 12));
    let line = json!({ "ts": "2026-02-03T10:00:00Z", "workspace": site.0, "outcome": "attention", "durationMs": 1,
        "summary": summary, "beat": "0193a1b2-c3d4-7000-8000-000000000001", "agent": "site-1" });
    std::fs::write(env.create_data().join("heartbeats.jsonl"), format!("{line}\n")).unwrap();
}

#[test]
fn a_huge_summary_is_cut_and_escaped_wherever_it_is_shown() {
    let env = Env::new();
    with_a_huge_summary(&env);
    for args in [&["log"][..], &["log", "--oneline"], &["log", "--stat"], &["status"], &["inbox"], &["list"]]
    {
        let shown = on_terminal(&env, (24, 80), args);
        assert!(shown.lines().all(|line| line.width() <= 80), "{args:?}: {} bytes", shown.len());
        assert!(shown.len() < 2000, "{args:?}: {} bytes", shown.len());
    }
    for args in [&["log"][..], &["status", "-v"], &["show"], &["inbox"]] {
        let said = said(&env, args);
        let obeyed =
            said.chars().find(|letter| letter.is_control() && *letter != '\n' || *letter == '\u{202e}');
        assert_eq!(obeyed, None, "{args:?}");
    }
}

#[test]
fn everything_fits_a_terminal_of_20_columns() {
    let env = Env::new();
    let site = env.workspace("a-heartbeat-with-a-long-name", "Do it.");
    env.configure(&json!({ "workspaces": [{ "path": site.0, "interval": "1h" }] }).to_string());
    env.run(["beat", site.path()]);
    for args in [&["log"][..], &["log", "--oneline"], &["log", "--stat"], &["status"], &["inbox"]] {
        let shown = on_terminal(&env, (5, 20), args);
        let wide = shown.lines().find(|line| line.width() > 20 && line.trim().contains(' '));
        assert_eq!(wide, None, "{args:?}: {shown}");
    }
}

#[test]
fn two_hundred_heartbeats_are_readable_with_problems_first() {
    let env = Env::new();
    let mut workspaces = Vec::new();
    let mut lines = String::new();
    for number in 0..200 {
        let site = env.workspace(&format!("site-{number:03}"), "Do it.");
        let outcome = if number % 50 == 7 {
            "error"
        } else if number % 50 == 8 {
            "attention"
        } else {
            "ok"
        };
        let line = json!({ "ts": "2026-02-03T10:00:00Z", "workspace": site.0, "outcome": outcome, "durationMs": 1,
            "summary": "word ".repeat(100) });
        lines.push_str(&format!("{line}\n"));
        workspaces.push(json!({ "path": site.0, "interval": "1h" }));
    }
    env.configure(&json!({ "workspaces": workspaces }).to_string());
    std::fs::write(env.create_data().join("heartbeats.jsonl"), lines).unwrap();
    let shown = on_terminal(&env, (24, 80), &["status"]);
    assert!(shown.lines().all(|line| line.width() <= 80), "{shown}");
    let rows = shown.lines().filter(|line| line.starts_with("site-"));
    let states: Vec<&str> = rows.map(|row| row.split_whitespace().nth(1).unwrap()).collect();
    let mut sorted = states.clone();
    sorted.sort_by_key(|state| ["error", "attention", "ok"].iter().position(|known| known == state));
    assert_eq!((states.len(), &states), (200, &sorted));
    let urgent: Vec<&str> =
        shown.lines().filter(|line| line.starts_with("site-")).take(4).map(|line| &line[..8]).collect();
    assert_eq!(urgent, ["site-007", "site-057", "site-107", "site-157"]);
}

#[test]
fn a_name_that_looks_like_an_option_is_a_name() {
    let env = Env::new();
    let site = env.workspace("-rf", "Do it.");
    std::fs::create_dir_all(site.0.join("heartbeats/--all")).unwrap();
    std::fs::write(site.0.join("heartbeats/--all/HEARTBEAT.md"), "---\ninterval: 1d\n---\nCount.").unwrap();
    assert_snapshot!(env.run(["add", site.path()]), @"
    registered [ENV]/-rf
    not approved yet: --all; review it, then run: murmur approve [ENV]/-rf --name=--all
    [exit 0]
    ");
    assert_snapshot!(env.run(["approve", site.path(), "--name=--all"]), @"
    approved [ENV]/-rf/heartbeats/--all/HEARTBEAT.md  every 1d
    [exit 0]
    ");
    assert_snapshot!(env.run(["beat", "--", "--all"]), @"
    ok [S]
    [exit 0]
    ");
    assert_snapshot!(env.run(["set", "--every", "1h", "--", "--all"]), @"
    | error: cannot change --all: its settings are in [ENV]/-rf/heartbeats/--all/HEARTBEAT.md
    | hint: run: murmur edit -- --all
    [exit 1]
    ");
    let shown = env.run(["show", "--", "--all"]);
    assert!(shown.starts_with(&format!("-rf::--all  {}\n", site.path())), "{shown}");
    assert_snapshot!(env.run(["show", "--", "-rf"]), @"
    | error: [ENV]/-rf has not run yet
    | hint: run it: murmur beat [ENV]/-rf
    [exit 1]
    ");
    assert_snapshot!(env.run(["log", "--name=-rf"]), @"
    no beats to show; see: murmur status
    [exit 0]
    ");
    assert_snapshot!(env.run(["pause", "--", "-rf"]), @"
    paused [ENV]/-rf; to resume, run: murmur resume [ENV]/-rf
    [exit 0]
    ");
    assert_snapshot!(env.run(["inbox"]), @"
    nothing is waiting for you
    [exit 0]
    ");
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
