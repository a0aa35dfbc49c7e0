//! `murmur set`.

use insta::assert_snapshot;
use serde_json::Value;

use crate::env::Env;

const CONFIG: &str = r#"{ "workspaces" : [
   { "path": "[SITE]",   "interval": "1h", "tz": null ,
     "lastRun": null }
] , "maxConcurrent":2}"#;

fn configured(env: &Env) {
    let site = env.workspace("site", "Do it.");
    site.named("nightly", "---\ninterval: 1d\n---\nCount.");
    env.configure(&CONFIG.replace("[SITE]", site.path()));
}

#[test]
fn keys_change_and_no_other_byte() {
    let env = Env::new();
    configured(&env);
    assert_snapshot!(env.run(["set", "site", "--every", "2h", "--max-turns", "9", "--enabled=false"]), @"
    changed interval, maxTurns, enabled of [ENV]/site in [ENV]/data/config.json
    [exit 0]
    ");
    assert_snapshot!(env.config().replace(env.root().to_str().unwrap(), "[ENV]"), @r#"
    { "workspaces" : [
       { "path": "[ENV]/site",   "interval": "2h" ,
         "lastRun": null,
         "maxTurns": 9,
         "enabled": false }
    ] , "maxConcurrent":2}
    "#);
    assert_snapshot!(env.run(["set", "site", "--cron", "0 9 * * 1-5", "--tz", "Europe/Berlin", "--enabled"]), @"
    changed cron, tz, enabled of [ENV]/site in [ENV]/data/config.json
    [exit 0]
    ");
    assert!(env.run(["list"]).contains("/site  cron 0 9 * * 1-5 Europe/Berlin\n"));
    assert!(!env.config().contains("interval"), "{}", env.config());
}

#[test]
fn options_have_the_names_that_they_have_elsewhere() {
    let env = Env::new();
    let written = || {
        let config: Value = serde_json::from_str(&env.config()).unwrap();
        ["interval", "agent"].map(|key| config["workspaces"][0][key].clone())
    };
    env.run(["init", "site", "--every", "2h", "--backend", "codex"]);
    assert_eq!(written(), ["2h", "codex"]);
    env.run(["set", "site", "--interval", "3h", "--backend", "claude"]);
    assert_eq!(written(), ["3h", "claude"]);
}

#[test]
fn wrong_values_and_names_change_nothing() {
    let env = Env::new();
    configured(&env);
    let before = env.config();
    let wrong = [
        &["set", "site"][..],
        &["set", "site", "--every", "soon"],
        &["set", "site", "--cron", "0 25 * * *"],
        &["set", "site", "--every", "1h", "--cron", "* * * * *"],
        &["set", "site", "--max-turns", "0"],
        &["set", "site", "--enabled=maybe"],
        &["set", "nightly", "--every", "1h"],
        &["set", "sit", "--every", "1h"],
    ];
    let said: Vec<String> = wrong.iter().map(|args| env.murmur(*args).at(&env.home()).run()).collect();
    assert_snapshot!(said.join("\n"), @r#"
    | error: nothing to change
    | hint: give an option such as --every 1h; see: murmur set --help
    [exit 1]
    | error: "soon" is not an interval
    | hint: write whole numbers with d, h, m or s, largest first, such as "30m" or "1h30m"
    [exit 1]
    | error: "0 25 * * *" is not a cron expression (the hour is "25", expected 0 to 23)
    | hint: write five fields, minute hour day month weekday, such as "*/15 9-17 * * MON-FRI", or @hourly, @daily, @weekly, @monthly, @yearly
    [exit 1]
    | error: --every cannot be combined with --cron <CRON>
    | hint: remove one of them; see: murmur set --help
    [exit 2]
    | error: --max-turns "0" is not a whole number
    | hint: write one such as 20; see: murmur set --help
    [exit 2]
    | error: --enabled "maybe" is not a known value
    | hint: write true or false; see: murmur set --help
    [exit 2]
    | error: cannot change nightly: its settings are in [ENV]/site/heartbeats/nightly/HEARTBEAT.md
    | hint: run: murmur edit nightly
    [exit 1]
    | error: no heartbeat or workspace "sit"
    | hint: did you mean site?
    [exit 1]
    "#);
    assert_eq!(env.config(), before);
}

#[test]
fn a_setting_that_heartbeat_md_overrides_is_reported() {
    let env = Env::new();
    configured(&env);
    std::fs::write(env.root().join("site/HEARTBEAT.md"), "---\nmodel: opus\nmaxTurns: 2\n---\nDo it.")
        .unwrap();
    assert_snapshot!(env.run(["set", "site", "--permissions-checker", "ask"]), @r#"
    | error: --permissions-checker "ask" is not a known value
    | hint: write off, manual, llm or deny; see: murmur set --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["set", "site", "--permissions-checker", "manual"]), @"
    changed permissionsChecker of [ENV]/site in [ENV]/data/config.json
    [exit 0]
    ");
    assert!(env.config().contains(r#""permissionsChecker": "manual""#), "{}", env.config());
    assert_snapshot!(env.run(["set", "site", "--max-turns", "5"]), @"
    changed maxTurns of [ENV]/site in [ENV]/data/config.json
    | warning: [ENV]/site: maxTurns is 2, which its HEARTBEAT.md sets
    [exit 0]
    ");
}
