//! Hosted agents other than Claude Code, which fake-claude imitates.

use serde_json::json;

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
