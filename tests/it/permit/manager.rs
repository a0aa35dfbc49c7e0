//! A manager directs other agents: it can only run murmur.

use serde_json::json;

use super::{ToolResult, acts, bash, call};
use crate::env::Env;

#[test]
fn a_manager_can_only_run_murmur() {
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
    let told = env.wait_for_tool_results(calls.len());
    env.run(["host", "stop", "boss"]);
    let ran: Vec<bool> = told.iter().map(ToolResult::ran).collect();
    assert_eq!(ran, [true, false, false, false, false, false, true], "{told:#?}");
    assert!(
        told[1].text.contains("a manager may run only murmur:*; delegate the rest to another agent"),
        "{told:?}"
    );
    let settings = env.agents()[0]["argv"].to_string();
    assert!(settings.contains(r#"\"allow\":[\"Bash(murmur:*)\"]"#), "{settings}");
    assert!(
        env.decisions().iter().all(|line| line["by"] == json!({ "kind": "default", "which": "manager" }))
    );
}

#[test]
fn a_manager_cannot_choose_programs_folders_or_settings() {
    let env = Env::new();
    let site = env.workspace("site", "");
    let refused = [
        "murmur host spawn -- --mcp-config evil.json",
        "murmur host spawn x -- --plugin-dir evil",
        "murmur host spawn x -- --agents '{}'",
        "murmur host spawn x -- --add-dir /",
        "murmur host spawn x -- --settings evil.json",
        "murmur host spawn x --worktree /",
        "murmur host spawn x --worktree=/etc",
        "murmur host spawn x --worktree ../other",
        "murmur host spawn x --worktree ~",
        "murmur host spawn x --worktree \"$(pwd)\"",
        "murmur host spawn x --role manager",
        "murmur --data-dir evil host spawn x",
        "murmur host spawn --data-dir evil x",
        "murmur host stop --all",
        "murmur host serve --agent-id x --worktree .",
        "murmur-host --agent-id x --worktree .",
        "murmur stop",
        "murmur restart",
        "murmur init",
        "murmur workspaces add /",
        "murmur setup hooks",
        "murmur permission respond x allow",
        "PATH=. murmur host list",
        "MURMUR_DIR=evil murmur host list",
        "env HOME=. murmur host list",
        "./murmur host list",
    ];
    let calls: Vec<_> =
        refused.iter().enumerate().map(|(number, line)| bash(&format!("t{number}"), line)).collect();
    site.plays(&acts(&calls));
    env.run(["host", "spawn", "--agent-id", "boss", "--role", "manager", "--worktree", site.path(), "Go."]);
    env.wait_for_agents(1);
    let told = env.wait_for_tool_results(calls.len());
    env.run(["host", "stop", "boss"]);
    let ran: Vec<&str> =
        refused.iter().zip(&told).filter(|(_, told)| told.ran()).map(|(line, _)| *line).collect();
    assert!(ran.is_empty(), "{ran:#?}");
    for line in [
        "murmur host spawn 'Fix the build' --agent-id fix --worktree sub/tree --model opus --json",
        "murmur host spawn --issue '#42' --role agent --attach x",
        "murmur host send fix 'And the docs' && murmur host stop fix",
        "murmur status --json; murmur host list; murmur log; murmur permission list",
    ] {
        let said = env.run([
            "permission",
            "check",
            "--as",
            "manager",
            "--cwd",
            site.path(),
            &format!("Bash({line})"),
        ]);
        assert!(said.starts_with("allow"), "{line}: {said}");
    }
}
