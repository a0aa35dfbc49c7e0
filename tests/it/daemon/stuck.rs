//! Agents that went silent: journaled once per silence, by any daemon, and not as beats.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::rpc::shape;
use crate::env::{Daemon, Env};

const RUNNING: &str = "running";

/// Writes the pulse of `agent` in `workspace`: last heard from so many seconds ago, with the process `pid`.
pub(crate) fn pulse(env: &Env, agent: &str, workspace: &Path, seconds: i64, pid: u32, state: &str) {
    let at = sys::clock::now() - SignedDuration::from_secs(seconds);
    let pulse = json!({
        "timestamp": at.to_string(), "agent_id": agent, "tool_name": "Bash",
        "last_action": "curl -H 'Authorization: Bearer sk-ant-api03-0123456789abcdefghijklmnop' x.test",
        "current_task": "Mend the build", "git_branch": "main", "workspace": workspace, "pid": pid,
        "session_id": "00000000-0000-4000-8000-000000000001", "state": state,
    });
    let folder = env.create_data().join("heartbeats");
    std::fs::create_dir_all(&folder).unwrap();
    let new = folder.join(".new");
    std::fs::write(&new, pulse.to_string()).unwrap();
    std::fs::rename(new, folder.join(format!("{agent}.json"))).unwrap();
}

const MINUTE: i64 = 60;
/// Stuck for 7 s.
const STUCK: i64 = 31 * MINUTE + 7;

/// Sets how many seconds an agent may be quiet.
fn quiet(env: &Env, seconds: [u32; 3]) {
    let folder = env.create_data().join("config");
    std::fs::create_dir_all(&folder).unwrap();
    let [stale, warning, stuck] = seconds;
    let text = format!("[quiet]\nstale = \"{stale}s\"\nwarning = \"{warning}s\"\nstuck = \"{stuck}s\"\n");
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

/// A process that exists until the test ends it.
fn process(env: &Env) -> Child {
    env.program("sleep", ["infinity"]).start()
}

fn end(mut process: Child) {
    process.kill().unwrap();
    process.wait().unwrap();
}

/// The journaled agents, in order.
fn who(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["agent"].as_str().unwrap()).collect()
}

#[test]
fn a_stuck_agent_is_journaled_once_across_daemons() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.").0;
    let dead = process(&env);
    let dead_pid = dead.id();
    end(dead);
    for (agent, seconds, pid, state) in [
        ("a-active", 0, 0, RUNNING),
        ("b-quiet", 29 * MINUTE, 0, RUNNING),
        ("c-idle", STUCK, 0, "idle"),
        ("d-begun", STUCK, 0, "starting"),
        ("e-exited", STUCK, 0, "exited"),
        ("f-dead", STUCK, dead_pid, RUNNING),
        ("site-1", STUCK, 0, RUNNING),
    ] {
        pulse(&env, agent, &site, seconds, pid, state);
    }
    let daemon = env.daemon();
    env.wait_for_journal(1);
    daemon.stop();
    assert_snapshot!(env.journal_text(), @r#"{"ts":"[TIME]","workspace":"[ENV]/site","outcome":"attention","durationMs":[MS],"summary":"agent site-1 has done nothing for 31m; last: Bash: curl -H 'Authorization: Bearer [removed]' x.test; task: Mend the build","kind":"stuck","agent":"site-1","sessionId":"00000000-0000-4000-8000-000000000001"}"#);
    let line = env.journal().remove(0);
    let quiet = Duration::from_millis(line["durationMs"].as_u64().unwrap()).as_secs();
    assert!((31 * 60 + 7..32 * 60).contains(&quiet), "{line}");
    // The next daemon knows; it reports another agent, so it has scanned.
    pulse(&env, "site-2", &site, STUCK, 0, RUNNING);
    let daemon = env.daemon();
    env.wait_for_journal(2);
    daemon.stop();
    assert_eq!(who(&env.journal()), ["site-1", "site-2"]);
    // Once more for an agent that continued and is silent again.
    pulse(&env, "site-1", &site, STUCK - MINUTE, 0, RUNNING);
    let daemon = env.daemon();
    env.wait_for_journal(3);
    daemon.stop();
    assert_eq!(who(&env.journal()), ["site-1", "site-2", "site-1"]);
}

