//! One agent and its last actions.

use insta::assert_snapshot;
use serde_json::json;

use super::{pulse, with};
use crate::env::Env;

#[test]
fn one_agent_is_shown_with_its_last_actions() {
    let env = Env::new();
    env.beats(&with(pulse("site-1", 450), &json!({ "error": "exit code 1" })));
    let folder = env.data().join("agents/site-1");
    std::fs::create_dir_all(&folder).unwrap();
    let line = |minute: u32, action: &str, more| {
        let line = json!({ "timestamp": format!("2026-02-03T10:{minute:02}:00+01:00"), "tool_name": "Bash",
            "last_action": action });
        format!("{}\n", with(line, &more))
    };
    let text = [
        line(1, "", json!({ "tool_name": "", "state": "starting" })),
        line(2, "ls", json!({})),
        line(3, "cargo test", json!({ "error": "exit code 1" })),
        "{\"timestamp\":\"2026-02-03T10:04:00+01:00\",\"tool".to_owned(),
    ];
    std::fs::write(folder.join("activity.jsonl"), text.concat()).unwrap();
    assert_snapshot!(env.run(["agents", "site-1"]));
    assert!(!env.run(["agents", "site-1", "-n", "1"]).contains("Bash: ls"));
    let object = env.murmur(["agents", "site-1", "--json"]).json();
    assert_eq!(object["agent"]["agent_id"], "site-1");
    assert_eq!(object["actions"].as_array().unwrap().len(), 3);
    assert_eq!(object["actions"][2]["last_action"], "cargo test");
}

#[test]
fn an_unknown_agent_is_an_error() {
    let env = Env::new();
    assert_snapshot!(env.run(["agents", "site-2"]), @r#"
    | error: no agent "site-2"
    | hint: see: murmur agent list
    [exit 1]
    "#);
}
