//! A hook that is removed while the agent runs: a call that runs undecided ends the run.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{HOOK, acts, bash, line};
use crate::env::{Env, MURMUR};

/// murmur in its own folder, next to the one that Cargo built: a hard link to it, so that no test writes a program that
/// another thread's child could still have open. Its hook does this to itself once it has answered the first call.
fn murmur(then: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir_in(Path::new(MURMUR).parent().unwrap()).unwrap();
    let murmur = folder.path().join("murmur");
    std::fs::hard_link(MURMUR, &murmur).unwrap();
    let hook = folder.path().join("murmur-hook");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = PreToolUse ] || exit 0\n[ -e \"$0.called\" ] && {{ {second}; }}\n'{HOOK}' \"$@\"\n\
         code=$?\n: >\"$0.called\"\n{then}\nexit $code\n",
        second = if then.is_empty() { "exit 0" } else { ":" },
    );
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    (folder, murmur)
}

/// The journal line of a beat whose agent makes two calls with that hook, and how many of them ran.
fn run_beat(then: &str) -> (Value, usize) {
    let env = Env::new();
    env.workspace_calling("model: x", &[bash("t1", "echo one"), bash("t2", "echo two")]);
    let (_folder, murmur) = murmur(then);
    let line = line(env.program(murmur.to_str().unwrap(), ["beat", "site", "--json"]).start());
    (line, env.tool_results().iter().filter(|told| told.ran()).count())
}

#[test]
fn a_call_that_no_hook_decided_ends_the_run() {
    let stub = |text: &str| {
        format!("printf '#!/bin/sh\\n{text}\\n' >\"$0.new\"; chmod +x \"$0.new\"; mv \"$0.new\" \"$0\"")
    };
    let allows = r#"echo "{\\"hookSpecificOutput\\":{\\"hookEventName\\":\\"PreToolUse\\",\\"permissionDecision\\":\\"allow\\"}}""#;
    for then in [
        // What a program does in its place that prints nothing.
        String::new(),
        stub("exit 0"),
        stub("echo well"),
        stub(allows),
        "printf '#!/bin/sh\\n' >stub; chmod +x stub; ln -sf \"$PWD/stub\" \"$0\"".to_owned(),
        "printf '#!/bin/sh\\n' >stub; chmod +x stub; cp --remove-destination stub \"$0\"".to_owned(),
    ] {
        let (line, _) = run_beat(&then);
        assert_eq!(line["outcome"], "error", "{then}: {line}");
        assert_eq!(line["error"], "a call ran without a decision: Bash(echo two)", "{then}");
    }
}

#[test]
fn a_failing_hook_denies_the_call_and_the_beat_is_an_error() {
    for then in [
        "rm \"$0\"",
        "chmod a-x \"$0\"",
        "mv \"$0\" \"$0.away\"",
        "printf '#!/bin/sh\\nkill -9 $$\\n' >\"$0.new\"; chmod +x \"$0.new\"; mv \"$0.new\" \"$0\"",
        "printf '#!/none\\n' >\"$0.new\"; chmod +x \"$0.new\"; mv \"$0.new\" \"$0\"",
        "rm \"$MURMUR_DIR/decisions.jsonl\"; ln -s /dev/null \"$MURMUR_DIR/decisions.jsonl\"",
        "rm \"$MURMUR_DIR/decisions.jsonl\"; mkdir \"$MURMUR_DIR/decisions.jsonl\"",
    ] {
        let (line, ran) = run_beat(then);
        let error = line["error"].as_str().unwrap_or_default();
        assert!(line["outcome"] == "error" && ran <= 1, "{then}: {line}");
        let failed = error.starts_with("murmur's hook failed: Bash(echo two): ");
        // If the record is gone before its first line was read, the first call has none.
        assert!(failed || error == "a call ran without a decision: Bash(echo one)", "{then}: {error}");
    }
}

#[test]
fn a_removed_or_moved_record_does_not_end_an_honest_run() {
    for then in ["true", "cp \"$MURMUR_DIR/decisions.jsonl\" x; : >>\"$MURMUR_DIR/decisions.jsonl\""] {
        let (line, ran) = run_beat(then);
        assert_eq!((&line["outcome"], ran), (&json!("ok"), 2), "{then}: {line}");
    }
}

#[test]
fn a_hosted_agent_is_killed_too_and_its_record_says_why() {
    let env = Env::new();
    let site = env.workspace("site", "");
    site.plays(&acts(&[bash("t1", "echo one"), bash("t2", "echo two"), bash("t3", "echo three")]));
    env.setting("config.toml", "permissions-checker = \"off\"\n");
    let (_folder, murmur) = murmur("");
    let spawn = ["host", "spawn", "--agent-id", "boss", "--worktree", site.path(), "Go."];
    let spawned = env.program(murmur.to_str().unwrap(), spawn).output();
    // It may end while the command still watches it.
    let why = "a call ran without a decision: Bash(echo two)";
    let stderr = String::from_utf8_lossy(&spawned.stderr);
    assert!(spawned.status.success() || stderr.contains(why), "{spawned:?}");
    let record = env.data().join("hosts/boss.json");
    let ended = env.wait(record.parent().unwrap(), || {
        let record: Value = serde_json::from_slice(&std::fs::read(&record).ok()?).ok()?;
        Some(record["result"].clone()).filter(Value::is_object)
    });
    assert_eq!(ended["error"], why, "{ended}");
}

#[test]
fn a_beat_with_a_refused_call_needs_attention() {
    let env = Env::new();
    env.workspace_calling("model: x", &[bash("t1", "bash -c 'sudo ls'"), bash("t2", "x=sudo; $x ls")]);
    let line = env.run_beat();
    let summary = "HEARTBEAT_OK, but the guard refused Bash(bash -c 'sudo ls') and another call";
    assert_eq!((&line["outcome"], &line["summary"]), (&json!("attention"), &json!(summary)));
}

#[test]
fn without_the_guard_calls_need_no_decision() {
    let env = Env::new();
    env.workspace_calling("model: x", &[bash("t1", "echo one"), bash("t2", "echo two")]);
    let workspaces = json!({ "workspaces": [{ "path": env.root().join("site"), "permissions": "skip" }] });
    env.configure(&workspaces.to_string());
    let (_folder, murmur) = murmur("");
    let line = line(env.program(murmur.to_str().unwrap(), ["beat", "site", "--json"]).start());
    assert_eq!(line["outcome"], "ok", "{line}");
}
