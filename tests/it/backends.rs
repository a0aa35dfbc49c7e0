//! Beats of agents other than Claude Code, which fake-claude imitates under their names, and what
//! docs/reference/backends.md says about them.

mod approvals;
mod checked;
mod client;
mod faults;
mod lacking;
mod limits;
mod mcp;
mod recorded;
mod refused;
mod terminals;
mod undecided;
mod unknown;

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::env::{Env, Workspace};
use murmur_core::config::backend::built_in_names;

const AGENTS: [&str; 2] = ["codex", "acp:opencode"];

/// A workspace whose beats run `agent`.
fn site(env: &Env, agent: &str) -> Workspace {
    let program = agent.trim_start_matches("acp:");
    env.agent(program);
    let site = env.workspace("site", "Check the site.");
    let entry = json!({ "path": site.0, "interval": "30m", "agent": agent });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    site
}

/// Makes `agent` the default of config.toml.
fn default_agent(env: &Env, agent: &str) {
    let folder = env.data().join("config");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), format!("agent = {agent:?}\n")).unwrap();
}

fn said(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

fn call(command: &str) -> Value {
    json!([{ "type": "tool_use", "id": "call_1", "name": "Bash", "input": { "command": command } }])
}

/// The process of the only beat, and a client that follows its agent, with the events that it prints.
fn follow_beat(env: &Env) -> (i64, Child, Lines<BufReader<ChildStdout>>) {
    env.wait_for_agents(1);
    let file = std::fs::read_dir(env.data().join("beats")).unwrap().next().unwrap().unwrap().path();
    let record: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let agent = record["entry"]["agent"].as_str().unwrap();
    let attach = env.murmur(["attach", agent, "--from", "0", "--json"]);
    let mut follow = attach.stdout(Stdio::piped()).start();
    let events = BufReader::new(follow.stdout.take().unwrap()).lines();
    (record["pid"].as_i64().unwrap(), follow, events)
}

/// Runs a beat of `agent` with this script. Returns its journal line.
fn beat(agent: &str, script: &Value) -> (Env, Value) {
    let env = Env::new();
    let site = site(&env, agent);
    site.plays(&json!({ "script": script }));
    env.run(["beat", "site"]);
    let line = env.journal().pop().unwrap();
    assert_eq!(line["backend"], agent, "{line}");
    (env, line)
}

#[test]
fn the_answer_decides_the_outcome() {
    for agent in AGENTS {
        let (_env, line) = beat(agent, &json!([said("HEARTBEAT_OK")]));
        assert_eq!(line["outcome"], "ok", "{line}");
        assert!(line["sessionId"].is_string() && line["tokens"]["output"].is_u64(), "{line}");
        let (_env, line) = beat(agent, &json!([said("ATTENTION: the backup is old")]));
        assert_eq!(
            (&line["outcome"], &line["summary"]),
            (&json!("attention"), &json!("ATTENTION: the backup is old"))
        );
    }
}

#[test]
fn the_login_shell_is_not_asked_about_an_agent_on_the_path() {
    for agent in AGENTS {
        let env = Env::new();
        let site = site(&env, agent);
        site.plays(&json!({ "script": [said("HEARTBEAT_OK")] }));
        let [shell, asked] = ["shell", "shell.asked"].map(|name| env.home().join(name));
        std::fs::write(&shell, "#!/bin/sh\ntouch \"$0.asked\"\n").unwrap();
        std::fs::set_permissions(&shell, Permissions::from_mode(0o755)).unwrap();
        std::fs::remove_file(env.home().join("bin/claude")).unwrap();
        env.murmur(["beat", "site"]).set("SHELL", &shell).run();
        assert_eq!(env.journal().pop().unwrap()["outcome"], "ok");
        assert!(!asked.exists(), "{agent}");
    }
}

#[test]
fn the_guard_refuses_calls_of_every_agent() {
    for agent in AGENTS {
        let (env, line) = beat(agent, &json!([call("sudo ls"), said("HEARTBEAT_OK")]));
        assert_eq!(line["summary"], "HEARTBEAT_OK, but the guard refused Bash(sudo ls)", "{line}");
        let decisions = std::fs::read_to_string(env.data().join("decisions.jsonl")).unwrap();
        assert!(
            decisions.contains("\"decision\":\"deny\"") && decisions.contains("\"toolUseId\":\"call_1\"")
        );
        assert_eq!((&line["denials"], &line["numTurns"]), (&json!(["Bash"]), &json!(2)), "{line}");
        assert!(env.run(["log"]).contains("1 call denied"), "{}", env.run(["log"]));
        // Codex reports only that a hook blocked the call, not the call itself.
        let shown = env.run(["show", "site"]);
        assert!(shown.contains("\n  Bash(sudo ls)  denied by the guard: "), "{shown}");
        let items = env.murmur(["show", "site", "--json"]).json()["items"].clone();
        let call = items.as_array().unwrap().iter().find(|item| item["id"] == "call_1").unwrap();
        assert_eq!((&call["tool"], &call["subject"]), (&json!("Bash"), &json!("sudo ls")), "{items}");
        assert!(call["denied"].as_str().unwrap().starts_with("by the guard: "), "{call}");
    }
}

/// Codex's call of `apply_patch`.
fn patch(files: &[&str]) -> Value {
    let files: String = files.iter().map(|file| format!("*** Add File: {file}\n+one\n")).collect();
    let input = json!({ "input": format!("*** Begin Patch\n{files}*** End Patch\n") });
    json!([{ "type": "tool_use", "id": "call_1", "name": "apply_patch", "input": input }])
}

/// The decisions on calls: tool, decision and reason.
fn decisions(env: &Env) -> Vec<[String; 3]> {
    let lines = std::fs::read_to_string(env.data().join("decisions.jsonl")).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|line| ["tool", "decision", "reason"].map(|key| line[key].as_str().unwrap().to_owned()))
        .collect()
}

