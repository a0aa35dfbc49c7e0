//! Calls that murmur can't allow: what they do is not known, or the agent can't be told to run them.

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

use super::{beat, call, decisions, default_agent, patch, said, site};
use crate::env::Env;

/// What an ACP agent says about a call when it asks for permission.
const COMMAND: &str = r#"{"toolCallId":"c1","kind":"execute","rawInput":{"command":"git push"}}"#;

/// A workspace whose agent asks about `call`, with options of these kinds; `checker` decides on calls of all agents.
fn asking(env: &Env, checker: &str, call: &str, options: &[&str]) {
    asking_as("odd", env, checker, call, options);
}

/// The same for an agent with this `name`.
fn asking_as(name: &str, env: &Env, checker: &str, call: &str, options: &[&str]) {
    // It isn't in config.json, so that no daemon starts it.
    env.workspace("site", "Do it.");
    let options: Vec<Value> =
        options.iter().map(|kind| json!({ "optionId": kind, "kind": kind, "name": kind })).collect();
    let options = Value::from(options);
    let update = |update: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#
        )
    };
    let begun = update(&format!(r#"{{"sessionUpdate":"tool_call",{}"#, &call[1..]));
    let failed = update(r#"{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed"}"#);
    let text =
        update(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"HEARTBEAT_OK"}}"#);
    let script = format!(
        r#"#!/bin/sh
say() {{ printf '%s\n' "$1"; }}
while read -r line; do
  case $line in
    *'"initialize"'*) say '{{"jsonrpc":"2.0","id":"murmur-initialize","result":{{"protocolVersion":1}}}}' ;;
    *'"session/new"'*) say '{{"jsonrpc":"2.0","id":"murmur-session","result":{{"sessionId":"s","modes":{{"currentModeId":"approve"}}}}}}' ;;
    *'"session/prompt"'*)
      say '{begun}'
      say '{{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{{"sessionId":"s","toolCall":{call},"options":{options}}}}}' ;;
    *'"id":7'*)
      say "$line" >answer
      say '{failed}'
      say '{text}'
      say '{{"jsonrpc":"2.0","id":"murmur-prompt:1","result":{{"stopReason":"end_turn"}}}}' ;;
  esac
done
"#
    );
    let program = env.root().join(name);
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let folder = env.data().join("config");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = format!(
        "agent = \"acp:{name}\"\npermissions-checker = {checker:?}\n[acp.{name}]\ncommand = {program:?}\n"
    );
    std::fs::write(folder.join("config.toml"), settings).unwrap();
}

/// The option that was chosen, or `cancelled`.
fn chosen(env: &Env) -> String {
    let answer = std::fs::read_to_string(env.root().join("site/answer")).unwrap();
    let outcome = serde_json::from_str::<Value>(&answer).unwrap()["result"]["outcome"].take();
    outcome.get("optionId").unwrap_or(&outcome["outcome"]).as_str().unwrap().to_owned()
}

/// Runs a beat and returns its journal line.
fn ran(env: &Env) -> Value {
    env.run(["beat", "site"]);
    env.journal().pop().unwrap()
}

