//! Beats that a daemon announced and whose process has not taken over when the daemon dies.

use std::io::Write;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use murmur::beat::{Job, new_id};
use murmur_core::permit::policy::Policy;
use murmur_store::journal::unfinished;
use serde_json::{Value, json};
use sys::clock;

use super::{Moments, times};
use crate::env::{Env, MURMUR, Workspace, programs, result};

/// The last run of a heartbeat that is due every hour, and has been due for a minute.
fn before() -> Timestamp {
    clock::now() - SignedDuration::from_mins(61)
}

/// A heartbeat that ran at `before`.
fn register(env: &Env, site: &Workspace, before: Timestamp) {
    let entry = json!({ "path": site.0, "interval": "1h", "lastRun": clock::rfc3339(before) });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
}

/// The job of a beat of `site`, and its announcement.
fn announce(env: &Env, site: &Workspace, before: Timestamp) -> Job {
    let now = clock::now();
    let path = format!("{}:{}", env.home().join("bin").display(), programs());
    let beat = new_id(now);
    // With a key of earlier daemons, `max_turns`.
    let job: Job = serde_json::from_value(json!({
        "agent": format!("site-{}", &beat.as_str()[28..]), "beat": beat, "workspace": site.0, "name": null,
        "file": site.0.join("HEARTBEAT.md"), "max_turns": 10, "timeout": 60, "model": null, "deny": [],
        "policy": Policy::of_beat(),
        "user": { "home": env.home(), "settings": env.data().join("config") },
        "path": path, "problem": null, "verbose": false, "scheduled": true, "announced": true,
    }))
    .unwrap();
    let dir = sys::paths::DataDir::find(Some(&env.data()), None, None).unwrap();
    unfinished::announce(&dir, &job.announcement(now, Some(before))).unwrap();
    job
}

/// Its process, which has not received its job yet.
fn process(env: &Env) -> Child {
    let data = env.data();
    let args = ["--data-dir", data.to_str().unwrap(), "host", "serve", "--beat"];
    env.murmur(args).stdin(Stdio::piped()).start()
}

/// Sends it its job; returns its final output.
fn tell(mut process: Child, job: &Job) -> Value {
    process.stdin.take().unwrap().write_all(&serde_json::to_vec(job).unwrap()).unwrap();
    let output = process.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_next_daemon_withdraws_it_and_runs_the_heartbeat_once() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    register(&env, &site, before());
    let job = announce(&env, &site, before());
    let late = process(&env);
    let daemon = env.daemon();
    let line = env.wait_for_journal(1).remove(0);
    assert_ne!(line["beat"], job.beat.as_str());
    // It has nothing left to start.
    assert_eq!(tell(late, &job), json!({ "beat": "busy" }));
    daemon.stop();
    assert_eq!((env.journal().len(), env.agents().len()), (1, 1));
    assert_eq!(env.agents()[0]["env"]["MURMUR_AGENT_ID"], line["agent"]);
    assert_eq!(env.names(&env.data().join("beats")), "");
}

#[test]
fn a_beat_that_was_taken_over_is_not_withdrawn() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let (pace, mut gate) = env.gate("gate");
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK"), "pace": pace }));
    register(&env, &site, before());
    let job = announce(&env, &site, before());
    let late = process(&env);
    std::thread::scope(|scope| {
        let said = scope.spawn(|| tell(late, &job));
        env.wait_for_agents(1);
        let daemon = env.daemon();
        let status = env.murmur(["status", "--json"]).json();
        assert_eq!(status["heartbeats"][0]["running"]["beat"], job.beat.as_str(), "{status}");
        gate.write_all(b".").unwrap();
        assert_eq!(said.join().unwrap(), json!({ "beat": "journalled" }));
        env.wait_for_no_beats();
        daemon.stop();
    });
    assert_eq!((env.journal().len(), env.agents().len()), (1, 1));
    assert_eq!(env.journal()[0]["beat"], job.beat.as_str());
}

#[test]
fn a_beat_whose_process_cannot_write_says_why() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    register(&env, &site, before());
    let job = announce(&env, &site, before());
    let data = env.data();
    let words = ["-c", "ulimit -f 0; exec \"$@\"", "sh", MURMUR, "--data-dir", data.to_str().unwrap()];
    let run = env.program("sh", words.into_iter().chain(["host", "serve", "--beat"])).stdin(Stdio::piped());
    let said = tell(run.start(), &job);
    assert_eq!(said["beat"], "homeless", "{said}");
    let line: Value = serde_json::from_str(said["line"].as_str().unwrap()).unwrap();
    let error = line["error"].as_str().unwrap();
    assert!(
        error.contains("cannot reserve space for a beat's journal line in ")
            && error.contains("File too large"),
        "{error}"
    );
    assert_eq!((&line["beat"], env.agents().len()), (&json!(job.beat), 0));
}

#[test]
fn exactly_one_beat_runs_whoever_is_first() {
    let env = Env::for_as_long_as(Duration::from_secs(60 + times(0, 600)));
    let mut moments = Moments::new(0x616e_6e6f_756e_6365);
    let site = env.workspace("site", "Do it.");
    let (mut taken, races) = (0, usize::try_from(times(12, 400)).unwrap());
    // How long a daemon takes to start.
    let since = Instant::now();
    register(&env, &site, before());
    let daemon = env.daemon();
    env.wait_for_agents(1);
    let most = u64::try_from(since.elapsed().as_micros()).unwrap();
    env.wait_for_journal(1);
    env.wait_for_no_beats();
    daemon.stop();
    for race in 1..=races {
        env.age();
        register(&env, &site, before());
        let job = announce(&env, &site, before());
        let late = process(&env);
        let moment = Duration::from_micros(moments.below(most));
        std::thread::scope(|scope| {
            let said = scope.spawn(|| {
                let (_never, tells) = mpsc::channel::<()>();
                let _it_is_time = tells.recv_timeout(moment);
                tell(late, &job)
            });
            let daemon = env.daemon();
            let said = said.join().unwrap();
            env.wait_for_journal(race + 1);
            env.wait_for_no_beats();
            taken += usize::from(said["beat"] == "journalled");
            // By now it would have started another one.
            env.ask("status", &Value::Null);
            daemon.stop();
        });
        let begun = env.agents();
        assert_eq!((env.journal().len(), begun.len()), (race + 1, race + 1), "{moment:?}: {begun:#?}");
    }
    eprintln!("{taken} of {races} late beats were taken over");
}
