//! Streams that are torn, huge or not text.

use insta::assert_snapshot;
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};

use crate::env::{Env, fixture};

/// The output of a beat whose agent plays the fixture `ok` with these faults.
fn beat(env: &Env, faults: &[&str]) -> String {
    env.workspace("site", "Do it.").plays(&json!({ "fixture": fixture("ok"), "faults": faults }));
    env.run(["beat", "site"])
}

#[test]
fn an_incomplete_line_is_not_a_result() {
    assert_snapshot!(beat(&Env::new(), &["half-line"]), @"
    error [S] ended without a result
    [exit 1]
    ");
}

#[test]
fn a_line_that_is_not_utf8_is_skipped() {
    assert_snapshot!(beat(&Env::new(), &["invalid-utf8"]), @"
    ok [S]
    [exit 0]
    ");
}

#[test]
fn a_flood_on_stderr_blocks_nothing_and_its_end_explains_the_error() {
    let env = Env::new();
    assert_snapshot!(beat(&env, &["stderr-flood:20000000"]), @"
    ok [S]
    [exit 0]
    ");
    env.workspace("site", "Do it.").plays(&json!({
        "stdout": "", "stderr": "the last words", "exit": 1, "faults": ["stderr-flood:20000000"],
    }));
    env.run(["beat", "site"]);
    let error = env.journal()[1]["error"].as_str().unwrap().to_owned();
    assert!(error.len() < 3000, "{}", error.len());
    assert!(error.ends_with("the last words"), "{error}");
}

/// The peak memory of a verbose beat, in KiB, once it has shown a line that starts with `mark` and only awaits
/// its agent's result; and its output.
fn peak(env: &Env, faults: &[&str], mark: &str) -> (i64, String) {
    let (pace, mut gate) = env.gate(mark);
    let instructions = json!({ "fixture": fixture("ok"), "faults": faults, "pace": pace });
    env.workspace("site", "Do it.").plays(&instructions);
    let recorded = std::fs::read_to_string(format!("{}/stdout", fixture("ok"))).unwrap();
    let mut beat = env.murmur(["beat", "site", "--verbose"]).start();
    gate.write_all(&vec![b'.'; recorded.lines().count() + faults.len() - 1]).unwrap();
    let mut stdout = BufReader::new(beat.stdout.take().unwrap());
    let mut shown = String::new();
    while !shown.lines().last().unwrap_or_default().trim_start().starts_with(mark) {
        assert_ne!(stdout.read_line(&mut shown).unwrap(), 0, "{shown}");
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", beat.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak = peak.trim().trim_end_matches(" kB").parse().unwrap();
    gate.write_all(b".").unwrap();
    stdout.read_to_string(&mut shown).unwrap();
    assert_eq!(beat.wait().unwrap().code(), Some(0));
    (peak, shown)
}

#[test]
fn a_100_megabyte_line_uses_little_memory_and_the_next_one_counts() {
    let env = Env::new();
    let (base, _) = peak(&env, &[], "Nothing to do.");
    let (huge, shown) = peak(&env, &["huge-line:100000000"], "[note]");
    assert!(huge - base <= 64 << 10, "{base} KiB, with the huge line {huge} KiB");
    assert_snapshot!(shown, @"
    Nothing to do.

    HEARTBEAT_OK
      [note] skipped a line of 100000131 bytes
    ok [S]
    $0.0004, 1 turn, tokens: 10 input, 20 output
    ");
    assert_eq!(env.journal()[1]["outcome"], "ok");
}