#[test]
fn a_call_that_does_not_say_what_it_does_is_denied_or_asked_about() {
    for (call, words) in [
        (r#"{"toolCallId":"c1"}"#, "unknown"),
        (
            r#"{"toolCallId":"c1","title":"Do a thing","kind":"other","rawInput":{"level":3}}"#,
            "unknown(level: 3)",
        ),
    ] {
        let why = "the request does not say what would be run or written";
        let env = Env::new();
        asking(&env, "off", call, &["allow_once", "reject_once"]);
        let line = ran(&env);
        assert_eq!(line["summary"], format!("HEARTBEAT_OK, but the guard refused {words}"), "{line}");
        assert_eq!((&line["outcome"], &line["denials"]), (&json!("attention"), &json!(["unknown"])));
        let [[tool, decision, reason]] = &decisions(&env)[..] else { panic!("{line}") };
        assert!(tool == "unknown" && decision == "deny" && reason.starts_with(why), "{reason}");
        assert_eq!(chosen(&env), "reject_once");

        let env = Env::new();
        asking(&env, "manual", call, &["allow_once", "reject_once"]);
        let daemon = env.daemon();
        let beat = env.beat();
        let request = env.opened();
        assert_eq!(request["doubt"], why, "{request}");
        env.run(["allow", request["id"].as_str().unwrap()]);
        let line = crate::permit::line(beat);
        daemon.stop();
        assert_eq!((&line["outcome"], chosen(&env).as_str()), (&json!("ok"), "allow_once"), "{line}");
    }
}

#[test]
fn goose_cannot_make_calls_that_murmur_would_not_see() {
    for (tool, call) in [
        ("delegate", r#"{"toolCallId":"c1","title":"delegate","rawInput":{"instructions":"Push"}}"#),
        (
            "execute_typescript",
            r#"{"toolCallId":"c1","title":"execute typescript","rawInput":{"code":"x()"},"_meta":{"goose":{"toolCall":{"toolName":"execute_typescript"}}}}"#,
        ),
    ] {
        for keys in [json!({}), json!({ "permissions": "skip" })] {
            let env = Env::new();
            asking_as("goose", &env, "off", call, &["allow_once", "reject_once"]);
            let site = env.root().join("site");
            let mut entry = json!({ "path": site, "interval": "30m" });
            entry.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
            env.configure(&json!({ "workspaces": [entry] }).to_string());
            let rules = format!("[[rules]]\ntool = {tool:?}\naction = \"allow\"\n");
            std::fs::write(env.data().join("config/permissions.toml"), rules).unwrap();
            let line = ran(&env);
            assert_eq!((&line["outcome"], &line["denials"]), (&json!("ok"), &json!([tool])), "{line}");
            assert!(line["unguarded"].is_null(), "{line}");
            let [[denied, decision, reason]] = &decisions(&env)[..] else { panic!("{line}") };
            assert_eq!([denied, decision], [tool, "deny"]);
            assert_eq!(reason, &format!("{tool:?} in the deny list forbids it; continue without it"));
            assert_eq!(chosen(&env), "reject_once");
        }
    }
}

#[test]
fn a_call_that_can_only_be_allowed_for_good_is_denied() {
    for (options, expected) in [
        (&["allow_always", "reject_always"][..], "reject_always"),
        (&["allow_always", "reject_always", "reject_once"], "reject_once"),
        (&["allow_always"], "cancelled"),
    ] {
        let env = Env::new();
        asking(&env, "off", COMMAND, options);
        let line = ran(&env);
        assert_eq!(chosen(&env), expected);
        assert_eq!(line["summary"], "HEARTBEAT_OK, but the backend refused Bash(git push)", "{line}");
        assert_eq!((&line["outcome"], &line["denials"]), (&json!("attention"), &json!(["Bash"])), "{line}");
        let [[_, first, _], [tool, last, reason]] = &decisions(&env)[..] else { panic!("{line}") };
        assert_eq!([first, tool, last], ["allow", "Bash", "deny"]);
        assert_eq!(reason, "the agent cannot be told to allow this call only (it offers no allow_once)");
        let shown = env.run(["show"]);
        assert!(shown.contains("the backend: the agent cannot be told"), "{shown}");
    }
}

#[test]
fn a_denied_call_of_an_agent_without_reject_once_is_rejected_for_good() {
    let env = Env::new();
    asking(&env, "deny", COMMAND, &["allow_once", "reject_always"]);
    let line = ran(&env);
    assert_eq!((&line["outcome"], &line["denials"]), (&json!("ok"), &json!(["Bash"])), "{line}");
    assert_eq!(chosen(&env), "reject_always");
}

#[test]
fn a_call_that_codex_declines_in_its_sandbox_is_denied() {
    let (env, line) = beat("codex", &json!([patch(&["a.txt"]), said("HEARTBEAT_OK")]));
    assert_eq!(line["summary"], "HEARTBEAT_OK, but the backend refused Write(a.txt)", "{line}");
    assert_eq!((&line["outcome"], &line["denials"]), (&json!("attention"), &json!(["Write"])), "{line}");
    let [first, last] = &decisions(&env)[..] else { panic!("{line}") };
    assert_eq!(first[..2], ["Write", "allow"]);
    let why = "Codex's sandbox (read-only) does not allow it; set sandbox_mode in its config.toml";
    assert_eq!(last[..], ["Write", "deny", why]);
    let shown = env.run(["show"]);
    assert!(shown.contains("the backend: Codex's sandbox (read-only)"), "{shown}");
}

/// A turn in which Codex asks for this before it answers.
fn codex_asks(method: &str, params: &Value) -> Value {
    json!([json!([{ "type": "client", "method": method, "params": params }]), said("HEARTBEAT_OK")])
}

fn network() -> Value {
    let context = json!({ "host": "example.com", "protocol": "https" });
    codex_asks(
        "item/commandExecution/requestApproval",
        &json!({ "kind": "command", "itemId": "call_1", "networkApprovalContext": context }),
    )
}

fn form(required: &[&str]) -> Value {
    let schema = json!({ "type": "object", "properties": {}, "required": required });
    let params = json!({ "serverName": "t", "mode": "form", "message": "Sure?", "requestedSchema": schema });
    codex_asks("mcpServer/elicitation/request", &params)
}

#[test]
fn what_codex_asks_a_person_is_denied_without_one() {
    for (script, tool, words, reason) in [
        (
            network(),
            "SandboxAccess",
            "the guard refused SandboxAccess(host: example.com, protocol: https)",
            "the agent's sandbox forbids it; nobody can be asked",
        ),
        (
            form(&[]),
            "mcp__t__elicitation",
            "the guard refused mcp__t__elicitation(Sure?)",
            "the MCP server asks a person; nobody can be asked",
        ),
        (
            form(&["color"]),
            "mcp__t__elicitation",
            "nobody answered the request for mcp__t__elicitation(Sure?)",
            "murmur cannot fill in the form of the MCP server t",
        ),
    ] {
        let (env, line) = beat("codex", &script);
        assert_eq!(line["summary"], format!("HEARTBEAT_OK, but {words}"), "{line}");
        assert_eq!((&line["outcome"], &line["denials"]), (&json!("attention"), &json!([tool])), "{line}");
        let [[found, decision, why]] = &decisions(&env)[..] else { panic!("{line}") };
        assert!(found == tool && decision == "deny" && why.starts_with(reason), "{why}");
        let shown = env.run(["show"]);
        assert!(shown.contains(&format!("  {tool}(")) && shown.contains(reason), "{shown}");
        assert!(shown.contains("decline"), "{shown}");
        assert!(env.run(["log"]).contains("1 call denied"), "{}", env.run(["log"]));
    }
}

#[test]
fn a_person_answers_what_codex_asks() {
    for (script, answer) in
        [(network(), r#"{"decision":"accept"}"#), (form(&[]), r#"{"action":"accept","content":{}}"#)]
    {
        for is_allowed in [true, false] {
            let env = Env::new();
            env.agent("codex");
            default_agent(&env, "codex");
            // No daemon starts it.
            let site = env.workspace("site", "---\npermissionsChecker: manual\n---\nDo it.");
            site.plays(&json!({ "script": script }));
            let daemon = env.daemon();
            let beat = env.beat();
            let request = env.opened();
            assert!(request["doubt"].is_string(), "{request}");
            env.run([if is_allowed { "allow" } else { "deny" }, request["id"].as_str().unwrap()]);
            let line = crate::permit::line(beat);
            daemon.stop();
            assert_eq!(line["outcome"], "ok", "{line}");
            assert_eq!(line["denials"].is_null(), is_allowed, "{line}");
            let shown = env.run(["show"]);
            assert_eq!(shown.contains(answer), is_allowed, "{shown}");
            assert_eq!(shown.contains("denied by you"), !is_allowed, "{shown}");
        }
    }
}

#[test]
fn the_error_of_a_canceled_turn_says_which_call_was_denied_and_why() {
    let env = Env::new();
    let site = site(&env, "acp:codex-acp");
    let asks = "[acp.codex-acp]\nenv = { OPENCODE_PERMISSION = '\"ask\"' }\n";
    env.setting("config.toml", asks);
    env.setting(
        "permissions.toml",
        "[[rules]]\ntool = \"Bash\"\naction = \"deny\"\npatterns = [\"make:*\"]\n",
    );
    site.plays(&json!({ "script": [call("make site"), said("HEARTBEAT_OK")] }));
    assert!(!env.murmur(["beat", "site"]).output().status.success());
    let line = env.journal().pop().unwrap();
    let error = line["error"].as_str().unwrap();
    let begins = "reported an error: the turn was canceled, after murmur denied Bash(make site): rule 1 of ";
    assert!(error.starts_with(begins) && error.contains("denies it (\"make:*\")"), "{error}");
}
