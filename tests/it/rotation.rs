//! Large files are rotated into dated, compressed parts, which commands read.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::env::{Env, result};

/// A line of a beat with a long summary: a megabyte.
fn line(number: usize) -> String {
    let summary = format!("{number} {}", "x".repeat(1 << 20));
    json!({ "ts": "2026-02-03T10:00:00Z", "workspace": "/w", "outcome": "attention", "durationMs": 1, "summary": summary })
        .to_string()
        + "\n"
}

/// Fills the journal up to the limit, so that the next beat rotates it.
fn fill(env: &Env, numbers: std::ops::Range<usize>) {
    let path = env.create_data().join("heartbeats.jsonl");
    let mut file = fs::File::options().append(true).create(true).open(path).unwrap();
    numbers.for_each(|number| file.write_all(line(number).as_bytes()).unwrap());
}

fn parts(env: &Env) -> Vec<PathBuf> {
    let entries = fs::read_dir(env.data().join("archive")).unwrap();
    let mut parts: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    parts.sort();
    parts
}

/// What `murmur log --json` shows of each line: its number, or `beat`.
fn shown(text: &str) -> Vec<String> {
    let lines = text.lines().map_while(|line| serde_json::from_str::<Value>(line).ok());
    let name = |line: Value| match line["summary"].as_str() {
        Some(summary) => summary.split(' ').next().unwrap().to_owned(),
        None => "beat".to_owned(),
    };
    lines.map(name).collect()
}

#[test]
fn a_large_journal_is_rotated_and_log_shows_all_of_it() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    fill(&env, 0..16);
    let mut follow = env.murmur(["log", "-n", "1", "--follow", "--json"]).stdout(Stdio::piped()).start();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines().map(|line| line.unwrap() + "\n");
    assert_eq!(shown(&lines.next().unwrap()), ["15"]);
    env.run(["beat", site.path()]);
    assert_eq!(env.journal().len(), 1);
    fill(&env, 16..32);
    env.run(["beat", site.path()]);
    let names: Vec<_> = parts(&env).iter().map(|part| part.extension().unwrap().to_owned()).collect();
    assert_eq!(names, ["zst", "jsonl"]);
    let expected: Vec<String> = (0..16)
        .map(|number| number.to_string())
        .chain(["beat".to_owned()])
        .chain((16..32).map(|number| number.to_string()))
        .chain(["beat".to_owned()])
        .collect();
    assert_eq!(shown(&env.run(["log", "-n", "all", "--json"])), expected);
    assert_eq!(shown(&env.run(["log", "-n", "20", "--json"])), expected[14..]);
    assert_eq!(env.murmur(["usage", "--json"]).json()["total"]["beats"], 34);
    let followed: String = lines.by_ref().take(18).collect();
    assert_eq!(shown(&followed), expected[16..]);
    follow.kill().unwrap();
    follow.wait().unwrap();
}

#[test]
fn a_corrupt_part_is_reported_and_nothing_else_stops() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    for start in [0, 16] {
        fill(&env, start..start + 16);
        env.run(["beat", site.path()]);
    }
    fs::write(&parts(&env)[0], "not zstd").unwrap();
    let output = env.run(["log", "-n", "all", "--json"]);
    assert_eq!(shown(&output).len(), 18);
    let (_, warning) = output.rsplit_once("warning: cannot read ").unwrap();
    assert!(warning.contains("-000001.jsonl.zst: it is damaged; restore it from a backup"), "{warning}");
    assert!(warning.contains("its lines are left out"), "{warning}");
    let output = env.run(["usage", "--json"]);
    assert!(output.contains("\"beats\":18") && output.contains("warning: cannot read "), "{output}");
    assert!(env.run(["doctor"]).contains("-000001.jsonl.zst"));
    assert!(env.run(["beat", site.path()]).ends_with("[exit 0]"));
    assert!(env.run(["status"]).ends_with("[exit 0]"));
    // The doctor names every part, also without a journal.
    for part in parts(&env) {
        fs::remove_file(&part).unwrap();
        let name = part.to_str().unwrap().trim_end_matches(".zst").to_owned();
        fs::write(name + ".zst", "not zstd").unwrap();
    }
    fs::remove_file(env.data().join("heartbeats.jsonl")).unwrap();
    let doctor = env.run(["doctor"]);
    for name in ["-000001.jsonl.zst", "-000002.jsonl.zst"] {
        assert!(doctor.contains(&format!("{name}: it is damaged")), "{doctor}");
    }
}

