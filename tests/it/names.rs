//! The command line: the names of commands, and how heartbeats, agents and captures are named on it.

mod edit;
mod set;

use insta::assert_snapshot;
use serde_json::json;

use crate::env::{Env, Workspace};
use std::io::{BufRead, BufReader};

#[test]
fn every_old_name_of_a_command_still_works() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    for (old, new) in [
        (&["workspaces", "list", "--json"][..], &["list", "--json"][..]),
        (&["workspaces", "add", "site"], &["add", "site"]),
        (&["workspaces", "approve", "site"], &["approve", "site"]),
        (&["agents", "--json"], &["agent", "list", "--json"]),
        (&["agents", "x"], &["agent", "show", "x"]),
        (&["attach", "x"], &["agent", "attach", "x"]),
        (&["host", "attach", "x"], &["agent", "attach", "x"]),
        (&["host", "send", "x", "y"], &["agent", "send", "x", "y"]),
        (&["host", "interrupt", "x"], &["agent", "interrupt", "x"]),
        (&["host", "stop", "x"], &["agent", "stop", "x"]),
        (&["permission", "rules", "--json"], &["rules", "list", "--json"]),
        (&["permission", "check", "Bash(ls)"], &["rules", "check", "Bash(ls)"]),
        (&["sessions"], &["capture", "list"]),
        (&["schema"], &["config", "schema"]),
        (&["run", "--", "echo", "a"], &["capture", "run", "--", "echo", "a"]),
        (&["beat", "site", "-V", "--name", "x"], &["beat", "site", "-v", "--name", "x"]),
    ] {
        assert_eq!(env.run(old), env.run(new), "{old:?}");
        let help = env.run([&new[..new.len().min(2)], &["--help"]].concat());
        assert!(help.ends_with("[exit 0]"), "{new:?}: {help}");
    }
    assert_snapshot!(env.run(["workspaces", "remove", "site"]), @"
    unregistered [ENV]/site; its files were not changed
    [exit 0]
    ");
}

