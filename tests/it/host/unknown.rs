//! What a hosted agent writes that murmur doesn't know.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{ID, Live, is_idle_after};
use crate::env::{Env, kill, result};

#[test]
fn unknown_output_of_a_hosted_agent_is_counted_when_it_ends() {
    is_counted_after(|agent| drop(agent.stop()));
}

#[test]
fn unknown_output_is_counted_even_if_the_host_is_killed() {
    is_counted_after(|agent| kill(agent.pid, Signal::KILL));
}

fn is_counted_after(end: impl Fn(&Live<'_>)) {
    let env = Env::new();
    let init =
        json!({ "type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.1.999" });
    let dawn = json!({ "type": "dawn", "session_id": "s" });
    env.site(&json!({ "live": null, "stdout": format!("{init}\n{dawn}\n{}", result("Good morning.")) }));
    let agent = Live::of(&env, env.spawning(ID, &["--json", "Wake up"]));
    agent.follow(0).until(|event| is_idle_after(event, 1));
    end(&agent);
    agent.wait_for_end();
    env.murmur(["host", "discover"]).run();
    let text = std::fs::read_to_string(env.data().join("unknown.json")).unwrap();
    let mut seen = serde_json::from_str::<Value>(&text).unwrap()["seen"].take();
    seen[0]["day"].take();
    let row =
        json!({ "day": null, "backend": "claude", "backendVersion": "2.1.999", "name": "dawn", "count": 1 });
    assert_eq!(seen, json!([row]));
}
