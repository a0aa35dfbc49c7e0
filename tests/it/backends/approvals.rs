//! A person's answer to a call of another agent's beat.

use serde_json::json;

use super::{AGENTS, call, decisions, default_agent, said};
use crate::env::Env;
use crate::permit::line;

/// A workspace that no daemon starts, with this frontmatter, whose beats run `agent`.
fn asking(env: &Env, agent: &str, frontmatter: &str) {
    env.agent(agent.trim_start_matches("acp:"));
    default_agent(env, agent);
    let site = env.workspace("site", &format!("---\npermissionsChecker: manual\n{frontmatter}\n---\nDo it."));
    site.plays(&json!({ "script": [call("git push"), said("HEARTBEAT_OK")] }));
}

#[test]
fn a_person_allows_or_denies_the_call_of_a_beat() {
    for agent in AGENTS {
        for is_allowed in [true, false] {
            let env = Env::new();
            asking(&env, agent, "");
            let daemon = env.daemon();
            let beat = env.beat();
            let request = env.opened();
            assert_eq!(
                (&request["tool"], &request["input"]["command"]),
                (&json!("Bash"), &json!("git push"))
            );
            let id = request["id"].as_str().unwrap();
            let answer = if is_allowed { &["allow", id][..] } else { &["deny", id, "--reason", "not today"] };
            env.run(answer);
            let line = line(beat);
            daemon.stop();
            assert_eq!(line["backend"], agent, "{line}");
            assert_eq!(line["outcome"], "ok", "{line}");
            let [[tool, decision, reason]] = &decisions(&env)[..] else { panic!("{agent}: {line}") };
            let (expected, why) =
                if is_allowed { ("allow", "a person allowed it") } else { ("deny", "not today") };
            assert_eq!([tool, decision, reason], ["Bash", expected, why], "{agent}");
            assert_eq!(line["denials"] == json!(["Bash"]), !is_allowed, "{line}");
            assert!(line["unguarded"].is_null(), "{line}");
        }
    }
}

#[test]
fn without_an_answer_the_call_of_a_beat_is_denied_and_not_deferred() {
    for agent in AGENTS {
        let env = Env::new();
        asking(&env, agent, "approvalWait: 1s");
        let daemon = env.daemon();
        let line = line(env.beat());
        daemon.stop();
        assert_eq!((&line["outcome"], &line["denials"]), (&json!("attention"), &json!(["Bash"])), "{line}");
        assert_eq!(
            line["summary"], "HEARTBEAT_OK, but nobody answered the request for Bash(git push)",
            "{line}"
        );
        assert!(line["waiting"].is_null(), "{line}");
        let [[_, decision, reason]] = &decisions(&env)[..] else { panic!("{agent}: {line}") };
        assert!(decision == "deny" && reason.starts_with("nobody answered in time"), "{agent}: {reason}");
    }
}
