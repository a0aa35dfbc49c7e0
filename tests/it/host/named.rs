//! What the agents of beats are called by the commands for agents.

use std::os::unix::fs::PermissionsExt;

use super::{ID, Live};
use crate::env::{Env, ended};
use serde_json::json;

#[test]
fn a_heartbeat_title_or_folder_stands_for_the_agent_of_its_beat() {
    let env = Env::new();
    let (site, shop) = (env.workspace("site", "Do it."), env.workspace("shop", "Do it."));
    site.named("nightly", "---\nname: Night Watch\n---\nCount.");
    shop.named("nightly", "---\nname: Tidy\n---\nCount.");
    env.register(&[&site, &shop]);
    // An earlier beat, whose agent has ended.
    env.murmur(["beat", "site::nightly"]).output();
    site.plays(&json!({ "stdout": "", "faults": ["hang"] }));
    shop.plays(&json!({ "stdout": "", "faults": ["hang"] }));
    let beat = env.murmur(["beat", "site::nightly"]).start();
    let agent = env.wait_for_agents(2).pop().unwrap()["env"]["MURMUR_AGENT_ID"].clone();
    let id = agent.as_str().unwrap();
    assert!(id.starts_with("site-nightly-"), "{id}");
    let names = ["nightly", "Night Watch", "site::nightly", "site", ".", site.path(), "site-nightly-"];
    for name in names {
        let run = |words: &[&str]| env.murmur(words.iter().copied().chain([name])).at(&site.0);
        assert_eq!(run(&["agent", "show", "--json"]).json()["agent"]["agent_id"], agent, "{name}");
        assert_eq!(run(&["host", "status", "--json"]).json()["agent_id"], agent, "{name}");
        let sent = env.murmur(["agent", "send", name, "Hello"]).at(&site.0).run();
        assert!(sent.contains(&format!("cannot send to {id}")), "{name}: {sent}");
    }
    let offered = |words: &[&str]| env.murmur([&["offer", "--"], words].concat()).quiet();
    assert_eq!(offered(&["agent", "stop", "n"]), "nightly\n");
    assert_eq!(offered(&["agent", "attach", ""]), format!("{id}\nnightly\n"));
    assert_eq!(offered(&["agent", "chat", ""]), "");
    assert_eq!(offered(&["show", id]), format!("{id}\n"));
    let attached = env.murmur(["agent", "attach", "Night Watch"]).start();
    let other = env.murmur(["beat", "Tidy"]).start();
    let tidy = env.wait_for_agents(3).pop().unwrap()["env"]["MURMUR_AGENT_ID"].clone();
    let tidy = tidy.as_str().unwrap();
    for command in ["show", "attach", "stop"] {
        let said = env.run(["agent", command, "nightly"]);
        assert!(said.contains("2 agents are called \"nightly\""), "{said}");
        assert!(said.contains(id) && said.contains(tidy), "{said}");
    }
    assert_eq!(env.run(["agent", "stop", "Night Watch"]), format!("agent {id} has ended\n[exit 0]"));
    assert_eq!(env.run(["agent", "stop", "Tidy"]), format!("agent {tidy} has ended\n[exit 0]"));
    for child in [attached, beat, other] {
        ended(child);
    }
}

#[test]
fn a_project_stands_for_its_agent_in_agent_show() {
    let env = Env::new();
    env.site(&json!({}));
    let agent = Live::of(&env, env.spawning(ID, &["--json", "--project", "bakery"]));
    assert_eq!(env.murmur(["agent", "show", "bakery", "--json"]).json()["agent"]["agent_id"], ID);
    // Its capture is listed under its id.
    let listed = env.run(["capture", "list"]);
    assert!(listed.lines().any(|line| line.ends_with(&format!("  {ID}"))), "{listed}");
    agent.stop();
    agent.wait_for_end();
    let shown = env.run(["agent", "show", ID]);
    assert!(shown.starts_with(&format!("{ID}  exited\n")), "{shown}");
}

#[test]
fn the_hint_for_the_agent_of_a_beat_that_is_over_is_to_show_the_beat() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    env.run(["beat", "site"]);
    let agent = env.journal()[0]["agent"].as_str().unwrap().to_owned();
    let said = env.run(["agent", "show", &agent]);
    assert!(said.contains(&format!("| hint: see: murmur show {agent}\n")), "{said}");
}

#[test]
fn an_agent_that_ends_at_once_is_an_error() {
    let env = Env::new();
    env.site(&json!({}));
    let program = env.home().join("bin/claude");
    std::fs::remove_file(&program).unwrap();
    std::fs::write(&program, "#!/bin/sh\necho Usage >&2; echo no such option >&2; exit 3\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = env.spawning(ID, &["hi"]).run();
    let expected = format!(
        "| error: agent {ID} ended at once (exit code 3): no such option\n| hint: see: murmur show {ID}\n"
    );
    assert!(said.contains(&expected) && said.ends_with("[exit 1]"), "{said}");
    assert!(env.run(["show", ID]).contains("no such option"));
}
