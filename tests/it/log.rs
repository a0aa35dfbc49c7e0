//! `murmur log`: the journal for people and for programs.

mod span;
pub(crate) mod terminal;

use std::io::{BufRead, BufReader};

use insta::assert_snapshot;

use crate::env::Env;

/// A journal with five beats of two workspaces; the newest two have just ended.
pub(crate) fn journal(env: &Env) -> String {
    let now = sys::clock::now();
    let ago = |seconds: i64| sys::clock::rfc3339(now - jiff::SignedDuration::from_secs(seconds));
    let site = env.workspace("site", "Do it.");
    let (site, blog) = (site.path(), format!("{}/blog", env.root().display()));
    let text = format!(
        r#"{{"ts":"2026-02-03T10:00:00Z","workspace":"{site}","outcome":"ok","durationMs":8200}}
{{"ts":"2026-02-03T10:30:12Z","workspace":"{blog}","outcome":"attention","durationMs":14500,"summary":"2 tests failing\nin auth.test.ts","beat":"1","agent":"a"}}
{{"ts":"2026-02-03T11:00:05Z","workspace":"{site}","outcome":"error","durationMs":300,"error":"HEARTBEAT.md not found"}}
{{"ts":"{}","workspace":"{site}","outcome":"ok","durationMs":90000,"heartbeat":"nightly","beat":"2","agent":"a"}}
{{"ts":"{}","workspace":"{blog}","outcome":"ok","durationMs":1,"beat":"3","agent":"a"}}
"#,
        ago(600),
        ago(5),
    );
    std::fs::write(env.create_data().join("heartbeats.jsonl"), &text).unwrap();
    text
}

#[test]
fn a_beat_stopped_by_a_person_is_shown_as_stopped() {
    let env = Env::new();
    let line = |at: u8, stopped: &str| {
        format!(
            "{{\"ts\":\"2026-02-03T10:00:0{at}Z\",\"workspace\":\"/w\",\"outcome\":\"error\",\"durationMs\":1,\"error\":\"e{at}\"{stopped}}}\n"
        )
    };
    let (failed, stopped) = (line(1, ""), line(2, ",\"stopped\":true"));
    std::fs::write(env.create_data().join("heartbeats.jsonl"), format!("{failed}{stopped}")).unwrap();
    assert_eq!(env.run(["log", "--outcome", "error", "--json"]), format!("{failed}[exit 0]"));
    assert_eq!(env.run(["log", "--outcome", "stopped", "--json"]), format!("{stopped}[exit 0]"));
    assert_eq!(env.run(["log", "--json"]), format!("{failed}{stopped}[exit 0]"));
}

#[test]
fn calls_that_ran_without_being_checked_are_counted() {
    let env = Env::new();
    let line = r#"{"ts":"2026-02-03T10:00:00Z","workspace":"/w","outcome":"ok","durationMs":1,"backend":"acp:opencode","unguarded":["Bash(ls)"]}"#;
    std::fs::write(env.create_data().join("heartbeats.jsonl"), format!("{line}\n")).unwrap();
    assert!(
        env.run(["log"]).contains("  /w (acp:opencode)  1 call ran without a decision\n"),
        "{}",
        env.run(["log"])
    );
}

