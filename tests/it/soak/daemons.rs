//! Daemons that are killed, suspended and replaced while hosted agents work and beats come due: neither notices.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::follow::{DaemonFollower, Follower, Told};
use super::load::{Load, hosts};
use super::{Moments, asked, beats, times};
use crate::env::{Env, fixture};

/// How long a daemon is suspended each time, if rounds are requested.
const STOPPED: Option<Duration> = Some(Duration::from_secs(30));

/// How many beats may run at once.
const MAX_RUNNING: usize = 3;

/// Enough for a busy machine.
fn env() -> Env {
    Env::for_as_long_as(Duration::from_secs(60 + times(0, 3600)))
}

/// The number of agents.
fn crowd() -> usize {
    usize::try_from(times(6, 20)).unwrap().clamp(6, 20)
}

/// Everything that runs besides the daemon.
struct Scene<'a> {
    env: &'a Env,
    load: Load<'a>,
    followers: BTreeMap<String, Follower>,
    faithful: DaemonFollower,
    moments: Moments,
}

impl<'a> Scene<'a> {
    fn new(env: &'a Env, seed: u64) -> Self {
        beats::register(env, 12, MAX_RUNNING, &json!({ "fixture": fixture("ok") }));
        let load = Load::new(env, crowd(), &[]);
        let follow = |id: &String| (id.clone(), Follower::attach(env, id));
        let followers = load.agents.iter().map(|agent| &agent.id).map(follow).collect();
        let faithful = DaemonFollower::new(env, "live-0");
        Self { env, load, followers, faithful, moments: Moments::new(seed) }
    }

    /// Waits for a random moment: some events later, or when some beats have started.
    fn wait(&mut self) {
        match self.moments.below(5) {
            0 => {}
            1 => beats::wait_for_more(self.env, 1 + usize::try_from(self.moments.below(2)).unwrap()),
            _ => self.load.wait(self.moments.below(300)),
        }
    }

    /// Stops everything through a running daemon, and checks that nothing is missing.
    fn check(mut self, kind: &str) {
        let answered = self.load.stop_sending();
        self.load.assert_same();
        self.faithful.is_there();
        let listed = self.env.ask("host.list", &Value::Null);
        let live = listed["agents"].as_array().unwrap().iter().filter(|agent| agent["kind"] == "live");
        assert_eq!(live.count(), crowd());
        self.env.murmur(["host", "stop", "--all"]).assert().success();
        let mut told: BTreeMap<String, Told> =
            self.followers.into_iter().map(|(id, follower)| (id, follower.told())).collect();
        for (id, told) in &told {
            assert_eq!(told.results, answered[id], "{id}");
        }
        assert_eq!(self.faithful.told(), told.remove("live-0").unwrap(), "both followers see the same");
        self.env.murmur(["stop", "--leave-agents"]).assert().success();
        beats::wait_for_none(self.env);
        let beats = beats::check_all_well(self.env);
        let names = self.env.names(&hosts(self.env));
        assert!(names.lines().all(|name| name.starts_with("live-")), "{names}");
        let events: u64 = told.values().map(|told| told.events).sum();
        eprintln!("{kind}: {} agents, {events} events and more, {beats} beats", crowd());
    }
}

#[test]
fn nothing_is_lost_or_done_twice_however_often_the_daemon_is_killed() {
    let env = env();
    let mut scene = Scene::new(&env, 0x0064_6165_6d6f_6e73);
    let kills = times(50, 1000);
    for _ in 0..kills {
        if scene.moments.below(4) == 0 {
            // Before it prints anything.
            let run = env.murmur(["start", "--foreground"]).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = run.start();
            scene.load.wait(scene.moments.below(100));
            child.kill().unwrap();
            child.wait().unwrap();
        } else {
            let daemon = env.daemon();
            scene.faithful.comes();
            scene.wait();
            daemon.crash();
        }
    }
    let daemon = env.daemon();
    scene.faithful.comes();
    scene.check(&format!("{kills} kills"));
    assert!(daemon.ended().0.success());
}

#[test]
fn a_suspended_daemon_misses_nothing_and_blocks_nobody() {
    let env = env();
    let mut scene = Scene::new(&env, 0x0073_746f_7073);
    let daemon = env.daemon();
    scene.faithful.comes();
    let mut client = env.connect();
    client.ask("attach", &json!({ "from": 0 }));
    let ends = std::thread::spawn(move || {
        let events = std::iter::from_fn(|| client.receive());
        events.filter(|event| event["event_type"] == "beat_ended").collect::<Vec<_>>()
    });
    for round in 0..times(4, 40) {
        scene.wait();
        daemon.signal(Signal::STOP);
        scene.load.wait(200 + scene.moments.below(1000));
        scene.load.work(STOPPED.filter(|_| round == 0 && asked().is_some()).unwrap_or_default());
        daemon.signal(Signal::CONT);
    }
    beats::wait_for_more(&env, 2);
    scene.check("stopped daemon");
    assert!(daemon.ended().0.success());
    // Every line was one event of that daemon, except for the beats that it left running.
    let beat = |line: &Value| line["beat"].clone();
    let ends: Vec<Value> = ends.join().unwrap().iter().map(|event| beat(&event["payload"])).collect();
    let lines: Vec<Value> = env.journal().iter().map(beat).collect();
    assert_eq!(ends, lines[..ends.len()]);
    assert!(ends.len() + MAX_RUNNING >= lines.len(), "{} of {}", ends.len(), lines.len());
}

#[test]
fn constant_restarts_of_the_daemon_disturb_nothing() {
    let env = env();
    let mut scene = Scene::new(&env, 0x7265_7374_6172_7473);
    env.run(["start"]);
    scene.faithful.comes();
    let restarts = times(8, 100);
    for _ in 0..restarts {
        scene.wait();
        let shown = env.run(["restart"]);
        assert!(shown.starts_with("murmur was restarted (PID "), "{shown}");
        scene.faithful.comes();
    }
    scene.check(&format!("{restarts} restarts"));
    assert!(env.run(["status"]).starts_with("murmur is not running"));
}
