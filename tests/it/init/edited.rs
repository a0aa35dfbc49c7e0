//! A heartbeat isn't started by the daemon until its file differs from the template.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::{Env, Workspace, fixture};

const TEMPLATES: [&str; 4] = ["default", "tests", "issues", "deploy"];

/// Whether the daemon's heartbeats are unedited, and when each runs next.
fn heartbeats(env: &Env) -> Vec<(bool, bool)> {
    let status = env.murmur(["status", "--json"]).json();
    let heartbeats = status["heartbeats"].as_array().unwrap().iter();
    heartbeats.map(|one| (one["unedited"] == true, one["nextRun"].is_string())).collect()
}

#[test]
fn the_default_template_is_the_text_of_the_spec() {
    let env = Env::new();
    let site = env.root().join("site");
    env.run(["init", "site"]);
    assert_snapshot!(std::fs::read_to_string(site.join("HEARTBEAT.md")).unwrap(), @"
    # Heartbeat

    What to do on each heartbeat. If nothing needs attention, respond with
    exactly `HEARTBEAT_OK`. Otherwise, start with `ATTENTION:` and a brief summary.

    ## Do this

    - Check for new GitHub issues on my-org/my-repo using `gh`
    - For any untagged issues, add a triage label based on the content
    - If there are urgent issues (security, data loss, outage), tell me
    ");
}

#[test]
fn an_unedited_heartbeat_runs_once_it_is_edited() {
    let env = Env::new();
    let daemon = env.daemon();
    for template in TEMPLATES {
        env.run(["init", template, "--template", template]);
        env.run(["init", template, "--template", template, "--name", "nightly", "--cron", "@hourly"]);
    }
    let site = env.workspace("site", "Do it.");
    env.run(["workspaces", "add", "site"]);
    // The only edited one.
    let first = env.wait_for_journal(1).remove(0);
    assert_eq!(first["workspace"], site.path(), "{first}");
    let mut expected = vec![(true, false); 8];
    expected.push((false, true));
    assert_eq!(heartbeats(&env), expected);
    assert_snapshot!(env.run(["status"]).split("\n\n").nth(1).unwrap(), @"
    default  [ENV]/default
      schedule  every 30m
      last      never
      next      when it is edited
      prompt    not edited yet; edit [ENV]/default/HEARTBEAT.md
    ");
    let tests = Workspace(env.root().join("tests"));
    tests.plays(&json!({ "fixture": fixture("ok") }));
    let file = tests.0.join("HEARTBEAT.md");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("the project's tests", "`cargo test`")).unwrap();
    assert_eq!(env.wait_for_journal(2)[1]["workspace"], tests.path());
    // A heartbeat that never ran is due at once; the others are unchanged.
    assert_eq!(heartbeats(&env)[2..4], [(false, true), (true, false)]);
    daemon.stop();
    assert_eq!(env.journal().len(), 2);
}

#[test]
fn changed_settings_are_an_edit_but_a_changed_schedule_is_not() {
    let env = Env::new();
    env.run(["init", "site", "--template", "tests"]);
    env.run(["init", "site", "--name", "issues", "--template", "issues", "--interval", "1h"]);
    let [own, named] =
        ["HEARTBEAT.md", "heartbeats/issues/HEARTBEAT.md"].map(|name| env.root().join("site").join(name));
    let unedited = || heartbeats(&env).into_iter().map(|(unedited, _)| unedited).collect::<Vec<_>>();
    let change = |file: &std::path::Path, from: &str, to: &str| {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(file, text.replace(from, to)).unwrap();
    };
    assert_eq!(unedited(), [true, true]);
    change(&named, "interval: 1h", "interval: 2h");
    // As an editor or git may save it.
    change(&own, "\n", "\r\n");
    assert_eq!(unedited(), [true, true]);
    change(&own, "maxTurns: 15", "maxTurns: 30");
    assert_eq!(unedited(), [false, true]);
    change(&named, "If one is about security", "If one is about money");
    assert_eq!(unedited(), [false, false]);
}

#[test]
fn a_manual_beat_runs_the_template_with_a_warning() {
    let env = Env::new();
    env.run(["init", "site"]);
    let site = Workspace(env.root().join("site"));
    site.plays(&json!({ "fixture": fixture("ok") }));
    assert_snapshot!(env.run(["beat", "site"]), @"
    ok [S]
    | warning: [ENV]/site/HEARTBEAT.md is not edited yet; the daemon will not start it until you edit it
    [exit 0]
    ");
    assert_eq!(env.journal().len(), 1);
    let status = env.murmur(["status", "--json"]).json();
    assert_eq!(status["heartbeats"][0]["unedited"], json!(true));
    let listed = env.murmur(["workspaces", "list", "--json"]).json();
    assert_eq!(listed["heartbeats"][0]["unedited"], json!(true));
    assert_snapshot!(env.run(["workspaces", "list"]), @"
    [ENV]/site  every 30m
      not edited yet; edit [ENV]/site/HEARTBEAT.md
    [exit 0]
    ");
}

#[test]
fn a_custom_template_runs_unedited() {
    let env = Env::new();
    std::fs::write(env.root().join("own.md"), "Look.").unwrap();
    assert_snapshot!(env.run(["init", "site", "--template", "own.md"]), @"
    created [ENV]/site
    wrote [ENV]/site/HEARTBEAT.md
    registered [ENV]/site
    [exit 0]
    ");
    let status = env.murmur(["status", "--json"]).json();
    assert_eq!(status["heartbeats"][0]["unedited"], Value::Bool(false));
}