#[test]
fn last_is_what_started_last_not_what_ended_last() {
    let env = Env::new();
    let sites = ["long", "short"].map(|name| env.workspace(name, "Do it."));
    sites.iter().for_each(|site| site.plays(&json!({ "live": "echo" })));
    env.register(&[&sites[0], &sites[1]]);
    let now = sys::clock::now();
    let line = |site: &Workspace, minutes: i64, beat: &str, took: u64| {
        let at = sys::clock::rfc3339(now - jiff::SignedDuration::from_mins(minutes));
        let line = json!({ "ts": at, "workspace": site.0, "outcome": "ok", "durationMs": took * 60_000,
            "summary": "", "beat": beat, "agent": "w" });
        format!("{line}\n")
    };
    let [long, short] = &sites;
    let text = [line(short, 90, "a", 1), line(short, 50, "b", 1), line(long, 60, "c", 30)].concat();
    std::fs::write(env.create_data().join("heartbeats.jsonl"), text).unwrap();
    for what in [&["show"][..], &["show", "last"], &["show", "short"]] {
        assert!(env.run(what).starts_with(&format!("short  {}\n  beat     b\n", short.path())), "{what:?}");
    }
    assert!(env.run(["pause", "last"]).contains("short"));
    for name in ["first", "second"] {
        env.run(["agent", "start", "--agent-id", name, "--worktree", long.path(), "Hi"]);
    }
    env.run(["agent", "send", "first", "Hi again"]);
    let mut follow = env.murmur(["agent", "attach", "first", "--from", "0"]).start();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "[state] idle (2 turns)"));
    follow.kill().unwrap();
    follow.wait().unwrap();
    for command in [&["agent", "show", "last", "--json"][..], &["host", "status", "last", "--json"]] {
        let shown = env.run(command);
        assert!(shown.contains(r#""agent_id":"second""#), "{command:?}: {shown}");
    }
    env.run(["agent", "stop", "--all"]);
}

#[test]
fn a_command_after_dashes_is_captured_and_everything_else_is_a_beat() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    assert!(env.run(["run", "site"]).starts_with("ok "));
    assert_eq!(env.journal().len(), 1);
    assert_eq!(env.run(["run", "--", "echo", "hi"]), "hi\n[exit 0]");
    assert_snapshot!(env.run(["run", "site", "--", "echo"]), @"
    | error: name|path cannot be combined with [COMMAND]...
    | hint: remove one of them; see: murmur run --help
    [exit 2]
    ");
    assert_snapshot!(env.run(["run", "--retention", "1d"]), @"
    | error: <COMMAND>... is missing
    | hint: see: murmur run --help
    [exit 2]
    ");
    assert_eq!(env.journal().len(), 1);
}

#[test]
fn a_heartbeat_is_named_by_its_name_title_folder_or_as_the_last() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.named("nightly", "---\nname: Night Watch\ninterval: 1d\n---\nCount.");
    let (shop, other) = (env.workspace("shop", "Do it."), env.workspace("other/shop", "Do it."));
    env.register(&[&site, &shop, &other]);
    assert_snapshot!(env.run(["pause", "last"]), @"
    | error: there is no heartbeat yet
    | hint: see: murmur list
    [exit 1]
    ");
    env.murmur(["beat", "nightly"]).at(&env.home()).assert().success();
    for name in ["nightly", "Night Watch", "last"] {
        insta::allow_duplicates!(assert_snapshot!(env.murmur(["pause", name]).at(&env.home()).run(), @"
        paused [ENV]/site::heartbeats/nightly/HEARTBEAT.md; to resume, run: murmur resume [ENV]/site::heartbeats/nightly/HEARTBEAT.md
        [exit 0]
        "));
    }
    assert_snapshot!(env.murmur(["pause", "shop"]).at(&env.home()).run(), @r#"
    | error: 2 heartbeats are called "shop"
    | hint: use one of: [ENV]/shop, [ENV]/other/shop
    [exit 1]
    "#);
    assert_snapshot!(env.murmur(["remove", "nightly"]).at(&env.home()).run(), @r#"
    | error: "nightly" is one heartbeat of [ENV]/site, not a workspace
    | hint: remove [ENV]/site/heartbeats/nightly/HEARTBEAT.md, or the whole workspace: murmur remove [ENV]/site
    [exit 1]
    "#);
    assert_snapshot!(env.murmur(["remove", "site"]).at(&env.home()).run(), @"
    unregistered [ENV]/site; its files were not changed
    [exit 0]
    ");
}

#[test]
fn workspaces_with_the_same_folder_name_are_told_apart_and_named_so() {
    let env = Env::new();
    let sites = [env.workspace("mine/site", "Do it."), env.workspace("other/site", "Do it.")];
    env.register(&[&sites[0], &sites[1]]);
    for site in &sites {
        env.murmur(["beat", site.path()]).assert().success();
    }
    let log = env.run(["log", "--oneline"]);
    let names: Vec<&str> = log.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(names, ["mine/site", "other/site"], "{log}");
    let stat = env.run(["log", "--stat"]);
    assert!(stat.contains("\nmine/site ") && stat.contains("\nother/site "), "{stat}");
    assert_snapshot!(env.murmur(["pause", "other/site"]).at(&env.home()).run(), @"
    paused [ENV]/other/site; to resume, run: murmur resume [ENV]/other/site
    [exit 0]
    ");
    let raw = |name: &str| env.murmur(["capture", "show", "--raw", name]).at(&env.home()).quiet();
    let captures: Vec<String> =
        env.journal().iter().map(|entry| raw(entry["capture"].as_str().unwrap())).collect();
    assert_eq!([raw("mine/site"), raw(sites[1].path())], captures.as_slice());
    let shown = env.murmur(["show", "other/site"]).at(&env.home()).run();
    assert!(shown.lines().next().unwrap().ends_with("/other/site"), "{shown}");
    assert_eq!(env.murmur(["offer", "--", "pause", ""]).quiet(), "mine/site\nother/site\n");
    let unknown = env.murmur(["show", "its/site"]).at(&env.home()).run();
    assert!(unknown.contains("no beat, heartbeat, agent or capture \"its/site\""), "{unknown}");
}

#[test]
fn a_capture_is_named_by_the_beginning_of_its_id_or_as_the_last() {
    let env = Env::new();
    for (id, text) in [("build-1", "one"), ("build-2", "two"), ("test", "three")] {
        env.murmur(["capture", "run", "--session-id", id, "--", "echo", text]).assert().success();
    }
    for (name, text) in [("build-1", "one"), ("te", "three"), ("last", "three")] {
        assert_eq!(env.run(["capture", "show", name]), format!("{text}\n[exit 0]"), "{name}");
    }
    assert_snapshot!(env.run(["show", "b"]), @r#"
    | error: 2 captures begin with "b"
    | hint: use one of: build-2, build-1
    [exit 1]
    "#);
}

#[test]
fn quiet_commands_print_no_confirmation_and_no_note() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    for args in [&["pause", "site", "-q"][..], &["--quiet", "resume", "site"], &["remove", "-q", "site"]] {
        assert_eq!(env.run(args), "[exit 0]", "{args:?}");
    }
    assert_snapshot!(env.run(["-q", "remove", "site"]), @"
    | error: workspace [ENV]/site is not in config.json
    | hint: see: murmur list
    [exit 1]
    ");
    env.register(&[&site]);
    assert_snapshot!(env.run(["remove", "sit"]), @"
    | error: workspace [ENV]/sit is not in config.json
    | hint: did you mean site?
    [exit 1]
    ");
    env.run(["remove", "site", "-q"]);
    // What is asked for is still printed.
    assert_eq!(env.run(["list", "-q"]), "no workspaces; create one with: murmur init PATH\n[exit 0]");
    assert_eq!(env.run(["permission", "list", "-q"]), "no permission requests\n[exit 0]");
}

#[test]
fn color_can_be_forced_and_forbidden() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    for (args, is_colored) in [
        (&["beat", "site"][..], false),
        (&["beat", "site", "--color=always"], true),
        (&["--color", "always", "beat", "site"], true),
        (&["--color=always", "beat", "site", "--color=never"], false),
        (&["--help", "--color=always"], true),
        (&["--color=always", "agent", "--help"], true),
        (&["agent", "list", "--help"], false),
        (&["capture", "run", "--", "echo", "--color=always"], false),
    ] {
        let shown = String::from_utf8(env.murmur(args).set("NO_COLOR", "1").output().stdout).unwrap();
        assert_eq!(shown.contains('\x1b'), is_colored, "{args:?}: {shown}");
    }
    assert_snapshot!(env.run(["list", "--color=blue"]), @r#"
    | error: --color "blue" is not a known value
    | hint: write auto, always or never; see: murmur list --help
    [exit 2]
    "#);
}

#[test]
fn the_configuration_is_located_and_checked() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    assert_snapshot!(env.run(["config", "path"]), @"
    [ENV]/data/config.json
    [ENV]/data/config/config.toml  (does not exist)
    [ENV]/data/config/permissions.toml  (does not exist)
    [exit 0]
    ");
    assert_snapshot!(env.run(["config", "check"]), @"
    no problems; 1 heartbeat
    [exit 0]
    ");
    site.heartbeat("---\nintervall: 1h\n---\nDo it.");
    assert_snapshot!(env.run(["config", "check"]), @r#"
    problem: [ENV]/site/HEARTBEAT.md:2:1: unknown key "intervall"; did you mean "interval"?
    [exit 1]
    "#);
    assert_snapshot!(env.run(["config", "check", "--json"]), @r#"
    {"schema":"config-check/1","heartbeats":1,"problems":["[ENV]/site/HEARTBEAT.md:2:1: unknown key \"intervall\"; did you mean \"interval\"?"]}
    [exit 1]
    "#);
}

#[test]
fn a_shell_is_offered_names_and_ids() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.named("nightly", "---\nname: Night Watch\ninterval: 1d\n---\nCount.");
    env.register(&[&site]);
    env.murmur(["capture", "run", "--session-id", "build", "--", "true"]).assert().success();
    let offered = |words: &[&str]| env.murmur([&["offer", "--"], words].concat()).quiet();
    assert_eq!(offered(&["beat", ""]), "Night Watch\nnightly\nsite\nsite::nightly\n");
    assert_eq!(offered(&["pause", "n"]), "nightly\n");
    assert_eq!(offered(&["pause", "l"]), "last\n");
    assert_eq!(offered(&["capture", "show", "b"]), "build\n");
    assert_eq!(offered(&["allow", ""]), "");
    assert_eq!(offered(&["agent", "stop", ""]), "");
    assert_eq!(offered(&["log", ""]), "");
    assert_eq!(offered(&["beat", "site", ""]), "");
}
