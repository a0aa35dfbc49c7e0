//! The computer sleeps while a host runs a beat. A library that is loaded into the host (`suspend.c`) moves its clocks
//! as a sleep would: the wall clock and the clock since boot jump, and the monotonic clock doesn't.

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Command;

use super::doing::{lines, says, sleeps};
use crate::env::{Env, result};

const HOUR: u64 = 3600;

/// The line of a beat with limits of an hour, during which the clocks move three times: before the agent prints
/// anything, while the model works, and while a tool runs. `moved` are the seconds of each: of the wall clock, and of
/// the monotonic one.
fn beat(moved: (u64, u64)) -> Value {
    let env = Env::new();
    let (library, clocks) = (env.root().join("suspend.so"), env.root().join("clocks"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/timeout/suspend.c");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    assert!(compiled.unwrap().success());
    let mut moves = 0;
    let mut jump = || {
        moves += 1;
        let new = env.root().join("clocks.new");
        fs::write(&new, format!("{} {}", moved.0 * moves, moved.1 * moves)).unwrap();
        fs::rename(new, &clocks).unwrap();
    };
    let limits =
        ["startTimeout", "idleTimeout", "toolTimeout", "timeout"].map(|limit| format!("{limit}: 1h\n"));
    let (pace, mut gate) = env.gate("gate");
    let text = says("m0", &json!({ "type": "text", "text": "Let me think." }));
    let stdout = lines(&[text, sleeps("t1")]) + &result("HEARTBEAT_OK");
    env.workspace("site", &format!("---\n{}---\nDo it.", limits.concat()))
        .plays(&json!({ "stdout": stdout, "pace": pace }));
    let run = env.murmur(["beat", "site", "--verbose"]).set("LD_PRELOAD", &library).set("CLOCKS", &clocks);
    let mut beat = run.start();
    // The host began to count before it started the agent.
    env.wait_for_agents(1);
    let mut shown = BufReader::new(beat.stdout.take().unwrap()).lines();
    for awaited in ["Let me think.", "sleep 100", "ok"] {
        jump();
        gate.write_all(b".").unwrap();
        // The host has read the line, and looked at its clocks, once it is shown.
        let is_shown = shown.any(|line| line.is_ok_and(|line| line.contains(awaited)));
        if !is_shown {
            break;
        }
    }
    beat.wait().unwrap();
    assert_eq!(env.agents_alive(), [0; 0]);
    env.journal().remove(0)
}

#[test]
fn hours_of_sleep_count_for_no_limit_of_a_beat() {
    let line = beat((8 * HOUR, 0));
    assert_eq!(line["outcome"], "ok", "{line}");
    assert!(line["durationMs"].as_u64().unwrap() < HOUR * 1000, "{line}");
}

#[test]
fn hours_awake_count() {
    let line = beat((8 * HOUR, 8 * HOUR));
    // Which of its limits ends it depends on what the host sees first.
    assert!(line["timedOut"] == true || line["watchdog"].is_string(), "{line}");
    assert_eq!(line["outcome"], "error", "{line}");
}
