//! Clients that read slowly or not at all cost nobody else anything, and miss nothing in the end.

use serde_json::{Value, json};

use super::{ID, Live, Peer, assert_seamless, is_idle_after};
use crate::env::Env;

/// Some 18 MB of events in a turn, a little more than what makes a client lag that reads nothing meanwhile: each of them is
/// parsed here, twice, which is what takes the time.
const BURST: &str = "4200:4096";

fn is_lagged(event: &Value) -> bool {
    event["event_type"] == "lagged"
}

/// Has the agent say so much, for so long, that all that do not read are told that they lag: they follow no longer. Returns
/// all that `reading` saw, and how many turns it was.
fn flood(agent: &Live, reading: &mut Peer) -> (Vec<Value>, u64) {
    let (mut all, mut turns) = (Vec::new(), 0);
    loop {
        turns += 1;
        // Who waits until all is sent before it reads has stalled as well.
        std::thread::scope(|scope| {
            scope.spawn(|| agent.send("go on"));
            all.extend(reading.until(|event| is_idle_after(event, turns)));
        });
        if agent.status()["attached_clients"] == 1 {
            return (all, turns);
        }
    }
}

/// Reads on after a stall, to the end of a turn: what there was up to `lagged`, then from there.
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
    let agent = env.live(&json!({ "burst": BURST }));
    let (mut stalled, mut reading) = (agent.follow(0), agent.follow(0));
    // A question that is not read either is answered between the events.
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
    let agent = env.live(&json!({ "burst": BURST }));
    let mut stalled: Vec<Peer> = (0..100).map(|_| agent.follow(0)).collect();
    let mut reading = agent.follow(0);
    assert_eq!(agent.status()["attached_clients"], 101);
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
    // Less than what makes it lag: it is waited for, and let go.
    let (_stalled, mut reading) = (agent.follow(0), agent.follow(0));
    agent.send("one");
    reading.until(|event| is_idle_after(event, 1));
    let reading = std::thread::spawn(move || reading.rest());
    // It comes back when the host is over as well: its id is free.
    env.murmur(["host", "stop", ID]).assert().success();
    assert_eq!(env.record(ID)["result"]["exit"], json!({ "code": 0 }));
    assert_eq!(reading.join().unwrap().last().unwrap()["payload"]["state"], "exited");
    Live::of(&env, env.spawning(ID, &["--json"])).assert_answers();
}
