//! The store of the agent's output, and agents whose output can't be stored.

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use super::{ID, Live, is_idle_after};
use crate::env::{Env, Run};
use crate::run::times::Arrivals;

/// With an unusable store.
fn without_home(env: &Env, run: Run) -> Run {
    std::fs::write(env.root().join("no-store"), "").unwrap();
    run.set("DERUN_STATE_ROOT", env.root().join("no-store"))
}

#[test]
fn an_agent_without_a_store_runs_and_reports_lost_output() {
    let env = Env::new();
    env.site(&json!({ "burst": "1500:10" }));
    let agent = Live::of(&env, without_home(&env, env.spawning(ID, &["--json"])));
    let mut live = agent.follow(0);
    assert_eq!(live.next().unwrap()["event_type"], "lost");
    agent.send("one");
    let seen = live.until(|event| is_idle_after(event, 1));
    let next = seen.last().unwrap()["offset"].as_u64().unwrap() + 1;
    let late = agent.follow(0).until(|event| is_idle_after(event, 1));
    super::page::assert_shape_of_example(&late[0]);
    assert_eq!(
        late[0],
        json!({ "event_type": "gap", "agent_id": ID, "offset": 0, "payload": { "from": 0, "to": next - 1000 } })
    );
    assert!(late[1..] == seen[seen.len() - 1000..], "what is in memory is told");
    let status = agent.status();
    assert_eq!((&status["capture"], status["lost"].is_string()), (&Value::Null, true), "{status}");
    assert_eq!(agent.stop()["exit"], json!({ "code": 0 }));
    agent.wait_for_end();
    insta::assert_snapshot!(without_home(&env, env.murmur(["attach", ID, "--from", "0"])).run(), @"
    | error: agent site-1 has ended, and its output was not captured
    [exit 1]
    ");
    insta::assert_snapshot!(std::fs::read_to_string(env.hosts().join("site-1.log")).unwrap(), @"[TIME] output is incomplete: cannot use the state folder [ENV]/no-store: Not a directory (os error 20); choose another with DERUN_STATE_ROOT");
}

#[test]
fn a_failing_store_ends_the_capture_but_not_the_agent() {
    let env = Env::new();
    let agent = env.live(&json!({ "burst": "1500:10" }));
    let capture = agent.status()["capture"].as_str().unwrap().to_owned();
    agent.send("one");
    agent.follow(0).until(|event| is_idle_after(event, 1));
    let store = env.home().join(".local/state/derun/sessions");
    std::fs::remove_dir_all(store.join(capture)).unwrap();
    let mut live = agent.follow(Value::Null);
    agent.send("two");
    live.until(|event| is_idle_after(event, 2));
    // The lost events are one gap; those in memory are sent.
    let told = agent.follow(0).until(|event| is_idle_after(event, 2));
    assert_eq!((&told[0]["event_type"], &told[0]["offset"]), (&json!("gap"), &json!(0)));
    assert_eq!(told[1]["offset"], told[0]["payload"]["to"]);
    super::assert_seamless(&told[1..], told[1]["offset"].as_u64().unwrap());
    assert_eq!(agent.stop()["exit"], json!({ "code": 0 }));
}

#[test]
fn an_agents_capture_is_an_ordinary_session() {
    let env = Env::new();
    env.site(&json!({}));
    let agent = Live::of(&env, env.spawning(ID, &["--json", "one"]));
    agent.follow(0).until(|event| is_idle_after(event, 1));
    let capture = agent.status()["capture"].as_str().unwrap().to_owned();
    assert_eq!(env.record(ID)["capture"], capture);
    agent.stop();
    agent.wait_for_end();
    let shown = env.murmur(["show", &capture, "--raw"]).assert().success();
    let lines = shown.get_output().stdout.split_inclusive(|byte| *byte == b'\n');
    let types: Vec<Value> =
        lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()["type"].clone()).collect();
    assert_eq!(types, ["system", "assistant", "result"]);
    let listed = env.murmur(["sessions", "--json"]).json();
    let session = &listed["sessions"][0];
    assert_eq!((&session["session_id"], &session["state"]), (&json!(capture), &json!("exited")));
    assert_eq!((&session["transport_mode"], &session["exit_code"]), (&json!("pipe"), &json!(0)));
}

#[test]
fn agent_output_has_the_time_it_arrived() {
    let env = Env::new();
    let (pace, mut gate) = env.gate("gate");
    env.site(&json!({ "pace": pace }));
    let agent = Live::of(&env, env.spawning(ID, &["--json", "one"]));
    let capture = agent.status()["capture"].as_str().unwrap().to_owned();
    let mut shows = env.murmur(["show", &capture, "--raw", "--follow"]).start();
    let mut lines = BufReader::new(shows.stdout.take().unwrap());
    let mut arrivals = Arrivals::default();
    for _ in ["system", "assistant", "result"] {
        arrivals.come(|| {
            gate.write_all(b"x").unwrap();
            lines.read_line(&mut String::new()).unwrap() as u64
        });
    }
    agent.stop();
    agent.wait_for_end();
    assert!(shows.wait().unwrap().success());
    arrivals.are_in(&env.home().join(".local/state/derun/sessions").join(capture));
}

#[test]
fn if_the_disk_fills_up_kept_events_are_replayed_unchanged() {
    let env = Env::new();
    let site = env.site(&json!({ "burst": "200:1000" }));
    // No file may be larger than 64 KiB; writing more is an error, as on a full disk.
    let script = "trap '' XFSZ; ulimit -f 128; exec \"$@\"";
    let spawn = ["host", "spawn", "--json", "--agent-id", ID, "--worktree", site.to_str().unwrap(), "one"];
    let shell = ["-c", script, "sh", crate::env::MURMUR].into_iter().chain(spawn);
    let agent = Live::of(&env, env.program("/bin/sh", shell));
    let seen = agent.follow(0).until(|event| is_idle_after(event, 1));
    super::assert_seamless(&seen, 0);
    let lost = seen.iter().position(|event| event["event_type"] == "lost").unwrap();
    assert!((10..200).contains(&lost), "{lost}");
    assert_eq!(agent.status()["lost"], seen[lost]["payload"]["reason"]);
    assert_eq!(agent.stop()["exit"], json!({ "code": 0 }));
    agent.wait_for_end();
    let output = env.murmur(["attach", ID, "--from", "0", "--json"]).output();
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @"error: the rest of site-1's output was not captured: File too large (os error 27)");
    let told: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(told.len() > 10 && told == seen[..told.len().min(lost)], "{:#?}", told.last());
}
