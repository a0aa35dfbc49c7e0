//! Regressions of single commands: log, init, beat, help, demo.

use std::io::{BufRead, BufReader};

use insta::assert_snapshot;
use serde_json::json;

use crate::env::{Env, kill, show};

#[test]
fn a_line_written_late_does_not_hide_a_newer_beat_before_it() {
    let env = Env::new();
    let now = sys::clock::now();
    let line = |minutes: i64, beat: &str| {
        let at = sys::clock::rfc3339(now - jiff::SignedDuration::from_mins(minutes));
        let line = json!({
            "ts": at, "workspace": "/w", "outcome": "attention", "durationMs": 1000, "summary": beat,
            "beat": beat, "agent": "w",
        });
        format!("{line}\n")
    };
    let text = [line(50, "first"), line(40, "second"), line(300, "late"), line(5, "last")].concat();
    std::fs::write(env.create_data().join("heartbeats.jsonl"), text).unwrap();
    assert_snapshot!(env.run(["log", "--since", "1h"]), @"
    [WHEN]  attention [S]  /w  first
    [WHEN]  attention [S]  /w  second
    [WHEN]  attention [S]  /w  last
    [exit 0]
    ");
    assert_snapshot!(env.run(["log", "--since", "1h", "-n", "2"]), @"
    [WHEN]  attention [S]  /w  second
    [WHEN]  attention [S]  /w  last
    [exit 0]
    ");
}

#[test]
fn a_registered_heartbeat_without_a_schedule_can_be_run_manually() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.configure(&json!({ "workspaces": [{ "path": site.0, "permissions": "skip" }] }).to_string());
    assert_snapshot!(env.run(["beat", "site"]), @"
    ok [S]
    [exit 0]
    ");
    let argv = env.agents()[0]["argv"].to_string();
    assert!(argv.contains("--dangerously-skip-permissions"), "{argv}");
    assert_eq!(env.journal()[0]["outcome"], "ok");
}

#[test]
fn a_named_heartbeat_does_not_use_its_workspaces_schedule() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    assert_snapshot!(env.run(["init", "site", "--name", "nightly", "--cron", "0 3 1 1 *", "--tz", "UTC"]), @"
    wrote [ENV]/site/heartbeats/nightly/HEARTBEAT.md; edit it, or the daemon will not run it
    registered [ENV]/site
    [exit 0]
    ");
    assert_snapshot!(env.config(), @r#"
    {
      "workspaces": [
        {
          "path": "[ENV]/site",
          "lastRun": null
        }
      ]
    }
    "#);
    let text = std::fs::read_to_string(site.0.join("heartbeats/nightly/HEARTBEAT.md")).unwrap();
    let front: Vec<&str> = text.lines().take(4).collect();
    assert_snapshot!(front.join("\n"), @"
    ---
    cron: '0 3 1 1 *'
    tz: UTC
    ---
    ");
    assert_snapshot!(env.run(["status"]), @r#"
    murmur is not running; start it with: murmur start

    site  [ENV]/site
      schedule  none
      last      never
      next      never
      problem   [ENV]/site/HEARTBEAT.md: it has no schedule, so it never runs; write "interval", "cron" or "on" into config.json or its frontmatter

    nightly  [ENV]/site::heartbeats/nightly/HEARTBEAT.md
      schedule  cron 0 3 1 1 * UTC
      last      never
      next      not scheduled: the daemon is not running
      prompt    not edited yet; edit [ENV]/site/heartbeats/nightly/HEARTBEAT.md
    [exit 0]
    "#);
}

#[test]
fn commands_with_options_have_examples_in_their_help() {
    let env = Env::new();
    for command in ["", "init", "beat", "log", "record"] {
        let words = [command, "--help"];
        let shown = env.run(words.into_iter().filter(|word| !word.is_empty()));
        let (usage, examples) = shown.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{shown}"));
        assert!(usage.contains("\nUsage: murmur") && shown.ends_with("[exit 0]"), "{shown}");
        let mut examples = examples.lines().filter(|line| !line.starts_with('['));
        assert!(examples.all(|line| line.contains(&format!("murmur {command}"))), "{shown}");
    }
    for command in ["workspaces", "start", "stop", "status", "schema", "demo"] {
        let shown = env.run([command, "--help"]);
        assert!(shown.contains("\nUsage: murmur") && shown.ends_with("[exit 0]"), "{shown}");
    }
    assert!(!env.data().exists());
}

#[test]
fn an_interrupted_demo_leaves_nothing_behind() {
    use rustix::process::Signal;
    for signal in [Signal::HUP, Signal::TERM, Signal::INT] {
        let env = Env::new();
        let temporary = env.root().join("tmp");
        std::fs::create_dir(&temporary).unwrap();
        let mut demo = env.murmur(["demo"]).set("TMPDIR", &temporary).start();
        let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines();
        // Before it waits for anything: there is a folder, but no daemon yet.
        lines.next().unwrap().unwrap();
        kill(demo.id().into(), signal);
        lines.for_each(drop);
        let shown = show(&demo.wait_with_output().unwrap());
        assert_eq!(shown, "| error: interrupted\n[exit 1]", "{signal:?}");
        assert_eq!(env.names(&temporary), "");
        assert_eq!(env.alive(), [0; 0]);
    }
}

#[test]
fn the_demo_shows_every_outcome_and_leaves_nothing_behind() {
    let env = Env::new();
    let temporary = env.root().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let shown = env.murmur(["demo"]).set("TMPDIR", &temporary).run();
    assert!(shown.ends_with("\n[exit 0]") && !shown.contains("\n| "), "{shown}");
    let mut rows: Vec<_> = shown
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_once(' '))
        .filter(|(outcome, _)| ["ok", "attention", "error"].contains(outcome))
        .map(|(outcome, rest)| format!("{outcome} {}", rest.split_whitespace().next().unwrap()))
        .collect();
    rows.sort();
    assert_eq!(rows, ["attention backups", "error mailbox", "ok website"], "{shown}");
    assert_eq!(env.names(&temporary), "");
    assert!(!env.data().exists());
    assert_eq!(env.alive(), [0; 0]);
}