#[test]
fn the_conversation_of_a_beat_has_its_denied_calls() {
    for agent in AGENTS {
        let env = Env::new();
        let site = site(&env, agent);
        site.plays(&json!({ "script": [call("sudo ls"), said("HEARTBEAT_OK")] }));
        env.run(["beat", "site", "-v"]);
        let line = env.journal().pop().unwrap();
        let call = &line["turns"][0]["toolCalls"][0];
        let found = (&call["name"], &call["input"]["command"], &call["isError"]);
        assert_eq!(found, (&json!("Bash"), &json!("sudo ls"), &json!(true)), "{line}");
        assert!(call["output"].as_str().is_some_and(|output| !output.is_empty()), "{line}");
    }
}

#[test]
fn a_patch_is_refused_as_a_whole_for_one_file_that_is() {
    let (env, line) = beat("codex", &json!([patch(&["a.txt", "b/c.txt"]), said("HEARTBEAT_OK")]));
    // Allowed by the guard, and declined by Codex's sandbox.
    assert_eq!(
        line["summary"], "HEARTBEAT_OK, but the backend refused apply_patch(a.txt, b/c.txt)",
        "{line}"
    );
    assert_eq!(decisions(&env)[0][..2], ["apply_patch", "allow"]);
    for files in [["a.txt", "/etc/cron.d/evil"], ["/etc/cron.d/evil", "a.txt"]] {
        let (env, line) = beat("codex", &json!([patch(&files), said("HEARTBEAT_OK")]));
        assert_eq!(line["outcome"], "attention", "{line}");
        assert!(
            line["summary"].as_str().unwrap().starts_with("HEARTBEAT_OK, but the guard refused "),
            "{line}"
        );
        let [[tool, decision, reason]] = &decisions(&env)[..] else { panic!("{line}") };
        assert_eq!((tool.as_str(), decision.as_str()), ("apply_patch", "deny"));
        assert!(reason.contains("/etc/cron.d/evil") && !reason.contains("a.txt"), "{reason}");
    }
}

