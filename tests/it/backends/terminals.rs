//! Commands that murmur runs for an ACP agent, if config.toml offers it terminals.

use serde_json::{Value, json};
use std::fs;

use super::client::{client, items, offering, play};
use super::decisions;
use crate::env::Env;

/// Runs `command` with these arguments, waits for its end, and reads its output.
fn run(command: &str, args: &[&str], more: &Value) -> Value {
    let mut params = json!({ "command": command, "args": args });
    for (key, value) in more.as_object().into_iter().flatten() {
        params[key] = value.clone();
    }
    then("terminal/create", &params, &["terminal/wait_for_exit", "terminal/output", "terminal/release"])
}

/// A message that calls `method`, and then these with the last terminal.
fn then(method: &str, params: &Value, more: &[&str]) -> Value {
    let more = more.iter().map(|method| json!({ "method": method, "params": { "terminalId": "TERMINAL" } }));
    let more: Vec<Value> = more.collect();
    json!([{ "type": "client", "method": method, "params": params, "then": more }])
}

#[test]
fn a_command_is_run_without_a_shell_after_a_decision() {
    let env = Env::new();
    let site = offering(&env, "[\"terminal\"]");
    fs::create_dir(site.0.join("sub")).unwrap();
    let script = "echo \"$A $MURMUR_AGENT_ID\"; pwd; echo err >&2; exit 3";
    let variables = json!({ "env": [{ "name": "A", "value": "b c" }], "cwd": site.0.join("sub") });
    let (line, texts) = play(
        &env,
        &site,
        &[
            run("printf", &["%s|", "a b", "$HOME", "*"], &json!({})),
            run("sh", &["-c", script], &variables),
            run("printf", &["äöü"], &json!({ "outputByteLimit": 3 })),
            client("terminal/create", &json!({ "command": "no-such-program x" })),
            client("terminal/output", &json!({ "terminalId": "terminal-1" })),
            client("fs/read_text_file", &json!({ "path": "/a" })),
        ],
    );
    assert_eq!(line["outcome"], "ok", "{line}");
    assert!(line["unguarded"].is_null() && line["denials"].is_null(), "{line}");
    let output = |text: &str, exit: i32, is_truncated: bool| {
        let status = json!({ "exitCode": exit, "signal": null });
        json!({ "output": text, "exitStatus": status, "truncated": is_truncated }).to_string()
    };
    let agent = line["agent"].as_str().unwrap();
    let folder = site.0.canonicalize().unwrap().join("sub");
    let printed = format!("b c {agent}\n{}\nerr\n", folder.display());
    let exit = |code: i32| format!(r#"{{"exitCode":{code},"signal":null}}"#);
    let expected = [
        r#"{"terminalId":"terminal-1"}"#.to_owned(),
        exit(0),
        output("a b|$HOME|*|", 0, false),
        "{}".to_owned(),
        r#"{"terminalId":"terminal-2"}"#.to_owned(),
        exit(3),
        output(&printed, 3, false),
        "{}".to_owned(),
        r#"{"terminalId":"terminal-3"}"#.to_owned(),
        exit(0),
        output("ü", 0, true),
        "{}".to_owned(),
        "cannot run \"no-such-program x\": No such file or directory (os error 2); it is run without a shell, so pass its arguments as args".to_owned(),
        "there is no terminal \"terminal-1\"".to_owned(),
        "fs/read_text_file is not offered".to_owned(),
        "HEARTBEAT_OK".to_owned(),
    ];
    assert_eq!(texts, expected);
    let calls: Vec<Value> = items(&env).into_iter().filter(|item| item["type"] == "call").collect();
    let short = |call: &Value| {
        json!([call["tool"], call["subject"], call["result"]["output"], call["result"]["isError"]])
            .to_string()
    };
    let shown: Vec<String> = calls.iter().map(short).collect();
    assert_eq!(shown[0], r#"["Bash","printf '%s|' 'a b' '$HOME' '*'","a b|$HOME|*|",false]"#);
    let script =
        json!(["Bash", format!("A='b c' sh -c '{script}'"), format!("exit code 3\n{printed}"), true]);
    assert_eq!(shown[1], script.to_string());
    assert_eq!(decisions(&env).len(), 4);
    assert_eq!(env.alive(), Vec::<i64>::new());
}

#[test]
fn the_guard_sees_the_command_as_it_runs() {
    let env = Env::new();
    let site = offering(&env, "[\"terminal\"]");
    let create = |params: Value| client("terminal/create", &params);
    let (line, texts) = play(
        &env,
        &site,
        &[
            create(json!({ "command": "sudo", "args": ["ls"] })),
            create(json!({ "command": "sh", "args": ["-c", "cd / && rm -rf *"] })),
            create(json!({ "command": "ls", "cwd": "/no/such/folder" })),
        ],
    );
    assert_eq!((&line["outcome"], &line["denials"][0]), (&json!("attention"), &json!("Bash")), "{line}");
    assert!(line["summary"].as_str().unwrap().contains("the guard refused Bash(sudo ls)"), "{line}");
    let denied: Vec<String> = decisions(&env).into_iter().map(|[_, decision, _]| decision).collect();
    assert_eq!(denied[..2], ["deny", "deny"], "{texts:?}");
    assert!(
        texts.contains(
            &"cannot run a command in /no/such/folder: No such file or directory (os error 2)".to_owned()
        ),
        "{texts:?}"
    );
}

#[test]
fn a_command_is_killed_when_asked_and_nothing_is_left_behind() {
    let env = Env::new();
    let site = offering(&env, "[\"terminal\"]");
    let sleep = |name: &str| json!({ "command": "sh", "args": ["-c", format!("echo {name}; sleep 1000 & sleep 1000")] });
    let (line, texts) = play(
        &env,
        &site,
        &[
            then(
                "terminal/create",
                &sleep("killed"),
                &["terminal/kill", "terminal/wait_for_exit", "terminal/release", "terminal/kill"],
            ),
            then("terminal/create", &sleep("released"), &["terminal/release"]),
            // This one runs when the agent ends.
            client("terminal/create", &sleep("left")),
            run("sh", &["-c", "setsid sleep 1000 & echo done"], &json!({})),
        ],
    );
    assert_eq!(line["outcome"], "ok", "{line}");
    let expected = [
        r#"{"terminalId":"terminal-1"}"#,
        "{}",
        r#"{"exitCode":null,"signal":"SIGKILL"}"#,
        "{}",
        "there is no terminal \"terminal-1\"",
        r#"{"terminalId":"terminal-2"}"#,
        "{}",
        r#"{"terminalId":"terminal-3"}"#,
        r#"{"terminalId":"terminal-4"}"#,
        r#"{"exitCode":0,"signal":null}"#,
        r#"{"exitStatus":{"exitCode":0,"signal":null},"output":"done\n","truncated":false}"#,
        "{}",
        "HEARTBEAT_OK",
    ];
    assert_eq!(texts, expected);
    assert!(line["leftProcesses"].is_null(), "{line}");
    assert_eq!(env.alive(), Vec::<i64>::new());
}