#[test]
fn a_daemon_scans_when_a_live_agent_has_been_quiet_too_long_and_again_after_activity() {
    let env = Env::new();
    quiet(&env, [1, 2, 3]);
    let agent = process(&env);
    pulse(&env, "site-1", env.root(), 0, agent.id(), RUNNING);
    let daemon = env.daemon();
    let first = env.wait_for_journal(1).remove(0);
    pulse(&env, "site-1", env.root(), 0, agent.id(), RUNNING);
    let second = env.wait_for_journal(2).remove(1);
    for line in [&first, &second] {
        assert_eq!((&line["kind"], &line["agent"]), (&json!("stuck"), &json!("site-1")));
        assert!((3000..60_000).contains(&line["durationMs"].as_u64().unwrap()), "{line}");
    }
    let at = |line: &Value| line["ts"].as_str().unwrap().parse::<Timestamp>().unwrap();
    assert!(at(&second) >= at(&first) + SignedDuration::from_secs(3), "{first} {second}");
    daemon.stop();
    end(agent);
    assert_eq!(env.journal().len(), 2);
}

#[test]
fn an_invalid_config_toml_is_reported_once_and_the_defaults_apply() {
    let env = Env::new();
    quiet(&env, [3, 2, 1]);
    pulse(&env, "site-1", env.root(), 20 * MINUTE, 0, RUNNING);
    pulse(&env, "site-2", env.root(), STUCK, 0, RUNNING);
    let daemon = env.daemon();
    assert_snapshot!(daemon.says("do not increase"), @r#"[TIME] the default times apply: [ENV]/data/config/config.toml:4:9: "stuck": the times in "quiet" do not increase; make "stale" shorter than "warning", and "warning" shorter than "stuck""#);
    assert_eq!(who(&env.wait_for_journal(1)), ["site-2"]);
    daemon.signal(rustix::process::Signal::TERM);
    let (ended, said) = daemon.ended();
    assert!(ended.success());
    assert!(!said.iter().any(|line| line.contains("do not increase")), "twice: {said:#?}");
}

#[test]
fn the_line_of_a_stuck_agent_is_not_a_beat() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.run(["beat", "site"]);
    let hours_ago = sys::clock::now() - SignedDuration::from_hours(2);
    let entry = json!({ "path": site.0, "interval": "1d", "lastRun": hours_ago.to_string() });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    // Anything that started after its last change and isn't in it was missed.
    let config = File::options().write(true).open(env.data().join("config.json")).unwrap();
    config.set_modified((hours_ago + SignedDuration::from_mins(1)).into()).unwrap();
    let before = env.config();
    let beat = env.journal_text();
    // The beat's line is as old as the configuration.
    let at = env.journal()[0]["ts"].as_str().unwrap().to_owned();
    let old = beat.replace(&at, &hours_ago.to_string());
    std::fs::write(env.data().join("heartbeats.jsonl"), &old).unwrap();
    let mut follow = env.murmur(["log", "--follow", "-n", "1"]).start();
    let mut followed = BufReader::new(follow.stdout.take().unwrap()).lines();
    assert_snapshot!(followed.next().unwrap().unwrap(), @"[WHEN]  ok [S]  [ENV]/site");
    pulse(&env, "site-1", &site.0, STUCK, 0, RUNNING);
    let daemon = env.daemon();
    let mut events = env.connect();
    events.ask("attach", &json!({ "from": 0 }));
    let event = events.event("agent_stuck");
    assert_snapshot!(followed.next().unwrap().unwrap(), @"[WHEN]  attention     31m  [ENV]/site  stuck: agent site-1 has done nothing for 31m; last: Bash: curl -H 'Authorization: Bearer [removed]' x.test; task: Mend the build");
    follow.kill().unwrap();
    follow.wait().unwrap();
    assert_eq!(event["agent_id"], "site-1");
    let end = usize::try_from(event["payload"]["journalEnd"].as_u64().unwrap()).unwrap();
    assert_eq!(env.journal_text().len(), end);
    let mut payload = event["payload"].clone();
    payload.as_object_mut().unwrap().retain(|key, _| !key.starts_with("journal"));
    assert_eq!(payload, env.journal()[1]);
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/daemon-protocol.md");
    let page = std::fs::read_to_string(page).unwrap();
    let example = page.lines().find(|line| line.starts_with(r#"{"event_type":"agent_stuck""#)).unwrap();
    assert_eq!(shape(&serde_json::from_str(example).unwrap()), shape(&event));
    let last =
        |env: &Env| env.murmur(["status", "--json"]).json()["heartbeats"][0]["last"]["outcome"].clone();
    assert_eq!(last(&env), "ok");
    daemon.stop();
    // The next one doesn't make up for a run that was none; it reports another agent, so it has started.
    pulse(&env, "blog-1", env.root(), STUCK, 0, RUNNING);
    let daemon = env.daemon();
    env.wait_for_journal(3);
    assert_eq!(last(&env), "ok");
    daemon.stop();
    assert_eq!(env.config(), before);
    assert_snapshot!(env.run(["log"]), @"
    [WHEN]  ok [S]  [ENV]/site
    [WHEN]  attention     31m  [ENV]/site  stuck: agent site-1 has done nothing for 31m; last: Bash: curl -H 'Authorization: Bearer [removed]' x.test; task: Mend the build
    [WHEN]  attention     31m  [ENV]  stuck: agent blog-1 has done nothing for 31m; last: Bash: curl -H 'Authorization: Bearer [removed]' x.test; task: Mend the build
    [exit 0]
    ");
    let line = env.journal_text().lines().nth(1).unwrap().to_owned();
    let filtered = env.run(["log", "--outcome", "attention", "--workspace", "site", "--json"]);
    assert_eq!(filtered, format!("{line}\n[exit 0]"));
    // It counts from when it was noticed.
    assert_eq!(env.run(["log", "--since", "5m"]), env.run(["log", "-n", "2"]));
    assert_eq!(env.run(["log", "--outcome", "ok", "--json"]), format!("{old}[exit 0]"));
}

#[test]
fn a_line_that_does_not_fit_is_kept_and_written_once() {
    let env = Env::new();
    let journal = env.create_data().join("heartbeats.jsonl");
    env.fill_journal();
    pulse(&env, "site-1", env.root(), STUCK, 0, RUNNING);
    let daemon = Daemon::new(env.limited(["start", "--foreground"]));
    daemon.says("1 journal line is not written yet: cannot write ");
    let waiting = |env: &Env| env.murmur(["status", "--json"]).json()["waitingLines"].clone();
    assert_eq!(waiting(&env), 1);
    daemon.signal(rustix::process::Signal::TERM);
    assert!(daemon.ended().0.success());
    // The next daemon has that line, and sees that agent as well as another.
    pulse(&env, "site-2", env.root(), STUCK, 0, RUNNING);
    let daemon = Daemon::new(env.limited(["start", "--foreground"]));
    daemon.says("1 journal line is not written yet: ");
    daemon.says("2 journal lines are not written yet: ");
    assert_eq!(waiting(&env), 2);
    daemon.signal(rustix::process::Signal::TERM);
    assert!(daemon.ended().0.success());
    std::fs::remove_file(&journal).unwrap();
    pulse(&env, "site-3", env.root(), STUCK, 0, RUNNING);
    let daemon = env.daemon();
    assert_eq!(who(&env.wait_for_journal(3)), ["site-1", "site-2", "site-3"]);
    daemon.stop();
    assert_eq!(env.journal().len(), 3);
}

#[test]
fn a_removed_stuck_agent_is_not_reported() {
    let env = Env::new();
    let (day, process) = (24 * 60 * MINUTE, process(&env));
    for (agent, seconds, pid) in
        [("gone", day + MINUTE, 0), ("kept", day - MINUTE, 0), ("young", 0, process.id())]
    {
        pulse(&env, agent, env.root(), seconds, pid, RUNNING);
        let folder = env.data().join("agents").join(agent);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("current-task.json"), r#"{"title":"Mend the build"}"#).unwrap();
    }
    let leftover = env.data().join("heartbeats/.new-pulse");
    std::fs::write(&leftover, "{").unwrap();
    let aged = sys::clock::now() - SignedDuration::from_hours(2);
    File::options().write(true).open(&leftover).unwrap().set_modified(aged.into()).unwrap();
    let daemon = env.daemon();
    assert_eq!(who(&env.wait_for_journal(1)), ["kept"]);
    daemon.stop();
    end(process);
    assert_eq!(env.names(&env.data().join("heartbeats")), "kept.json\nyoung.json");
    assert_eq!(env.names(&env.data().join("agents")), "kept\nyoung");
    assert_eq!(env.journal().len(), 1);
}
