//! Keys about the schedule besides `interval` and `cron`, in a daemon.

use std::io::Write;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::{Env, result};

/// One workspace that is due every second and whose agent waits at a gate.
fn gated(env: &Env, overlap: &str) -> std::fs::File {
    let site = env.workspace("site", "Do it.");
    let (pace, gate) = env.gate("gate");
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK"), "pace": pace }));
    let entry = json!({ "path": site.0, "interval": "1s", "overlap": overlap });
    env.configure(&json!({ "maxConcurrent": 1, "workspaces": [entry] }).to_string());
    gate
}

fn heartbeat(env: &Env) -> Value {
    env.murmur(["status", "--json"]).json()["heartbeats"][0].clone()
}

#[test]
fn a_due_heartbeat_replaces_its_running_beat_also_one_of_an_earlier_daemon() {
    let env = Env::new();
    let _closed = gated(&env, "replace");
    let daemon = env.daemon();
    // The first is ended for the second, although nobody opens the gate.
    env.wait_for_agents(2);
    env.wait_for_journal(1);
    let line = env.journal().remove(0);
    assert_eq!((&line["outcome"], &line["stopped"]), (&json!("error"), &Value::Null));
    let error = line["error"].as_str().unwrap();
    assert!(error.starts_with("replaced by the next run after "), "{error}");
    daemon.crash();
    let last = env.agents().pop().unwrap()["env"]["MURMUR_AGENT_ID"].clone();
    let daemon = env.daemon();
    let lines = env.wait(&env.data(), || {
        let lines = env.journal();
        lines.iter().any(|line| line["agent"] == last).then_some(lines)
    });
    // Another line says how many were replaced in a row.
    let mut beats = lines.iter().filter(|line| line["kind"].is_null());
    assert!(
        beats.all(|line| line["error"].to_string().starts_with("\"replaced by the next run")),
        "{lines:#?}"
    );
    daemon.stop();
    let log = env.run(["log", "-n", "all"]);
    let after = regex::Regex::new(r"after \d+s").unwrap();
    let replaced = after.replace(log.lines().next().unwrap(), "after [SPAN]");
    assert_snapshot!(replaced, @"[WHEN]  error [S]  [ENV]/site  replaced by the next run after [SPAN], while waiting for the model ([SPAN])");
}

#[test]
fn a_heartbeat_that_is_due_while_its_beat_runs_is_skipped_or_queued() {
    for (overlap, waits) in [("skip", false), ("queue", true)] {
        let env = Env::new();
        let mut gate = gated(&env, overlap);
        let daemon = env.daemon();
        env.wait_for_agents(1);
        // A second workspace's beats are how it is told that time has passed.
        let other = env.workspace("other", "Do it.");
        let mut config: Value = serde_json::from_str(&env.config()).unwrap();
        config["maxConcurrent"] = json!(2);
        let entries = config["workspaces"].as_array_mut().unwrap();
        entries.push(json!({ "path": other.0, "interval": "1s" }));
        env.configure(&config.to_string());
        env.wait_for_journal(3);
        let site = heartbeat(&env);
        let next: jiff::Timestamp = site["nextRun"].as_str().unwrap().parse().unwrap();
        assert!(!site["running"].is_null());
        assert_eq!(next < sys::clock::now() - jiff::SignedDuration::from_secs(1), waits, "{overlap}: {site}");
        gate.write_all(b"..").unwrap();
        env.wait(&env.data(), || {
            let lines = env.journal();
            (lines.iter().filter(|line| line["workspace"] == site["workspace"]).count() >= 2).then_some(())
        });
        match waits {
            true => daemon.stop(),
            false => daemon.stop_after_saying("the previous one is still running"),
        }
    }
}

