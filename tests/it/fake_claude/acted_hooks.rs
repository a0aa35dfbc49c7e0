//! What hooks print and how they end, and the effect on the call: the cases measured on the real Claude Code.

use std::fs::File;
use std::io::{BufReader, Write};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::acted::{bash, beat, command, hook, hook_with, one_call, run, says, text};
use super::{Running, Stage, kill, line};

const RAN: (bool, &str) = (false, "(Bash completed with no output)");

#[test]
fn a_call_that_a_hook_denies_does_not_run_and_the_model_is_told_why() {
    let prefix = "PreToolUse:Bash hook error: ";
    for (command, told) in [
        (
            says(&json!({"permissionDecision": "deny", "permissionDecisionReason": "no"})),
            format!("{prefix}no"),
        ),
        (says(&json!({"permissionDecision": "deny"})), format!("{prefix}Blocked by hook")),
        ("echo no >&2; exit 2".into(), format!("{prefix}[echo no >&2; exit 2]: no\n")),
        (says(&json!({"permissionDecision": "ask", "permissionDecisionReason": "sure?"})), "sure?".into()),
    ] {
        let acted = run(&one_call(), &hook(&command), &[]);
        assert_eq!(acted.only(), (true, told.as_str()));
        assert_eq!(acted.result()["permission_denials"][0]["tool_input"]["command"], "touch ran");
        assert_eq!((&acted.result()["subtype"], acted.code), (&json!("success"), Some(0)));
    }
}

#[test]
fn a_failing_hook_lets_the_tool_run_unless_on_failure_blocks_it() {
    for (command, closes) in [
        ("exit 1", true),
        ("/no/such/hook", true),
        ("kill -9 $$", true),
        (says(&json!({"permissionDecision": "maybe"})).as_str(), true),
        ("true", false),
        ("echo garbage", false),
        ("echo '{}'", false),
    ] {
        let on_failure = hook_with(command, &json!({"onFailure": "block"}));
        assert_eq!(run(&one_call(), &hook(command), &[]).only(), RAN, "{command}");
        assert_eq!(run(&one_call(), &on_failure, &[]).only().0, closes, "{command}");
        let stage = Stage::new();
        let mut old = self::command(&stage, &one_call(), &on_failure, &[]);
        old.env("FAKE_CLAUDE_VERSION", "2.1.197");
        assert_eq!(beat(old, "Go.\n").only(), RAN, "{command}");
    }
}

#[test]
fn a_hook_that_times_out_is_killed_with_its_children() {
    let settings = |more: &Value| {
        let mut settings = hook_with("echo $$ > pid; sleep 100 & sleep 100; echo late", more);
        settings["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"] = 1.into();
        settings
    };
    let acted = run(&one_call(), &settings(&json!({})), &[]);
    assert_eq!((acted.only(), &acted.lines[2]["tag"]), (RAN, &json!("hook_no_verdict")));
    let acted = run(&one_call(), &settings(&json!({"onFailure": "block"})), &[]);
    assert!(acted.only().1.ends_with("timed out; blocking because onFailure is \"block\""));
}

#[test]
fn a_hook_can_change_the_input() {
    let decided = |input: Value| hook(&says(&json!({"permissionDecision": "allow", "updatedInput": input})));
    assert_eq!(
        run(&one_call(), &decided(json!({"command": "echo changed"})), &[]).only(),
        (false, "changed")
    );
    let told = run(&one_call(), &decided(json!({"nope": 1})), &[]).only().1.to_owned();
    assert!(told.contains("returned updatedInput that failed schema validation"), "{told}");
}

#[test]
fn a_denial_wins_over_other_hooks() {
    let entry = |decision: &str| json!({"type": "command", "command": says(&json!({"permissionDecision": decision}))});
    let settings = |all: &[&str]| {
        let hooks: Vec<Value> = all.iter().map(|decision| entry(decision)).collect();
        json!({"hooks": {"PreToolUse": [{"matcher": "Bash|Read", "hooks": hooks}, {"matcher": "Re", "hooks": [
            {"type": "command", "command": "exit 2"}]}]}})
    };
    for (all, runs) in
        [(&["allow", "deny"][..], false), (&["deny", "defer"], false), (&["allow", "ask"], false)]
    {
        assert_eq!(!run(&one_call(), &settings(all), &[]).only().0, runs, "{all:?}");
    }
    assert_eq!(run(&one_call(), &settings(&["allow"]), &[]).only(), RAN);
    assert_eq!(run(&one_call(), &settings(&["ask", "defer"]), &[]).result()["stop_reason"], "tool_deferred");
}

