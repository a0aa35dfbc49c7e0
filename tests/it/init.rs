//! `murmur init`: writes a HEARTBEAT.md and an entry in config.json, and never overwrites anything.

mod broad;
mod edited;
mod template;

use insta::assert_snapshot;

use crate::env::Env;

#[test]
fn init_creates_a_workspace() {
    let env = Env::new();
    let site = env.root().join("my site");
    std::fs::create_dir(&site).unwrap();
    assert_snapshot!(env.murmur(["init"]).at(&site).run(), @"
    wrote [ENV]/my site/HEARTBEAT.md; edit it, or the daemon will not run it
    registered [ENV]/my site
    [exit 0]
    ");
    assert_snapshot!(std::fs::read_to_string(site.join("HEARTBEAT.md")).unwrap(), @"
    # Heartbeat

    What to do on each heartbeat. If nothing needs attention, respond with
    exactly `HEARTBEAT_OK`. Otherwise, start with `ATTENTION:` and a brief summary.

    ## Do this

    - Check for new GitHub issues on my-org/my-repo using `gh`
    - For any untagged issues, add a triage label based on the content
    - If there are urgent issues (security, data loss, outage), tell me
    ");
    assert_snapshot!(env.config(), @r#"
    {
      "workspaces": [
        {
          "path": "[ENV]/my site",
          "interval": "30m",
          "lastRun": null
        }
      ]
    }
    "#);
    use std::os::unix::fs::PermissionsExt;
    let mode = |name: &str| env.data().join(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("config.json")), (0o700, 0o600));
}

#[test]
fn existing_files_are_not_changed() {
    let env = Env::new();
    let site = env.workspace("site", "Mine.");
    assert_snapshot!(env.run(["init", "site", "--interval", "1h30m"]), @"
    [ENV]/site/HEARTBEAT.md already exists; not changed
    registered [ENV]/site
    [exit 0]
    ");
    let config = env.config();
    assert_snapshot!(config, @r#"
    {
      "workspaces": [
        {
          "path": "[ENV]/site",
          "interval": "1h30m",
          "lastRun": null
        }
      ]
    }
    "#);
    assert_snapshot!(env.run(["init", "site"]), @"
    [ENV]/site/HEARTBEAT.md already exists; not changed
    [ENV]/site is already registered; to change its schedule, run: murmur set [ENV]/site
    [exit 0]
    ");
    assert_eq!(std::fs::read_to_string(site.0.join("HEARTBEAT.md")).unwrap(), "Mine.");
    assert_eq!(env.config(), config);
}

#[test]
fn a_schedule_that_has_no_effect_is_an_error_and_nothing_is_written() {
    let env = Env::new();
    let site = env.workspace("site", "Mine.");
    env.run(["init", "site", "--interval", "2h"]);
    env.run(["init", "site", "--name", "nightly", "--cron", "0 3 * * *"]);
    let config = env.config();
    assert_snapshot!(env.run(["init", "site", "--interval", "3h"]), @"
    | error: --interval 3h was not applied: [ENV]/site is already registered, with the schedule every 2h
    | hint: run: murmur set [ENV]/site --every 3h
    [exit 1]
    ");
    assert_snapshot!(env.run(["init", "site", "--cron", "0 9 * * *", "--tz", "Europe/Berlin"]), @"
    | error: --cron '0 9 * * *' --tz Europe/Berlin was not applied: [ENV]/site is already registered, with the schedule every 2h
    | hint: run: murmur set [ENV]/site --cron '0 9 * * *' --tz Europe/Berlin
    [exit 1]
    ");
    assert_snapshot!(env.run(["workspaces", "add", "site", "--interval", "3h"]), @"
    | error: --interval 3h was not applied: [ENV]/site is already registered, with the schedule every 2h
    | hint: run: murmur set [ENV]/site --every 3h
    [exit 1]
    ");
    assert_snapshot!(env.run(["init", "site", "--name", "nightly", "--interval", "1d"]), @r#"
    | error: --interval 1d was not applied: heartbeat "nightly" of [ENV]/site already exists, with the schedule cron 0 3 * * * UTC
    | hint: change it in [ENV]/site/heartbeats/nightly/HEARTBEAT.md
    [exit 1]
    "#);
    // The same in a different form, and an invalid one.
    for same in [
        &["init", "site", "--interval", "120m"][..],
        &["workspaces", "add", "site", "--interval", "2h"],
        &["init", "site", "--name", "nightly", "--cron", "0 3 * * *"],
        &["init", "site", "--name", "other", "--interval", "3h"],
    ] {
        let shown = env.run(same);
        assert!(shown.ends_with("[exit 0]"), "{shown}");
    }
    // Its own file's value counts, and is changed there.
    std::fs::write(site.0.join("HEARTBEAT.md"), "---\ninterval: 5h\n---\nMine.").unwrap();
    assert_snapshot!(env.run(["init", "site", "--interval", "2h"]), @"
    | error: --interval 2h was not applied: [ENV]/site is already registered, with the schedule every 5h
    | hint: change it in [ENV]/site/HEARTBEAT.md
    [exit 1]
    ");
    assert_eq!(env.config(), config);
    // There is an entry, but it can't contain this.
    let blog = env.root().join("blog");
    std::fs::create_dir(&blog).unwrap();
    env.run(["init", "blog", "--name", "nightly", "--interval", "1d"]);
    assert_snapshot!(env.run(["init", "blog", "--interval", "1h"]), @"
    | error: --interval 1h was not applied: [ENV]/blog is already registered, without a schedule
    | hint: run: murmur set [ENV]/blog --every 1h
    [exit 1]
    ");
    assert!(!blog.join("HEARTBEAT.md").exists());
}

#[test]
fn only_the_last_folder_of_a_path_is_created() {
    let env = Env::new();
    assert_snapshot!(env.run(["init", "new site/", "--template", "tests"]), @"
    created [ENV]/new site
    wrote [ENV]/new site/HEARTBEAT.md; edit it, or the daemon will not run it
    registered [ENV]/new site
    [exit 0]
    ");
    assert!(env.root().join("new site/HEARTBEAT.md").exists());
    assert_snapshot!(env.run(["init", "no/site"]), @"
    | error: cannot create workspace no/site: its parent folder does not exist
    | hint: run: mkdir -p no/site
    [exit 1]
    ");
    assert_snapshot!(env.run(["init", "other", "--template", "nope"]), @r#"
    | error: no template "nope", and no file of this name
    | hint: templates are default, tests, issues, deploy, or the path of a file
    [exit 1]
    "#);
    std::os::unix::fs::symlink("nowhere", env.root().join("link")).unwrap();
    assert_snapshot!(env.run(["init", "link"]), @"
    | error: cannot open workspace link: No such file or directory (os error 2)
    | hint: check the path
    [exit 1]
    ");
    for none in ["no", "other", "nowhere"] {
        assert!(!env.root().join(none).exists(), "{none}");
    }
}

#[test]
fn a_named_heartbeat_carries_its_own_schedule() {
    let env = Env::new();
    let site = env.workspace("site", "Mine.");
    let cron = ["init", "site", "--name", "nightly", "--cron", "0 3 * * *", "--tz", "Europe/Berlin"];
    assert_snapshot!(env.run(cron.iter().chain(&["--template", "tests"])), @"
    wrote [ENV]/site/heartbeats/nightly/HEARTBEAT.md; edit it, or the daemon will not run it
    registered [ENV]/site
    [exit 0]
    ");
    let file = site.0.join("heartbeats/nightly/HEARTBEAT.md");
    assert_snapshot!(std::fs::read_to_string(file).unwrap(), @"
    ---
    cron: '0 3 * * *'
    tz: Europe/Berlin
    maxTurns: 15
    timeout: 30m
    ---
    # Heartbeat

    Run the project's tests and check `git status`.
    If the tests pass and nothing is uncommitted, respond with exactly `HEARTBEAT_OK`.
    Otherwise start with `ATTENTION:` and say in one or two lines what is wrong. Change nothing.
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
    assert_snapshot!(env.run(["workspaces", "list"]), @r#"
    [ENV]/site  never
      problem: [ENV]/site/HEARTBEAT.md: it has no schedule, so it never runs; write "interval", "cron" or "on" into config.json or its frontmatter
    [ENV]/site::heartbeats/nightly/HEARTBEAT.md  cron 0 3 * * * Europe/Berlin  (nightly)
      not edited yet; edit [ENV]/site/heartbeats/nightly/HEARTBEAT.md
    [exit 0]
    "#);
    assert_snapshot!(env.run(["beat", "site", "--name", "nightly"]), @"
    ok [S]
    | warning: [ENV]/site/heartbeats/nightly/HEARTBEAT.md is not edited yet; the daemon will not start it until you edit it
    [exit 0]
    ");
}

#[test]
fn a_template_is_built_in_or_a_file() {
    let env = Env::new();
    for template in ["default", "tests", "issues", "deploy"] {
        std::fs::create_dir(env.root().join(template)).unwrap();
        let shown = env.run(["init", template, "--template", template]);
        assert!(shown.ends_with("[exit 0]"), "{shown}");
        let text = std::fs::read_to_string(env.root().join(template).join("HEARTBEAT.md")).unwrap();
        assert!(text.contains("HEARTBEAT_OK"), "{text}");
    }
    std::fs::create_dir(env.root().join("own")).unwrap();
    std::fs::write(env.root().join("own.md"), "Mine.").unwrap();
    env.run(["init", "own", "--template", "own.md"]);
    assert_eq!(std::fs::read_to_string(env.root().join("own/HEARTBEAT.md")).unwrap(), "Mine.");
    assert_snapshot!(env.run(["init", "own", "--template", "nope"]), @r#"
    | error: no template "nope", and no file of this name
    | hint: templates are default, tests, issues, deploy, or the path of a file
    [exit 1]
    "#);
}

/// A template's frontmatter and the schedule are merged; options take precedence.
#[test]
fn a_template_keeps_its_settings_and_schedule_unless_overridden() {
    let env = Env::new();
    env.workspace("site", "Mine.");
    let own = "---\ncron: \"0 4 * * *\"\nmaxTurns: 7\n---\nLook.\n";
    std::fs::write(env.root().join("own.md"), own).unwrap();
    let made = |name: &str, typed: &[&str]| {
        let shown = env.run(["init", "site", "--name", name, "--template", "own.md"].iter().chain(typed));
        assert!(shown.ends_with("[exit 0]"), "{shown}");
        std::fs::read_to_string(env.root().join("site/heartbeats").join(name).join("HEARTBEAT.md")).unwrap()
    };
    assert_eq!(made("kept", &[]), own);
    assert_eq!(made("typed", &["--interval", "2h"]), "---\ninterval: 2h\nmaxTurns: 7\n---\nLook.\n");
    let listed = env.run(["workspaces", "list"]);
    assert!(listed.contains("cron 0 4 * * *") && listed.contains("every 2h"), "{listed}");
}

#[test]
fn invalid_arguments_are_refused_and_nothing_is_written() {
    let env = Env::new();
    std::fs::create_dir(env.root().join("site")).unwrap();
    assert_snapshot!(env.run(["init", "site", "--interval", "often"]), @r#"
    | error: "often" is not an interval
    | hint: write whole numbers with d, h, m or s, largest first, such as "30m" or "1h30m"
    [exit 1]
    "#);
    assert_snapshot!(env.run(["init", "site", "--cron", "60 * * * *"]), @r#"
    | error: "60 * * * *" is not a cron expression (the minute is "60", expected 0 to 59)
    | hint: write five fields, minute hour day month weekday, such as "*/15 9-17 * * MON-FRI", or @hourly, @daily, @weekly, @monthly, @yearly
    [exit 1]
    "#);
    assert_snapshot!(env.run(["init", "site", "--cron", "0 9 * * *", "--tz", "Mars/Olympus"]), @r#"
    | error: time zone "Mars/Olympus" is unknown
    | hint: write an IANA name such as "Europe/Berlin" or "UTC"
    [exit 1]
    "#);
    assert_snapshot!(env.run(["init", "site", "--name", "../up"]), @r#"
    | error: "../up" cannot name a heartbeat
    | hint: use up to 100 letters, digits, - and _
    [exit 1]
    "#);
    assert_eq!(env.names(&env.root().join("site")), "");
    assert!(!env.data().join("config.json").exists());
}
