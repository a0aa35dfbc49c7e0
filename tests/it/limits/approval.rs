//! A new named heartbeat runs once a person has approved it.

use serde_json::json;

use crate::env::Env;

#[test]
fn a_named_heartbeat_that_an_agent_makes_does_not_run_until_a_person_approves_it() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_journal(1);
    site.named("evil", "---\ninterval: 1m\n---\nDo more.");
    let status = || env.murmur(["status", "--json"]).json();
    env.wait(&env.data(), || (status()["heartbeats"][1]["name"] == "evil").then_some(()));
    assert_eq!(status()["heartbeats"][1]["approved"], json!(false), "{}", status());
    assert_eq!(status()["heartbeats"][1]["nextRun"], json!(null));
    assert_eq!(env.journal().len(), 1);
    daemon.stop();
}
