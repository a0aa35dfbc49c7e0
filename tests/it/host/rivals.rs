//! Concurrency: several processes want to become the host of one id, or to clean up.

use serde_json::json;

use super::{ID, Live};
use crate::env::{Env, show};

#[test]
fn of_many_concurrent_starts_with_one_id_one_becomes_the_host() {
    let env = Env::new();
    env.site(&json!({}));
    let started: Vec<_> = (0..6).map(|_| env.spawning(ID, &["--json"]).start()).collect();
    let ended: Vec<_> = started.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let (won, lost): (Vec<_>, Vec<_>) = ended.into_iter().partition(|output| output.status.success());
    assert_eq!(won.len(), 1, "{}", lost.iter().map(show).collect::<String>());
    for output in lost {
        assert!(show(&output).starts_with("| error: agent site-1 already has a host"), "{}", show(&output));
    }
    let won: serde_json::Value = serde_json::from_slice(&won[0].stdout).unwrap();
    Live { env: &env, id: ID, pid: won["pid"].as_i64().unwrap() }.assert_answers();
    assert_eq!(env.wait_for_agents(1).len(), 1);
}

#[test]
fn discovery_and_cleanup_do_not_block_a_start() {
    let env = Env::new();
    let first = env.live(&json!({}));
    first.stop();
    first.wait_for_end();
    for round in 0..5 {
        let looking: Vec<_> = (0..8)
            .map(|number| {
                let what = if number % 2 == 0 { ["host", "discover"] } else { ["host", "list"] };
                env.murmur(what).start()
            })
            .collect();
        let agent = Live::of(&env, env.spawning(ID, &["--json"]));
        agent.assert_answers();
        for child in looking {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{round}: {}", show(&output));
        }
        agent.assert_answers();
        agent.stop();
        agent.wait_for_end();
    }
}
