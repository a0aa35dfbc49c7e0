//! Pulses, written by the real hook: their contents, and that failures never disturb the agent.

mod agents;
mod crowd;
mod place;
pub(crate) mod tmux;
mod trouble;

use std::io::{Seek, Write};
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::{Env, Run};

/// The hook's executable.
const HOOK: &str = env!("CARGO_BIN_EXE_murmur-hook");

/// Claude Code's hook input for a finished tool call.
fn called(tool: &str, input: &Value) -> Value {
    json!({ "session_id": "s1", "transcript_path": "/nowhere", "cwd": "/", "permission_mode": "default",
        "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input,
        "tool_response": { "stdout": "", "stderr": "" }, "tool_use_id": "t1", "duration_ms": 12 })
}

impl Env {
    /// The hook of an agent that murmur didn't start, for `event`, with `told` on stdin.
    fn pulse_hook(&self, event: &str, told: impl AsRef<[u8]>) -> Run {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(told.as_ref()).unwrap();
        file.rewind().unwrap();
        self.program(HOOK, [event]).stdin(file)
    }

    /// The pulse of the agent whose files are named `stem`.
    fn pulse(&self, stem: &str) -> Value {
        let text = std::fs::read_to_string(self.data().join(format!("heartbeats/{stem}.json"))).unwrap();
        assert!(text.ends_with("}\n") && text.lines().count() == 1, "{text:?}");
        serde_json::from_str(&text).unwrap()
    }

    /// The last actions of the agent whose files are named `stem`.
    fn activity(&self, stem: &str) -> Vec<Value> {
        let path = self.data().join("agents").join(stem).join("activity.jsonl");
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The messages about pulses in murmur.log, without the times.
    fn noted(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.data().join("murmur.log")).unwrap_or_default();
        text.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
    }
}

/// Checks that the hook printed nothing and succeeded.
fn is_quiet(run: Run) {
    assert_eq!(run.run(), "[exit 0]");
}

