//! The table and the object: contents and order.

use insta::assert_snapshot;
use serde_json::json;

use super::{dead, pulse, with};
use crate::env::Env;
use crate::log::terminal::on_a_terminal;

/// One agent of each health.
fn everybody(env: &Env) {
    for (id, seconds) in [("active", 0), ("stale", 450), ("warning", 1230), ("stuck", 2730)] {
        env.beats(&pulse(id, seconds));
    }
    env.beats(&with(
        pulse("idle", 7500),
        &json!({ "state": "idle", "tool_name": "", "last_action": "Done." }),
    ));
    env.beats(&with(pulse("exited", 100_000), &json!({ "state": "exited", "pid": dead() })));
    env.beats(&with(pulse("dead", 150), &json!({ "pid": dead() })));
    env.session("quiet", std::process::id(), 3700, &json!({ "status": "busy" }));
}

#[test]
fn no_agents_are_reported_as_such() {
    let env = Env::new();
    assert_snapshot!(env.run(["agents"]), @"
    no agents; start one with: murmur agent start
    [exit 0]
    ");
    assert_snapshot!(env.run(["agents", "--json"]), @r#"
    {"schema":"agents/1","agents":[]}
    [exit 0]
    "#);
}

#[test]
fn agents_that_need_a_person_come_first_and_nothing_is_truncated_in_a_pipe() {
    let env = Env::new();
    everybody(&env);
    assert_snapshot!(env.run(["agents", "--all"]));
}

#[test]
fn agents_that_have_ended_are_listed_only_on_request() {
    let env = Env::new();
    env.beats(&pulse("active", 0));
    for id in ["one", "two"] {
        env.beats(&with(pulse(id, 60), &json!({ "state": "exited", "pid": dead() })));
    }
    let listed = env.run(["agent", "list"]);
    assert_eq!(listed.lines().count(), 4, "{listed}");
    assert!(listed.contains("\n2 agents have ended; to list them, add --all\n"), "{listed}");
    assert_eq!(env.run(["agent", "list", "--all"]).lines().count(), 5);
    assert_eq!(env.listed().len(), 3);
}

#[test]
fn a_failed_turn_is_listed_after_dead_agents_with_its_error() {
    let env = Env::new();
    for (id, seconds) in [("active", 0), ("stale", 450)] {
        env.beats(&with(pulse(id, seconds), &json!({ "error": "Exit code 1" })));
    }
    let over = json!({ "state": "idle", "tool_name": "", "last_action": "API Error", "error": "rate_limit" });
    env.beats(&with(pulse("failed", 0), &over));
    env.beats(&with(pulse("gone", 150), &with(over, &json!({ "pid": dead() }))));
    assert_snapshot!(env.run(["agents"]), @"
    AGENT   STATE    TOOL  LAST ACTION          TASK            BRANCH  WORKSPACE    AGE  HEALTH
    gone    idle           failed: rate_limit   Mend the build  main    /srv/gone    2m   dead
    failed  idle           failed: rate_limit   Mend the build  main    /srv/failed  0s   active
    stale   running  Bash  failed: Exit code 1  Mend the build  main    /srv/stale   7m   stale
    active  running  Bash  failed: Exit code 1  Mend the build  main    /srv/active  0s   active
    [exit 0]
    ");
    assert_eq!(env.listed()[1]["last_action"], "API Error");
}

#[test]
fn health_is_colored_on_a_terminal() {
    let env = Env::new();
    everybody(&env);
    assert_snapshot!(on_a_terminal(env.murmur(["agents", "--all"])));
}

#[test]
fn json_has_one_object_per_agent() {
    let env = Env::new();
    env.beats(&with(pulse("site-1", 450), &json!({ "error": "exit code 1" })));
    let mut agent = env.listed().remove(0);
    let age = agent["age_ms"].take().as_u64().unwrap();
    assert!((450_000..500_000).contains(&age), "{age}");
    assert_snapshot!(serde_json::to_string_pretty(&agent).unwrap());
    env.beats(&with(pulse("site-1", 0), &json!({ "pid": std::process::id() })));
    let agent = env.listed().remove(0);
    assert_eq!((&agent["pid"], &agent["alive"]), (&json!(std::process::id()), &json!(true)));
    env.beats(&json!({ "timestamp": super::ago(60), "agent_id": "site-1" }));
    assert_snapshot!(serde_json::to_string(&with(env.listed().remove(0), &json!({ "age_ms": 0 }))).unwrap(), @r#"{"age_ms":0,"agent_id":"site-1","alive":null,"current_task":"","error":null,"git_branch":"","health":"active","last_action":"","last_heard_at":"[TIME]","pid":null,"session_id":null,"source":"pulse","state":"running","tool_name":"","workspace":""}"#);
}

#[test]
fn control_characters_are_not_shown() {
    let env = Env::new();
    let nasty = "\u{1b}[2J\u{7}\u{9b}31m\u{202e}x\r\ny";
    let mut evil = pulse("evil", 450);
    for key in [
        "agent_id",
        "tool_name",
        "last_action",
        "current_task",
        "git_branch",
        "workspace",
        "session_id",
        "error",
    ] {
        evil[key] = json!(format!("{nasty}{key}"));
    }
    let id = evil["agent_id"].as_str().unwrap().to_owned();
    // The failure is shown instead of the action.
    for said in ["error", "last_action"] {
        std::fs::write(env.pulses().join("evil.json"), evil.to_string()).unwrap();
        let watched = env.murmur(["agents", "--watch"]).start_and_read_a_line();
        for shown in [env.run(["agents"]), env.run(["agents", &id]), watched] {
            let obeyed = |c: &char| (c.is_control() && *c != '\n') || *c == '\u{202e}';
            assert!(shown.contains(&format!("x y{said}")), "{shown}");
            assert_eq!(shown.chars().find(obeyed), None, "{shown:?}");
        }
        evil["error"] = json!(null);
    }
}

#[test]
fn thresholds_come_from_config_toml_and_an_invalid_one_hides_no_agent() {
    let env = Env::new();
    env.beats(&pulse("site-1", 450));
    let config = env.create_data().join("config");
    std::fs::create_dir(&config).unwrap();
    for (text, health) in [("stuck = \"20m\"\nwarning = \"7m\"", "warning"), ("stale = \"10m\"", "active")] {
        std::fs::write(config.join("config.toml"), format!("[quiet]\n{text}\n")).unwrap();
        assert_eq!(env.in_short(), format!("site-1 running {health} pulse"));
    }
    std::fs::write(config.join("config.toml"), "[quiet]\nstuk = \"1h\"\n").unwrap();
    assert_snapshot!(env.run(["agents"]), @r#"
    AGENT   STATE    TOOL  LAST ACTION             TASK            BRANCH  WORKSPACE    AGE  HEALTH
    site-1  running  Bash  cargo test --workspace  Mend the build  main    /srv/site-1  7m   stale
    | warning: [ENV]/data/config/config.toml:2:1: unknown key "stuk"; did you mean "stuck"?
    [exit 0]
    "#);
}

#[test]
fn live_claude_sessions_are_agents_and_pulses_add_details() {
    let env = Env::new();
    let us = std::process::id();
    env.session("s-1", us, 450, &json!({ "status": "idle" }));
    env.session("gone", dead(), 1, &json!({}));
    assert_eq!(env.in_short(), "claude-s-1 idle idle session");
    env.beats(&with(pulse("work", 10), &json!({ "session_id": "s-1" })));
    let shown = env.in_short();
    // The file is newer than the pulse, and says that the turn has ended.
    assert_eq!(shown, "work idle active pulse");
    let elsewhere = env.root().join("elsewhere");
    std::fs::rename(env.home().join(".claude"), &elsewhere).unwrap();
    assert_eq!(env.in_short(), "work running active pulse");
    let agents = env.murmur(["agents", "--json"]).set("CLAUDE_CONFIG_DIR", &elsewhere).json();
    assert_eq!(agents["agents"][0]["state"], "idle");
}

#[test]
fn unreadable_sessions_are_reported_and_hide_no_agent() {
    let env = Env::new();
    env.beats(&pulse("site-1", 0));
    std::fs::create_dir_all(env.home().join(".claude")).unwrap();
    std::fs::write(env.home().join(".claude/sessions"), "").unwrap();
    assert_snapshot!(env.run(["agents", "site-1"]));
    assert_snapshot!(env.murmur(["agents", "--watch"]).start_and_read_a_line());
}