#[test]
fn on_an_excepted_date_nothing_starts_and_the_status_says_when() {
    let env = Env::new();
    let (site, blog) = (env.workspace("site", "Do it."), env.workspace("blog", "Do it."));
    let today = sys::clock::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    // The test may pass midnight.
    let dates = format!("{}..{}", today.yesterday().unwrap(), today.tomorrow().unwrap());
    let opens = today.tomorrow().unwrap().tomorrow().unwrap();
    env.configure(
        &json!({ "workspaces": [
            { "path": site.0, "interval": "1h", "except": [dates] },
            { "path": blog.0, "interval": "1h", "jitter": "1s", "catchUp": "2h", "activeHours": "00:00-24:00" },
        ] })
        .to_string(),
    );
    let daemon = env.daemon();
    env.wait_for_journal(1);
    let status = heartbeat(&env);
    assert_eq!(
        (&status["nextRun"], &status["waiting"]),
        (&json!(format!("{opens}T00:00:00Z")), &json!(false))
    );
    daemon.stop();
    assert_eq!(env.journal()[0]["workspace"], blog.path());
    assert_eq!(env.journal().len(), 1);
    let shown = env.run(["beat", "blog", "--dry-run"]);
    let rows: Vec<&str> = shown
        .lines()
        .filter(|line| ["jitter", "catchUp", "activeHours"].iter().any(|key| line.contains(key)))
        .collect();
    assert_snapshot!(rows.join("\n"), @"
    activeHours: 00:00-24:00  (config.json)
    jitter: 1s  (config.json)
    catchUp: 2h  (config.json)
    ");
}

#[test]
fn a_wrong_value_holds_only_its_own_heartbeat() {
    let env = Env::new();
    let (site, blog) = (env.workspace("site", "Do it."), env.workspace("blog", "Do it."));
    let front = env.workspace("front", "---\nactiveHours: 9 to 5\n---\nDo it.");
    env.configure(
        &json!({ "workspaces": [
            { "path": site.0, "interval": "1h", "jitter": "a bit" },
            { "path": blog.0, "interval": "1h" },
            { "path": front.0, "interval": "1h" },
        ] })
        .to_string(),
    );
    let daemon = env.daemon();
    daemon.says("front/HEARTBEAT.md:2:14: \"activeHours\"");
    let mut lines = env.wait_for_journal(3);
    daemon.stop();
    lines.sort_by_key(|line| line["workspace"].to_string());
    let text = |line: &Value, key: &str| line[key].as_str().unwrap_or("-").to_owned();
    let said = lines.iter().map(|line| format!("{} {}", text(line, "outcome"), text(line, "error")));
    assert_snapshot!(said.collect::<Vec<_>>().join("\n"), @r#"
    ok -
    error [ENV]/front/HEARTBEAT.md:2:14: "activeHours": "9" is not a time such as 08:00-20:00; write days, times and a time zone, such as "Mon-Fri 08:00-20:00 Europe/Berlin", or a list of these
    error [ENV]/data/config.json:1:42: "jitter": "a bit" is not an interval; write whole numbers with d, h, m or s, largest first, such as "30m" or "1h30m"
    "#);
    assert_eq!(env.agents().len(), 1);
}

#[test]
fn changes_of_files_start_a_heartbeat_without_a_schedule_but_not_those_of_its_own_beat() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let entry = json!({ "path": site.0, "on": { "path": ["src/**/*.rs", "notes.md"] } });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    std::fs::create_dir_all(site.0.join("src/deep")).unwrap();
    site.plays(&json!({ "script": [
        [{ "type": "tool_use", "id": "toolu_1", "name": "Write", "input": { "file_path": "src/deep/own.rs", "content": "" } }],
        [{ "type": "text", "text": "HEARTBEAT_OK" }],
    ]}));
    let daemon = env.daemon();
    let said = env.run(["status"]);
    assert!(said.contains("  schedule  none\n  on        changes of src/**/*.rs, notes.md\n"), "{said}");
    assert!(said.contains("  next      when files change\n"), "{said}");
    assert!(env.run(["workspaces", "list"]).contains("  on changes of src/**/*.rs, notes.md\n"));
    let lines_of = |workspace: &str| {
        env.journal().iter().filter(|line| line["workspace"].as_str() == Some(workspace)).count()
    };
    let wait_for = |workspace: &str, lines: usize| {
        env.wait(&env.data(), || (lines_of(workspace) >= lines).then_some(()));
    };
    std::fs::write(site.0.join("src/deep/new.rs"), "").unwrap();
    std::fs::write(site.0.join("other.md"), "").unwrap();
    wait_for(site.path(), 1);
    // A second workspace's beats are how it is told that time has passed.
    let other = env.workspace("other", "Do it.");
    let entries = json!([entry, { "path": other.0, "interval": "1s" }]);
    env.configure(&json!({ "maxConcurrent": 2, "workspaces": entries }).to_string());
    wait_for(other.path(), 3);
    assert_eq!(heartbeat(&env)["nextRun"], Value::Null, "the beat's own change counts");
    assert_eq!(lines_of(site.path()), 1);
    std::fs::write(site.0.join("notes.md"), "").unwrap();
    wait_for(site.path(), 2);
    daemon.stop();
}

#[test]
fn status_says_that_a_heartbeat_without_any_time_never_runs() {
    let env = Env::new();
    let entry = |name: &str, key: &str, value: Value| {
        let site = env.workspace(name, "Do it.");
        json!({ "path": site.0, key: value, "except": ["2000-01-01..2999-12-31"] })
    };
    let entries = [entry("one", "interval", "1h".into()), entry("two", "on", json!({ "path": "src" }))];
    env.configure(&json!({ "workspaces": entries }).to_string());
    let daemon = env.daemon();
    let shown = env.run(["status"]);
    assert_eq!(shown.matches("\n  next      never\n").count(), 2, "{shown}");
    // It has said why.
    daemon.signal(rustix::process::Signal::TERM);
    assert!(daemon.ended().0.success());
    let checked = env.run(["config", "check"]);
    assert_eq!(checked.matches("so it never runs").count(), 2, "{checked}");
}
