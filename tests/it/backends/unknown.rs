//! What other agents write that murmur doesn't know.

use super::{AGENTS, said, site};
use crate::env::Env;
use serde_json::{Value, json};
use std::path::Path;

/// Adds `line` before the last one that the recording in `folder` has.
fn splice(folder: &Path, line: &Value) {
    let splice = |name: &str, line: &str| {
        let path = folder.join(name);
        let mut lines: Vec<String> =
            std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        lines.insert(lines.len() - 1, line.to_owned());
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    };
    splice("stdout", &line.to_string());
    let times = std::fs::read_to_string(folder.join("times")).unwrap();
    splice("times", times.lines().last().unwrap());
}

#[test]
fn unknown_output_of_a_beat_is_counted_with_the_agents_version() {
    for (agent, version) in AGENTS.into_iter().zip(["0.169.0", "1.18.33"]) {
        let env = Env::new();
        let site = site(&env, agent);
        site.plays(&json!({ "script": [said("HEARTBEAT_OK")] }));
        env.run(["record", "nightly", "--beat", "site"]);
        let recorded = env.root().join("fixtures").join(agent.split(':').next().unwrap()).join("nightly");
        let (line, names) = match agent {
            "codex" => {
                let item = json!({ "type": "agentMessage", "id": "m", "text": "", "mood": 1 });
                let params = json!({ "item": item, "threadId": "t", "turnId": "u" });
                (
                    json!({ "method": "item/completed", "params": params }),
                    ["item/completed/agentMessage.mood"],
                )
            }
            _ => {
                let update = json!({ "sessionUpdate": "dawn" });
                let params = json!({ "sessionId": "s", "update": update });
                (
                    json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }),
                    ["session/update/dawn"],
                )
            }
        };
        splice(&recorded, &line);
        site.plays(&json!({ "fixture": recorded }));
        env.run(["beat", "site"]);
        let line = env.journal().pop().unwrap();
        assert_eq!(line["outcome"], "ok", "{line}");
        let text = std::fs::read_to_string(env.data().join("unknown.json")).unwrap();
        let seen = serde_json::from_str::<Value>(&text).unwrap()["seen"].take();
        let rows = seen.as_array().unwrap().iter();
        let rows: Vec<[&str; 3]> = rows
            .map(|row| ["backend", "backendVersion", "name"].map(|key| row[key].as_str().unwrap()))
            .collect();
        assert_eq!(rows, names.map(|name| [agent, version, name]));
        let report = env.murmur(["doctor", "--json"]).json();
        let found =
            report["findings"].as_array().unwrap().iter().find(|one| one["check"] == "agent output").unwrap();
        assert_eq!(found["found"], format!("unknown in the last week: {agent} {version}: {}", names[0]));
        assert_eq!(found["level"], if agent == "codex" { "ok" } else { "warn" });
    }
}
