//! The daemon: it starts, answers, is alone, and ends.

mod crash;
mod crowd;
mod deaf;
mod deleted;
mod disks;
mod due;
mod edits;
mod events;
mod folder;
mod kept;
mod last_run;
mod moved;
mod restart;
mod rpc;
mod start;
mod strangers;
pub(crate) mod stuck;
mod warned;

use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::json;

use crate::env::{Env, result};

/// Instructions for an agent that answers ok when `gate` lets it.
fn waits_at(gate: &str) -> serde_json::Value {
    json!({ "stdout": result("HEARTBEAT_OK"), "pace": gate })
}

#[test]
fn start_returns_once_the_daemon_answers_and_a_second_start_names_it() {
    let env = Env::new();
    assert_snapshot!(env.run(["start"]), @"
    murmur is running (PID [PID])
    [exit 0]
    ");
    let pid = std::fs::read_to_string(env.data().join("murmur.pid")).unwrap();
    assert_snapshot!(env.run(["status"]), @"
    murmur 0.1.0 is running (PID [PID]), up [SPAN]
    no heartbeats; create one with: murmur init PATH
    [exit 0]
    ");
    assert_eq!(env.run(["start"]), format!("murmur is already running (PID {})\n[exit 0]", pid.trim()));
    assert_eq!(env.run(["start", "--foreground"]), env.run(["start"]));
    // It is created once the login shell has printed its PATH.
    env.wait(&env.data(), || env.data().join("journal.reserve").exists().then_some(()));
    assert_snapshot!(env.names(&env.data()), @"
    beats
    beats.reserve
    heartbeats
    hosts
    journal.reserve
    murmur.log
    murmur.pid
    murmur.sock
    ");
    assert_snapshot!(env.run(["stop"]), @"
    murmur stopped (PID [PID])
    [exit 0]
    ");
    assert_snapshot!(env.names(&env.data()), @"
    beats
    beats.reserve
    heartbeats
    hosts
    journal.reserve
    murmur.log
    ");
    let log = std::fs::read_to_string(env.data().join("murmur.log")).unwrap();
    assert_snapshot!(log, @"
    [TIME] murmur 0.1.0 started (PID [PID])
    [TIME] murmur stopped
    ");
    assert_snapshot!(env.run(["stop"]), @"
    murmur is not running
    [exit 0]
    ");
}

#[test]
fn many_concurrent_starts_make_one_daemon() {
    let env = Env::new();
    let starts: Vec<_> = (0..8).map(|_| env.murmur(["start"]).start()).collect();
    let said: Vec<String> = starts
        .into_iter()
        .map(|start| {
            let run = crate::env::ended(start).success();
            String::from_utf8(run.get_output().stdout.clone()).unwrap()
        })
        .collect();
    let started = said.iter().filter(|said| said.starts_with("murmur is running (PID"));
    assert_eq!(started.count(), 1, "{said:#?}");
    let pid = std::fs::read_to_string(env.data().join("murmur.pid")).unwrap();
    assert!(said.iter().all(|said| said.contains(pid.trim()) || said.contains("being started")), "{said:#?}");
}

/// Waits until a new daemon has checked what is running and created its files: only then it starts beats.
fn wait_until_begun(env: &Env) {
    let unknown = json!({ "workspace": env.root().join("unknown") });
    env.connect().refusal("beat", &unknown);
}

#[test]
fn sigterm_and_sigint_end_the_daemon_with_exit_code_0_and_no_leftovers() {
    for signal in [Signal::TERM, Signal::INT] {
        let env = Env::new();
        let daemon = env.daemon();
        wait_until_begun(&env);
        daemon.signal(Signal::HUP);
        daemon.signal(signal);
        let (status, said) = daemon.ended();
        assert!(status.success(), "{status} {said:#?}");
        insta::allow_duplicates! { assert_snapshot!(env.names(&env.data()), @"
        beats
        beats.reserve
        heartbeats
        hosts
        journal.reserve
        "); }
    }
}

#[test]
fn stop_gives_a_running_beat_its_grace_period_and_journals_it() {
    let env = Env::new();
    let (site, shop) = (env.workspace("site", "Do it."), env.workspace("shop", "Do it."));
    site.plays(&json!({ "stdout": "", "faults": ["success-after-term", "setsid-child"] }));
    shop.plays(&json!({ "stdout": "", "faults": ["hang", "ignore-term", "setsid-child-clean-env"] }));
    env.register(&[&site, &shop]);
    let daemon = env.daemon();
    env.wait_for_agents(2);
    assert_snapshot!(env.run(["stop"]), @"
    murmur stopped (PID [PID])
    [exit 0]
    ");
    let (status, _) = daemon.ended();
    assert_eq!(status.code(), Some(0));
    assert_eq!(env.agents_alive(), [0; 0]);
    // The one that ended within its grace period was first.
    assert_snapshot!(env.journal_text(), @r#"
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"stopped after [SPAN], while waiting for the model ([SPAN])","beat":"[BEAT]","agent":"site-[ID]","costUsd":0.0,"numTurns":1,"exit":{"code":143},"stopped":true,"capture":"[SESSION]"}
    {"ts":"[TIME]","workspace":"[ENV]/shop","outcome":"error","durationMs":[MS],"error":"stopped after [SPAN], while waiting for the model ([SPAN])","beat":"[BEAT]","agent":"shop-[ID]","exit":{"signal":9},"stopped":true,"capture":"[SESSION]"}
    "#);
}

#[test]
fn stop_works_before_the_first_beat() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    // The login shell never answers, so that beats wait for it.
    let (_, _gate) = env.gate("gate");
    std::fs::write(env.home().join(".profile"), format!("read line <{}/gate\n", env.root().display()))
        .unwrap();
    let daemon = env.daemon();
    assert_snapshot!(env.run(["stop"]), @"
    murmur stopped (PID [PID])
    [exit 0]
    ");
    assert_eq!(daemon.ended().0.code(), Some(0));
    assert_eq!(env.journal_text(), "");
}
