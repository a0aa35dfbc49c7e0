//! fake-claude playing a script: the model's messages, tool results, and which settings count.

use std::io::Write;
use std::process::Command;

use serde_json::{Value, json};

use super::Stage;
use crate::env::programs;

/// How it ended: its lines, its stderr and its exit code.
pub(super) struct Run {
    pub(super) lines: Vec<Value>,
    pub(super) stderr: String,
    pub(super) code: Option<i32>,
}

impl Run {
    /// Each line as its type, or as the type of its first block.
    pub(super) fn kinds(&self) -> Vec<&str> {
        self.lines.iter().filter_map(kind).collect()
    }

    pub(super) fn result(&self) -> &Value {
        self.lines.iter().rfind(|line| line["type"] == "result").unwrap()
    }

    /// The results of calls: whether each is an error, and its text.
    pub(super) fn results(&self) -> Vec<(bool, &str)> {
        let blocks = self.lines.iter().filter_map(|line| line["message"]["content"].as_array()).flatten();
        let results = blocks.filter(|block| block["type"] == "tool_result");
        results.map(|block| (block["is_error"] == true, block["content"].as_str().unwrap())).collect()
    }

    /// The only result.
    pub(super) fn only(&self) -> (bool, &str) {
        let results = self.results();
        assert_eq!(results.len(), 1, "{:?}", self.lines);
        results[0]
    }
}

fn kind(line: &Value) -> Option<&str> {
    line["message"]["content"][0]["type"].as_str().or(line["type"].as_str())
}

pub(super) fn bash(id: &str, command: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}})
}

pub(super) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// One call, then the end.
pub(super) fn one_call() -> Value {
    json!([[bash("toolu_01", "touch ran")], [text("HEARTBEAT_OK")]])
}

/// Settings with one hook for all tools.
pub(super) fn hook(command: &str) -> Value {
    hook_with(command, &json!({}))
}

/// The same, with more members in its entry.
pub(super) fn hook_with(command: &str, more: &Value) -> Value {
    let mut entry = json!({"type": "command", "command": command, "timeout": 60});
    for (name, value) in more.as_object().unwrap() {
        entry[name] = value.clone();
    }
    json!({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [entry]}]}})
}

/// The command of a hook that decides.
pub(super) fn says(decision: &Value) -> String {
    let mut decision = decision.clone();
    decision["hookEventName"] = "PreToolUse".into();
    format!("echo '{}'", json!({"hookSpecificOutput": decision}))
}

/// fake-claude playing `script`, with its own home.
pub(super) fn command(stage: &Stage, script: &Value, settings: &Value, more: &[&str]) -> Command {
    let path = stage.path().join("script.json");
    std::fs::write(&path, script.to_string()).unwrap();
    let mut command = stage.command(&[("SCRIPT", path.to_str().unwrap())]);
    command.env("HOME", stage.path().join("home")).env("PATH", programs());
    command.args(["--print", "--verbose", "--output-format", "stream-json"]);
    command.args(["--dangerously-skip-permissions", "--settings", &settings.to_string()]).args(more);
    command
}

pub(super) fn beat(mut command: Command, prompt: &str) -> Run {
    let mut child = command.spawn().unwrap();
    drop(child.stdin.take().unwrap().write_all(prompt.as_bytes()));
    let output = child.wait_with_output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Run { lines, stderr: String::from_utf8(output.stderr).unwrap(), code: output.status.code() }
}

pub(super) fn run(script: &Value, settings: &Value, more: &[&str]) -> Run {
    beat(command(&Stage::new(), script, settings, more), "Go.\n")
}

#[test]
fn a_script_is_played_block_by_block_without_running_tools() {
    let script = json!([
        [text("Looking."), bash("toolu_01", "touch ran"), bash("toolu_02", "echo hi")],
        [text("HEARTBEAT_OK")]
    ]);
    let stage = Stage::new();
    let acted = beat(command(&stage, &script, &json!({}), &[]), "Go.\n");
    let kinds = ["system", "text", "tool_use", "tool_use", "tool_result", "tool_result", "text", "result"];
    assert_eq!(acted.kinds(), kinds);
    assert_eq!(acted.results(), [(false, "(Bash completed with no output)"), (false, "hi")]);
    let ids: Vec<&Value> = acted.lines[1..4].iter().map(|line| &line["message"]["id"]).collect();
    assert!(ids.iter().all(|id| *id == "msg_000"), "{ids:?}");
    let result = acted.result();
    assert_eq!((&result["result"], &result["num_turns"]), (&json!("HEARTBEAT_OK"), &json!(3)));
    assert_eq!((acted.stderr.as_str(), acted.code), ("", Some(0)));
    assert!(!stage.path().join("ran").exists());
}

#[test]
fn claude_config_dir_determines_the_folder() {
    let stage = Stage::new();
    let settings = json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": says(
        &json!({"permissionDecision": "deny", "permissionDecisionReason": "by its own folder"})
    )}]}]}});
    let folder = stage.path().join("own");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
    let script = json!([[bash("toolu_01", "echo hi")], [text("done")]]);
    let mut command = command(&stage, &script, &json!({}), &[]);
    command.env("CLAUDE_CONFIG_DIR", &folder);
    let acted = beat(command, "Go.\n");
    let (is_error, said) = acted.only();
    assert!(is_error && said.contains("by its own folder"), "{said}");
    assert!(folder.join("projects").is_dir() && !stage.path().join("home").exists());
}

