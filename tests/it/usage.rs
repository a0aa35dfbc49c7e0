//! `murmur usage`: what beats cost, from the journal.

use insta::assert_snapshot;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::env::Env;
use crate::hostile_text::on_terminal;
use crate::log::terminal::on_a_terminal;

/// Beats of two workspaces, a stuck agent, and lines that are not murmur's; the last line is still being written.
fn journal(env: &Env) {
    let text = r#"{"ts":"2026-02-03T10:00:00Z","workspace":"/w/site","outcome":"ok","durationMs":8200,"costUsd":0.5,"model":"opus","tokens":{"input":1200,"output":340,"cacheRead":45600,"cacheWrite":7890}}
{"ts":"2026-02-03T23:59:59Z","workspace":"/w/site","outcome":"attention","durationMs":1500,"summary":"a \"test\" fails","heartbeat":"nightly","costUsd":1.25,"model":"opus","tokens":{"input":1234567,"output":20000,"cacheRead":0,"cacheWrite":0}}
{"ts":"2026-02-04T10:00:00Z","workspace":"/w/blog","outcome":"skipped","durationMs":30}
{"ts":"2026-02-04T10:30:00Z","workspace":"/w/blog","outcome":"error","durationMs":30,"error":"claude not found"}
{"ts":"2026-02-04T11:00:00Z","workspace":"/w/site","outcome":"attention","durationMs":30,"kind":"stuck","costUsd":9}
not ours
{"ts":"2026-02-04T12:00:00Z","workspace":"/w/site","outcome":"ok","durationMs":1}"#;
    std::fs::write(env.create_data().join("heartbeats.jsonl"), text).unwrap();
}

