//! Colors: only on a terminal, and not with NO_COLOR.

use std::io::Read;
use std::process::Stdio;

use insta::assert_snapshot;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::env::{Env, MURMUR, Run, result};
use crate::run::terminal::Terminal;

/// The output of `run` on a terminal.
pub(crate) fn on_a_terminal(run: Run) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = std::fs::File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut child = run.stdout(Stdio::from(theirs)).start();
    let mut shown = Vec::new();
    // Reading the terminal fails once nobody has the other side.
    let _end = std::fs::File::from(ours).read_to_end(&mut shown);
    assert!(child.wait().unwrap().success());
    String::from_utf8(shown).unwrap().replace("\r\n", "\n").replace('\u{1b}', "^[")
}

#[test]
fn outcomes_are_colored_on_a_terminal() {
    let env = Env::new();
    costly(&env);
    assert_snapshot!(on_a_terminal(env.murmur(["log"])), @"
    ^[[2m0193a1b2-c3d4-70  2025-02-03^[[0m  site::nightly  ^[[32mok       ^[[0m [S]  $0.04
    ^[[2m0193a1b2-c3d4-7a  2025-02-03^[[0m  site           ^[[33mattention^[[0m  2m5s  $1.50  Two tests…
    ");
    super::journal(&env);
    let site = env.root().join("site");
    env.configure(&serde_json::json!({ "workspaces": [{ "path": site, "interval": "1h" }] }).to_string());
    assert_snapshot!(on_a_terminal(env.murmur(["status", "-v"])), @"
    murmur is not running; start it with: murmur start

    ^[[1msite^[[0m  ^[[2m[ENV]/site^[[0m
      schedule  every 1h
      last      ^[[31merror    ^[[0m [SPAN] ago HEARTBEAT.md not found
      next      not scheduled: the daemon is not running
    ");
    assert_snapshot!(on_a_terminal(env.murmur(["beat", "site", "-V"])), @"
    Nothing to do.

    HEARTBEAT_OK
    ^[[32mok       ^[[0m ^[[2m[S]^[[0m
    ^[[2m$0.0004, 1 turn, tokens: 10 input, 20 output^[[0m
    ");
}

#[test]
fn no_color_and_a_dumb_terminal_get_plain_text() {
    let env = Env::new();
    super::journal(&env);
    let plain = on_a_terminal(env.murmur(["log"]).set("NO_COLOR", "1"));
    assert!(!plain.contains("^["));
    assert_eq!(on_a_terminal(env.murmur(["log"]).set("TERM", "dumb")), plain);
    assert_ne!(on_a_terminal(env.murmur(["log"]).set("NO_COLOR", "")), plain);
}

/// A journal with a costly beat, and one that says more than a line can show.
fn costly(env: &Env) {
    let line = |at: &str, outcome: &str, more: &str| {
        let start =
            format!(r#""ts":"2025-02-03T{at}Z","workspace":"/srv/site","outcome":"{outcome}","durationMs":"#);
        format!("{{{start}{more}}}\n")
    };
    let first = line(
        "10:00:00",
        "ok",
        r#"8200,"beat":"0193a1b2-c3d4-7000-8000-000000000001","costUsd":0.0421,"heartbeat":"nightly""#,
    );
    let second = line(
        "11:00:00",
        "attention",
        r#"125000,"beat":"0193a1b2-c3d4-7abc-9000-000000000002","costUsd":1.5,"summary":"Two tests fail:\u001b[31m auth.test.ts, which expects a token, and login.test.ts""#,
    );
    std::fs::write(env.create_data().join("heartbeats.jsonl"), first + &second).unwrap();
}

#[test]
fn a_beat_is_one_line_that_fits_the_terminal() {
    let env = Env::new();
    costly(&env);
    let shown = on_a_terminal(env.murmur(["log"]).set("NO_COLOR", "1"));
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert_snapshot!(shown, @"
    0193a1b2-c3d4-70  2025-02-03  site::nightly  ok [S]  $0.04
    0193a1b2-c3d4-7a  2025-02-03  site           attention  2m5s  $1.50  Two tests…
    ");
    let shown = on_a_terminal(env.murmur(["log", "--oneline"]).set("NO_COLOR", "1"));
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert_snapshot!(shown, @"
    0193a1b2-c3d4-70 ok        site::nightly
    0193a1b2-c3d4-7a attention site: Two tests fail: auth.test.ts, which expects a…
    ");
    // Elsewhere, nothing is cut.
    assert_snapshot!(env.run(["log", "--oneline"]), @"
    0193a1b2-c3d4-70 ok        site::nightly
    0193a1b2-c3d4-7a attention site: Two tests fail: auth.test.ts, which expects a token, and login.test.ts
    [exit 0]
    ");
}

#[test]
fn lists_are_useful_on_a_narrow_terminal() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    site.plays(&json!({ "stdout": result("ATTENTION: two tests of the login page fail") }));
    env.run(["beat", "site"]);
    env.setting(
        "permissions.toml",
        "[[rules]]\ntool = \"Bash\"\naction = \"deny\"\npattern = \"git push:*\"\n",
    );
    let shown = |columns, args: &[&str]| {
        let terminal = Terminal::open();
        terminal.resize(24, columns);
        let program = |words: &[&str]| env.program("setsid", words).set("NO_COLOR", "1");
        let shown = terminal.start(program, &[&[MURMUR], args].concat()).finish().text();
        shown.replace("\r\n", "\n")
    };
    let log = shown(20, &["log"]);
    let id = log.split(' ').next().unwrap();
    assert!(env.run(["show", id]).contains("\n  outcome  attention ATTENTION: two tests"), "{log}");
    assert!(log.ends_with("\n  site  attention\n  ATTENTION: two…\n"), "{log}");
    let log = shown(40, &["log"]);
    assert!(
        log.starts_with(id) && log.ends_with("  site  attention\n  ATTENTION: two tests of the login…\n"),
        "{log}"
    );
    let oneline = shown(40, &["log", "--oneline"]);
    assert!(oneline.ends_with(" attention site: ATTENTION:…\n"), "{oneline}");
    let status = shown(20, &["status"]);
    assert!(status.contains("\nsite  attention\n  ATTENTION: two…\n"), "{status}");
    let status = shown(40, &["status"]);
    assert!(status.contains("\nsite  attention  ") && status.contains(" ago  ATTENTION: two…\n"), "{status}");
    let other = env.workspace("other/site", "Do it.");
    env.register(&[&site, &other]);
    let status = shown(60, &["status"]);
    for path in [site.path(), other.path()] {
        assert!(status.contains(&format!("{}  ", &path[path.len() - 9..])), "{status}");
    }
    assert_snapshot!(shown(20, &["usage"]), @"
    HEARTBEAT  COST
    site          ?
    1 beat reported no cost
    ");
    let rules = shown(40, &["rules", "list"]);
    assert!(rules.contains("/permissions.toml\n  1. deny   Bash  git push:*\n"), "{rules}");
}

#[test]
fn the_sums_of_each_heartbeat_are_shown() {
    let env = Env::new();
    super::journal(&env);
    assert_snapshot!(env.run(["log", "--stat", "--since", "2026-02-01"]), @"
    HEARTBEAT      RUNS  MEDIAN  COST  LAST OUTCOMES
    blog              2 [S]        !.
    site              2 [S]        .E
    site::nightly     1  1m 30s        .

    . ok  ! attention  E error  L limited  - skipped  s stopped
    [exit 0]
    ");
    assert_snapshot!(env.run(["log", "--stat", "--name", "nightly"]), @"
    HEARTBEAT      RUNS  MEDIAN  COST  LAST OUTCOMES
    site::nightly     1  1m 30s        .

    . ok  ! attention  E error  L limited  - skipped  s stopped
    [exit 0]
    ");
    let object = env.murmur(["log", "--stat", "--json", "--since", "2026-02-01"]).json();
    assert_eq!((&object["schema"], &object["since"]), (&json!("log-stat/1"), &json!("2026-02-01T00:00:00Z")));
    let medians: Vec<&Value> =
        object["heartbeats"].as_array().unwrap().iter().map(|one| &one["medianDurationMs"]).collect();
    assert_eq!(medians, [&json!(7250), &json!(4250), &json!(90_000)], "of two, the mean");
    let site = env.root().join("site");
    let nightly = json!({ "workspace": site, "heartbeat": "nightly", "runs": 1, "medianDurationMs": 90_000,
        "outcomes": ["ok"] });
    assert_eq!(object["heartbeats"][2], nightly);
    assert_snapshot!(env.run(["log", "--stat", "--until", "2025-01-01"]), @"
    no beats to show; see: murmur status
    [exit 0]
    ");
}
