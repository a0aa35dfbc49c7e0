//! fake-claude under the name of an ACP agent.

use super::Agent;
use serde_json::{Value, json};

fn open(instructions: &Value, env: &[(&str, &str)]) -> Agent {
    let mut agent = Agent::start("opencode", &["acp".to_owned()], instructions, env);
    agent.say(&json!({"jsonrpc": "2.0", "id": "initialize", "method": "initialize", "params": {"protocolVersion": 1}}));
    let params = json!({"cwd": agent.folder.path(), "mcpServers": []});
    agent.say(&json!({"jsonrpc": "2.0", "id": "session", "method": "session/new", "params": params}));
    agent.answer("session");
    agent
}

fn begin(agent: &mut Agent) -> String {
    let answer = agent.said.iter().find(|message| message["id"] == "session").unwrap();
    let session = answer["result"]["sessionId"].as_str().unwrap().to_owned();
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Do it."}]});
    agent.say(&json!({"jsonrpc": "2.0", "id": "prompt", "method": "session/prompt", "params": params}));
    session
}

fn statuses(agent: &Agent) -> Vec<String> {
    let ends = agent.said.iter().map(|message| &message["params"]["update"]["status"]);
    let ends = ends.filter_map(Value::as_str).filter(|status| matches!(*status, "completed" | "failed"));
    ends.map(str::to_owned).collect()
}

fn command() -> Value {
    let call = json!({"type": "tool_use", "id": "call_1", "name": "Bash", "input": {"command": "echo hi"}});
    json!({"script": [[call], [{"type": "text", "text": "HEARTBEAT_OK"}]]})
}

const ASK: [(&str, &str); 1] = [("OPENCODE_PERMISSION", r#"{"*":"ask"}"#)];

#[test]
fn every_recording_is_replayed() {
    super::every_recording_is_replayed("acp", "opencode");
}

#[test]
fn a_call_runs_only_if_it_is_clearly_allowed() {
    let yes = json!({"result": {"outcome": {"outcome": "selected", "optionId": "once"}}});
    for (answer, status) in [
        (yes, "completed"),
        (json!({"result": {"outcome": {"outcome": "cancelled"}}}), "failed"),
        (json!({"result": {"outcome": {"outcome": "selected", "optionId": "other"}}}), "failed"),
        (json!({"error": {"code": -32601, "message": "no"}}), "failed"),
    ] {
        let mut agent = open(&command(), &ASK);
        begin(&mut agent);
        let request = agent.until(|message| message["method"] == "session/request_permission");
        let mut reply = answer.clone();
        reply["id"] = request["id"].clone();
        agent.say(&reply);
        assert_eq!(agent.answer("prompt")["result"]["stopReason"], "end_turn");
        assert_eq!(statuses(&agent), [status], "{answer}");
        assert_eq!(agent.end().0, Some(0));
    }
}

#[test]
fn a_canceled_turn_leaves_the_session_usable() {
    let mut agent = open(&command(), &ASK);
    let session = begin(&mut agent);
    agent.until(|message| message["method"] == "session/request_permission");
    agent.say(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}));
    assert_eq!(agent.answer("prompt")["result"]["stopReason"], "cancelled");
    assert_eq!(statuses(&agent), ["failed"]);
    begin(&mut agent);
    assert_eq!(agent.answer("prompt")["result"]["stopReason"], "end_turn");
}

#[test]
fn an_api_error_is_the_answer() {
    let script = json!({"script": [{"status": 429, "error": {"message": "slow down"}}], "scale": 0});
    let mut agent = open(&script, &[]);
    begin(&mut agent);
    assert_eq!(agent.answer("prompt")["error"]["message"], "Internal error: slow down");
}
