//! Which MCP servers an agent gets: `mcp`, and how `requires` explains omitted ones.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::write;
use crate::env::Env;

/// A repository, trusted or not, with a server of its own, one of the user's, and one of the user's for this folder
/// only; returns the names of those that its agent got.
fn got(env: &Env, mcp: &Value, front: &str, trusted: bool) -> String {
    let site = env.workspace("site", &format!("{front}Do it."));
    site.plays(&json!({ "script": [[{ "type": "text", "text": "HEARTBEAT_OK" }]] }));
    let server = json!({ "command": "true" });
    std::fs::create_dir_all(site.0.join(".git")).unwrap();
    write(&site.0, ".mcp.json", &json!({ "mcpServers": { "repo": server } }));
    write(
        &env.home(),
        ".claude.json",
        &json!({ "mcpServers": { "mine": server },
        "projects": { site.path(): { "mcpServers": { "local": server } } } }),
    );
    let mut entry = json!({ "path": site.0, "interval": "1h" });
    if !mcp.is_null() {
        entry["mcp"] = mcp.clone();
    }
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    env.murmur(["trust", "site", if trusted { "--yes" } else { "--remove" }]).assert().success();
    let line = env.beat_line();
    assert_eq!(line["outcome"], "ok", "{line}");
    let shown = env.murmur(["show", line["capture"].as_str().unwrap(), "--raw"]).output().stdout;
    let lines = String::from_utf8(shown).unwrap();
    let mut init = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let init = init.rfind(|line| line["subtype"] == "init").unwrap();
    let names = init["mcp_servers"].as_array().unwrap().iter();
    names.map(|server| server["name"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_heartbeat_gets_the_servers_that_both_settings_and_trust_allow() {
    let env = Env::new();
    for (mcp, front, untrusted, trusted) in [
        (json!(null), "", "local mine", "local mine repo"),
        (json!("none"), "", "", ""),
        (json!("project"), "", "", "repo"),
        (json!(["mine", "repo"]), "", "mine", "mine repo"),
        (json!(["mine", "repo"]), "---\nmcp: project\n---\n", "", "repo"),
        (json!("none"), "---\nmcp: [mine]\n---\n", "", ""),
        (json!(null), "---\nmcp: none\n---\n", "", ""),
    ] {
        assert_eq!(got(&env, &mcp, front, false), untrusted, "{mcp} {front}");
        assert_eq!(got(&env, &mcp, front, true), trusted, "{mcp} {front}");
    }
}

#[test]
fn the_users_servers_are_passed_in_a_private_temporary_file() {
    let env = Env::new();
    let site = env.hostile();
    let (pace, _gate) = env.gate("gate");
    site.plays(&json!({ "script": [[{ "type": "text", "text": "HEARTBEAT_OK" }]], "pace": pace }));
    let beat = env.murmur(["beat", "site"]).start();
    let agent = env.wait_for_agents(1).remove(0);
    let argv: Vec<&str> = agent["argv"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let at = argv.iter().position(|word| *word == "--mcp-config").unwrap();
    let file = std::path::Path::new(argv[at + 1]);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let servers: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(servers["mcpServers"].as_object().unwrap().keys().collect::<Vec<_>>(), ["mine"]);
    assert!(!agent["argv"].to_string().contains("touch"), "{argv:?}");
    crate::env::kill(i64::from(beat.id()), rustix::process::Signal::TERM);
    crate::env::ended(beat);
    assert!(!file.exists());
}

#[test]
fn a_required_server_that_is_omitted_is_explained() {
    let env = Env::new();
    let site = env.hostile();
    site.heartbeat("---\nrequires: [evil]\n---\nDo it.");
    let error = env.beat_line()["error"].as_str().unwrap().replace(site.path(), "[SITE]");
    insta::assert_snapshot!(error, @r#"a required MCP server is not available: "evil" is left out because repository settings are not trusted; run: murmur trust [SITE]"#);
    site.heartbeat("---\nrequires: [mine]\nmcp: [evil]\n---\nDo it.");
    insta::assert_snapshot!(env.beat_line()["error"].as_str().unwrap(), @r#"a required MCP server is not available: "mine" is left out by "mcp""#);
}
