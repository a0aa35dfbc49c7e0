//! Whatever goes wrong with the hook, the call is denied: by the hook's output and exit code, and by an agent that
//! runs it as `'…/murmur-hook' PreToolUse || exit 2`, without `onFailure`, and would run the call after anything else.

use std::fs::File;
use std::os::unix::net::UnixListener;
use std::process::Output;

use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{HOOK, acts, bash, told_to_hook};
use crate::env::{Env, Run, fake_claude, kill};

/// Asks nobody, so that only an error denies a call.
fn nobody() -> Value {
    json!({ "guard": true, "checker": "off", "approval": "wait", "approvalWait": 1, "approvalExpiry": 1,
        "questions": "deny" })
}

/// Asks a person.
fn person() -> Value {
    json!({ "guard": true, "checker": "manual", "approval": "wait", "approvalWait": 1, "approvalExpiry": 1,
        "questions": "deny" })
}

fn input() -> String {
    told_to_hook("Bash", &json!({ "command": "echo hi" })).to_string()
}

/// The hook's message for a denied call, in either form.
fn refusal(output: &Output) -> String {
    let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(2) {
        assert_eq!((&*said, error.lines().count()), ("", 1), "{error}");
        return error.trim_end().to_owned();
    }
    assert_eq!((output.status.code(), &*error), (Some(0), ""), "{said}");
    let answer = one_object(output);
    assert_eq!(answer["permissionDecision"], "deny", "{answer}");
    super::text(&answer, "permissionDecisionReason").to_owned()
}

/// The specific part of the one object that the hook printed, with its newline.
fn one_object(output: &Output) -> Value {
    let said = std::str::from_utf8(&output.stdout).unwrap();
    assert!(said.ends_with('\n') && said.lines().count() == 1, "{said:?}");
    serde_json::from_str::<Value>(said).unwrap()["hookSpecificOutput"].clone()
}

/// An agent with this hook command, in which `HOOK` stands for the executable and its event, makes one call.
fn agent(env: &Env, hook: &str) -> Run {
    env.create_data();
    let site = env.workspace("site", "Do it.");
    site.plays(&acts(&[bash("t1", "echo hi")]));
    let command = format!("{} || exit 2", with_hook(hook));
    let entry = json!({ "type": "command", "command": command, "timeout": 50 });
    let settings = json!({ "hooks": { "PreToolUse": [{ "matcher": "*", "hooks": [entry] }] } });
    let prompt = env.root().join("prompt");
    std::fs::write(&prompt, "Do it.").unwrap();
    let args = ["--print", "--verbose", "--output-format", "stream-json", "--dangerously-skip-permissions"];
    let run = env.program(fake_claude(), args.into_iter().chain(["--settings", &settings.to_string()]));
    run.at(&site.0).stdin(File::open(prompt).unwrap())
}

fn with_hook(words: &str) -> String {
    words.replace("HOOK", &format!("'{HOOK}' PreToolUse"))
}

/// The hook's reason for denying a call when `hook` breaks it; it must be the same for an agent's call.
fn refused(env: &Env, hook: &str, policy: &str) -> String {
    env.create_data();
    let path = env.root().join("input");
    std::fs::write(&path, input()).unwrap();
    let direct = env.program("/bin/sh", ["-c", &with_hook(hook)]).stdin(File::open(path).unwrap());
    let reason = refusal(&direct.set("MURMUR_PERMISSIONS", policy).output());
    // The position depends on what else the agent sends.
    let reason = reason.split(" at line ").next().unwrap().to_owned();
    agent(env, hook).set("MURMUR_PERMISSIONS", policy).output();
    let told = env.only_tool_result();
    assert!(told.is_error && told.text.contains(&reason), "{reason}\n{told:?}");
    reason
}

#[test]
fn a_harmless_call_runs() {
    let env = Env::new();
    agent(&env, "cat | HOOK").set("MURMUR_PERMISSIONS", nobody().to_string()).output();
    assert!(env.only_tool_result().ran());
    let answer =
        one_object(&env.hook("PreToolUse", input()).set("MURMUR_PERMISSIONS", nobody().to_string()).output());
    assert_eq!(answer["permissionDecision"], "allow");
}