#[test]
fn the_deny_list_of_a_workspace_holds_for_every_agent() {
    let denied = ["Bash(curl *)", "Write(secret/**)"];
    let [curl, file] =
        denied.map(|pattern| format!("{pattern:?} in the deny list forbids it; continue without it"));
    let one_file = json!([{ "type": "tool_use", "id": "call_1", "name": "Write",
        "input": { "file_path": "secret/key", "content": "x" } }]);
    for (agent, call, tool, reason) in [
        ("codex", call("curl http://127.0.0.1:1"), "Bash", &curl),
        ("codex", call("ls && curl http://127.0.0.1:1"), "Bash", &curl),
        ("codex", patch(&["a.txt", "secret/key"]), "apply_patch", &file),
        ("codex", patch(&["secret/key"]), "Write", &file),
        ("acp:opencode", call("curl http://127.0.0.1:1"), "Bash", &curl),
        ("acp:opencode", one_file, "Write", &file),
    ] {
        let env = Env::new();
        let site = site(&env, agent);
        let entry =
            json!({ "path": site.0, "interval": "30m", "agent": agent, "permissions": { "deny": denied } });
        env.configure(&json!({ "workspaces": [entry] }).to_string());
        site.plays(&json!({ "script": [call, said("HEARTBEAT_OK")] }));
        env.run(["beat", "site"]);
        let line = env.journal().pop().unwrap();
        assert_eq!(line["outcome"], "ok", "{line}");
        assert_eq!(decisions(&env), [[tool, "deny", reason].map(str::to_owned)], "{agent}");
    }
}

#[test]
fn lists_name_the_backend_and_keep_agents_that_ended() {
    for agent in AGENTS {
        let (env, line) = beat(agent, &json!([call("ls"), said("ATTENTION: look")]));
        let marked = format!(" ({agent})");
        assert!(env.run(["log"]).contains(&marked), "{}", env.run(["log"]));
        assert!(env.run(["show", "last"]).contains(&marked), "{}", env.run(["show", "last"]));
        let status = env.run(["status"]);
        assert!(status.contains(&format!("\n  agent     {agent}\n")), "{status}");
        let json = |args: &[&str]| env.murmur(args).json();
        assert!(env.run(["list"]).contains(&format!("{marked}  every 30m\n")), "{}", env.run(["list"]));
        assert_eq!(json(&["list", "--json"])["heartbeats"][0]["backend"], agent);
        assert_eq!(json(&["status", "--json"])["heartbeats"][0]["backend"], agent);
        let listed = json(&["agent", "list", "--json"])["agents"][0].clone();
        let keys = ["backend", "state", "tool_name", "last_action", "session_id"].map(|key| &listed[key]);
        let expected = [&json!(agent), &json!("exited"), &json!("Bash"), &json!("ls"), &line["sessionId"]];
        assert_eq!(keys, expected, "{listed}");
        let table = env.run(["agent", "list", "--all"]);
        assert!(table.contains(&marked), "{table}");
        let shown = env.run(["agent", "show", "last"]);
        assert!(
            shown.contains(&format!("\n  backend    {agent}\n")) && shown.contains("  Bash: ls\n"),
            "{shown}"
        );
    }
}

#[test]
fn a_cost_that_an_agent_reports_counts_and_a_missing_one_is_said() {
    for (agent, is_reported) in [("acp:opencode", true), ("codex", false)] {
        let env = Env::new();
        let site = site(&env, agent);
        let entry = json!({ "path": site.0, "interval": "30m", "agent": agent });
        env.configure(&json!({ "workspaces": [entry], "budget": { "day": "0.0001 USD" } }).to_string());
        let model = json!({ "m1": { "cost": { "input": 3, "output": 15 } } });
        let settings = json!({ "model": "fake/m1", "provider": { "fake": { "models": model } } });
        site.plays(&json!({ "script": [said("HEARTBEAT_OK")] }));
        env.murmur(["beat", "site"]).set("OPENCODE_CONFIG_CONTENT", settings.to_string()).run();
        let line = env.journal().remove(0);
        assert_eq!(line["costUsd"].as_f64().is_some_and(|cost| cost > 0.0001), is_reported, "{line}");
        assert_eq!(line["costUnknown"] == true, !is_reported, "{line}");
        assert_eq!(env.run(["log"]).contains("reported no cost"), !is_reported, "{}", env.run(["log"]));
        let again = String::from_utf8(env.murmur(["beat", "site"]).output().stderr).unwrap();
        assert_eq!(again.contains("is used up"), is_reported, "{again}");
    }
}

