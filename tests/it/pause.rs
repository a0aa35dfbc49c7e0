//! `murmur pause` and `murmur resume`, and heartbeats that are not enabled.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::Env;

/// Two workspaces, the first with a named heartbeat, which never ran.
fn configured(env: &Env) {
    let (site, blog) = (env.workspace("site", "Do it."), env.workspace("blog", "Do it."));
    site.named("nightly", "---\ninterval: 1d\n---\nCount.");
    env.register(&[&site, &blog]);
}

/// The workspaces of the journal's lines.
fn ran(env: &Env) -> Vec<String> {
    let name = |line: &Value| {
        let workspace = line["workspace"].as_str().unwrap();
        workspace.rsplit('/').next().unwrap().to_owned()
    };
    env.journal().iter().map(name).collect()
}

#[test]
fn a_pause_survives_restarts_and_is_shown_first() {
    let env = Env::new();
    configured(&env);
    assert_snapshot!(env.run(["pause", "--all", "--reason", "release day"]), @"
    paused all heartbeats; to resume, run: murmur resume --all
    [exit 0]
    ");
    for _ in 0..2 {
        let daemon = env.daemon();
        // A status is answered after everything that was to be started has been.
        let shown = env.run(["status"]);
        assert!(
            shown.starts_with("paused: all heartbeats, for ")
                && shown
                    .contains("s, release day; to resume, run: murmur resume --all\nmurmur 0.1.0 is running"),
            "{shown}"
        );
        assert_eq!(shown.matches("\n  next      when it is resumed\n").count(), 3, "{shown}");
        daemon.stop();
    }
    assert!(env.agents().is_empty() && env.journal().is_empty());
    let daemon = env.daemon();
    assert_snapshot!(env.run(["resume", "--all"]), @"
    resumed all heartbeats
    [exit 0]
    ");
    env.wait_for_journal(3);
    assert!(env.murmur(["status", "--json"]).json()["paused"].is_null());
    daemon.stop();
    assert_snapshot!(env.run(["resume", "--all"]), @"
    nothing is paused
    [exit 0]
    ");
}

#[test]
fn a_running_daemon_starts_nothing_that_was_paused_meanwhile() {
    let env = Env::new();
    let (site, blog) = (env.workspace("site", "Do it."), env.workspace("blog", "Do it."));
    let entries = [&site, &blog].map(|workspace| json!({ "path": workspace.0, "interval": "1s" }));
    env.configure(&json!({ "workspaces": entries }).to_string());
    let daemon = env.daemon();
    env.wait_for_journal(2);
    env.murmur(["pause", "site"]).assert().success();
    // Its last beat may be running.
    env.murmur(["status"]).assert().success();
    let started = |name: &str| {
        env.agents().iter().filter(|agent| agent["cwd"].as_str().unwrap().ends_with(name)).count()
    };
    let before = started("site");
    let lines = env.journal().len();
    env.wait_for_journal(lines + 4);
    assert_eq!(started("site"), before);
    env.murmur(["resume", "site"]).assert().success();
    env.wait(&env.root().join("log"), || (started("site") > before).then_some(()));
    daemon.stop();
}

#[test]
fn a_pause_with_an_end_ends_by_itself() {
    let env = Env::new();
    configured(&env);
    let paused = env.murmur(["pause", "site", "--until", "1s"]).quiet();
    assert!(paused.contains("paused ") && paused.contains(" until 20"), "{paused}");
    let daemon = env.daemon();
    env.wait_for_journal(3);
    daemon.stop();
}

#[test]
fn the_status_says_what_is_paused_with_and_without_a_daemon() {
    let env = Env::new();
    configured(&env);
    for name in ["site", "blog"] {
        env.run(["beat", name]);
    }
    env.run(["beat", "site", "--name", "nightly"]);
    assert_snapshot!(env.run(["pause", "nightly", "--reason", "moving"]), @"
    paused [ENV]/site::heartbeats/nightly/HEARTBEAT.md; to resume, run: murmur resume [ENV]/site::heartbeats/nightly/HEARTBEAT.md
    [exit 0]
    ");
    assert_snapshot!(env.run(["pause", "blog", "--until", "2999-12-31 18:00"]), @"
    paused [ENV]/blog until [WHEN]; to resume, run: murmur resume [ENV]/blog
    [exit 0]
    ");
    let alone = env.murmur(["status", "--json"]).json();
    let daemon = env.daemon();
    assert_snapshot!(env.run(["status"]), @"
    paused: [ENV]/site::heartbeats/nightly/HEARTBEAT.md, for [SPAN], moving; to resume, run: murmur resume [ENV]/site::heartbeats/nightly/HEARTBEAT.md
    paused: [ENV]/blog, for [SPAN], until [WHEN]; to resume, run: murmur resume [ENV]/blog
    murmur 0.1.0 is running (PID [PID]), up [SPAN]

    site  [ENV]/site
      schedule  every 1h
      last      ok        [SPAN] ago
      next      in [SPAN] ([WHEN])

    nightly  [ENV]/site::heartbeats/nightly/HEARTBEAT.md
      schedule  every 1d
      last      ok        [SPAN] ago
      next      when it is resumed
      paused    for [SPAN], moving

    blog  [ENV]/blog
      schedule  every 1h
      last      ok        [SPAN] ago
      next      in [SPAN] ([WHEN])
      paused    for [SPAN], until [WHEN]
    [exit 0]
    ");
    let told = env.murmur(["status", "--json"]).json();
    assert_eq!(told["paused"], alone["paused"]);
    assert_snapshot!(told["paused"], @r#"[{"heartbeat":"[ENV]/site::heartbeats/nightly/HEARTBEAT.md","reason":"moving","since":"[TIME]","until":null},{"heartbeat":"[ENV]/blog","reason":null,"since":"[TIME]","until":"[TIME]"}]"#);
    let heartbeats = told["heartbeats"].as_array().unwrap();
    let shown = |key: &str| heartbeats.iter().map(|heartbeat| heartbeat[key].clone()).collect::<Vec<_>>();
    assert_eq!(shown("paused"), [Value::Null, told["paused"][0].clone(), told["paused"][1].clone()]);
    assert_eq!(shown("nextRun")[1..], [Value::Null, json!("2999-12-31T18:00:00Z")]);
    daemon.stop();
}

#[test]
fn a_heartbeat_is_found_by_name_path_and_folder() {
    let env = Env::new();
    configured(&env);
    let path = env.root().join("site");
    let shown = env.run(["pause", "./site"]);
    assert_eq!(env.run(["pause", path.to_str().unwrap()]), shown);
    assert_eq!(env.murmur(["pause"]).at(&path).run(), shown);
    assert_snapshot!(shown, @"
    paused [ENV]/site; to resume, run: murmur resume [ENV]/site
    paused [ENV]/site::heartbeats/nightly/HEARTBEAT.md; to resume, run: murmur resume [ENV]/site::heartbeats/nightly/HEARTBEAT.md
    [exit 0]
    ");
    assert_snapshot!(env.run(["pause", "site"]), @"
    paused [ENV]/site; to resume, run: murmur resume [ENV]/site
    [exit 0]
    ");
    assert_snapshot!(env.murmur(["resume"]).at(&path).run(), @"
    resumed [ENV]/site
    resumed [ENV]/site::heartbeats/nightly/HEARTBEAT.md
    [exit 0]
    ");
    assert_snapshot!(env.run(["resume", "nightly"]), @"
    [ENV]/site::heartbeats/nightly/HEARTBEAT.md is not paused
    [exit 0]
    ");
    env.run(["pause", "nightly"]);
    env.run(["pause", "--all"]);
    assert_snapshot!(env.run(["resume", "nightly"]), @"
    [ENV]/site::heartbeats/nightly/HEARTBEAT.md is still paused, because all heartbeats are paused; to resume all, run: murmur resume --all
    [exit 0]
    ");
    // One that is no longer configured.
    env.run(["resume", "--all"]);
    let blog = env.root().join("blog").display().to_string();
    env.run(["pause", &blog]);
    env.configure(r#"{"workspaces":[]}"#);
    assert_snapshot!(env.run(["resume", &blog]), @"
    resumed [ENV]/blog
    [exit 0]
    ");
}

#[test]
fn a_wrong_name_or_time_is_said_with_what_is_accepted() {
    let env = Env::new();
    configured(&env);
    let other = env.workspace("other", "Do it.");
    other.named("nightly", "Count.");
    assert_snapshot!(env.run(["pause", "nigtly"]), @r#"
    | error: no heartbeat or workspace "nigtly"
    | hint: did you mean nightly?
    [exit 1]
    "#);
    assert_snapshot!(env.run(["pause", "/nowhere"]), @r#"
    | error: no heartbeat or workspace "/nowhere"
    | hint: see: murmur list
    [exit 1]
    "#);
    assert_snapshot!(env.run(["pause"]), @"
    | error: this folder is not a registered workspace
    | hint: name a heartbeat, or use --all
    [exit 1]
    ");
    assert_snapshot!(env.run(["pause", "--all", "--until", "25:00"]), @r#"
    | error: --until "25:00" is not a time
    | hint: write a time such as 18:00, a span such as 2h, tomorrow, or a date such as 2026-11-22; see: murmur pause --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["pause", "--all", "--until", "2020-01-01"]), @r#"
    | error: --until "2020-01-01" is in the past
    | hint: write a time such as 18:00, a span such as 2h, tomorrow, or a date such as 2026-11-22; see: murmur pause --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["pause", "--all", "site"]), @"
    | error: --all cannot be combined with [NAME|PATH]
    | hint: remove one of them; see: murmur pause --help
    [exit 2]
    ");
    env.register(&[&other, &crate::env::Workspace(env.root().join("site"))]);
    assert_snapshot!(env.run(["pause", "nightly"]), @r#"
    | error: 2 heartbeats are called "nightly"
    | hint: use one of: [ENV]/other::heartbeats/nightly/HEARTBEAT.md, [ENV]/site::heartbeats/nightly/HEARTBEAT.md
    [exit 1]
    "#);
    assert!(!env.data().join("paused.json").exists());
}

#[test]
fn a_file_that_is_not_readable_pauses_everything_and_says_so() {
    let env = Env::new();
    configured(&env);
    std::fs::write(env.create_data().join("paused.json"), "{").unwrap();
    let daemon = env.daemon();
    let shown = env.run(["status"]);
    assert_snapshot!(shown.lines().next().unwrap(), @"paused: all heartbeats, [ENV]/data/paused.json is not a list of pauses that this version can read; to resume, run: murmur resume --all");
    assert!(env.agents().is_empty());
    env.murmur(["resume", "--all"]).assert().success();
    env.wait_for_journal(3);
    daemon.stop();
}

#[test]
fn an_agent_pauses_and_resumes_nothing() {
    let env = Env::new();
    configured(&env);
    for args in [&["pause", "--all"][..], &["pause", "blog"], &["resume", "--all"], &["resume", "blog"]] {
        let refused = env.murmur(args).set("MURMUR_AGENT_ID", "site-1").run();
        assert!(refused.contains("and agents cannot pause or resume heartbeats"), "{args:?}: {refused}");
    }
    assert!(!env.data().join("paused.json").exists());
}

#[test]
fn a_heartbeat_that_is_not_enabled_starts_only_by_hand() {
    let env = Env::new();
    let (site, blog) = (env.workspace("site", "Do it."), env.workspace("blog", "Do it."));
    let front = env.workspace("front", "---\nenabled: false\n---\nDo it.");
    let config = |enabled: bool| {
        let entries = json!([
            { "path": site.0, "interval": "1h", "enabled": enabled },
            { "path": blog.0, "interval": "1h" },
            { "path": front.0, "interval": "1h", "enabled": true },
        ]);
        env.configure(&json!({ "workspaces": entries }).to_string());
    };
    config(false);
    let daemon = env.daemon();
    env.wait_for_journal(1);
    let status = env.murmur(["status", "--json"]).json();
    let enabled: Vec<_> = (0..3).map(|n| status["heartbeats"][n]["enabled"].clone()).collect();
    assert_eq!(enabled, [json!(false), Value::Null, json!(false)]);
    assert_eq!(status["heartbeats"][0]["nextRun"], Value::Null);
    let shown = env.run(["status"]);
    assert_eq!(shown.matches("\n  next      never: \"enabled\" is false\n").count(), 2, "{shown}");
    assert_eq!(ran(&env), ["blog"]);
    let by_hand = env.run(["beat", "front"]);
    assert!(by_hand.contains("warning: \"enabled\" is false, so the daemon will not start it"), "{by_hand}");
    config(true);
    env.wait_for_journal(3);
    assert_eq!(ran(&env), ["blog", "front", "site"]);
    daemon.stop();
}

#[test]
fn a_removed_heartbeat_cannot_be_paused_but_resumed() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.run(["add", "site"]);
    env.run(["pause", site.path()]);
    env.run(["remove", "site"]);
    assert_snapshot!(env.run(["pause", site.path()]), @"
    | error: [ENV]/site was removed
    | hint: to forget its pause, run: murmur resume [ENV]/site
    [exit 1]
    ");
    assert_snapshot!(env.run(["resume", site.path()]), @"
    resumed [ENV]/site
    [exit 0]
    ");
}