#[test]
fn invalid_stdin_is_denied() {
    let deep = "{ printf '{\"cwd\":\"/\",\"tool_name\":\"Bash\",\"tool_use_id\":\"t1\",\"tool_input\":'; \
        printf '%0100000d' 0 | tr 0 '['; printf '%0100000d' 0 | tr 0 ']'; printf '}'; }";
    let spoilt = [
        "true",
        "head -c 8",
        "echo no",
        "{ printf '\\357\\273\\277'; cat; }",
        "{ cat; echo x; }",
        "{ cat; echo '{}'; }",
        "head -c 256000000 /dev/zero",
        deep,
        "sed 's,\"cwd\":\"[^\"]*\",\"cwd\":\"w\",'",
        "sed s,tool_name,name,",
    ];
    let reasons = spoilt.map(|spoilt| {
        let env = Env::new();
        refused(&env, &format!("{spoilt} | HOOK"), &nobody().to_string())
    });
    assert_snapshot!(reasons.join("\n"), @"
    stdin is empty, expected a hook event as JSON; murmur denies the call
    stdin is not a hook event: EOF while parsing a string
    stdin is not a hook event: expected ident
    stdin is not a hook event: expected value
    stdin is not a hook event: trailing characters
    stdin is not a hook event: trailing characters
    stdin has more than 32 MiB; murmur denies the call
    stdin is not a hook event: recursion limit exceeded
    the hook event's cwd is not an absolute path: w; murmur denies the call
    stdin is not a hook event: missing field `tool_name`
    ");
}

#[test]
fn an_invalid_environment_denies_every_call() {
    assert_snapshot!(refused(&Env::new(), "HOOK", "garbage"), @"invalid MURMUR_PERMISSIONS: expected value");
    assert_snapshot!(refused(&Env::new(), "HOOK", r#"{"guard":true}"#), @"invalid MURMUR_PERMISSIONS: missing field `checker`");
    let missing = refused(&Env::new(), "env -u HOME -u MURMUR_DIR HOOK", &nobody().to_string());
    assert_snapshot!(missing, @"no data folder: neither HOME nor MURMUR_DIR is set; set one, or pass --data-dir; murmur denies the call");
    let project = refused(&Env::new(), "MURMUR_PROJECT=../../x HOOK", &nobody().to_string());
    assert_snapshot!(project, @r#"MURMUR_PROJECT is not a valid project name: "../../x"; murmur denies the call"#);
}

#[test]
fn unreadable_settings_deny_every_call() {
    let env = Env::new();
    env.setting("config.toml", "permissions-checker = \"of\"\n");
    // It applies to agents that murmur didn't start; others got theirs at the start.
    assert_snapshot!(refused(&env, "HOOK", ""), @r#"[ENV]/data/config/config.toml:1:23: "permissions-checker": "of" is not known; write "off", "manual", "llm" or "deny"; murmur denies the call"#);
}

#[test]
fn an_answer_that_cannot_be_sent_or_recorded_is_a_denial() {
    let policy = nobody().to_string();
    assert_snapshot!(refused(&Env::new(), "HOOK >/dev/full", &policy), @"cannot write murmur's answer: No space left on device (os error 28)");
    let env = Env::new();
    std::fs::create_dir(env.create_data().join("decisions.jsonl")).unwrap();
    assert_snapshot!(refused(&env, "HOOK", &policy), @"cannot write the decision to [ENV]/data/decisions.jsonl: Is a directory (os error 21); murmur allows only calls that it can record");
}

#[test]
fn a_full_disk_denies_the_call() {
    let (env, policy) = (Env::new(), nobody().to_string());
    env.create_data();
    // No file may grow, which has the effect of a full disk.
    let full = "trap '' XFSZ; ulimit -f 0; HOOK";
    assert_snapshot!(refused(&env, full, &policy), @"cannot write the decision to [ENV]/data/decisions.jsonl: File too large (os error 27); murmur allows only calls that it can record");
}

#[test]
fn unreadable_rules_deny_every_call() {
    for name in ["config/permissions.toml", "projects/site/permissions.toml"] {
        let (env, hook) = (Env::new(), "MURMUR_PROJECT=site HOOK");
        let path = env.create_data().join(name);
        std::fs::create_dir_all(&path).unwrap();
        let reason = refused(&env, hook, &nobody().to_string());
        assert!(reason.contains("permissions.toml: not readable"), "{reason}");
        let env = Env::new();
        let path = env.create_data().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "rules = {").unwrap();
        let reason = refused(&env, hook, &nobody().to_string());
        assert!(reason.contains("permissions.toml:1:"), "{reason}");
    }
}

#[test]
fn unreadable_settings_prevent_beats() {
    let env = Env::new();
    env.workspace_calling("model: x", &[bash("t1", "echo hi")]);
    env.setting("config.toml", "permissions-checker = \"of\"\n");
    let line = env.run_beat();
    assert_snapshot!(line["error"].as_str().unwrap(), @r#"[ENV]/data/config/config.toml:1:23: "permissions-checker": "of" is not known; write "off", "manual", "llm" or "deny""#);
    assert_eq!(env.agents().len(), 0);
}

#[test]
fn workspace_settings_cannot_disable_the_hook() {
    let env = Env::new();
    let site = env.workspace_calling("model: x", &[bash("t1", "sudo ls")]);
    std::fs::create_dir(site.0.join(".claude")).unwrap();
    let settings = json!({ "disableAllHooks": true, "env": { "MURMUR_DIR": "/nowhere", "MURMUR_PERMISSIONS":
        "{\"guard\":false,\"checker\":\"off\",\"approval\":\"wait\",\"approvalWait\":1,\"approvalExpiry\":1,\"questions\":\"deny\"}" } });
    for name in ["settings.json", "settings.local.json"] {
        std::fs::write(site.0.join(".claude").join(name), settings.to_string()).unwrap();
    }
    env.murmur(["trust", "site", "--yes"]).assert().success();
    assert_eq!(env.run_beat()["denials"], json!(["Bash"]));
    assert_eq!(env.decisions().len(), 1);
}

#[test]
fn without_a_daemon_a_call_that_needs_a_person_is_denied() {
    let env = Env::new();
    env.workspace_calling("permissionsChecker: manual", &[bash("t1", "echo hi")]);
    assert_snapshot!(env.run(["beat", "site"]), @"
    error [S] 1 call denied  no daemon is running, so nobody can be asked about Bash(echo hi); run: murmur start
    | warning: the daemon is not running, so calls that need your approval are denied; run: murmur start
    [exit 1]
    ");
    assert_snapshot!(env.run(["log"]), @"
    [WHEN]  error [S]  [ENV]/site  1 call denied  no daemon is running, so nobody can be asked about Bash(echo hi); run: murmur start
    [exit 0]
    ");
    assert_snapshot!(env.only_tool_result().text, @"PreToolUse:Bash hook error: no daemon is running, so nobody can be asked; the call is denied");
    assert_eq!(env.decisions()[0]["by"], json!({ "kind": "failure" }));
}

#[test]
fn a_beat_that_needs_the_daemon_warns_if_none_is_running() {
    for (frontmatter, what) in [
        ("permissionsChecker: llm", Some("calls that need a model's approval")),
        ("questions: broker", Some("questions")),
        ("permissionsChecker: deny", None),
        ("model: x", None),
    ] {
        let env = Env::new();
        env.workspace_calling(frontmatter, &[]);
        let said = env.murmur(["beat", "site"]).output().stderr;
        let expected = what.map(|what| {
            format!("warning: the daemon is not running, so {what} are denied; run: murmur start\n")
        });
        assert_eq!(String::from_utf8(said).unwrap(), expected.unwrap_or_default(), "{frontmatter}");
    }
}

/// A daemon that listens but doesn't answer.
fn stuck(env: &Env) -> UnixListener {
    UnixListener::bind(env.create_data().join("murmur.sock")).unwrap()
}

#[test]
fn the_hook_does_not_wait_forever_for_a_silent_daemon() {
    let env = Env::new();
    let _stuck = stuck(&env);
    assert_snapshot!(refused(&env, "HOOK", &person().to_string()), @"murmur's daemon did not answer; the call is denied");
}

#[test]
fn the_hook_gives_up_on_a_daemon_that_keeps_disconnecting() {
    let env = Env::new();
    let stuck = stuck(&env);
    std::thread::spawn(move || stuck.incoming().for_each(drop));
    agent(&env, "HOOK").set("MURMUR_PERMISSIONS", person().to_string()).output();
    let told = env.only_tool_result();
    assert!(told.is_error && told.text.contains("nobody answered in time"), "{told:?}");
}

#[test]
fn a_killed_hook_denies() {
    let env = Env::new();
    let daemon = stuck(&env);
    let policy = json!({ "guard": true, "checker": "manual", "approval": "wait", "approvalWait": 50,
        "approvalExpiry": 1, "questions": "deny" });
    let agent = agent(&env, "HOOK").set("MURMUR_PERMISSIONS", policy.to_string()).start();
    let _asked = daemon.accept().unwrap();
    let is_hook = |pid: &&i64| {
        std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.ends_with("murmur-hook"))
    };
    let alive = env.alive();
    kill(*alive.iter().find(is_hook).unwrap(), Signal::KILL);
    crate::env::ended(agent).success();
    let told = env.only_tool_result();
    assert!(told.is_error && told.text.starts_with("PreToolUse:Bash hook error: "), "{told:?}");
}

#[test]
fn a_hook_at_its_deadline_exits_and_denies() {
    let env = Env::new();
    let (_, _gate) = env.gate("gate");
    let hook = format!("HOOK <{}/gate", env.root().display());
    agent(&env, &hook).set("MURMUR_PERMISSIONS", nobody().to_string()).output();
    let told = env.only_tool_result();
    assert!(told.is_error && told.text.starts_with("PreToolUse:Bash hook error: "), "{told:?}");
    assert!(!told.text.contains("timed out"), "{told:?}");
}

#[test]
fn unknown_events_are_denied_and_help_and_version_work() {
    let env = Env::new();
    for unknown in ["Notification", "PreTolUse", "pretooluse", "", "--what"] {
        let refused = format!("| unknown event {unknown:?}; see: murmur-hook --help\n[exit 2]");
        assert_eq!(env.hook(unknown, "").run(), refused);
    }
    assert_snapshot!(env.program(HOOK, [] as [&str; 0]).run(), @"
    | no event given; pass its name, for example: murmur-hook PreToolUse
    [exit 2]
    ");
    assert_eq!(
        env.program(HOOK, ["--version"]).run(),
        format!("murmur-hook {}\n[exit 0]", env!("CARGO_PKG_VERSION"))
    );
    assert_snapshot!(env.program(HOOK, ["--help"]).run(), @"
    Answer a Claude Code hook event, read from stdin as JSON.

    murmur adds this hook to the agents it starts. For your own sessions, `murmur setup hooks` installs it
    for the events that update a pulse, the file that says what the agent did last.

    Usage: murmur-hook EVENT

    Events answered with a decision:
      PreToolUse
      PermissionRequest
    Events that update the agent's pulse:
      SessionStart
      UserPromptSubmit
      PostToolUse
      PostToolUseFailure
      Stop
      StopFailure
      SessionEnd
    [exit 0]
    ");
    assert!(!env.data().exists());
}

#[test]
fn permission_request_is_answered_in_its_own_form() {
    let env = Env::new();
    env.create_data();
    let ask = |command: &str| {
        let input = told_to_hook("Bash", &json!({ "command": command })).to_string();
        env.hook("PermissionRequest", input).set("MURMUR_PERMISSIONS", nobody().to_string()).output()
    };
    let allowed = json!({ "hookEventName": "PermissionRequest", "decision": { "behavior": "allow" } });
    assert_eq!(one_object(&ask("echo hi")), allowed);
    let denied = one_object(&ask("sudo ls"));
    assert_eq!(denied["decision"]["behavior"], "deny");
    assert_eq!(denied["decision"]["message"], env.decisions()[1]["reason"]);
    assert_snapshot!(env.hook("PermissionRequest", "").run(), @"
    | stdin is empty, expected a hook event as JSON; murmur denies the call
    [exit 2]
    ");
}

#[test]
fn murmur_hook_and_murmur_hook_command_behave_alike() {
    let env = Env::new();
    let policy = nobody().to_string();
    let input = |text: &str| {
        let path = env.root().join("given");
        std::fs::write(&path, text).unwrap();
        File::open(path).unwrap()
    };
    for text in [told_to_hook("Bash", &json!({ "command": "sudo ls" })).to_string(), "{".to_owned()] {
        let own = env.murmur(["hook", "PreToolUse"]).stdin(input(&text)).set("MURMUR_PERMISSIONS", &policy);
        assert_eq!(own.run(), env.hook("PreToolUse", &text).set("MURMUR_PERMISSIONS", &policy).run());
    }
}
