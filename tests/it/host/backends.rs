//! Hosted agents other than Claude Code, which fake-claude imitates.

use std::io::Write;

use serde_json::{Value, json};

use super::{ID, Live, brief, briefs, is_idle_after, is_state};
use crate::env::Env;

const AGENTS: [(&str, &str); 2] = [("codex", "codex"), ("opencode", "acp:opencode")];

#[test]
fn hosts_name_the_backend_of_their_agent() {
    for (program, backend) in AGENTS {
        let env = Env::new();
        env.agent(program);
        env.site(&json!({}));
        let agent = Live::of(&env, env.spawning(ID, &["--backend", backend, "--project", "site", "--json"]));
        agent.follow(0).until(|event| is_idle_after(event, 0));
        let listed = env.run(["host", "list"]);
        assert!(listed.contains(&format!("\n{ID} ({backend})  site ")), "{listed}");
        assert_eq!(env.murmur(["host", "list", "--json"]).json()["agents"][0]["backend"], backend);
        let status = env.run(["host", "status", ID]);
        assert!(status.contains(&format!("\nBackend: {backend}\n")), "{status}");
        agent.stop();
        agent.wait_for_end();
    }
}

#[test]
fn a_hosted_agent_is_told_that_it_cannot_defer() {
    for (program, backend) in AGENTS.into_iter().chain([("claude", "claude")]) {
        let env = Env::new();
        if program != "claude" {
            env.agent(program);
        }
        let folder = env.data().join("config");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), "approval = \"defer\"\n").unwrap();
        env.site(&json!({}));
        let agent = Live::of(&env, env.spawning(ID, &["--agent", backend, "--json"]));
        agent.follow(0).until(|event| is_idle_after(event, 0));
        let policy = env.wait_for_agents(1)[0]["env"]["MURMUR_PERMISSIONS"].clone();
        let policy: Value = serde_json::from_str(policy.as_str().unwrap()).unwrap();
        // Denied after the time after which a beat's call is deferred.
        assert_eq!((&policy["approval"], &policy["approvalWait"]), (&json!("wait"), &json!(120)), "{policy}");
        agent.stop();
        agent.wait_for_end();
    }
}

/// A hosted agent of `backend`, whose `program` follows these instructions.
fn hosted<'a>(
    env: &'a Env,
    (program, backend): (&str, &str),
    instructions: &Value,
    more: &[&str],
) -> Live<'a> {
    if program != "claude" && !env.home().join("bin").join(program).exists() {
        env.agent(program);
    }
    env.site(instructions);
    Live::of(env, env.spawning(ID, &[&["--backend", backend, "--json"][..], more].concat()))
}

/// A host with an agent that calls `git push` and then says "Done".
fn pushing<'a>(env: &'a Env, agent: (&str, &str)) -> Live<'a> {
    let call =
        json!([{ "type": "tool_use", "id": "call_1", "name": "Bash", "input": { "command": "git push" } }]);
    let script = json!([call, [{ "type": "text", "text": "Done" }]]);
    hosted(env, agent, &json!({ "live": null, "script": script }), &["Push"])
}

#[test]
fn a_conversation_has_turns_and_is_resumed_later() {
    for agent in AGENTS {
        let env = Env::new();
        let live = hosted(&env, agent, &json!({}), &["one"]);
        let mut peer = live.follow(0);
        peer.until(|event| is_idle_after(event, 1));
        live.send("two");
        let events = peer.until(|event| is_idle_after(event, 2));
        let said: Vec<String> = briefs(&events).into_iter().filter(|line| line.contains(": ")).collect();
        assert_eq!(said[..2], ["user: two", "assistant: turn 2: two"]);
        let shown = env.run(["agent", "show", ID]);
        let did =
            ["starting: ", "running: one\n", "idle: turn 1: one\n", "running: two\n", "idle: turn 2: two\n"];
        let at: Vec<Option<usize>> = did.iter().map(|line| shown.find(line)).collect();
        assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{agent:?}: {shown}");
        let session = live.status()["sessionId"].as_str().unwrap().to_owned();
        assert_eq!(live.stop()["state"], "exited");
        live.wait_for_end();
        let live = hosted(&env, agent, &json!({}), &["--resume", &session, "three"]);
        let events = live.follow(0).until(|event| is_idle_after(event, 1));
        let said = briefs(&events);
        assert!(said.contains(&"assistant: turn 3: three".to_owned()), "{agent:?}: {said:?}");
        assert_eq!(live.status()["sessionId"], session);
        live.stop();
        live.wait_for_end();
    }
}

