//! Beats of Codex and of an ACP agent, with which murmur talks while they are recorded.

use std::path::PathBuf;

use fake_claude::replay::{End, Fixture};
use serde_json::{Value, json};

use crate::env::{Env, Workspace};

const AGENTS: [(&str, &str); 2] = [("codex", "codex"), ("opencode", "acp:opencode")];

fn site(env: &Env, (program, agent): (&str, &str)) -> Workspace {
    env.agent(program);
    let site = env.workspace("site", "Check the site.");
    let entry = json!({ "path": site.path(), "interval": "30m", "agent": agent });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    site
}

/// The folder in which beats of an agent are saved.
fn saved(env: &Env, agent: &str) -> PathBuf {
    let kind = agent.split(':').next().unwrap();
    env.root().join("fixtures").join(kind).join("nightly")
}

/// Records a beat. Returns its fixture.
fn recorded(env: &Env, agent: &str) -> Fixture {
    let output = env.murmur(["record", "nightly", "--beat", "site"]).output();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let fixture = Fixture::load(&saved(env, agent)).unwrap();
    let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines(&output.stdout), lines(&fixture.stdout));
    fixture
}

#[test]
fn a_recorded_beat_of_every_agent_plays_back_as_it_ran() {
    for (program, agent) in AGENTS {
        let env = Env::new();
        let site = site(&env, (program, agent));
        site.plays(&json!({ "script": [[{ "type": "text", "text": "ATTENTION: the disk is full" }]] }));
        let fixture = recorded(&env, agent);
        assert_eq!((fixture.run.program.as_str(), fixture.run.end), (program, End::Code(0)));
        assert!(String::from_utf8_lossy(&fixture.stdin).contains("Check the site."));
        // It is no beat: nothing is journalled.
        assert!(!env.data().join("heartbeats.jsonl").exists());
        site.plays(&json!({ "fixture": saved(&env, agent) }));
        env.run(["beat", "site"]);
        let line = env.journal().pop().unwrap();
        assert_eq!(
            (&line["outcome"], &line["summary"]),
            (&json!("attention"), &json!("ATTENTION: the disk is full")),
            "{line}"
        );
    }
}

#[test]
fn calls_are_decided_while_a_beat_is_recorded() {
    for (program, agent) in AGENTS {
        let env = Env::new();
        let site = site(&env, (program, agent));
        let call = |id: &str, command: &str| json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } }]);
        let answer = json!([{ "type": "text", "text": "HEARTBEAT_OK" }]);
        site.plays(&json!({ "script": [call("call_1", "echo hi"), call("call_2", "sudo ls"), answer] }));
        let fixture = recorded(&env, agent);
        let said = String::from_utf8_lossy(&fixture.stdout).into_owned();
        assert!(said.contains("HEARTBEAT_OK") && said.contains("sudo ls"), "{agent}: {said}");
        let decisions = std::fs::read_to_string(env.data().join("decisions.jsonl")).unwrap();
        let decisions = decisions.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let decided: Vec<Value> =
            decisions.map(|line| json!([line["toolUseId"], line["decision"]])).collect();
        assert_eq!(decided, [json!(["call_1", "allow"]), json!(["call_2", "deny"])], "{agent}");
        assert_eq!(env.alive(), Vec::<i64>::new());
    }
}