#[test]
fn a_daemon_with_a_budget_counts_all_but_a_corrupt_part_and_starts_beats() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    for start in [0, 16] {
        fill(&env, start..start + 16);
        env.run(["beat", site.path()]);
    }
    fs::write(&parts(&env)[0], "not zstd").unwrap();
    let today = sys::clock::rfc3339(sys::clock::now());
    let spent =
        json!({ "ts": today, "workspace": site.path(), "outcome": "ok", "durationMs": 1, "costUsd": 2 });
    let mut journal = fs::File::options().append(true).open(env.data().join("heartbeats.jsonl")).unwrap();
    writeln!(journal, "{spent}").unwrap();
    let other = env.workspace("other", "Do it.");
    let entries = json!([
        { "path": site.path(), "interval": "1s", "budget": { "month": 1 } },
        { "path": other.path(), "interval": "1h" },
    ]);
    env.configure(&json!({ "workspaces": entries }).to_string());
    let daemon = env.daemon();
    // The other heartbeat runs, and the budget is counted.
    env.wait(&env.data(), || {
        env.journal().iter().any(|line| line["workspace"] == other.path()).then_some(())
    });
    let status = env.ask("status", &Value::Null);
    let why = status["heartbeats"][0]["held"]["why"].as_str().unwrap_or_default().to_owned();
    assert!(why.contains("the budget of 1 USD a month"), "{status}");
    // What isn't counted is a problem, with and without a daemon.
    let damaged = "-000001.jsonl.zst: it is damaged; restore it from a backup or remove it";
    assert!(status["problems"].to_string().contains(damaged), "{status}");
    daemon.stop_after_saying("the budget of 1 USD a month");
    let status = env.run(["status"]);
    assert!(status.contains(damaged), "{status}");
}

#[test]
fn the_doctor_checks_the_parts_of_all_rotated_files() {
    let env = Env::new();
    env.run(["beat", env.workspace("site", "Do it.").path()]);
    fs::create_dir_all(env.data().join("archive")).unwrap();
    for name in [
        "decisions-2026-02-03-000001.jsonl.zst",
        "murmur-2026-02-03-000001.log.zst",
        "notifications-2026-02-03-000001.jsonl.zst",
    ] {
        let part = env.data().join("archive").join(name);
        assert!(!env.run(["doctor"]).contains(name));
        fs::write(&part, "not zstd").unwrap();
        let shown = env.run(["doctor"]);
        assert!(shown.contains(name) && shown.contains("cannot read"), "{shown}");
        fs::remove_file(part).unwrap();
    }
}

#[test]
fn a_corrupt_part_of_the_decisions_is_reported_and_the_others_are_shown() {
    let env = Env::new();
    let decision = json!({ "ts": "2026-02-03T10:00:00.000Z", "agent": "site-1", "tool": "Bash", "input": "{\"command\":\"ls\"}",
        "cwd": "/", "session": "s", "toolUseId": "t", "decision": "deny", "by": { "kind": "person" }, "reason": "no",
        "durationMs": 1 });
    fs::create_dir_all(env.data().join("archive")).unwrap();
    fs::write(env.data().join("decisions.jsonl"), format!("{decision}\n")).unwrap();
    let name = "decisions-2026-02-03-000001.jsonl.zst";
    fs::write(env.data().join("archive").join(name), "not zstd").unwrap();
    let shown = env.run(["rules", "log"]);
    assert!(shown.contains(&format!("{name}: it is damaged")), "{shown}");
    assert!(shown.contains("Bash(ls)") && shown.ends_with("[exit 0]"), "{shown}");
}

#[test]
fn processes_of_the_daemon_report_problems_in_the_new_log_after_a_rotation() {
    let env = Env::new();
    env.setting("config.toml", "[notify.channels.phone]\ntype = \"command\"\ncommand = [\"true\"]");
    let (site, other) = (env.workspace("site", "Do it."), env.workspace("other", "Do it."));
    let (pace, gate) = env.gate("gate");
    let init =
        json!({ "type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "3.0.1" });
    let said = result("ATTENTION: look at this");
    site.plays(&json!({ "stdout": format!("{init}\n{said}"), "pace": pace }));
    other.plays(&json!({ "stdout": said }));
    env.register(&[&site]);
    env.run(["start"]);
    env.wait_for_agents(1);
    // The notifier runs once it has delivered something.
    env.run(["beat", other.path()]);
    let deliveries = env.data().join("notifications.jsonl");
    env.wait(&env.data(), || deliveries.exists().then_some(()));
    let (log, old) = (env.data().join("murmur.log"), env.data().join("archive.log"));
    fs::rename(&log, &old).unwrap();
    // The notifier can't write its record, and the beat's agent has an unknown version.
    fs::remove_file(&deliveries).unwrap();
    fs::create_dir(&deliveries).unwrap();
    drop(gate);
    let reports = ["notify: cannot write ", "warning: Claude Code 3.0.1 was not tested with murmur"];
    env.wait(&env.data(), || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        reports.iter().all(|report| text.contains(report)).then_some(())
    });
    env.run(["stop"]);
    let before = fs::read_to_string(&old).unwrap();
    assert!(!reports.iter().any(|report| before.contains(report)), "{before}");
}
