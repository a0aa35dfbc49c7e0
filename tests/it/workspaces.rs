//! `murmur list|add|remove`.

use insta::assert_snapshot;

use crate::env::Env;

#[test]
fn without_workspaces_the_list_is_empty() {
    let env = Env::new();
    assert_snapshot!(env.run(["workspaces", "list"]), @"
    no workspaces; create one with: murmur init PATH
    [exit 0]
    ");
    assert_snapshot!(env.run(["workspaces", "list", "--json"]), @r#"
    {"schema":"heartbeats/1","heartbeats":[],"problems":[]}
    [exit 0]
    "#);
    assert!(!env.data().exists());
}

#[test]
fn a_workspace_is_added_once_and_listed_with_its_named_heartbeats() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.named("nightly", "---\ncron: '0 3 * * *'\ntz: Europe/Berlin\n---\nCount.");
    site.named("typo", "---\nintervall: 1h\n---\nCount.");
    assert_snapshot!(env.run(["workspaces", "add", "site", "--interval", "90m"]), @r#"
    registered [ENV]/site
    | warning: [ENV]/site/heartbeats/typo/HEARTBEAT.md:2:1: unknown key "intervall"; did you mean "interval"?
    [exit 0]
    "#);
    assert_snapshot!(env.run(["workspaces", "add", site.path()]), @r#"
    [ENV]/site is already registered
    | warning: [ENV]/site/heartbeats/typo/HEARTBEAT.md:2:1: unknown key "intervall"; did you mean "interval"?
    [exit 0]
    "#);
    assert_snapshot!(env.run(["workspaces", "list"]), @r#"
    [ENV]/site  every 1h30m
    [ENV]/site::heartbeats/nightly/HEARTBEAT.md  cron 0 3 * * * Europe/Berlin  (nightly)
    [ENV]/site::heartbeats/typo/HEARTBEAT.md  every 1h30m  (typo)
      problem: [ENV]/site/heartbeats/typo/HEARTBEAT.md:2:1: unknown key "intervall"; did you mean "interval"?
    [exit 0]
    "#);
    assert_snapshot!(env.run(["workspaces", "list", "--json"]), @r#"
    {"schema":"heartbeats/1","heartbeats":[{"approved":true,"id":"[ENV]/site","name":null,"problem":null,"schedule":"every 1h30m","unedited":false,"workspace":"[ENV]/site"},{"approved":true,"id":"[ENV]/site::heartbeats/nightly/HEARTBEAT.md","name":"nightly","problem":null,"schedule":"cron 0 3 * * * Europe/Berlin","unedited":false,"workspace":"[ENV]/site"},{"approved":true,"id":"[ENV]/site::heartbeats/typo/HEARTBEAT.md","name":"typo","problem":"[ENV]/site/heartbeats/typo/HEARTBEAT.md:2:1: unknown key \"intervall\"; did you mean \"interval\"?","schedule":"every 1h30m","unedited":false,"workspace":"[ENV]/site"}],"problems":[]}
    [exit 0]
    "#);
}

#[test]
fn a_heartbeat_with_a_schedule_is_added_without_an_interval() {
    let env = Env::new();
    env.workspace("site", "---\ncron: '0 3 * * 1-5'\ntz: UTC\n---\nDo it.");
    assert_snapshot!(env.run(["workspaces", "add", "site"]), @"
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
}

#[test]
fn a_workspace_can_be_removed_after_its_folder() {
    let env = Env::new();
    let (site, blog) = (env.workspace("site", "Do it."), env.workspace("blog", "Do it."));
    env.register(&[&site, &blog]);
    std::fs::remove_dir_all(&site.0).unwrap();
    assert_snapshot!(env.run(["workspaces", "remove", "site"]), @"
    unregistered [ENV]/site; its files were not changed
    [exit 0]
    ");
    assert_snapshot!(env.config(), @r#"{"workspaces":[{"interval":"1h","path":"[ENV]/blog"}]}"#);
    assert_snapshot!(env.run(["workspaces", "remove", "site"]), @"
    | error: workspace [ENV]/site is not in config.json
    | hint: see: murmur list
    [exit 1]
    ");
    assert_snapshot!(env.run(["workspaces", "remove", "blog"]), @"
    unregistered [ENV]/blog; its files were not changed
    [exit 0]
    ");
    assert!(blog.0.join("HEARTBEAT.md").exists());
}

#[test]
fn a_folder_without_a_heartbeat_is_not_added() {
    let env = Env::new();
    std::fs::create_dir(env.root().join("bare")).unwrap();
    assert_snapshot!(env.run(["workspaces", "add", "bare"]), @"
    | error: no HEARTBEAT.md in [ENV]/bare
    | hint: run: murmur init [ENV]/bare
    [exit 1]
    ");
    assert_snapshot!(env.run(["workspaces", "add", "nowhere"]), @"
    | error: cannot open workspace nowhere: No such file or directory (os error 2)
    | hint: check the path
    [exit 1]
    ");
    assert_snapshot!(env.run(["workspaces", "add", "home/.profile"]), @"
    | error: workspace [ENV]/home/.profile is not a folder
    | hint: name the folder that holds HEARTBEAT.md
    [exit 1]
    ");
    assert!(!env.data().exists());
}
