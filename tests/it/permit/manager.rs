//! The manager, who has others do the work: it runs murmur, and nothing else.

use serde_json::json;

use super::{Told, acts, bash, call};
use crate::env::Env;

#[test]
fn a_manager_runs_murmur_and_nothing_else() {
    let env = Env::new();
    let site = env.workspace("site", "");
    let calls = [
        bash("t1", "murmur status && murmur host list"),
        bash("t2", "ls"),
        bash("t3", "murmur status; ls"),
        bash("t4", "murmur run -- ls"),
        bash("t5", "murmur log > x"),
        call("t6", "Write", &json!({ "file_path": "/x", "content": "" })),
        bash("t7", "murmur log | murmur host send x -"),
    ];
    site.plays(&acts(&calls));
    let spawn =
        ["host", "spawn", "--agent-id", "boss", "--role", "manager", "--worktree", site.path(), "Go."];
    env.run(spawn);
    env.wait_for_agents(1);
    let told = env.wait_for_told(calls.len());
    env.run(["host", "stop", "boss"]);
    let ran: Vec<bool> = told.iter().map(Told::ran).collect();
    assert_eq!(ran, [true, false, false, false, false, false, true], "{told:#?}");
    assert!(told[1].text.contains("a manager runs only murmur:*, and has others do the rest"), "{told:?}");
    let settings = env.agents()[0]["argv"].to_string();
    assert!(settings.contains(r#"\"allow\":[\"Bash(murmur:*)\"]"#), "{settings}");
    assert!(
        env.decisions().iter().all(|line| line["by"] == json!({ "kind": "default", "which": "manager" }))
    );
}
