//! Following from any event: each event once, in order, while the agent runs and afterward.

use std::fs::File;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ID, Live, assert_seamless, is_idle_after};
use crate::env::Env;

/// An agent that has more events than a host keeps in memory, idle after a turn; returns the number of events.
fn talkative(env: &Env) -> (Live<'_>, u64) {
    let agent = env.live(&json!({ "burst": "2500:10" }));
    let mut peer = agent.follow(Value::Null);
    agent.send("one");
    let events = peer.until(|event| is_idle_after(event, 1));
    let next = events.last().unwrap()["offset"].as_u64().unwrap() + 1;
    assert!(next > 2500);
    // The host notices a closed connection a bit later; it has, once it responds.
    assert_eq!(peer.result("detach", Value::Null), json!({}));
    (agent, next)
}

fn assert_last(events: &[Value], offset: u64) {
    assert_eq!(events.last().unwrap()["offset"], offset);
}

#[test]
fn a_client_attaches_at_any_offset() {
    let env = Env::new();
    let (agent, next) = talkative(&env);
    for from in [0, 1, 1200, next - 1000, next - 1] {
        let mut peer = agent.peer();
        assert_eq!(peer.attach(from), json!({ "from": from, "next": next }));
        let events = peer.until(|event| is_idle_after(event, 1));
        assert_seamless(&events, from);
        assert_last(&events, next - 1);
    }
    let (mut at_next, mut at_null, mut unsaid) = (agent.peer(), agent.peer(), agent.peer());
    let attached = json!({ "from": next, "next": next });
    assert_eq!(at_next.attach(next), attached);
    assert_eq!(at_null.attach(Value::Null), attached);
    assert_eq!(unsaid.result("attach", Value::Null), attached);
    let refused = agent.peer().refusal("attach", json!({ "from": next + 1 }));
    let expected =
        format!("offset {} is in the future; the next event is {next}; attach from {next}", next + 1);
    assert_eq!(refused, expected);
    agent.stop();
    let rest = at_next.rest_lines();
    assert!(
        rest.starts_with(&format!("{{\"event_type\":\"state\",\"agent_id\":\"{ID}\",\"offset\":{next},"))
    );
    assert_eq!(at_null.rest_lines(), rest);
    assert_eq!(unsaid.rest_lines(), rest);
}

#[test]
fn all_clients_see_the_same_bytes_even_after_the_end() {
    let env = Env::new();
    env.site(&json!({ "burst": "2500:10", "faults": ["stderr-flood:100000", "invalid-utf8", "half-line"] }));
    let agent = Live::of(&env, env.spawning(ID, &["--json", "one"]));
    let shown = File::create(env.root().join("shown")).unwrap();
    let mut following = env.murmur(["attach", ID, "--from", "0", "--json"]).stdout(shown).start();
    let mut early = agent.follow(0);
    let mut first = Vec::new();
    while !first
        .last()
        .is_some_and(|event: &Value| event["payload"]["text"].as_str().is_some_and(is_last_of_burst))
    {
        first.push(early.next().unwrap());
    }
    let mut late = agent.follow(0);
    let early = std::thread::spawn(move || early.rest_lines());
    let late = std::thread::spawn(move || late.rest_lines());
    agent.stop();
    let seen = late.join().unwrap();
    assert_seamless(&first, 0);
    let offset = first.len();
    assert_eq!(early.join().unwrap(), seen.split_inclusive('\n').skip(offset).collect::<String>());
    assert_eq!(env.told_again(ID), seen);
    assert!(following.wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(env.root().join("shown")).unwrap(), seen);
    let all: Vec<Value> = seen.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_seamless(&all, 0);
    assert!(all.iter().any(|event| event["event_type"] == "stderr"));
    let middle = env.murmur(["attach", ID, "--from", "1234", "--json"]).output();
    assert_eq!(middle.stdout, seen.split_inclusive('\n').skip(1234).collect::<String>().as_bytes());
}

fn is_last_of_burst(text: &str) -> bool {
    text.starts_with("burst 2500 ")
}

#[test]
fn detach_stops_events_and_attach_starts_them_again() {
    let env = Env::new();
    let (agent, next) = talkative(&env);
    let mut peer = agent.peer();
    peer.attach(0);
    assert_eq!(agent.status()["attachedClients"], 1);
    assert_eq!(peer.result("detach", Value::Null), json!({}));
    assert_eq!(agent.status()["attachedClients"], 0);
    peer.attach(next - 2);
    // The early ones are from before.
    let events = peer.until(|event| event["offset"] == next - 2);
    assert_seamless(&events[..events.len() - 1], 0);
    peer.attach(next - 1);
    peer.attach(next - 1);
    agent.stop();
    let rest: Vec<Value> = peer.rest();
    assert_last(&rest, next + 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn replayed_and_live_events_join_without_gaps_wherever_a_client_attaches(
        burst in 500_u32..4000,
        size in 1_u32..600,
        moments in prop::collection::vec((0_u32..4000, 0.0..=1.0), 1..12),
    ) {
        let env = Env::new();
        let agent = env.live(&json!({ "burst": format!("{burst}:{size}") }));
        let mut watching = agent.follow(0);
        agent.send("one");
        let mut moments: Vec<(u64, f64)> =
            moments.into_iter().map(|(when, share)| (u64::from(when % burst), share)).collect();
        moments.sort_by_key(|(when, _)| *when);
        let mut peers = Vec::new();
        for (when, share) in moments {
            // Attached during the burst, at a fraction of its events so far.
            watching.until(|event| event["offset"].as_u64() >= Some(when));
            let next = agent.status()["streamOffset"].as_u64().unwrap();
            let from = (next as f64 * share) as u64;
            let mut peer = agent.follow(from);
            peers.push((from, std::thread::spawn(move || peer.rest_lines())));
        }
        watching.until(|event| is_idle_after(event, 1));
        agent.stop();
        let all = agent.env.told_again(ID);
        for (from, peer) in peers {
            let skip = usize::try_from(from).unwrap();
            let expected: String = all.split_inclusive('\n').skip(skip).collect();
            prop_assert!(peer.join().unwrap() == expected, "from {from}");
        }
    }
}

/// `PROPTEST_CASES`, or few: each starts a process tree.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4)
}
