//! Clients that read slowly or not at all delay nobody else, and miss nothing in the end.

use serde_json::{Value, json};

use super::{ID, Live, Peer, assert_seamless, is_idle_after};
use crate::env::Env;

/// About 18 MB of events in a turn, slightly more than makes a client lag that reads nothing meanwhile. Each is
/// parsed here twice, which takes most of the time.
const BURST: &str = "4200:4096";

fn is_lagged(event: &Value) -> bool {
    event["event_type"] == "lagged"
}

/// Keeps all of what [`flood`] prints: a client lags only after 2 s, and a turn may take a fraction of one.
fn keep_all(env: &Env) {
    env.setting("config.toml", "[captures]\nmax-per-run = \"4GiB\"\n");
}

/// Makes the agent print until all clients that don't read get `lagged`, which ends their events. Returns
/// everything that `reading` received, and the number of turns.
fn flood(agent: &Live, reading: &mut Peer) -> (Vec<Value>, u64) {
    let (mut all, mut turns) = (Vec::new(), 0);
    loop {
        turns += 1;
        // A client that waits until everything is sent has stalled as well.
        std::thread::scope(|scope| {
            scope.spawn(|| agent.send("go on"));
            all.extend(reading.until(|event| is_idle_after(event, turns)));
        });
        if agent.status()["attachedClients"] == 1 {
            return (all, turns);
        }
    }
}

/// Continues reading after a stall, to the end of a turn: the events up to `lagged`, then from there.
fn catch_up(peer: &mut Peer, turns: u64) -> Vec<Value> {
    let mut events = peer.until(is_lagged);
    let lagged = events.pop().unwrap();
    let next = lagged["payload"]["next"].as_u64().unwrap();
    super::page::assert_shape_of_example(&lagged);
    assert_eq!(lagged["offset"], next);
    assert_eq!(events.last().map_or(0, |event| event["offset"].as_u64().unwrap() + 1), next);
    peer.attach(next);
    events.extend(peer.until(|event| is_idle_after(event, turns)));
    events
}

#[test]
fn a_stalled_client_learns_its_offset_and_misses_nothing() {
    let env = Env::new();
    keep_all(&env);
    let agent = env.live(&json!({ "burst": BURST }));
    let (mut stalled, mut reading) = (agent.follow(0), agent.follow(0));
    // A request that is not read either is answered between the events.
    assert!(stalled.say("{\"msg_type\":\"ping\",\"id\":\"p\"}\n"));
    let (all, turns) = flood(&agent, &mut reading);
    assert_seamless(&all, 0);
    assert!(all.len() > 4200);
    assert_eq!(stalled.answer()["id"], "p");
    let late = catch_up(&mut stalled, turns);
    assert_seamless(&late, 0);
    assert!(late == all, "it saw something else");
    agent.assert_answers();
}

#[test]
fn a_hundred_stalled_clients_do_not_delay_another() {
    let env = Env::new();
    keep_all(&env);
    let agent = env.live(&json!({ "burst": BURST }));
    let mut stalled: Vec<Peer> = (0..100).map(|_| agent.follow(0)).collect();
    let mut reading = agent.follow(0);
    assert_eq!(agent.status()["attachedClients"], 101);
    let (all, turns) = flood(&agent, &mut reading);
    assert_seamless(&all, 0);
    agent.assert_answers();
    let late = catch_up(stalled.last_mut().unwrap(), turns);
    assert!(late == all, "it saw something else");
    drop(stalled);
    agent.stop();
    let last = reading.rest().pop().unwrap();
    assert_eq!(last["payload"]["state"], "exited");
}

#[test]
fn a_stalled_client_does_not_delay_the_end() {
    let env = Env::new();
    let agent = env.live(&json!({ "burst": "2000:4096" }));
    // Less than makes it lag: the host waits for it, then drops it.
    let (_stalled, mut reading) = (agent.follow(0), agent.follow(0));
    agent.send("one");
    reading.until(|event| is_idle_after(event, 1));
    let reading = std::thread::spawn(move || reading.rest());
    // It returns once the host has ended, too: its id is free.
    env.murmur(["host", "stop", ID]).assert().success();
    assert_eq!(env.record(ID)["result"]["exit"], json!({ "code": 0 }));
    assert_eq!(reading.join().unwrap().last().unwrap()["payload"]["state"], "exited");
    Live::of(&env, env.spawning(ID, &["--json"])).assert_answers();
}
