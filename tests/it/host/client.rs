//! What murmur does for a hosted ACP agent as its client: a person decides, and an interrupt ends it.

use serde_json::{Value, json};
use std::fs;

use super::{ID, Live, briefs, is_idle_after};
use crate::env::Env;

/// A hosted agent to which everything is offered, with these lines of config.toml, and a message that makes it call
/// `block`.
fn hosted<'a>(env: &'a Env, settings: &str, block: &Value) -> Live<'a> {
    env.agent("opencode");
    let folder = env.data().join("config");
    fs::create_dir_all(&folder).unwrap();
    let offer = "[acp.opencode]\noffer = [\"fs\", \"terminal\"]\n";
    fs::write(folder.join("config.toml"), format!("{settings}\n{offer}")).unwrap();
    let script = json!([[block], [{ "type": "text", "text": "Done" }]]);
    env.site(&json!({ "live": null, "script": script }));
    Live::of(env, env.spawning(ID, &["--backend", "acp:opencode", "--json", "Go"]))
}

#[test]
fn a_person_allows_or_denies_what_murmur_would_do() {
    for (answer, output) in [("allow", "wrote 3 bytes"), ("deny", "not today")] {
        let env = Env::new();
        let file = env.home().join("note.txt");
        let block = json!({ "type": "client", "method": "fs/write_text_file",
            "params": { "path": file, "content": "new" } });
        let daemon = env.daemon();
        let live = hosted(&env, "permissions-checker = \"manual\"", &block);
        let mut peer = live.follow(0);
        let request = env.opened();
        assert_eq!((&request["agent"], &request["tool"]), (&json!(ID), &json!("Write")));
        assert_eq!(request["input"], json!({ "file_path": file, "content": "new" }));
        let id = request["id"].as_str().unwrap();
        let reason = if answer == "deny" { &["--reason", "not today"][..] } else { &[] };
        env.run([&[answer, id], reason].concat());
        let events = peer.until(|event| is_idle_after(event, 1));
        let of_kind = |kind: &str| events.iter().find(|event| event["event_type"] == kind).unwrap();
        let call = &of_kind("tool_use")["payload"];
        assert_eq!((&call["id"], &call["name"]), (&json!("client-1"), &json!("Write")));
        let result = json!({ "id": "client-1", "output": output, "isError": answer == "deny" });
        assert_eq!(of_kind("tool_result")["payload"], result, "{:?}", briefs(&events));
        assert_eq!(file.exists(), answer == "allow");
        live.stop();
        live.wait_for_end();
        daemon.stop();
    }
}

#[test]
fn an_interrupt_kills_the_command_and_not_the_agent() {
    let env = Env::new();
    let wait = json!({ "method": "terminal/wait_for_exit", "params": { "terminalId": "TERMINAL" } });
    let block = json!({ "type": "client", "method": "terminal/create",
        "params": { "command": "sh", "args": ["-c", "echo on; sleep 1000"] }, "then": [wait] });
    let live = hosted(&env, "permissions-checker = \"off\"", &block);
    let mut peer = live.follow(0);
    peer.until(|event| event["event_type"] == "tool_use");
    assert_eq!(env.murmur(["agent", "interrupt", ID]).quiet(), "interrupted site-1\n");
    let mut events = peer.until(|event| is_idle_after(event, 1));
    live.send("Go on");
    events.extend(peer.until(|event| is_idle_after(event, 2)));
    let result = events.iter().find(|event| event["event_type"] == "tool_result").unwrap();
    assert_eq!(result["payload"]["isError"], true, "{result}");
    live.stop();
    live.wait_for_end();
    assert_eq!(env.alive(), Vec::<i64>::new());
}