/// The tool and the last action of the agent, as `agent list` has them.
fn shown(env: &Env) -> [String; 2] {
    let listed = env.murmur(["agent", "list", "--json"]).json();
    let agent = &listed["agents"][0];
    ["tool_name", "last_action"].map(|key| agent[key].as_str().unwrap_or_default().to_owned())
}

#[test]
fn a_person_allows_or_denies_the_call_of_a_hosted_agent() {
    for agent in AGENTS {
        for (answer, is_error) in [("allow", false), ("deny", true)] {
            let env = Env::new();
            let daemon = env.daemon();
            let live = pushing(&env, agent);
            let mut peer = live.follow(0);
            let request = env.opened();
            assert_eq!((&request["agent"], &request["tool"]), (&json!(ID), &json!("Bash")));
            assert_eq!(shown(&env), ["Bash", "git push"], "{agent:?}");
            env.run([answer, request["id"].as_str().unwrap()]);
            let events = peer.until(|event| is_idle_after(event, 1));
            // Codex reports a blocked call only as such.
            let is_result =
                |event: &&Value| ["tool_result", "blocked"].contains(&event["event_type"].as_str().unwrap());
            let results: Vec<bool> = events
                .iter()
                .filter(is_result)
                .map(|event| event["event_type"] == "blocked" || event["payload"]["isError"] == true)
                .collect();
            assert_eq!(results, [is_error], "{agent:?}: {:?}", briefs(&events));
            assert_eq!(brief(events.last().unwrap()), "idle 1");
            live.stop();
            live.wait_for_end();
            daemon.stop();
        }
    }
}

#[test]
fn an_interrupt_ends_a_turn_and_not_the_agent() {
    for agent in AGENTS {
        let env = Env::new();
        let call = json!([{ "type": "tool_use", "id": "call_1", "name": "Bash", "input": { "command": "ls" },
            "ends_after_ms": null }]);
        let script = json!([call, [{ "type": "text", "text": "Done" }]]);
        let folder = env.data().join("config");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), "permissions-checker = \"off\"\n").unwrap();
        let live = hosted(&env, agent, &json!({ "live": null, "script": script }), &["Look"]);
        let mut peer = live.follow(0);
        peer.until(|event| event["event_type"] == "tool_use");
        assert_eq!(env.murmur(["agent", "interrupt", ID]).quiet(), "interrupted site-1\n");
        let events = peer.until(|event| is_idle_after(event, 1));
        let result = events.iter().find(|event| event["event_type"] == "result").unwrap();
        assert_eq!(result["payload"]["isError"], true, "{result}");
        assert_eq!(shown(&env), ["Bash", "ls"], "{agent:?}");
        let listed = env.run(["agent", "list"]);
        let why = if agent.0 == "codex" { "the turn was interrupted" } else { "the turn was canceled" };
        assert!(listed.contains(&format!("Bash  failed: {why}")), "{listed}");
        live.send("Go on");
        let events = peer.until(|event| is_idle_after(event, 2));
        assert!(events.iter().any(|event| brief(event) == "assistant: Done"), "{:?}", briefs(&events));
        assert!(!events.iter().any(|event| is_state(event, "exited")));
        live.stop();
        live.wait_for_end();
    }
}

