//! `murmur beat` on a terminal: the line that shows its progress.

use serde_json::json;
use std::io::Write;

use crate::env::{Env, MURMUR, result};
use crate::run::terminal::Terminal;

/// A beat on a terminal of 24 rows of 80 columns. Its agent says "Looking.", calls a tool, and writes about the cellar;
/// each of its lines waits for the gate.
fn beat(env: &Env, args: &[&str]) -> (Terminal, std::fs::File) {
    let assistant = |id: &str, block: serde_json::Value| {
        let usage = json!({ "input_tokens": 1200, "output_tokens": 34 });
        json!({ "type": "assistant", "message": { "id": id, "usage": usage, "content": [block] } })
    };
    let lines = [
        json!({ "type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.1.329" }),
        assistant("a", json!({ "type": "text", "text": "Looking." })),
        assistant(
            "a",
            json!({ "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": "make" } }),
        ),
        json!({ "type": "user", "message": { "content": [
            { "type": "tool_result", "tool_use_id": "t", "content": "built" },
        ] } }),
        assistant("b", json!({ "type": "text", "text": "ATTENTION: the cellar is wet" })),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let (pace, gate) = env.gate(&format!("gate-{}", args.join("")));
    env.workspace("site", "Do it.")
        .plays(&json!({ "stdout": lines + &result("ATTENTION: the cellar is wet"), "pace": pace }));
    let program = |words: &[&str]| env.program("setsid", words).set("TERM", "xterm").set("NO_COLOR", "1");
    (Terminal::open().start(program, &[&[MURMUR, "beat", "site"], args].concat()), gate)
}

/// What is on a terminal of 80 columns after these bytes.
fn screen(bytes: &[u8]) -> String {
    let mut parser = vt100::Parser::new(24.try_into().unwrap(), 80.try_into().unwrap(), 0);
    parser.process(bytes);
    parser.screen().contents()
}

/// Lets lines of the agent through until the progress ends with `text`.
fn until(terminal: &mut Terminal, gate: &mut std::fs::File, text: &str) {
    gate.write_all(b".").unwrap();
    terminal.wait_for(text);
}

#[test]
fn a_line_shows_the_progress_and_is_gone_at_the_end() {
    let env = Env::new();
    let (mut terminal, mut gate) = beat(&env, &[]);
    terminal.wait_for("s  starting");
    until(&mut terminal, &mut gate, "  waiting for the model");
    until(&mut terminal, &mut gate, "s  turn 1  1.2k tokens  writing");
    until(&mut terminal, &mut gate, "s  turn 1  1.2k tokens  Bash(make)");
    let shown = screen(terminal.so_far());
    assert!(shown.ends_with("s  turn 1  1.2k tokens  Bash(make)"), "{shown}");
    // Its time is another one in the guide.
    let guide = include_str!("../../../docs/guide/getting-started.md");
    assert!(guide.contains(shown.trim_start_matches(|letter: char| letter.is_ascii_digit())), "{shown}");
    assert!(!terminal.so_far().contains(&b'\n'));
    drop(gate);
    let shown = screen(&terminal.finish().shown);
    let (outcome, text) = shown.trim_end().split_at(10);
    assert_eq!(outcome, "attention ");
    assert!(text.ends_with("s ATTENTION: the cellar is wet") && !text.contains('\n'), "{shown:?}");
}

#[test]
fn a_verbose_beat_prints_everything_once_above_the_line() {
    let env = Env::new();
    let (mut terminal, mut gate) = beat(&env, &["-v"]);
    until(&mut terminal, &mut gate, "waiting for the model");
    until(&mut terminal, &mut gate, "writing");
    until(&mut terminal, &mut gate, "Bash(make)");
    let shown = screen(terminal.so_far());
    assert!(
        shown.starts_with("Looking.\n") && shown.ends_with("s  turn 1  1.2k tokens  Bash(make)"),
        "{shown:?}"
    );
    drop(gate);
    let shown = screen(&terminal.finish().shown);
    let shown = regex::Regex::new(r"\d+(ms|\.\ds)").unwrap().replace_all(&shown, "[S]");
    insta::assert_snapshot!(shown.trim_end(), @"
    Looking.
      Bash(make)  built, [S]
    ATTENTION: the cellar is wet
    attention [S]
    2 turns, tokens: 2400 input, 68 output
    ");
}

#[test]
fn a_quiet_beat_and_one_for_programs_have_no_line() {
    let env = Env::new();
    for args in [&["--quiet"][..], &["--json"]] {
        let (terminal, mut gate) = beat(&env, args);
        gate.write_all(&[b'.'; 50]).unwrap();
        let shown = terminal.finish().text();
        assert!(
            shown.contains("cellar") && !shown.contains("starting") && !shown.contains('\u{1b}'),
            "{shown:?}"
        );
    }
}
