//! Plan mode: no beat enters it, whatever the checker; a hosted agent enters and leaves it.

use serde_json::{Value, json};

use super::{ToolResult, acts, bash, call, text};
use crate::env::Env;

/// Only calls that a rule allows may run.
const TOUCH: &str = "[[rules]]\ntool = \"Bash\"\naction = \"allow\"\npattern = \"touch:*\"\n";

#[test]
fn plan_mode_is_refused_to_beats_whatever_the_checker() {
    for (frontmatter, entry) in [
        ("model: x", json!({})),
        ("permissions: skip", json!({})),
        ("model: x", json!({ "permissions": "skip" })),
        ("permissionsChecker: manual", json!({})),
        ("permissionsChecker: llm", json!({})),
        ("permissionsChecker: deny", json!({})),
    ] {
        let env = Env::new();
        env.setting("permissions.toml", TOUCH);
        let site = env.workspace_calling(
            frontmatter,
            &[call("t1", "EnterPlanMode", &json!({})), bash("t2", "touch x")],
        );
        let mut entry = entry;
        entry["path"] = site.path().into();
        entry["interval"] = "1h".into();
        env.configure(&json!({ "workspaces": [entry] }).to_string());
        let line = env.run_beat();
        let told = env.tool_results();
        let ran: Vec<bool> = told.iter().map(ToolResult::ran).collect();
        assert_eq!(ran, [false, true], "{frontmatter} {entry}: {told:#?}");
        assert!(told[0].text.contains("plan mode is not available in a beat"), "{told:#?}");
        assert!(told[0].text.contains("do the work now"), "{told:#?}");
        assert_eq!((&line["outcome"], &line["denials"]), (&json!("ok"), &json!(["EnterPlanMode"])));
        assert_eq!(env.decisions()[0]["by"], json!({ "kind": "default", "which": "plan-mode" }));
    }
}

#[test]
fn a_live_agent_enters_and_leaves_plan_mode_without_asking_anybody() {
    let env = Env::new();
    env.setting("permissions.toml", TOUCH);
    let site = env.workspace("site", "");
    let calls = [
        call("t1", "EnterPlanMode", &json!({})),
        bash("t2", "ls"),
        call("t3", "ExitPlanMode", &json!({})),
        bash("t4", "touch x"),
    ];
    env.setting("config.toml", "permissions-checker = \"off\"\n");
    site.plays(&acts(&calls));
    env.run(["host", "spawn", "--agent-id", "planner", "--worktree", site.path(), "Go."]);
    let told = env.wait_for_tool_results(calls.len());
    env.run(["host", "stop", "planner"]);
    assert!(told.iter().all(ToolResult::ran), "{told:#?}");
    let decided = env.decisions();
    let planning = decided.iter().filter(|line| line["by"]["which"] == "plan-mode");
    assert!(planning.clone().all(|line| line["decision"] == "allow"), "{decided:#?}");
    assert!(planning.count() >= 2, "{decided:#?}");
}

#[test]
fn a_person_is_asked_once_about_a_call_in_plan_mode() {
    let env = Env::new();
    env.setting("config.toml", "permissions-checker = \"manual\"\n");
    let site = env.workspace("site", "");
    let calls = [call("t1", "EnterPlanMode", &json!({})), bash("t2", "touch x")];
    site.plays(&acts(&calls));
    let daemon = env.daemon();
    env.run(["host", "spawn", "--agent-id", "planner", "--worktree", site.path(), "Go."]);
    let request = env.opened();
    env.run(["permission", "respond", text(&request, "id"), "allow"]);
    let told = env.wait_for_tool_results(calls.len());
    env.run(["host", "stop", "planner"]);
    daemon.stop();
    assert!(told.iter().all(ToolResult::ran), "{told:#?}");
    // Claude Code asks its hooks and its host again after the hook has allowed the call.
    let decided = env.decisions();
    let touched: Vec<&Value> = decided.iter().filter(|line| line["tool"] == "Bash").collect();
    assert!(touched.len() > 1, "{decided:#?}");
    assert!(touched.iter().all(|line| line["request"] == request["id"]), "{decided:#?}");
}

#[test]
fn followers_do_not_see_requests_that_nobody_has_to_answer() {
    let env = Env::new();
    env.setting("permissions.toml", TOUCH);
    env.setting("config.toml", "permissions-checker = \"off\"\n");
    let site = env.workspace("site", "");
    let calls =
        [call("t1", "EnterPlanMode", &json!({})), bash("t2", "ls"), call("t3", "ExitPlanMode", &json!({}))];
    site.plays(&acts(&calls));
    env.run(["host", "spawn", "--agent-id", "planner", "--worktree", site.path(), "Go."]);
    env.wait_for_tool_results(calls.len());
    env.run(["host", "stop", "planner"]);
    let events = env.run(["attach", "planner", "--from", "0", "--json"]);
    let has = |event_type: &str| events.contains(&format!("\"event_type\":\"{event_type}\""));
    assert!(has("permission_asked") && has("permission_withdrawn"), "{events}");
    let shown = env.run(["attach", "planner", "--from", "0"]);
    assert!(shown.contains("[tool] ExitPlanMode") && !shown.contains("[permission]"), "{shown}");
}
