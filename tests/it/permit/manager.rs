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
        bash("t4", "murmur capture run -- ls"),
        bash("t5", "murmur log > x"),
        call("t6", "Write", &json!({ "file_path": "/x", "content": "" })),
        bash("t7", "murmur log | murmur agent send x -"),
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
        "murmur agent start -- --mcp-config evil.json",
        "murmur agent start x -- --plugin-dir evil",
        "murmur agent start x -- --agents '{}'",
        "murmur agent start x -- --add-dir /",
        "murmur agent start x -- --settings evil.json",
        "murmur agent start x --worktree /",
        "murmur agent start x --worktree=/etc",
        "murmur agent start x --worktree ../other",
        "murmur agent start x --worktree ~",
        "murmur agent start x --worktree \"$(pwd)\"",
        "murmur agent start x --role manager",
        "murmur agent start x --backend codex",
        "murmur agent start x --agent codex",
        "murmur --data-dir evil host spawn x",
        "murmur agent start --data-dir evil x",
        "murmur agent stop --all",
        "murmur host serve --agent-id x --worktree .",
        "murmur-host --agent-id x --worktree .",
        "murmur stop",
        "murmur restart",
        "murmur init",
        "murmur add /",
        "murmur setup hooks",
        "murmur permission respond x allow",
        "murmur allow x",
        "murmur answer last 1",
        "murmur run site",
        "murmur --data-dir evil agent start x",
        "murmur agent start x --worktree /",
        "murmur agent stop --all",
        "murmur remove site",
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
        "murmur agent start 'Fix the build' --agent-id fix --worktree sub/tree --model opus --json",
        "murmur agent start --issue '#42' --role agent --attach x",
        "murmur agent send fix 'And the docs' && murmur agent stop fix",
        "murmur agent start x --json; murmur agent send x more && murmur agent stop x",
        "murmur agent list; murmur agent show x; murmur list; murmur rules list; murmur config path",
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
