//! What a hosted agent writes that murmur doesn't know.

use serde_json::{Value, json};

use super::{ID, Live, is_idle_after};
use crate::env::{Env, result};

#[test]
fn unknown_output_of_a_hosted_agent_is_counted_when_it_ends() {
    let env = Env::new();
    let init =
        json!({ "type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.1.999" });
    let dawn = json!({ "type": "dawn", "session_id": "s" });
    env.site(&json!({ "live": null, "stdout": format!("{init}\n{dawn}\n{}", result("Good morning.")) }));
    let agent = Live::of(&env, env.spawning(ID, &["--json", "Wake up"]));
    agent.follow(0).until(|event| is_idle_after(event, 1));
    agent.stop();
    agent.wait_for_end();
    let text = std::fs::read_to_string(env.data().join("unknown.json")).unwrap();
    let mut seen = serde_json::from_str::<Value>(&text).unwrap()["seen"].take();
    seen[0]["day"].take();
    let row =
        json!({ "day": null, "backend": "claude", "backendVersion": "2.1.999", "name": "dawn", "count": 1 });
    assert_eq!(seen, json!([row]));
}