#[test]
fn a_pulse_has_every_field_in_order_and_is_private() {
    let env = Env::new();
    let told = called("Bash", &json!({ "command": "cargo test\n --quiet", "description": "Test" }));
    is_quiet(env.pulse_hook("PostToolUse", told.to_string()).set("MURMUR_AGENT_ID", "site-1"));
    let text = std::fs::read_to_string(env.data().join("heartbeats/site-1.json")).unwrap();
    // The agent of this hook is the test itself.
    let text = text.replace(&format!("\"pid\":{},", std::process::id()), "\"pid\":OURS,");
    let (time, rest) = text.split_once(',').unwrap();
    let time = time.strip_prefix("{\"timestamp\":\"").unwrap().strip_suffix('"').unwrap();
    assert!(time.ends_with("+00:00") && time.len() == "2026-01-21T10:30:45.123+00:00".len(), "{time}");
    let ago = sys::clock::now().duration_since(time.parse().unwrap());
    assert!((0..60).contains(&ago.as_secs()), "{time}");
    assert_snapshot!(rest, @r#""agent_id":"site-1","tool_name":"Bash","last_action":"cargo test\\n --quiet","current_task":"","git_branch":"unknown","workspace":"/","pid":OURS,"session_id":"s1","state":"running","tool_use_id":"t1","duration_ms":12,"error":null}"#);
    assert_eq!(env.activity("site-1"), [env.pulse("site-1")]);
    let mode =
        |path: PathBuf| std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
    for (path, expected) in [
        ("heartbeats/site-1.json", 0o600),
        ("agents/site-1/activity.jsonl", 0o600),
        ("heartbeats", 0o700),
        ("agents", 0o700),
        ("agents/site-1", 0o700),
        ("", 0o700),
    ] {
        assert_eq!(mode(env.data().join(path)) & 0o777, expected, "{path}");
    }
    assert_eq!(env.names(&env.data().join("heartbeats")), "site-1.json");
    assert_eq!(env.names(&env.data().join("agents/site-1")), "activity.jsonl");
}

#[test]
fn pulses_cover_a_session_from_start_to_end() {
    let env = Env::new();
    for (event, more) in [
        ("SessionStart", json!({ "source": "startup" })),
        ("UserPromptSubmit", json!({ "prompt": "Mend the build" })),
        ("PostToolUse", called("Read", &json!({ "file_path": "/w/a.rs" }))),
        (
            "PostToolUseFailure",
            json!({ "tool_name": "Bash", "tool_input": { "command": "false" }, "tool_use_id": "t2",
                "error": "Exit code 1\nmore", "is_interrupt": false, "duration_ms": 3 }),
        ),
        ("SessionStart", json!({ "source": "compact" })),
        ("Stop", json!({ "last_assistant_message": "Done.", "stop_hook_active": false })),
        ("StopFailure", json!({ "last_assistant_message": "API Error: 429", "error": "rate_limit" })),
        ("SessionEnd", json!({ "reason": "other" })),
    ] {
        let mut told = json!({ "session_id": "s1", "cwd": "/", "hook_event_name": event });
        told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        is_quiet(env.pulse_hook(event, told.to_string()));
    }
    let line = |pulse: &Value| {
        let fields = ["state", "tool_name", "last_action", "tool_use_id", "duration_ms", "error"];
        fields.map(|name| pulse[name].to_string()).join(" ")
    };
    let lines: Vec<String> = env.activity("claude-s1").iter().map(line).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    "starting" "" "session began (startup)" null null null
    "running" "" "Mend the build" null null null
    "running" "Read" "/w/a.rs" "t1" 12 null
    "running" "Bash" "false" "t2" 3 "Exit code 1"
    "running" "" "session began (compact)" null null null
    "idle" "" "Done." null null null
    "idle" "" "API Error: 429" null null "rate_limit"
    "exited" "" "session ended (other)" null null null
    "#);
    assert_eq!(env.pulse("claude-s1")["state"], "exited");
}

#[test]
fn a_pulse_has_whatever_is_known() {
    let env = Env::new();
    is_quiet(env.pulse_hook("PostToolUse", "{}"));
    let pulse = env.pulse("unknown");
    let here = env.root().to_str().unwrap();
    let fields = ["agent_id", "tool_name", "last_action", "git_branch", "workspace", "session_id", "state"];
    assert_eq!(
        fields.map(|name| pulse[name].clone()).to_vec(),
        [
            json!("unknown"),
            json!(""),
            json!(""),
            json!("unknown"),
            json!(here),
            Value::Null,
            json!("running")
        ]
    );
    is_quiet(env.pulse_hook("Stop", "{}").set("CLAUDE_CODE_SESSION_ID", "s9"));
    assert_eq!(env.pulse("claude-s9")["state"], "idle");
}

#[test]
fn murmur_hook_and_murmur_hook_command_behave_alike() {
    let env = Env::new();
    let told = env.root().join("told");
    std::fs::write(&told, called("Bash", &json!({ "command": "ls" })).to_string()).unwrap();
    is_quiet(env.murmur(["hook", "PostToolUse"]).stdin(std::fs::File::open(told).unwrap()));
    assert_eq!(env.pulse("claude-s1")["last_action"], "ls");
}

#[test]
fn the_end_of_a_turn_and_of_a_session_keep_the_last_call() {
    let env = Env::new();
    let tell = |event: &str, session: &str, more: Value| {
        let mut told = json!({ "session_id": session, "cwd": "/", "hook_event_name": event });
        told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        is_quiet(env.pulse_hook(event, told.to_string()).set("MURMUR_AGENT_ID", "site-1"));
        let pulse = env.pulse("site-1");
        let fields = ["state", "tool_name", "last_action", "tool_use_id", "duration_ms", "error"];
        let said = env.activity("site-1").pop().unwrap()["last_action"].to_string();
        format!("{} | {said}", fields.map(|name| pulse[name].to_string()).join(" "))
    };
    let call = json!({ "tool_name": "Edit", "tool_input": { "file_path": "/w/a.rs" }, "tool_use_id": "t1", "duration_ms": 3 });
    let done = json!({ "last_assistant_message": "Done." });
    let shown = [
        // Without a call, there is only the answer.
        tell("SessionStart", "s1", json!({ "source": "startup" })),
        tell("Stop", "s1", done.clone()),
        tell("SessionEnd", "s1", json!({ "reason": "other" })),
        tell("SessionStart", "s2", json!({ "source": "startup" })),
        tell("PostToolUse", "s2", call.clone()),
        tell("Stop", "s2", done.clone()),
        // A turn without a call doesn't erase the last one.
        tell("UserPromptSubmit", "s2", json!({ "prompt": "And now?" })),
        tell(
            "StopFailure",
            "s2",
            json!({ "last_assistant_message": "API Error: 429", "error": "rate_limit" }),
        ),
        tell("SessionEnd", "s2", json!({ "reason": "other" })),
        // Another session has its own calls.
        tell("SessionStart", "s3", json!({ "source": "startup" })),
        tell("SessionEnd", "s3", json!({ "reason": "clear" })),
        tell("SessionEnd", "s4", json!({ "reason": "other" })),
    ];
    assert_snapshot!(shown.join("\n"), @r#"
    "starting" "" "session began (startup)" null null null | "session began (startup)"
    "idle" "" "Done." null null null | "Done."
    "exited" "" "Done." null null null | "session ended (other)"
    "starting" "" "session began (startup)" null null null | "session began (startup)"
    "running" "Edit" "/w/a.rs" "t1" 3 null | "/w/a.rs"
    "idle" "Edit" "/w/a.rs" "t1" 3 null | "Done."
    "running" "" "And now?" null null null | "And now?"
    "idle" "Edit" "/w/a.rs" "t1" 3 "rate_limit" | "API Error: 429"
    "exited" "Edit" "/w/a.rs" "t1" 3 null | "session ended (other)"
    "starting" "" "session began (startup)" null null null | "session began (startup)"
    "exited" "" "session ended (clear)" null null null | "session ended (clear)"
    "exited" "" "session ended (other)" null null null | "session ended (other)"
    "#);
}
