//! fake-claude under the name `codex`.

use super::Agent;
use serde_json::{Value, json};

/// An app-server with a thread.
fn open(instructions: &Value, settings: &[String], policy: &str) -> Agent {
    let mut args = vec!["app-server".to_owned()];
    args.extend(settings.iter().flat_map(|value| ["-c".to_owned(), value.clone()]));
    let mut agent = Agent::start("codex", &args, instructions, &[]);
    agent.say(&json!({"id": "initialize", "method": "initialize", "params": {"clientInfo": {"name": "it", "version": "1"}}}));
    agent.answer("initialize");
    agent.say(&json!({"method": "initialized"}));
    let params =
        json!({"cwd": agent.folder.path(), "approvalPolicy": policy, "sandbox": "danger-full-access"});
    agent.say(&json!({"id": "thread", "method": "thread/start", "params": params}));
    agent.answer("thread");
    agent
}

fn thread(agent: &Agent) -> String {
    let answer = agent.said.iter().find(|message| message["id"] == "thread").unwrap();
    answer["result"]["thread"]["id"].as_str().unwrap().to_owned()
}

fn begin(agent: &mut Agent) {
    let params = json!({"threadId": thread(agent), "input": [{"type": "text", "text": "Do it."}]});
    agent.say(&json!({"id": "turn", "method": "turn/start", "params": params}));
}

fn finish(agent: &mut Agent) -> Value {
    agent.until(|message| message["method"] == "turn/completed")["params"]["turn"].clone()
}

fn statuses(agent: &Agent) -> Vec<String> {
    let items = agent.said.iter().filter(|message| message["method"] == "item/completed");
    let items = items.map(|message| &message["params"]["item"]).filter(|item| item["status"].is_string());
    items.map(|item| item["status"].as_str().unwrap().to_owned()).collect()
}

fn command() -> Value {
    let call = json!({"type": "tool_use", "id": "call_1", "name": "Bash", "input": {"command": "echo hi"}});
    json!({"script": [[call], [{"type": "text", "text": "HEARTBEAT_OK"}]]})
}

#[test]
fn every_recording_is_replayed() {
    super::every_recording_is_replayed("codex", "codex");
}

#[test]
fn a_hook_decides_only_if_it_is_trusted() {
    let deny = r#"hooks.PreToolUse=[{hooks=[{type="command",command="cat > told; echo no >&2; exit 2"}]}]"#;
    let mut untrusted = open(&command(), &[deny.to_owned()], "never");
    untrusted.say(&json!({"id": "hooks", "method": "hooks/list", "params": {"cwds": []}}));
    let listed = untrusted.answer("hooks")["result"]["data"][0]["hooks"][0].clone();
    assert_eq!(listed["trustStatus"], "untrusted");
    begin(&mut untrusted);
    finish(&mut untrusted);
    assert_eq!(statuses(&untrusted), ["completed"]);
    let state = format!(
        "hooks.state={{\"{}\"={{trusted_hash=\"{}\"}}}}",
        listed["key"].as_str().unwrap(),
        listed["currentHash"].as_str().unwrap()
    );
    let mut trusted = open(&command(), &[deny.to_owned(), state], "never");
    begin(&mut trusted);
    finish(&mut trusted);
    assert!(statuses(&trusted).is_empty(), "{:#?}", trusted.said);
    let told: Value =
        serde_json::from_slice(&std::fs::read(trusted.folder.path().join("told")).unwrap()).unwrap();
    let seen = (&told["tool_name"], &told["tool_input"], &told["tool_use_id"]);
    assert_eq!(seen, (&json!("Bash"), &json!({"command": "echo hi"}), &json!("call_1")));
}

#[test]
fn the_client_is_asked_for_approval_and_an_interrupt_ends_the_turn() {
    let mut agent = open(&command(), &[], "untrusted");
    begin(&mut agent);
    let request = agent.until(|message| message["method"] == "item/commandExecution/requestApproval");
    agent.say(&json!({"id": request["id"], "result": {"decision": "decline"}}));
    assert_eq!(finish(&mut agent)["status"], "completed");
    assert_eq!(statuses(&agent), ["declined"]);
    let mut agent = open(&command(), &[], "untrusted");
    begin(&mut agent);
    let turn = agent.answer("turn")["result"]["turn"]["id"].clone();
    agent.until(|message| message["method"] == "item/commandExecution/requestApproval");
    let params = json!({"threadId": thread(&agent), "turnId": turn});
    agent.say(&json!({"id": "stop", "method": "turn/interrupt", "params": params}));
    assert_eq!(finish(&mut agent)["status"], "interrupted");
    assert_eq!(agent.end().0, Some(0));
}

#[test]
fn faults_come_at_the_end_of_the_first_turn() {
    for (fault, code) in
        [("exit:3", Some(3)), ("die:KILL", None), ("half-line", Some(0)), ("die-at:3000", None)]
    {
        let mut instructions = command();
        instructions["faults"] = json!([fault]);
        let mut agent = open(&instructions, &[], "never");
        begin(&mut agent);
        let (ended, rest, _) = agent.end();
        assert_eq!(ended, code, "{fault}");
        let whole = rest.contains("turn/completed") && rest.ends_with('\n');
        assert_eq!(whole, !matches!(fault, "half-line" | "die-at:3000"), "{fault}: {rest}");
    }
}

#[test]
fn a_thread_is_resumed_by_another_process() {
    let script = json!({"script": [[{"type": "text", "text": "one"}], [{"type": "text", "text": "two"}]]});
    let mut first = open(&script, &[], "never");
    begin(&mut first);
    assert_eq!(finish(&mut first)["items"][0]["text"], "one");
    let id = thread(&first);
    let (_, _, folder) = first.end();
    let mut second = Agent::start_in(folder, "codex", &["app-server".to_owned()], &script, &[]);
    second
        .say(&json!({"id": "initialize", "method": "initialize", "params": {"clientInfo": {"name": "it"}}}));
    second.say(&json!({"id": "none", "method": "thread/resume", "params": {"threadId": "nonesuch"}}));
    assert_eq!(second.answer("none")["error"]["message"], "no rollout found for thread id nonesuch");
    second.say(&json!({"id": "thread", "method": "thread/resume", "params": {"threadId": id}}));
    second.answer("thread");
    begin(&mut second);
    assert_eq!(finish(&mut second)["items"][0]["text"], "two");
}
