//! Calls that an agent runs without asking, although a person's own rules deny them: murmur can only notice them
//! afterwards.

use serde_json::{Value, json};

use super::said;
use crate::env::Env;

/// The journal line of a beat whose agent runs `curl x` and `ls` without asking, with these rules of the user.
fn ran(env: &Env, rules: &str, answer: &str) -> Value {
    // Under another name, murmur doesn't make it ask.
    let program = env.agent("opencode");
    let folder = env.data().join("config");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = format!("[acp.mine]\ncommand = {program:?}\nargs = [\"acp\"]\n");
    std::fs::write(folder.join("config.toml"), settings).unwrap();
    std::fs::write(folder.join("permissions.toml"), rules).unwrap();
    let site = env.workspace("site", "Look.");
    let entry = json!({ "path": site.0, "interval": "30m", "agent": "acp:mine" });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    let call = |id: &str, command: &str| json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } }]);
    site.plays(&json!({ "script": [call("c1", "ls"), call("c2", "curl x"), said(answer)] }));
    env.run(["beat", "site"]);
    env.journal().pop().unwrap()
}

#[test]
fn a_call_that_ran_unasked_and_that_rules_deny_needs_attention() {
    let deny = "[[rules]]\ntool = \"Bash\"\naction = \"deny\"\npattern = \"curl:*\"\n";
    for (answer, summary) in [
        ("HEARTBEAT_OK", "HEARTBEAT_OK, but it ran Bash(curl x) without asking, which your rules deny"),
        ("ATTENTION: wet", "ATTENTION: wet, but it ran Bash(curl x) without asking, which your rules deny"),
    ] {
        let env = Env::new();
        let line = ran(&env, deny, answer);
        assert_eq!((&line["outcome"], &line["summary"]), (&json!("attention"), &json!(summary)), "{line}");
        assert_eq!(line["unguarded"], json!(["Bash(ls)", "Bash(curl x)"]));
    }
    // A rule that lets it run comes first.
    let env = Env::new();
    let line = ran(
        &env,
        &format!("[[rules]]\ntool = \"Bash\"\naction = \"allow\"\npattern = \"curl:*\"\n{deny}"),
        "HEARTBEAT_OK",
    );
    assert_eq!((&line["outcome"], &line["summary"]), (&json!("ok"), &Value::Null), "{line}");
}
