//! What `config check`, `list`, `status`, `doctor`, `set`, `edit` and the daemon say of heartbeats that their backend
//! can't run.

use super::default_agent;
use crate::env::Env;
use serde_json::{Value, json};

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
        env.agent("codex");
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
fn all_keys_that_the_backend_lacks_are_reported_at_once() {
    let env = Env::new();
    let site = env.workspace("site", "---\nbackgroundWait: 1m\n---\nCheck the site.");
    let entry = json!({ "path": site.0, "interval": "30m", "agent": "acp:gemini", "mcp": [],
        "permissions": { "deny": ["Edit"] } });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    let check = stdout(&env, &["config", "check"]);
    let said = "permissions.deny needs guaranteed approval requests, mcp needs a choice of MCP servers, and backgroundWait needs \
                background tasks, which acp:gemini doesn't have; remove permissions.deny, mcp, and backgroundWait, or \
                choose another agent";
    assert!(check.contains(said), "{check}");
    let column = env.config().find("{\"deny\"").unwrap() + 1;
    assert!(check.contains(&format!("config.json:1:{column}: ")), "{check}");
}

#[test]
fn what_a_backend_lacks_is_said_where_it_is_chosen() {
    let env = Env::new();
    env.agent("codex");
    let lacks = "note: codex lacks deferred calls, user questions, a turn limit, cost reporting, background tasks, and a \
                 choice of MCP servers; its sandboxed calls and read-only MCP calls run without a decision if a hook's shell is killed\n";
    let stderr = |args: &[&str]| String::from_utf8(env.murmur(args).output().stderr).unwrap();
    let site = env.root().join("site");
    let path = site.to_str().unwrap();
    let said = stderr(&["init", path, "--agent", "codex"]);
    assert_eq!(said, lacks);
    assert_eq!(stderr(&["set", "site", "--every", "1h"]), "");
    assert_eq!(stderr(&["set", "site", "--agent", "claude"]), "");
    assert_eq!(stderr(&["set", "site", "--agent", "codex"]), lacks);
    assert_eq!(stderr(&["--quiet", "set", "site", "--agent", "codex"]), "");
    env.run(["remove", "site"]);
    assert_eq!(stderr(&["add", path, "--agent", "codex"]), lacks);
    // A HEARTBEAT.md can choose another agent.
    let edit = |text: &str| {
        let editor = format!("printf -- '---\\nagent: {text}\\n---\\nLook.' >");
        String::from_utf8(env.murmur(["edit", "site"]).set("EDITOR", &editor).output().stderr).unwrap()
    };
    assert_eq!(edit("claude"), "");
    assert_eq!(edit("codex"), lacks);
    assert_eq!(edit("codex"), "");
    let acp = stderr(&["set", "site", "--agent", "acp:goose"]);
    let undecided = "; calls that it does not ask about run without a decision, and murmur only reports them";
    assert!(acp.contains("note: acp:goose lacks hooks, ") && acp.contains(undecided), "{acp}");
    let help = env.run(["agent", "start", "--help"]);
    let help = help.replace('\n', " ");
    // Help has sentences instead of semicolons.
    let sentences = lacks.trim().trim_start_matches("note: ").replace("; its", ". Its");
    let undecided = undecided.replace("; calls", ". Calls");
    assert!(help.contains(&sentences) && help.contains(&undecided), "{help}");
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
        assert!(said.contains("config.json:1:") && said.contains(unknown), "{args:?}: {said}");
    }
    env.run(["beat", "site"]);
    assert!(env.journal().pop().unwrap()["error"].as_str().unwrap().contains(unknown));
    let env = Env::new();
    site(&env, "acp:nonesuch", true);
    let check = stdout(&env, &["config", "check"]);
    assert!(check.contains(&format!("config.toml:1:9: {unknown}")), "{check}");
}

/// The backend in the only entry of config.json.
fn agent(env: &Env) -> Value {
    serde_json::from_str::<Value>(&env.config()).unwrap()["workspaces"][0]["agent"].clone()
}

#[test]
fn the_backend_of_a_workspace_is_chosen_when_it_is_created_and_changed_later() {
    let env = Env::new();
    let site = env.root().join("site");
    env.agent("codex");
    let init = ["init", site.to_str().unwrap(), "--agent", "codex", "--template", "tests"];
    env.run(init);
    assert_eq!(agent(&env), "codex");
    let text = std::fs::read_to_string(site.join("HEARTBEAT.md")).unwrap();
    assert!(text.starts_with("---\ntimeout: 30m\n---\n"), "{text}");
    let status = env.murmur(["status", "--json"]).json();
    let heartbeat = &status["heartbeats"][0];
    assert_eq!((&heartbeat["problem"], &heartbeat["unedited"]), (&json!(null), &json!(true)), "{status}");
    let other = env.murmur(["add", site.to_str().unwrap(), "--agent", "acp:goose"]).output();
    let error = String::from_utf8(other.stderr).unwrap();
    assert!(
        error.contains("--agent acp:goose was not applied: ") && error.contains("murmur set "),
        "{error}"
    );
    env.run(["set", "site", "--agent", "acp:goose"]);
    assert_eq!(agent(&env), "acp:goose");
    let unknown = env.murmur(["set", "site", "--agent", "acp:gose"]).output();
    let warning = String::from_utf8(unknown.stderr).unwrap();
    assert!(warning.contains("agent acp:gose is not configured; did you mean acp:goose? "), "{warning}");
    env.run(["remove", "site"]);
    let unknown = env.murmur(["add", site.to_str().unwrap(), "--agent", "acp:gose"]).output();
    assert!(!unknown.status.success() && !env.config().contains("gose"), "{unknown:?}");
    env.run(["add", site.to_str().unwrap(), "--agent", "claude"]);
    assert_eq!(agent(&env), "claude");
}

#[test]
fn notes_of_what_an_agent_wrote_to_stderr_have_no_escape_sequences() {
    let env = Env::new();
    let codex = env.agent("codex");
    let real = codex.with_file_name("real").join("codex");
    std::fs::create_dir(real.parent().unwrap()).unwrap();
    std::fs::rename(&codex, &real).unwrap();
    let note = r"printf '\033[2m12:00\033[0m \033[31mERROR\033[0m no disk\n' >&2";
    let script = format!("#!/bin/sh\n{note}\nexec '{}' \"$@\"\n", real.display());
    std::fs::write(&codex, script).unwrap();
    std::fs::set_permissions(&codex, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let site = env.workspace("site", "Look.");
    default_agent(&env, "codex");
    site.plays(&json!({ "script": [super::said("HEARTBEAT_OK")] }));
    env.run(["beat", "site"]);
    let shown = env.run(["show", "last"]);
    assert!(shown.contains("  [stderr] 12:00 ERROR no disk\n"), "{shown}");
}

#[test]
fn the_daemon_looks_for_the_programs_that_its_heartbeats_use() {
    let env = Env::new();
    let site = env.workspace("site", "Look.");
    let entry = json!({ "path": site.0, "interval": "30m", "agent": "acp:goose", "enabled": false });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    std::fs::remove_file(env.claude()).unwrap();
    let daemon = env.daemon();
    let missing = "goose not found on PATH";
    daemon.says(missing);
    let status = env.run(["status"]);
    assert!(status.contains(missing) && !status.contains("claude not found"), "{status}");
    daemon.stop();
}