#[test]
fn cost_and_tokens_are_shown_by_heartbeat_with_the_most_expensive_first() {
    let env = Env::new();
    journal(&env);
    assert_snapshot!(env.run(["usage"]), @"
    HEARTBEAT         BEATS  QUIET   COST  INPUT  OUTPUT  CACHE READ  CACHE WRITE
    /w/site::nightly      1     0%  $1.25   1.2M   20.0k           0            0
    /w/site               1   100%  $0.50   1200     340       45.6k         7890
    /w/blog               2    50%      -      0       0           0            0
    total                 4    50%  $1.75   1.2M   20.3k       45.6k         7890
    [exit 0]
    ");
    assert_snapshot!(env.run(["usage", "--by", "day", "--since", "2026-02-04"]), @"
    DAY         BEATS  QUIET   COST  INPUT  OUTPUT  CACHE READ  CACHE WRITE
    2026-02-04      3    33%  $1.25   1.2M   20.0k           0            0
    [exit 0]
    ");
    assert_snapshot!(env.run(["usage", "--by", "model"]), @"
    MODEL    BEATS  QUIET   COST  INPUT  OUTPUT  CACHE READ  CACHE WRITE
    opus         2    50%  $1.75   1.2M   20.3k       45.6k         7890
    unknown      2    50%      -      0       0           0            0
    total        4    50%  $1.75   1.2M   20.3k       45.6k         7890
    [exit 0]
    ");
    assert_snapshot!(env.run(["usage", "--by", "workspace", "--json"]), @r#"
    {"schema":"usage/1","groups":[{"workspace":"/w/site","beats":2,"quiet":1,"costUsd":1.75,"tokens":{"input":1235767,"output":20340,"cacheRead":45600,"cacheWrite":7890}},{"workspace":"/w/blog","beats":2,"quiet":1,"tokens":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}],"total":{"beats":4,"quiet":2,"costUsd":1.75,"tokens":{"input":1235767,"output":20340,"cacheRead":45600,"cacheWrite":7890}}}
    [exit 0]
    "#);
    let all = env.run(["usage", "--json"]);
    let all: Value = serde_json::from_str(all.lines().next().unwrap()).unwrap();
    assert_eq!(all["groups"][0]["heartbeat"], "nightly");
}

#[test]
fn beats_whose_cost_is_unknown_are_counted() {
    let env = Env::new();
    let line = |workspace: &str, more: &Value| {
        let mut line = json!({ "ts": "2026-02-03T10:00:00Z", "workspace": workspace, "outcome": "error", "durationMs": 1 });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let killed = json!({ "exit": { "code": 143 }, "timedOut": true, "tokens": { "input": 10 } });
    let text = [
        line("/w/site", &json!({ "exit": { "code": 0 }, "costUsd": 0.5 })),
        line("/w/site", &killed),
        line("/w/blog", &killed),
        line("/w/blog", &json!({ "exit": { "code": 0 }, "backend": "codex", "costUnknown": true })),
        line("/w/codex", &json!({ "exit": { "code": 0 }, "backend": "codex" })),
        line("/w/codex", &json!({ "error": "claude not found" })),
    ];
    std::fs::write(env.create_data().join("heartbeats.jsonl"), text.concat()).unwrap();
    assert_snapshot!(env.run(["usage"]), @"
    HEARTBEAT  BEATS  QUIET    COST  INPUT  OUTPUT  CACHE READ  CACHE WRITE
    /w/site        2     0%  $0.50+     10       0           0            0
    /w/blog        2     0%       ?     10       0           0            0
    /w/codex       2     0%       ?      0       0           0            0
    total          6     0%  $0.50+     20       0           0            0
    4 beats reported no cost
    [exit 0]
    ");
    let json = env.run(["usage", "--json"]);
    assert!(json.contains(r#""total":{"beats":6,"quiet":0,"costUsd":0.5,"costUnknown":4,"#), "{json}");
    assert_eq!(json.matches("costUnknown").count(), 4, "{json}");
}

#[test]
fn a_terminal_gets_short_names_and_the_columns_that_fit() {
    let env = Env::new();
    journal(&env);
    let long = format!("{}/a-folder-with-a-long-name", "/deep".repeat(20));
    let line = |workspace: &str| json!({ "ts": "2026-02-03T10:00:00Z", "workspace": workspace, "outcome": "ok", "durationMs": 1 });
    let path = env.data().join("heartbeats.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}\n{}\n{}\n", line(&long), line("/x/blog"))).unwrap();
    assert_snapshot!(on_a_terminal(env.murmur(["usage"]).set("NO_COLOR", "1")), @"
    HEARTBEAT            BEATS  QUIET   COST  INPUT  OUTPUT  CACHE READ  CACHE WRITE
    site::nightly            1     0%  $1.25   1.2M   20.0k           0            0
    site                     2   100%  $0.50   1200     340       45.6k         7890
    w/blog                   2    50%      -      0       0           0            0
    a-folder-…long-name      1   100%      -      0       0           0            0
    x/blog                   1   100%      -      0       0           0            0
    total                    7    71%  $1.75   1.2M   20.3k       45.6k         7890
    ");
    let narrow = on_terminal(&env, (10, 30), &["usage"]);
    assert!(narrow.lines().all(|line| line.width() <= 30), "{narrow}");
    assert!(narrow.starts_with("HEARTBEAT"), "{narrow}");
}

#[test]
fn without_beats_there_is_nothing_to_count() {
    let env = Env::new();
    assert_snapshot!(env.run(["usage"]), @"
    no beats to count; see: murmur status
    [exit 0]
    ");
    assert_snapshot!(env.run(["usage", "--json"]), @r#"
    {"schema":"usage/1","groups":[],"total":{"beats":0,"quiet":0,"tokens":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}}
    [exit 0]
    "#);
    assert!(!env.data().exists());
    assert_snapshot!(env.run(["usage", "--by", "year"]), @r#"
    | error: --by "year" is not a known value
    | hint: write heartbeat, workspace, day or model; see: murmur usage --help
    [exit 2]
    "#);
    std::fs::create_dir_all(env.create_data().join("heartbeats.jsonl")).unwrap();
    assert_snapshot!(env.run(["usage"]), @"
    | error: cannot read [ENV]/data/heartbeats.jsonl: it is a folder, not a file
    | hint: move it away: murmur writes a file there
    [exit 1]
    ");
}
