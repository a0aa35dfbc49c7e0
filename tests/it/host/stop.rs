//! The end of an agent: requested, forced, or by itself. Everybody who waits for it learns how it ended.

use serde_json::{Value, json};

use super::{ID, Live, briefs, is_idle_after, is_state};
use crate::env::{Env, is_agent};

/// Stops the agent with `payload`; returns its last two events and how it ended.
fn stopped(agent: &Live<'_>, payload: Value) -> (Vec<String>, Value) {
    let mut events = agent.follow(Value::Null);
    let state = agent.peer().result("stop", payload);
    assert_eq!(state["state"], "exited");
    let rest = events.rest();
    let last = rest.last().unwrap().clone();
    assert_eq!(last["payload"], state, "the answer is the last event's state");
    agent.wait_for_end();
    assert_eq!(agent.env.record(ID)["result"]["exit"], state["exit"]);
    assert!(!agent.env.hosts().join("site-1.sock").exists());
    (briefs(&rest), state["exit"].clone())
}

/// An agent in its first turn.
fn running<'a>(env: &'a Env, faults: &Value) -> (Live<'a>, std::fs::File) {
    let (pace, mut gate) = env.gate("gate");
    let agent = env.live(&json!({ "pace": pace, "faults": faults }));
    let mut events = agent.follow(0);
    agent.send("one");
    std::io::Write::write_all(&mut gate, b".").unwrap();
    events.until(|event| event["event_type"] == "session");
    (agent, gate)
}

#[test]
fn an_idle_agent_ends_when_its_stdin_is_closed() {
    let env = Env::new();
    let agent = env.live(&json!({}));
    let (events, exit) = stopped(&agent, Value::Null);
    assert_eq!(events, ["stopping force false grace 5000", "exited {\"code\":0}"]);
    assert_eq!(exit, json!({ "code": 0 }));
}

#[test]
fn a_working_agent_gets_sigterm() {
    let env = Env::new();
    let (agent, _gate) = running(&env, &json!([]));
    let (events, exit) = stopped(&agent, json!({ "grace": "1h" }));
    assert_eq!(events, ["stopping force false grace 3600000", "exited {\"code\":143}"]);
    assert_eq!(exit, json!({ "code": 143 }));
}

#[test]
fn an_agent_that_ignores_sigterm_is_killed_after_its_grace_period() {
    let env = Env::new();
    let (agent, _gate) = running(&env, &json!(["ignore-term"]));
    let (events, exit) = stopped(&agent, json!({ "grace": "50ms" }));
    assert_eq!(events, ["stopping force false grace 50", "exited {\"signal\":9}"]);
    assert_eq!(exit, json!({ "signal": 9 }));
}

#[test]
fn an_idle_agent_that_does_not_exit_is_killed_after_its_grace_period() {
    let env = Env::new();
    let agent = env.live(&json!({ "faults": ["hang", "ignore-term"] }));
    agent.send("one");
    agent.follow(0).until(|event| is_idle_after(event, 1));
    assert_eq!(stopped(&agent, json!({ "grace": "0s" })).1, json!({ "signal": 9 }));
}

#[test]
fn force_kills_at_once_even_while_stopping() {
    let env = Env::new();
    let (agent, _gate) = running(&env, &json!(["ignore-term"]));
    let mut patient = agent.follow(Value::Null);
    patient.say("{\"msg_type\":\"stop\",\"id\":\"s\",\"payload\":{\"grace\":\"1h\"}}\n");
    patient.until(|event| is_state(event, "stopping"));
    let (events, exit) = stopped(&agent, json!({ "force": true }));
    assert_eq!(events, ["stopping force true grace 0", "exited {\"signal\":9}"]);
    assert_eq!(exit, json!({ "signal": 9 }));
    assert_eq!(patient.answer()["payload"]["exit"], exit, "who waited hears of it as well");
}

#[test]
fn processes_in_other_sessions_are_gone_when_stop_responds() {
    for fault in ["setsid-child", "setsid-child-clean-env"] {
        let env = Env::new();
        let agent = env.live(&json!({ "faults": [fault, "hold-output"] }));
        let log = env.wait_for_agents(1).remove(0);
        let children = log["children"].as_array().unwrap();
        assert_eq!(children.len(), 2);
        assert!(env.agents_alive().len() == 3, "{log}");
        assert_eq!(agent.stop()["exit"], json!({ "code": 0 }));
        for pid in children {
            assert!(!is_agent(pid.as_i64().unwrap()), "{fault}");
        }
    }
}

#[test]
fn a_killed_agent_is_reported_with_its_signal() {
    for (fault, exit) in [("die:SEGV", json!({ "signal": 11 })), ("exit:42", json!({ "code": 42 }))] {
        let env = Env::new();
        let agent = env.live(&json!({ "faults": [fault] }));
        let mut events = agent.follow(0);
        agent.send("one");
        let told = briefs(&events.rest());
        assert_eq!(told[told.len() - 2..], ["idle 1".to_owned(), format!("exited {exit}")]);
        agent.wait_for_end();
        assert_eq!(env.record(ID)["result"]["exit"], exit);
        assert!(
            env.told_again(ID).trim_end().ends_with(&format!("{{\"state\":\"exited\",\"exit\":{exit}}}}}"))
        );
    }
}

#[test]
fn an_agent_that_closes_its_output_is_still_running() {
    let env = Env::new();
    let agent = env.live(&json!({ "faults": ["close-stdout"] }));
    agent.send("one");
    agent.follow(0).until(|event| is_idle_after(event, 1));
    agent.assert_answers();
    assert_eq!(agent.send("two")["state"], "running");
    assert_eq!(stopped(&agent, json!({ "grace": "1h" })).1, json!({ "code": 143 }));
}

#[test]
fn a_running_hosted_agent_is_meant_before_beats_and_agents_that_ended() {
    let env = Env::new();
    let first = env.live(&json!({}));
    env.spawning("site-2", &[]).assert().success();
    env.murmur(["agent", "stop", "site-2"]).assert().success();
    let (pace, _gate) = env.gate("gate");
    let workspace = env.workspace("shop", "Look at the build.\n");
    workspace.plays(&json!({ "live": "echo", "pace": pace }));
    let mut beat = env.murmur(["beat", workspace.path()]).start();
    let ids = env.wait_for_agents(3).into_iter();
    let mut ids = ids.map(|agent| agent["env"]["MURMUR_AGENT_ID"].as_str().unwrap().to_owned());
    let of_beat = ids.find(|id| !id.starts_with("site-")).unwrap();
    let folder = env.root().join("site");
    for name in ["last", "site", "s", folder.to_str().unwrap()] {
        let sent: Value =
            serde_json::from_str(&env.murmur(["agent", "send", name, "hello", "--json"]).quiet()).unwrap();
        assert_eq!(sent["agent_id"], ID, "{name}");
    }
    assert_eq!(
        env.run(["agent", "stop", "site-2"]).lines().next().unwrap(),
        "| error: agent site-2 has ended"
    );
    assert_eq!(env.run(["agent", "stop", "last", "--force"]), "agent site-1 has ended\n[exit 0]");
    first.wait_for_end();
    let stopped = env.run(["agent", "stop", &of_beat, "--force"]);
    assert_eq!(stopped.replace(&of_beat, "BEAT"), "agent BEAT has ended\n[exit 0]");
    beat.wait().unwrap();
    let nobody = env.murmur(["agent", "attach", "."]).at(env.root()).run();
    assert!(nobody.starts_with("| error: no hosted agent \".\"\n"), "{nobody}");
}