#[test]
fn a_tool_returns_what_the_script_says_and_each_session_has_its_own_id() {
    let call = |more: Value| {
        let mut call = bash("toolu_01", "touch ran");
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([[call], [text("done")]])
    };
    let (fine, failed) = (
        run(&call(json!({"result": "as told"})), &json!({}), &[]),
        run(&call(json!({"result": "Exit code 3", "is_error": true})), &json!({}), &[]),
    );
    assert_eq!((fine.only(), failed.only()), ((false, "as told"), (true, "Exit code 3")));
    assert_eq!(fine.lines[1]["message"]["content"][0].get("result"), None);
    assert_ne!(fine.result()["session_id"], failed.result()["session_id"]);
}

#[test]
fn the_file_in_the_folder_contains_or_names_a_script() {
    let stage = Stage::new();
    let told = json!({"script": [[text("from the file")]], "version": "2.1.197"});
    std::fs::write(stage.path().join(".fake-claude.json"), told.to_string()).unwrap();
    let acted = beat(command(&stage, &one_call(), &json!({}), &[]), "Go.\n");
    assert_eq!(acted.result()["result"], "from the file");
    assert_eq!(acted.lines[0]["claude_code_version"], "2.1.197");
    let version = stage.command(&[]).arg("--version").output().unwrap();
    assert_eq!(version.stdout, b"2.1.197 (Claude Code)\n");
    let output = Stage::new().run(&[("SCRIPT", "/none")]);
    let said = "fake-claude: /none: No such file or directory (os error 2)\n";
    assert_eq!((String::from_utf8_lossy(&output.stderr), output.status.code()), (said.into(), Some(70)));
}

#[test]
fn too_many_turns_and_api_refusals_are_errors() {
    let again = json!([[bash("toolu_01", "echo 1")]]);
    let acted = run(&again, &json!({}), &["--max-turns", "3"]);
    let result = acted.result();
    assert_eq!((&result["subtype"], &result["num_turns"]), (&json!("error_max_turns"), &json!(4)));
    assert_eq!((acted.results().len(), acted.code), (3, Some(1)));
    let refused = json!([{"status": 429, "error": {"type": "rate_limit_error", "message": "slow down"}}]);
    let acted = run(&refused, &json!({}), &[]);
    let result = acted.result();
    assert_eq!((&result["subtype"], &result["api_error_status"]), (&json!("success"), &json!(429)));
    assert_eq!(
        (&result["result"], acted.code),
        (&json!("API Error: Request rejected (429) · slow down"), Some(1))
    );
}

#[test]
fn the_model_is_told_about_unknown_and_denied_tools() {
    let script =
        json!([[{"type": "tool_use", "id": "toolu_01", "name": "Nope", "input": {}}], [text("done")]]);
    let told = "<tool_use_error>Error: No such tool available: Nope</tool_use_error>";
    assert_eq!(run(&script, &hook("exit 2"), &[]).only(), (true, told));
    let acted = run(
        &one_call(),
        &hook(&says(&json!({"permissionDecision": "allow"}))),
        &["--disallowedTools", "Bash(nope *)", "Bash(touch *)"],
    );
    let told = "Permission to use Bash with command touch ran has been denied.";
    assert_eq!(acted.only(), (true, told));
    assert_eq!(acted.result()["permission_denials"][0]["tool_use_id"], "toolu_01");
}

#[test]
fn settings_with_any_error_are_ignored() {
    let good = json!({"matcher": "*", "hooks": [{"type": "command", "command": "exit 2"}]});
    let flat = json!({"matcher": "*", "command": "exit 2"});
    for (entry, runs) in [(json!([good]), false), (json!([flat]), true), (json!([good, flat]), true)] {
        let acted = run(&one_call(), &json!({"hooks": {"PreToolUse": entry}}), &[]);
        assert_eq!(!acted.only().0, runs, "{entry}");
    }
    for more in [json!({"timeout": 0}), json!({"timeout": "60"}), json!({"onFailure": "explode"})] {
        assert!(!run(&one_call(), &hook_with("exit 2", &more), &[]).only().0, "{more}");
    }
}

#[test]
fn missing_settings_are_reported_with_claude_codes_message() {
    for (given, said) in [
        ("/none.json", "Error: Settings file not found: /none.json\n"),
        ("{nonsense}", "Error: Invalid JSON provided to --settings\n"),
    ] {
        let acted = beat(command(&Stage::new(), &one_call(), &json!({}), &["--settings", given]), "Go.\n");
        assert_eq!((acted.stderr.as_str(), acted.code, acted.lines.len()), (said, Some(1), 0));
    }
}

#[test]
fn the_project_can_disable_hooks_and_set_variables_unless_the_argument_forbids_it() {
    let show = hook("echo \"$MURMUR_DIR $CLAUDE_PROJECT_DIR\" > seen; exit 2");
    let mut firm = show.clone();
    firm["disableAllHooks"] = false.into();
    firm["env"] = json!({"MURMUR_DIR": "/ours"});
    let theirs = json!({"env": {"MURMUR_DIR": "/theirs"}});
    let off = json!({"disableAllHooks": true, "env": {"MURMUR_DIR": "/theirs"}});
    for (project, settings, dir) in
        [(&theirs, &show, Some("/theirs")), (&off, &show, None), (&off, &firm, Some("/ours"))]
    {
        let stage = Stage::new();
        std::fs::create_dir(stage.path().join(".claude")).unwrap();
        std::fs::write(stage.path().join(".claude/settings.json"), project.to_string()).unwrap();
        let acted = beat(command(&stage, &one_call(), settings, &[]), "Go.\n");
        let folder = stage.path().canonicalize().unwrap();
        let wanted = dir.map(|dir| format!("{dir} {}\n", folder.display()));
        assert_eq!(std::fs::read_to_string(stage.path().join("seen")).ok(), wanted, "{project}");
        assert_eq!(acted.only().0, dir.is_some());
    }
}
