//! What other agents write that murmur doesn't know.

use super::{AGENTS, follow_beat, said, site};
use crate::env::{Env, kill};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::Write;
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

#[test]
fn unknown_output_of_a_beat_is_counted_even_if_its_host_is_killed() {
    let env = Env::new();
    let site = env.workspace("site", "Look.");
    let (pace, mut gate) = env.gate("gate");
    let init =
        json!({ "type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.1.329" });
    let says = |id: &str| {
        let message = json!({ "id": id, "role": "assistant", "content": [{ "type": "text", "text": id }] });
        json!({ "type": "assistant", "session_id": "s", "message": message })
    };
    let lines = [init, json!({ "type": "dawn", "session_id": "s" }), says("one"), says("two")];
    let stdout: String = lines.iter().map(|line| format!("{line}\n")).collect();
    site.plays(&json!({ "stdout": stdout, "pace": pace, "faults": ["hang"] }));
    env.register(&[&site]);
    let daemon = env.daemon();
    let (pid, mut follow, mut events) = follow_beat(&env);
    // The host has noted what it read before the last line.
    for (released, text) in [(3, "one"), (1, "two")] {
        gate.write_all(&vec![b'\n'; released]).unwrap();
        let text = format!("\"text\":\"{text}\"");
        assert!(events.any(|event| event.unwrap().contains(&text)));
    }
    kill(pid, Signal::KILL);
    follow.wait().unwrap();
    env.wait_for_journal(1);
    daemon.stop();
    env.murmur(["host", "discover"]).run();
    let counted = std::fs::read_to_string(env.data().join("unknown.json")).unwrap();
    assert!(counted.contains("\"dawn\"") && counted.contains("2.1.329"), "{counted}");
}