#[test]
fn hooks_run_in_order_and_find_the_call_in_the_transcript() {
    let events =
        ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"];
    let entry = json!([{"matcher": "*", "hooks": [{"type": "command", "command": "cat >> told"}]}]);
    let hooks: serde_json::Map<String, Value> =
        events.iter().chain(&["SessionEnd"]).map(|event| ((*event).to_owned(), entry.clone())).collect();
    let stage = Stage::new();
    let script = json!([[bash("toolu_01", "touch ran"), bash("toolu_02", "exit 3")], [text("done")]]);
    let acted = beat(command(&stage, &script, &json!({"hooks": hooks}), &[]), "Go.\n");
    let told = std::fs::read_to_string(stage.path().join("told")).unwrap();
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = told.iter().map(|told| told["hook_event_name"].as_str().unwrap()).collect();
    let calls = ["PreToolUse", "PostToolUse", "PreToolUse", "PostToolUseFailure"];
    assert_eq!(names, [&events[..2], &calls, &["Stop", "SessionEnd"]].concat());
    assert!(told.iter().all(|told| told["session_id"] == acted.result()["session_id"]));
    let before = &told[2];
    assert_eq!((&before["tool_name"], &before["tool_use_id"]), (&json!("Bash"), &json!("toolu_01")));
    assert_eq!(before["tool_input"], json!({"command": "touch ran"}));
    assert_eq!(
        (&before["permission_mode"], &told[5]["error"]),
        (&json!("bypassPermissions"), &json!("Exit code 3"))
    );
    assert_eq!((&told[6]["last_assistant_message"], &told[7]["reason"]), (&json!("done"), &json!("other")));
    let kept = std::fs::read_to_string(before["transcript_path"].as_str().unwrap()).unwrap();
    let kept: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said = kept.iter().filter(|line| line["type"] == "assistant").map(|line| &line["message"]);
    let said: Vec<_> = said.map(|said| (&said["id"], &said["content"][0]["id"])).collect();
    let [one, two] = ["msg_000", "msg_001"].map(Value::from);
    assert_eq!(said, [(&one, &json!("toolu_01")), (&one, &json!("toolu_02")), (&two, &Value::Null)]);
    let shown: Vec<&Value> = acted.lines[..3].iter().map(|line| &line["subtype"]).collect();
    assert_eq!(shown, ["hook_started", "hook_response", "init"]);
}

#[test]
fn a_call_starts_before_its_message_is_complete_and_in_the_transcript() {
    let script = json!([{"content": [bash("toolu_01", "touch ran")], "end_delay_ms": 1000}, [text("done")]]);
    let path = r#"path=$(sed 's/.*"transcript_path":"\([^"]*\)".*/\1/')"#;
    let looks =
        r#"grep -c toolu_01 "$path" > early; until grep -q toolu_01 "$path"; do :; done; echo kept > late"#;
    let stage = Stage::new();
    let acted = beat(command(&stage, &script, &hook(&format!("{path}; {looks}")), &[]), "Go.\n");
    let read = |name: &str| std::fs::read_to_string(stage.path().join(name)).unwrap();
    assert_eq!((read("early").as_str(), read("late").as_str(), acted.only()), ("0\n", "kept\n", RAN));
}

#[test]
fn hooks_of_read_only_calls_run_concurrently() {
    // Each waits for the other: a pipe has no writer until it has a reader.
    let waits = r#"case "$(cat)" in *toolu_01*) echo x > pipe;; *) read line < pipe;; esac; exit 2"#;
    let stage = Stage::new();
    sys::fifo::make(&stage.path().join("pipe")).unwrap();
    let script = json!([[bash("toolu_01", "echo 1"), bash("toolu_02", "echo 2")], [text("done")]]);
    let acted = beat(command(&stage, &script, &hook(waits), &[]), "Go.\n");
    assert_eq!(acted.results().iter().map(|(error, _)| *error).collect::<Vec<_>>(), [true, true]);
}

#[test]
fn a_stop_hook_sends_the_model_back_to_work() {
    let settings = json!({"hooks": {"Stop": [{"hooks": [{"type": "command",
        "command": "test -e once || { touch once; echo more >&2; exit 2; }"}]}]}});
    let acted = run(&json!([[text("first")], [text("second")]]), &settings, &[]);
    assert_eq!(acted.kinds(), ["system", "text", "text", "text", "result"]);
    assert_eq!((&acted.result()["result"], &acted.result()["num_turns"]), (&json!("second"), &json!(2)));
}

#[test]
fn sigterm_ends_the_running_hook_in_newer_versions_only() {
    for (version, survives) in [("2.1.329", false), ("2.1.197", true)] {
        let stage = Stage::new();
        let gate = stage.fifo();
        // It holds the pipe open until it dies.
        let hook = hook(&format!("exec 9> {}; echo $$ >&9; exec sleep 1000", gate.display()));
        let mut command = command(&stage, &one_call(), &hook, &[]);
        let mut child = Running(command.env("FAKE_CLAUDE_VERSION", version).spawn().unwrap());
        child.0.stdin.take().unwrap().write_all(b"Go.").unwrap();
        let mut gate = BufReader::new(File::open(gate).unwrap());
        let pid: i64 = line(&mut gate).trim().parse().unwrap();
        kill(child.0.id().into(), Signal::TERM);
        assert_eq!(child.0.wait().unwrap().code(), Some(143), "{version}");
        if survives {
            let process = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            assert!(rustix::process::test_kill_process(process).is_ok());
            kill(pid, Signal::KILL);
        }
        assert_eq!(line(&mut gate), "");
    }
}
