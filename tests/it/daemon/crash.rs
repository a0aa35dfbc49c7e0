//! Whatever is killed, every beat that began has one line and no process is left running.

use std::io::Write;

use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::json;

use super::waits_at;
use crate::env::{Env, fixture, kill, wait_for_end};

#[test]
fn a_killed_daemon_does_not_end_its_beat_and_the_next_daemon_starts() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let (pace, mut gate) = env.gate("gate");
    site.plays(&waits_at(&pace));
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_agents(1);
    daemon.crash();
    assert!(env.data().join("murmur.pid").exists() && env.data().join("murmur.sock").exists());
    assert_snapshot!(env.run(["status"]), @"
    murmur is not running; start it with: murmur start

    site  [ENV]/site
      schedule  every 1h
      last      never
      running   for [SPAN]
    [exit 0]
    ");
    let daemon = env.daemon();
    assert_snapshot!(env.run(["status"]), @"
    murmur 0.1.0 is running (PID [PID]), up [SPAN]

    site  [ENV]/site
      schedule  every 1h
      last      never
      running   for [SPAN]
    [exit 0]
    ");
    gate.write_all(b".").unwrap();
    env.wait_for_journal(1);
    daemon.stop();
    assert_snapshot!(env.journal_text(), @r#"{"ts":"[TIME]","workspace":"[ENV]/site","outcome":"ok","durationMs":[MS],"beat":"[BEAT]","agent":"site-[ID]","exit":{"code":0},"capture":"[SESSION]"}"#);
    assert_eq!(env.agents().len(), 1);
}

#[test]
fn a_beat_that_ends_while_no_daemon_runs_has_its_line() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let (pace, mut gate) = env.gate("gate");
    site.plays(&waits_at(&pace));
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_agents(1);
    daemon.crash();
    gate.write_all(b".").unwrap();
    assert_eq!(env.wait_for_journal(1)[0]["outcome"], "ok");
    // config.json may lack the run; the journal has it.
    let blog = env.workspace("blog", "Do it.");
    env.run(["workspaces", "add", "blog"]);
    let daemon = env.daemon();
    assert_eq!(env.wait_for_journal(2)[1]["workspace"], blog.path());
    daemon.stop();
    assert_eq!((env.agents().len(), env.journal().len()), (2, 2));
}

/// The process that runs the agent: its parent.
fn host(agent: &serde_json::Value) -> i64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", agent["pid"])).unwrap();
    stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_killed_beat_is_an_error_and_its_agent_is_killed() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": "", "faults": ["hang", "ignore-term"] }));
    env.register(&[&site]);
    let daemon = env.daemon();
    let agent = env.wait_for_agents(1).remove(0);
    let name = std::fs::read(format!("/proc/{}/cmdline", host(&agent))).unwrap();
    assert!(name.starts_with(b"murmur-host\0"));
    kill(host(&agent), Signal::KILL);
    env.wait_for_journal(1);
    assert_snapshot!(env.journal_text(), @r#"{"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"murmur was killed during this beat; its outcome is unknown","beat":"[BEAT]","agent":"site-[ID]","capture":"[SESSION]"}"#);
    wait_for_end(agent["pid"].as_i64().unwrap());
    daemon.stop();
    assert_eq!((env.journal().len(), env.names(&env.data().join("beats"))), (1, String::new()));
}

#[test]
fn a_killed_manual_beat_gets_its_line_at_the_next_check() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": "", "faults": ["hang"] }));
    let mut beat = env.murmur(["beat", "site"]).start();
    let agent = env.wait_for_agents(1).remove(0);
    beat.kill().unwrap();
    beat.wait().unwrap();
    wait_for_end(agent["pid"].as_i64().unwrap());
    assert_eq!(env.journal_text(), "");
    assert_snapshot!(env.run(["status"]), @"
    murmur is not running; start it with: murmur start
    no heartbeats; create one with: murmur init PATH
    [exit 0]
    ");
    site.plays(&json!({ "fixture": fixture("ok") }));
    env.run(["beat", "site"]);
    assert_snapshot!(env.journal_text(), @r#"
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"murmur was killed during this beat; its outcome is unknown","beat":"[BEAT]","agent":"site-[ID]","capture":"[SESSION]"}
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"ok","durationMs":[MS],"beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00044,"numTurns":1,"exit":{"code":0},"model":"claude-opus-5-5","tokens":{"input":10,"output":20,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}
    "#);
}

#[test]
fn a_torn_last_line_is_repaired_at_startup() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    env.run(["beat", "site"]);
    let whole = env.journal_text();
    std::fs::write(env.data().join("heartbeats.jsonl"), format!("{whole}{}", &whole[..whole.len() / 2]))
        .unwrap();
    let daemon = env.daemon();
    env.wait(&env.data(), || (env.journal_text() == whole).then_some(()));
    daemon.stop();
    assert_eq!(env.journal_text(), whole);
}

#[test]
fn a_run_that_a_killed_daemon_did_not_record_is_recorded_by_the_next() {
    for is_over in [false, true] {
        let env = Env::new();
        let site = env.workspace("site", "Do it.");
        let (pace, mut gate) = env.gate("gate");
        site.plays(&waits_at(&pace));
        env.register(&[&site]);
        let daemon = env.daemon();
        env.wait_for_agents(1);
        // As if it had been killed before it could write.
        daemon.crash();
        env.register(&[&site]);
        if is_over {
            gate.write_all(b".").unwrap();
            env.wait_for_journal(1);
        }
        let daemon = env.daemon();
        // Answered once it has started.
        env.connect().refusal("beat", &json!({ "workspace": "/nowhere" }));
        if !is_over {
            gate.write_all(b".").unwrap();
            env.wait_for_journal(1);
        }
        env.wait_for_no_beats();
        daemon.stop();
        let config: serde_json::Value = serde_json::from_str(&env.config()).unwrap();
        let (ran, began) = (&config["workspaces"][0]["lastRun"], &env.journal()[0]["ts"]);
        assert_eq!(ran, began);
        assert_eq!((env.journal().len(), env.agents().len()), (1, 1));
    }
}
