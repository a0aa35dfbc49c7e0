//! Requests on the socket: the responses of docs/reference/daemon-protocol.md, and misbehaving clients.

use std::collections::VecDeque;
use std::io::Write;

use serde_json::{Value, json};

use super::waits_at;
use crate::env::{Env, Workspace};

/// Registers workspaces that are not due.
pub(super) fn register_idle(env: &Env, most: usize, workspaces: &[&Workspace]) {
    let now = sys::clock::rfc3339(sys::clock::now());
    let entries: Vec<Value> = workspaces
        .iter()
        .map(|workspace| json!({ "path": workspace.0, "interval": "1h", "lastRun": now }))
        .collect();
    env.configure(&json!({ "maxConcurrent": most, "workspaces": entries }).to_string());
}

/// The keys of a value and its contents; for a list, those of its first item.
fn keys(value: &Value, at: &str, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                into.push(format!("{at}.{name}"));
                keys(value, &format!("{at}.{name}"), into);
            }
        }
        Value::Array(items) => {
            items.first().into_iter().for_each(|item| keys(item, &format!("{at}[]"), into))
        }
        _ => {}
    }
}

/// The keys of a value and all its contents, sorted.
pub(super) fn shape(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    keys(value, "", &mut found);
    found.sort();
    found
}

/// The lines of the page's examples.
fn examples() -> Vec<Value> {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/daemon-protocol.md"))
            .unwrap();
    let blocks = page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    let lines: Vec<String> =
        blocks.flat_map(|block| block.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_documented_example_matches_the_daemon() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "live": "echo" }));
    register_idle(&env, 2, &[&site]);
    let daemon = env.daemon();
    let mut followed = env.connect();
    let (mut asked, mut seen) = (Vec::new(), VecDeque::new());
    for example in examples() {
        let text = example.to_string().replace("/home/you", env.root().to_str().unwrap());
        let example: Value = serde_json::from_str(&text).unwrap();
        if let Some(event_type) = example["event_type"].as_str() {
            let event = seen.pop_front().unwrap_or_else(|| followed.event(event_type));
            assert_eq!(event["event_type"], event_type);
            assert_eq!((shape(&event), &event["offset"]), (shape(&example), &example["offset"]));
        } else if example.get("success").is_none() {
            let msg_type = example["msg_type"].as_str().unwrap();
            // Further events come after these.
            match msg_type {
                "host.spawn" => {
                    seen.extend(["beat_started", "beat_ended"].map(|event| followed.event(event)))
                }
                "stop" => seen.extend(["host_started", "host_ended"].map(|event| followed.event(event))),
                _ => {}
            }
            let mut client = env.connect();
            client.say(format!("{text}\n"));
            asked.push(client.receive().unwrap());
            if msg_type == "attach" {
                followed.ask("attach", &json!({ "from": 0 }));
            }
        } else {
            let answer = asked.pop().unwrap();
            assert_eq!(shape(&answer), shape(&example), "{answer}");
            for part in ["msg_type", "id", "success", "error", "hint"] {
                assert_eq!(answer[part], example[part]);
            }
        }
    }
    assert_eq!(asked, [Value::Null; 0]);
    assert_eq!(followed.receive(), None);
    assert!(daemon.ended().0.success());
}

#[test]
fn a_requested_beat_counts_as_a_run() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.named("nightly", "Count.");
    env.create_data();
    let daemon = env.daemon();
    // Registered a moment ago, and requested by another path.
    let now = sys::clock::rfc3339(sys::clock::now());
    let entry = json!({ "path": site.0, "interval": "1d", "lastRun": now, "lastRuns": { "nightly": now } });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    let link = env.root().join("link");
    std::os::unix::fs::symlink(&site.0, &link).unwrap();
    let begins = env.ask("beat", &json!({ "workspace": link, "name": "nightly" }));
    let line = env.wait_for_journal(1).remove(0);
    assert_eq!((&line["beat"], &line["agent"]), (&begins["beat"], &begins["agent"]));
    assert_eq!((&line["heartbeat"], &line["outcome"]), (&json!("nightly"), &json!("ok")));
    daemon.stop();
    let config: Value = serde_json::from_str(&env.config()).unwrap();
    let at = |time: &Value| time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let entry = &config["workspaces"][0];
    assert!(at(&entry["lastRuns"]["nightly"]) > at(&json!(now)), "{config}");
    assert_eq!(entry["lastRun"], now);
    assert_eq!((env.journal().len(), env.agents().len()), (1, 1));
}

