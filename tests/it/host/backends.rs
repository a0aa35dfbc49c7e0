//! Hosted agents other than Claude Code, which fake-claude imitates.

use serde_json::{Value, json};

use super::{ID, Live, is_idle_after};
use crate::env::Env;

const AGENTS: [(&str, &str); 2] = [("codex", "codex"), ("opencode", "acp:opencode")];

#[test]
fn hosts_name_the_backend_of_their_agent() {
    for (program, backend) in AGENTS {
        let env = Env::new();
        env.agent(program);
        env.site(&json!({}));
        let agent = Live::of(&env, env.spawning(ID, &["--backend", backend, "--project", "site", "--json"]));
        agent.follow(0).until(|event| is_idle_after(event, 0));
        let listed = env.run(["host", "list"]);
        assert!(listed.contains(&format!("\n{ID} ({backend})  site ")), "{listed}");
        assert_eq!(env.murmur(["host", "list", "--json"]).json()["agents"][0]["backend"], backend);
        let status = env.run(["host", "status", ID]);
        assert!(status.contains(&format!("\nBackend: {backend}\n")), "{status}");
        agent.stop();
        agent.wait_for_end();
    }
}

#[test]
fn a_hosted_agent_is_told_that_it_cannot_defer() {
    for (program, backend) in AGENTS.into_iter().chain([("claude", "claude")]) {
        let env = Env::new();
        if program != "claude" {
            env.agent(program);
        }
        let folder = env.data().join("config");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), "approval = \"defer\"\n").unwrap();
        env.site(&json!({}));
        let agent = Live::of(&env, env.spawning(ID, &["--backend", backend, "--json"]));
        agent.follow(0).until(|event| is_idle_after(event, 0));
        let policy = env.agents()[0]["env"]["MURMUR_PERMISSIONS"].clone();
        let policy: Value = serde_json::from_str(policy.as_str().unwrap()).unwrap();
        // Denied after the time after which a beat's call is deferred.
        assert_eq!((&policy["approval"], &policy["approvalWait"]), (&json!("wait"), &json!(120)), "{policy}");
        agent.stop();
        agent.wait_for_end();
    }
}