#[test]
fn an_interrupt_before_the_conversation_exists_drops_the_message() {
    for agent in AGENTS {
        let env = Env::new();
        let program = env.agent(agent.0);
        let real = program.with_file_name("real").join(agent.0);
        std::fs::create_dir(real.parent().unwrap()).unwrap();
        std::fs::rename(&program, &real).unwrap();
        let (gate, mut open) = env.gate("gate");
        let gate = gate.trim_start_matches("gate:");
        let hold = format!("case \"$*\" in *app-server*|*acp*) read -r _ <'{gate}';; esac");
        std::fs::write(&program, format!("#!/bin/sh\n{hold}\nexec '{}' \"$@\"\n", real.display())).unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let live = hosted(&env, agent, &json!({}), &["one"]);
        let mut peer = live.follow(0);
        assert_eq!(env.murmur(["agent", "interrupt", ID]).quiet(), "interrupted site-1\n");
        let events = peer.until(|event| is_idle_after(event, 1));
        let result = events.iter().find(|event| event["event_type"] == "result").unwrap();
        assert_eq!(result["payload"]["errors"], json!(["the turn was interrupted"]), "{result}");
        let again = env.murmur(["agent", "interrupt", ID]).output();
        assert!(!again.status.success(), "{again:?}");
        open.write_all(b"\n").unwrap();
        // The conversation begins without a turn of its own.
        let events = peer.until(|event| event["event_type"] == "session");
        assert!(!events.iter().any(|event| is_state(event, "running")), "{:?}", briefs(&events));
        live.send("two");
        let events = peer.until(|event| is_idle_after(event, 2));
        let said = briefs(&events);
        assert!(said.contains(&"assistant: turn 1: two".to_owned()), "{said:?}");
        let shown = env.run(["agent", "show", ID]);
        assert!(shown.contains("the turn was interrupted"), "{shown}");
        live.stop();
        live.wait_for_end();
    }
}

#[test]
fn a_call_that_waits_when_its_turn_is_interrupted_is_the_last_one_and_waits_no_more() {
    for agent in AGENTS.into_iter().chain([("claude", "claude")]) {
        let env = Env::new();
        let daemon = env.daemon();
        let live = pushing(&env, agent);
        let mut peer = live.follow(0);
        let request = env.opened();
        assert_eq!(env.murmur(["agent", "interrupt", ID]).quiet(), "interrupted site-1\n");
        peer.until(|event| is_idle_after(event, 1));
        assert_eq!(shown(&env), ["Bash", "git push"], "{agent:?}");
        assert_eq!(env.closed()["id"], request["id"], "{agent:?}");
        live.stop();
        live.wait_for_end();
        daemon.stop();
    }
}

#[test]
fn people_are_told_why_the_call_of_an_acp_agent_is_denied() {
    let env = Env::new();
    let call =
        json!([{ "type": "tool_use", "id": "call_1", "name": "Bash", "input": { "command": "sudo ls" } }]);
    let script = json!([call, [{ "type": "text", "text": "Done" }]]);
    let agent = hosted(&env, AGENTS[1], &json!({ "live": null, "script": script }), &["Look"]);
    let events = agent.follow(0).until(|event| is_idle_after(event, 1));
    let told: Vec<&Value> = events.iter().filter(|event| event["event_type"] == "problem").collect();
    let [told] = &told[..] else { panic!("{events:?}") };
    let text = told["payload"]["text"].as_str().unwrap();
    assert!(text.starts_with("denied Bash(sudo ls): `sudo ls` is refused: it raises privileges"), "{text}");
}

#[test]
fn a_turn_that_ends_with_a_denial_says_which_call_was_denied_and_why() {
    let env = Env::new();
    let rules = env.data().join("config/permissions.toml");
    std::fs::create_dir_all(rules.parent().unwrap()).unwrap();
    let rule = "[[rules]]\ntool = \"Bash\"\naction = \"deny\"\npatterns = [\"make:*\"]\n";
    std::fs::write(&rules, rule).unwrap();
    let asks = "[acp.codex-acp]\nenv = { OPENCODE_PERMISSION = '\"ask\"' }\n";
    std::fs::write(rules.with_file_name("config.toml"), asks).unwrap();
    let call =
        json!([{ "type": "tool_use", "id": "call_1", "name": "Bash", "input": { "command": "make site" } }]);
    let script = json!([call, [{ "type": "text", "text": "Done" }]]);
    let instructions = json!({ "live": null, "script": script });
    let agent = hosted(&env, ("codex-acp", "acp:codex-acp"), &instructions, &["Look"]);
    agent.follow(0).until(|event| is_idle_after(event, 1));
    let said = "the turn was canceled, after murmur denied Bash(make site): rule 1 of ";
    for args in [&["agent", "list"][..], &["agent", "show", ID]] {
        let shown = env.run(args);
        assert!(shown.contains(said), "{args:?}: {shown}");
        assert!(shown.contains("denies it (\"make:*\")"), "{args:?}: {shown}");
    }
    agent.stop();
    agent.wait_for_end();
}