#[test]
fn an_empty_log_prints_nothing() {
    let env = Env::new();
    assert_snapshot!(env.run(["log"]), @"
    no beats to show; see: murmur status
    [exit 0]
    ");
    assert_snapshot!(env.run(["log", "--json"]), @"[exit 0]");
    assert!(!env.data().exists());
}

#[test]
fn beats_are_shown_oldest_first() {
    let env = Env::new();
    journal(&env);
    assert_snapshot!(env.run(["log"]), @"
    [WHEN]  ok [S]  [ENV]/site
    [WHEN]  attention [S]  [ENV]/blog  2 tests failing in auth.test.ts
    [WHEN]  error [S]  [ENV]/site  HEARTBEAT.md not found
    [WHEN]  ok [S]  [ENV]/site::nightly
    [WHEN]  ok [S]  [ENV]/blog
    [exit 0]
    ");
}

#[test]
fn filters_apply_before_n() {
    let env = Env::new();
    journal(&env);
    assert_snapshot!(env.run(["log", "-n", "2"]), @"
    [WHEN]  ok [S]  [ENV]/site::nightly
    [WHEN]  ok [S]  [ENV]/blog
    [exit 0]
    ");
    assert_snapshot!(env.run(["log", "-n", "0"]), @"
    no beats to show; see: murmur status
    [exit 0]
    ");
    assert_snapshot!(env.run(["log", "--outcome", "attention"]), @"
    [WHEN]  attention [S]  [ENV]/blog  2 tests failing in auth.test.ts
    [exit 0]
    ");
    assert_snapshot!(env.run(["log", "--workspace", "site", "-n", "1"]), @"
    [WHEN]  ok [S]  [ENV]/site::nightly
    [exit 0]
    ");
    assert_snapshot!(env.run(["log", "--workspace", "blog"]), @"
    [WHEN]  attention [S]  [ENV]/blog  2 tests failing in auth.test.ts
    [WHEN]  ok [S]  [ENV]/blog
    [exit 0]
    ");
    assert_snapshot!(env.run(["log", "--since", "2h"]), @"
    [WHEN]  ok [S]  [ENV]/site::nightly
    [WHEN]  ok [S]  [ENV]/blog
    [exit 0]
    ");
    assert_snapshot!(env.run(["log", "--since", "1m", "--outcome", "error"]), @"
    no beats to show; see: murmur status
    [exit 0]
    ");
}

#[test]
fn a_name_or_a_folder_selects_beats_and_grep_their_texts() {
    let env = Env::new();
    journal(&env);
    // Unregistered heartbeats have the names that the journal gives them.
    assert_snapshot!(env.run(["log", "--name", "site::nightly"]), @"
    [WHEN]  ok [S]  [ENV]/site::nightly
    [exit 0]
    ");
    assert_snapshot!(env.run(["log", "--name", "site"]), @"
    [WHEN]  ok [S]  [ENV]/site
    [WHEN]  error [S]  [ENV]/site  HEARTBEAT.md not found
    [WHEN]  ok [S]  [ENV]/site::nightly
    [exit 0]
    ");
    assert_snapshot!(env.run(["log", "--name", "blog", "--grep", "fail(ing|ed)"]), @"
    [WHEN]  attention [S]  [ENV]/blog  2 tests failing in auth.test.ts
    [exit 0]
    ");
    assert_snapshot!(env.run(["log", "--grep", "TESTS"]), @"
    no beats to show; see: murmur status
    [exit 0]
    ");
    assert_snapshot!(env.run(["log", "--until", "2026-02-03T10:31:00Z"]), @"
    [WHEN]  ok [S]  [ENV]/site
    [WHEN]  attention [S]  [ENV]/blog  2 tests failing in auth.test.ts
    [exit 0]
    ");
    assert_snapshot!(env.run(["log", "--name", "nope"]), @r#"
    | error: no heartbeat or workspace "nope"
    | hint: see: murmur list
    [exit 1]
    "#);
    assert_snapshot!(env.run(["log", "--grep", "("]), @r#"
    | error: --grep "(" is not a regular expression
    | hint: put \ before each of . ( ) [ ] { } + * ? | ^ $ that stands for itself; see: murmur log --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["log", "--stat", "--follow"]), @"
    | error: --stat cannot be combined with --follow
    | hint: remove one of them; see: murmur log --help
    [exit 2]
    ");
}

#[test]
fn an_unknown_workspace_is_an_error() {
    let env = Env::new();
    assert_snapshot!(env.run(["log", "--workspace", "nope"]), @"
    | error: [ENV]/nope is not registered and not in the journal
    | hint: see: murmur list
    [exit 1]
    ");
    journal(&env);
    let site = env.root().join("site");
    let named = serde_json::json!({ "path": env.root().join("other"), "name": "weekly", "interval": "1h" });
    let entries = serde_json::json!([{ "path": site, "interval": "1h" }, named]);
    env.configure(&serde_json::json!({ "workspaces": entries }).to_string());
    assert_snapshot!(env.run(["log", "--workspace", "nope"]), @"
    | error: [ENV]/nope is not registered and not in the journal
    | hint: see: murmur list
    [exit 1]
    ");
    assert_snapshot!(env.run(["log", "--workspace", "nope", "--outcome", "ok", "--follow"]), @"
    | error: [ENV]/nope is not registered and not in the journal
    | hint: see: murmur list
    [exit 1]
    ");
    let below = |folder: &str| env.murmur(["log", "--workspace", folder]).at(&env.home()).run();
    assert_snapshot!(below("site"), @"
    | error: no workspace at [ENV]/home/site
    | hint: site is the name of a workspace; use its path: --workspace [ENV]/site
    [exit 1]
    ");
    assert_snapshot!(below("weekly"), @"
    | error: no workspace at [ENV]/home/weekly
    | hint: weekly is the name of a workspace; use its path: --workspace [ENV]/other
    [exit 1]
    ");
    // A registered workspace, and one that only the journal knows: it has beats, but none of these.
    for (folder, outcome) in [("other", "ok"), ("blog", "error")] {
        let shown = env.run(["log", "--workspace", folder, "--outcome", outcome]);
        assert_eq!(shown, "no beats to show; see: murmur status\n[exit 0]", "{folder}");
    }
}

#[test]
fn json_prints_the_journal_lines_unchanged() {
    let env = Env::new();
    let text = journal(&env);
    assert_eq!(env.run(["log", "--json"]), format!("{text}[exit 0]"));
}

#[test]
fn foreign_lines_are_skipped() {
    let env = Env::new();
    let text = journal(&env);
    let foreign = format!("not ours\n{{\"a\":1}}\n\u{0}\n\n{text}[1,2]\n{{\"ts\":\"torn");
    std::fs::write(env.data().join("heartbeats.jsonl"), foreign).unwrap();
    assert_eq!(env.run(["log", "--json"]), format!("{text}[exit 0]"));
}

#[test]
fn following_shows_every_beat_as_it_ends() {
    let env = Env::new();
    journal(&env);
    let mut follow = env.murmur(["log", "--follow", "-n", "1", "--json"]).start();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), env.journal_text().lines().last().unwrap());
    for _ in 0..3 {
        env.run(["beat", "site"]);
        assert_eq!(lines.next().unwrap().unwrap(), env.journal_text().lines().last().unwrap());
    }
    follow.kill().unwrap();
    follow.wait().unwrap();
}

#[test]
fn following_waits_for_a_missing_journal_and_filters() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    let mut follow = env.murmur(["log", "-f", "--outcome", "error"]).start();
    env.run(["beat", "site"]);
    env.workspace("empty", " \n");
    env.run(["beat", "empty"]);
    let mut line = String::new();
    BufReader::new(follow.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_snapshot!(line, @"[WHEN]  error [S]  [ENV]/empty  [ENV]/empty/HEARTBEAT.md: it is empty; write instructions for the agent");
    follow.kill().unwrap();
    follow.wait().unwrap();
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let env = Env::new();
    let text = journal(&env);
    std::fs::write(env.data().join("heartbeats.jsonl"), text.repeat(2000)).unwrap();
    let mut log = env.murmur(["log", "-n", "10000"]).start();
    drop(log.stdout.take());
    let output = log.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
}