#[test]
fn a_dry_run_shows_the_agent_and_only_limits_that_it_follows() {
    for (agent, source) in
        [("codex", "config.json"), ("acp:opencode", "config.json"), ("codex", "config.toml")]
    {
        let env = Env::new();
        let site = site(&env, agent);
        if source == "config.toml" {
            let entry = json!({ "path": site.0, "interval": "30m" });
            env.configure(&json!({ "workspaces": [entry] }).to_string());
            default_agent(&env, agent);
        }
        let listed = env.run(["list"]);
        assert!(listed.contains(&format!("/site ({agent})  every 30m\n")), "{listed}");
        let shown = env.run(["beat", "--dry-run", "site"]);
        assert!(shown.contains(&format!("\n  agent: {agent}  ({source})\n")), "{shown}");
        assert!(!shown.contains("maxTurns") && !shown.contains("\n  questions:"), "{shown}");
    }
}

#[test]
fn a_failed_request_is_an_error_that_says_whether_a_retry_is_worth_it() {
    for (agent, status, is_retryable) in [
        ("codex", 400, false),
        ("codex", 401, false),
        ("codex", 429, true),
        ("codex", 500, true),
        // Without an answer.
        ("codex", 0, true),
        ("acp:opencode", 0, true),
        ("acp:opencode", 400, false),
        ("acp:opencode", 401, false),
        // OpenCode tells no status.
        ("acp:opencode", 429, false),
        ("acp:opencode", 500, false),
    ] {
        let message = if status == 0 { Value::Null } else { json!({ "message": "scripted refusal" }) };
        let failing = json!({ "status": status, "error": message });
        let env = Env::new();
        let site = site(&env, agent);
        site.plays(&json!({ "script": vec![failing; 20], "scale": 0 }));
        env.run(["beat", "site"]);
        let line = env.journal().pop().unwrap();
        assert_eq!((&line["outcome"], &line["backend"]), (&json!("error"), &json!(agent)), "{line}");
        assert_eq!(line["retryable"] == true, is_retryable, "{agent} {status}: {line}");
        assert!(line["numTurns"].is_null(), "{line}");
    }
}

#[test]
fn every_built_in_agent_has_a_stand_in() {
    for agent in built_in_names() {
        let (_env, line) = beat(&format!("acp:{agent}"), &json!([said("HEARTBEAT_OK")]));
        assert_eq!(line["outcome"], "ok", "{line}");
    }
}

#[test]
fn unicode_is_kept_and_a_long_answer_is_cut() {
    for agent in AGENTS {
        let (_env, line) = beat(agent, &json!([said("ATTENTION: 日本語 🦀 ü")]));
        assert_eq!(line["summary"], "ATTENTION: 日本語 🦀 ü", "{line}");
        let (_env, line) = beat(agent, &json!([said(&format!("ATTENTION: {}", "é".repeat(1 << 20)))]));
        assert_eq!(line["summary"].as_str().unwrap().chars().count(), 200, "{agent}");
    }
}

#[test]
fn a_beat_of_every_agent_ends_at_its_time_limit() {
    for agent in AGENTS {
        let env = Env::new();
        let site = site(&env, agent);
        let entry = json!({ "path": site.0, "interval": "30m", "agent": agent, "timeout": "1s" });
        env.configure(&json!({ "workspaces": [entry] }).to_string());
        site.plays(&json!({ "script": [said("HEARTBEAT_OK")], "faults": ["hang-before"] }));
        env.run(["beat", "site"]);
        let line = env.journal().pop().unwrap();
        assert!(line["timedOut"] == true && line["outcome"] == "error", "{line}");
        assert_eq!(env.alive(), Vec::<i64>::new());
    }
}