#[test]
fn a_refused_beat_comes_with_a_hint() {
    let env = Env::new();
    let [site, shop, blog] = ["site", "shop", "blog"].map(|name| env.workspace(name, "Do it."));
    let (pace, mut gate) = env.gate("gate");
    for workspace in [&site, &shop] {
        workspace.plays(&waits_at(&pace));
    }
    register_idle(&env, 2, &[&site, &shop, &blog]);
    let daemon = env.daemon();
    let mut client = env.connect();
    let mut refusal = |workspace: &str| {
        let refusal = client.refusal("beat", &json!({ "workspace": workspace, "name": null }));
        refusal.replace(env.root().to_str().unwrap(), "[ENV]")
    };
    assert_eq!(refusal("site"), "site is not an absolute path; use the workspace's absolute path");
    assert_eq!(refusal("/nowhere"), "/nowhere is not registered; run: murmur add /nowhere");
    env.ask("beat", &json!({ "workspace": site.0 }));
    let busy = "a beat of [ENV]/site is already running; wait until it ends; see: murmur status";
    assert_eq!(refusal(site.path()), busy);
    // A manual one counts, too.
    let by_hand = env.murmur(["beat", "shop"]).start();
    env.wait_for_agents(2);
    assert_eq!(refusal(shop.path()), busy.replace("site", "shop"));
    let full = "2 beats are running, which is the maximum; wait until one ends, or raise maxConcurrent in config.json";
    assert_eq!(refusal(blog.path()), full);
    let unnamed = env.connect().refusal("beat", &json!({ "workspace": blog.0, "name": "nightly" }));
    assert!(unnamed.ends_with("/blog; use one of these names: null"), "{unnamed}");
    let wrong = env.connect().refusal("beat", &json!({ "name": 1 }));
    assert!(wrong.contains("docs/reference/daemon-protocol.md"), "{wrong}");
    gate.write_all(b"..").unwrap();
    crate::env::ended(by_hand).success();
    env.wait_for_journal(2);
    daemon.stop();
    assert_eq!((env.journal().len(), env.agents().len()), (2, 2));
}

#[test]
fn a_stopping_daemon_refuses_to_start_beats() {
    let env = Env::new();
    let [site, blog] = ["site", "blog"].map(|name| env.workspace(name, "Do it."));
    let (pace, mut gate) = env.gate("gate");
    // It is told to end, and takes its time.
    site.plays(
        &json!({ "stdout": crate::env::result("HEARTBEAT_OK"), "pace": pace, "faults": ["ignore-term"] }),
    );
    register_idle(&env, 2, &[&site, &blog]);
    let daemon = env.daemon();
    env.ask("beat", &json!({ "workspace": site.0 }));
    env.wait_for_agents(1);
    let mut client = env.connect();
    assert_eq!(client.ask("stop", &json!({ "beats": "end" }))["beats"], "end");
    let stopping = client.refusal("beat", &json!({ "workspace": blog.0 }));
    assert_eq!(stopping, "the daemon is stopping; wait for the next daemon; see: murmur status");
    let leave = client.refusal("stop", &json!({ "beats": "leave" }));
    assert_eq!(leave, "the daemon is already stopping, and its beats were told to end");
    assert_eq!(client.ask("status", &Value::Null)["daemon"]["pid"], daemon.pid());
    gate.write_all(b".").unwrap();
    assert!(daemon.ended().0.success());
    assert_eq!((env.journal().len(), env.agents().len()), (1, 1));
}

#[test]
fn misbehaving_clients_get_errors_and_do_not_block_others() {
    let env = Env::new();
    env.create_data();
    let daemon = env.daemon();
    let silent: Vec<_> = (0..100).map(|_| env.connect()).collect();
    let mut half = env.connect();
    half.say("{\"msg_type\":\"status\",\"id\":");
    drop(half);
    let mut waiting = env.connect();
    waiting.say("{\"msg_type\":\"ping\"");
    let mut long = env.connect();
    long.say(vec![b'x'; (1 << 20) + (64 << 10)]);
    assert_eq!(long.receive().unwrap()["error"], "a line has more than 1048576 bytes");
    assert_eq!(long.receive(), None);
    let mut client = env.connect();
    for (line, error) in [
        ("not JSON", "invalid request"),
        ("{}", "invalid request: missing field `msg_type`"),
        ("[1,2]", "invalid request"),
        ("\u{0}", "invalid request"),
        ("", "invalid request"),
        (r#"{"msg_type":"PING","id":"1"}"#, "unknown msg_type \"PING\" use one of: ping, status"),
        (r#"{"msg_type":"attach","id":"1","payload":{"from":-1}}"#, "invalid value"),
        (
            r#"{"msg_type":"attach","id":"1","payload":{"from":1}}"#,
            "event 1 does not exist yet; the next one is 0",
        ),
        (r#"{"msg_type":"stop","id":"1"}"#, "docs/reference/daemon-protocol.md"),
        (r#"{"msg_type":"stop","id":"1","payload":{"beats":"kill"}}"#, "unknown variant `kill`"),
    ] {
        client.say(format!("{line}\n"));
        let answer = client.receive().unwrap();
        let said =
            [&answer["error"], &answer["hint"]].map(|part| part.as_str().unwrap_or_default()).join(" ");
        assert!(said.contains(error), "{line}: {answer}");
    }
    // Several at once are answered in order, and an incomplete one once it is complete.
    client.say("{\"msg_type\":\"ping\",\"id\":\"1\"}\n{\"msg_type\":\"status\",\"id\":\"2\"}\n");
    assert_eq!(
        [client.receive().unwrap()["id"].clone(), client.receive().unwrap()["id"].clone()],
        ["1", "2"]
    );
    waiting.say(",\"id\":\"late\"}\n");
    assert_eq!(waiting.receive().unwrap()["id"], "late");
    assert!(env.run(["status"]).starts_with("murmur 0.1.0 is running"));
    daemon.stop();
    for mut client in silent {
        assert_eq!(client.receive(), None);
    }
}
