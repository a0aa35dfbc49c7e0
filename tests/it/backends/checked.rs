//! What `config check`, `list`, `status`, `doctor`, `set`, `edit` and the daemon say of heartbeats that their backend can't run.

use super::default_agent;
use crate::env::Env;
use serde_json::json;

/// A site with `maxTurns`, whose backend is `agent`: in its own entry, or in config.toml.
fn site(env: &Env, agent: &str, is_default: bool) {
    let site = env.workspace("site", "Check the site.");
    let mut entry = json!({ "path": site.0, "interval": "30m", "maxTurns": 5 });
    if is_default {
        default_agent(env, agent);
    } else {
        entry["agent"] = agent.into();
    }
    env.configure(&json!({ "workspaces": [entry] }).to_string());
}

fn stdout(env: &Env, args: &[&str]) -> String {
    String::from_utf8(env.murmur(args).output().stdout).unwrap()
}

#[test]
fn settings_that_the_backend_lacks_are_reported_whichever_file_chose_it() {
    for is_default in [true, false] {
        let env = Env::new();
        site(&env, "codex", is_default);
        let lacks =
            "maxTurns needs a turn limit, which codex doesn't have; remove maxTurns, or choose another agent";
        let place = format!("{}:1:", env.data().join("config.json").display());
        let check = stdout(&env, &["config", "check"]);
        assert!(check.starts_with(&format!("problem: {place}")) && check.contains(lacks), "{check}");
        for args in [&["list"][..], &["status"], &["list", "--json"], &["status", "--json"]] {
            let said = stdout(&env, args);
            assert!(said.contains(lacks), "{args:?}: {said}");
        }
        let doctor = stdout(&env, &["doctor"]);
        assert!(doctor.contains("maxTurns needs a turn limit, which codex doesn't have"), "{doctor}");
        let set = env.murmur(["set", "site", "--every", "1h"]).output();
        assert!(String::from_utf8_lossy(&set.stderr).contains(lacks), "{set:?}");
        let edited = env.murmur(["edit", "site"]).set("EDITOR", "true").output();
        assert!(String::from_utf8_lossy(&edited.stderr).contains("which codex doesn't have"), "{edited:?}");
        let daemon = env.daemon();
        assert!(env.run(["status"]).contains(lacks), "{}", env.run(["status"]));
        daemon.stop_after_saying(lacks);
    }
}

#[test]
fn an_acp_agent_that_nothing_configures_is_reported() {
    let env = Env::new();
    site(&env, "acp:nonesuch", false);
    let config = env.config().replace("\"maxTurns\":5,", "");
    env.configure(&config);
    let unknown = "agent acp:nonesuch is not configured; add [acp.nonesuch] with its command to config.toml";
    for args in [["config", "check"].as_slice(), &["list"], &["status"]] {
        let said = stdout(&env, args);
        assert!(said.contains(&format!("config.json:1:")) && said.contains(unknown), "{args:?}: {said}");
    }
    env.run(["beat", "site"]);
    assert!(env.journal().pop().unwrap()["error"].as_str().unwrap().contains(unknown));
    let env = Env::new();
    site(&env, "acp:nonesuch", true);
    let check = stdout(&env, &["config", "check"]);
    assert!(check.contains(&format!("config.toml:1:9: {unknown}")), "{check}");
}
