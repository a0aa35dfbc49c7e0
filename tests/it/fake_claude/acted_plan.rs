//! fake-claude playing plan mode, which needs somebody to ask.

use serde_json::{Value, json};

use super::Stage;
use super::acted::{Run, bash, beat, command, hook, run, says, text};
use super::live::{Live, user, well};

const ASKS: [&str; 2] = ["--permission-prompt-tool", "stdio"];

fn call(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {}})
}

fn script() -> Value {
    json!([
        [call("toolu_01", "EnterPlanMode")],
        [bash("toolu_02", "touch made")],
        [bash("toolu_03", "echo seen")],
        [call("toolu_04", "ExitPlanMode")],
        [text("HEARTBEAT_OK")]
    ])
}

fn modes(run: &Run) -> Vec<&str> {
    let lines = run.lines.iter().filter(|line| line["subtype"] == "status");
    lines.map(|line| line["permissionMode"].as_str().unwrap()).collect()
}

#[test]
fn without_the_prompt_tool_there_is_no_plan_mode() {
    let acted = run(&script(), &json!({}), &[]);
    let tools = acted.lines[0]["tools"].as_array().unwrap();
    assert!(!tools.contains(&json!("EnterPlanMode")) && !tools.contains(&json!("ExitPlanMode")));
    let told = "<tool_use_error>Error: No such tool available: EnterPlanMode. EnterPlanMode is disabled for this \
                session, in subagents as well as here.</tool_use_error>";
    assert_eq!(acted.results()[0], (true, told));
    assert_eq!((acted.results()[1].0, modes(&acted)), (false, vec![]));
}

#[test]
fn a_beat_in_plan_mode_can_change_nothing_and_ends_normally() {
    let allow = hook(&says(&json!({"permissionDecision": "allow"})));
    for settings in [json!({}), allow] {
        let acted = run(&script(), &settings, &ASKS);
        let tools = acted.lines[0]["tools"].as_array().unwrap();
        assert!(tools.contains(&json!("EnterPlanMode")) && tools.contains(&json!("ExitPlanMode")));
        let closed = "Tool permission request failed: AbortError: Stream closed";
        let results = acted.results();
        assert!(results[0].1.starts_with("Entered plan mode."), "{results:?}");
        assert_eq!(results[1..], [(true, closed), (false, "seen"), (true, closed)]);
        assert_eq!(modes(&acted), ["plan"]);
        let result = acted.result();
        let denied = result["permission_denials"].as_array().unwrap();
        assert_eq!(
            denied.iter().map(|denial| &denial["tool_use_id"]).collect::<Vec<_>>(),
            ["toolu_02", "toolu_04"]
        );
        assert_eq!((&result["result"], acted.code), (&json!("HEARTBEAT_OK"), Some(0)));
    }
}

#[test]
fn a_hook_can_deny_plan_mode() {
    let deny = hook("case $(cat) in *EnterPlanMode*) echo 'not in a beat' >&2; exit 2;; esac");
    let acted = run(
        &json!([[call("toolu_01", "EnterPlanMode")], [bash("toolu_02", "touch made")], [text("ok")]]),
        &deny,
        &ASKS,
    );
    let results = acted.results();
    assert!(results[0].0 && results[0].1.ends_with("not in a beat\n"), "{results:?}");
    assert_eq!((results[1].0, modes(&acted)), (false, vec![]));
}

#[test]
fn plan_mode_must_be_entered_before_it_is_left() {
    let acted = run(&json!([[call("toolu_01", "ExitPlanMode")], [text("ok")]]), &json!({}), &ASKS);
    assert!(acted.only().1.starts_with("<tool_use_error>You are not in plan mode."), "{:?}", acted.only());
    assert_eq!(acted.result()["permission_denials"], json!([]));
}

#[test]
fn older_versions_run_calls_in_plan_mode() {
    let stage = Stage::new();
    let mut command = command(&stage, &script(), &json!({}), &ASKS);
    command.env("FAKE_CLAUDE_VERSION", "2.1.197");
    let acted = beat(command, "Go.\n");
    assert_eq!(
        acted.results().iter().map(|result| result.0).collect::<Vec<_>>(),
        [false, false, false, true]
    );
}

#[test]
fn a_live_agent_leaves_plan_mode_if_its_host_agrees() {
    let stage = Stage::new();
    let script = json!([
        [call("toolu_01", "EnterPlanMode")],
        [call("toolu_02", "ExitPlanMode")],
        [bash("toolu_03", "touch made")],
        [text("done")]
    ]);
    let mut live = Live::spawn(command(&stage, &script, &json!({}), &ASKS));
    live.write(&[&user("Go.")]);
    let (mut lines, mut result) = (Vec::new(), Value::Null);
    while result.is_null() {
        let line = live.line();
        if line["type"] == "control_request" {
            assert_eq!(line["request"]["requires_user_interaction"], true);
            let allow = json!({"subtype": "success", "request_id": line["request_id"],
                "response": {"behavior": "allow", "updatedInput": {}}});
            live.write(&[&json!({"type": "control_response", "response": allow}).to_string()]);
        }
        if line["type"] == "result" {
            result = line.clone();
        }
        lines.push(line);
    }
    let acted = Run { lines, stderr: String::new(), code: None };
    assert_eq!(modes(&acted), ["plan", "bypassPermissions"]);
    let left = (false, "User has approved exiting plan mode. You can now proceed.");
    assert_eq!(acted.results()[1..], [left, (false, "(Bash completed with no output)")]);
    assert_eq!(live.end(), well(0));
}
