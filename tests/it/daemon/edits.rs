//! Edits take effect without a restart.

use insta::assert_snapshot;

use serde_json::json;

use crate::env::Env;

#[test]
fn an_added_workspace_runs() {
    let env = Env::new();
    env.create_data();
    let daemon = env.daemon();
    env.workspace("site", "Do it.");
    assert_snapshot!(env.run(["workspaces", "add", "site"]), @"
    registered [ENV]/site
    [exit 0]
    ");
    env.wait_for_journal(1);
    env.workspace("blog", "Do it.");
    std::fs::remove_file(env.root().join("blog/HEARTBEAT.md")).unwrap();
    assert_snapshot!(env.run(["init", "blog"]), @"
    wrote [ENV]/blog/HEARTBEAT.md; edit it, or the daemon will not run it
    registered [ENV]/blog
    [exit 0]
    ");
    // In one step: while it is written in place, the daemon would see an empty file.
    std::fs::write(env.root().join("blog/new"), "Do it.").unwrap();
    std::fs::rename(env.root().join("blog/new"), env.root().join("blog/HEARTBEAT.md")).unwrap();
    let lines = env.wait_for_journal(2);
    assert_eq!(lines[1]["outcome"], "ok");
    daemon.stop();
}

#[test]
fn an_edited_heartbeat_takes_effect() {
    let env = Env::new();
    let site = env.workspace("site", "---\ninterval: 1d\n---\nBefore.");
    env.configure(&json!({ "workspaces": [{ "path": site.0, "interval": "1s" }] }).to_string());
    let daemon = env.daemon();
    env.wait_for_journal(1);
    site.heartbeat("---\ninterval: 1s\n---\nAfter.");
    env.wait_for_journal(2);
    site.heartbeat("---\ninterval: 1d\n---\nAfter.");
    daemon.stop();
    assert!(env.agents()[1]["stdin"].as_str().unwrap().contains("\n---\nAfter.\n---\n"));
}

#[test]
fn an_added_named_heartbeat_runs() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_journal(1);
    site.named("nightly", "Count.");
    let lines = env.wait_for_journal(2);
    assert_eq!(lines[1]["heartbeat"], "nightly");
    daemon.stop();
}

#[test]
fn an_invalid_config_is_reported_with_its_position_and_the_last_valid_one_stays_active() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.configure(&json!({ "workspaces": [{ "path": site.0, "interval": "1s" }] }).to_string());
    let daemon = env.daemon();
    env.wait_for_journal(1);
    let broken = "{\n  \"workspaces\": [\n    { \"path\": }\n  ]\n}\n";
    env.configure(broken);
    let said = daemon.says("config.json");
    assert_snapshot!(said, @"[TIME] [ENV]/data/config.json:3:15: this is not JSON: expected value; correct it there or just before; until then the last good configuration is used");
    let before = env.journal().len();
    env.wait_for_journal(before + 1);
    let status = env.run(["status"]);
    assert_snapshot!(status.lines().find(|line| line.starts_with("problem")).unwrap(), @"problem: [ENV]/data/config.json:3:15: this is not JSON: expected value; correct it there or just before; until then the last good configuration is used");
    assert_eq!(env.config(), broken);
    let blog = env.workspace("blog", "Do it.");
    env.register(&[&site, &blog]);
    env.wait(&env.data(), || env.journal().into_iter().find(|line| line["workspace"] == blog.path()));
    assert!(!env.run(["status"]).contains("problem"));
    daemon.signal(rustix::process::Signal::TERM);
    assert!(daemon.ended().0.success());
}
