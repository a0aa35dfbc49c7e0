//! What becomes of a beat whose agent misbehaves, for each fault of fake-claude.

use insta::assert_snapshot;
use serde_json::json;

use super::{call, said, site};
use crate::env::Env;

/// Each comes with the end of the first turn, or before the first line.
const FAULTS: [&[&str]; 18] = [
    &["garbage"],
    &["invalid-utf8"],
    &["huge-line:20000000"],
    &["half-line"],
    &["half-line", "exit:0"],
    &["die-at:300"],
    &["die:KILL"],
    &["exit:3"],
    &["stderr-flood:1000000"],
    &["setsid-child"],
    &["setsid-child-clean-env"],
    &["hold-output"],
    &["close-stdout"],
    &["success-after-term"],
    &["hang-before"],
    &["hang", "ignore-term"],
    &["not-logged-in"],
    // Means nothing to an ACP agent, which has no hooks.
    &["no-hooks"],
];

/// The outcome of a beat of `agent` for each fault, a line each.
fn outcomes(agent: &str) -> String {
    let outcome = |faults: &[&str]| {
        let env = Env::new();
        let site = site(&env, agent);
        let mut entry = json!({ "path": site.0, "interval": "30m", "agent": agent });
        match faults {
            ["hang-before"] => entry["startTimeout"] = "1s".into(),
            ["half-line" | "success-after-term"] => entry["idleTimeout"] = "1s".into(),
            _ => {}
        }
        env.configure(&json!({ "workspaces": [entry] }).to_string());
        let mut script = vec![said("ATTENTION: the disk is full")];
        if let ["no-hooks"] = faults {
            script.insert(0, call("ls"));
        }
        site.plays(&json!({ "script": script, "faults": faults }));
        env.run(["beat", "site"]);
        assert_eq!(env.alive(), [0; 0], "{faults:?}");
        let line = env.journal().pop().unwrap();
        let text = line["error"].as_str().or(line["summary"].as_str()).unwrap_or_default();
        format!("{}: {} {text}", faults.join(", "), line["outcome"].as_str().unwrap())
    };
    std::thread::scope(|scope| {
        let runs = FAULTS.map(|faults| scope.spawn(move || outcome(faults)));
        runs.map(|run| run.join().unwrap()).join("\n")
    })
}

#[test]
fn faults_of_codex_have_an_outcome() {
    assert_snapshot!(outcomes("codex"), @"
    garbage: attention ATTENTION: the disk is full
    invalid-utf8: attention ATTENTION: the disk is full
    huge-line:20000000: attention ATTENTION: the disk is full
    half-line: error no output from the model for 1s (idleTimeout)
    half-line, exit:0: error ended without a result
    die-at:300: error killed by signal 9
    die:KILL: error killed by signal 9: ATTENTION: the disk is full
    exit:3: error exited with code 3: ATTENTION: the disk is full
    stderr-flood:1000000: attention ATTENTION: the disk is full
    setsid-child: attention ATTENTION: the disk is full
    setsid-child-clean-env: attention ATTENTION: the disk is full
    hold-output: attention ATTENTION: the disk is full
    close-stdout: attention ATTENTION: the disk is full
    success-after-term: error no output from the model for 1s (idleTimeout); the agent had said: ATTENTION: the disk is full
    hang-before: error no output from the agent within 1s of its start (startTimeout)
    hang, ignore-term: attention ATTENTION: the disk is full
    not-logged-in: error reported an error: Missing environment variable: `OPENAI_API_KEY`.
    no-hooks: error a call ran without a decision: Bash(ls); the agent had said: ATTENTION: the disk is full
    ");
}

#[test]
fn faults_of_an_acp_agent_have_an_outcome() {
    assert_snapshot!(outcomes("acp:opencode"), @"
    garbage: attention ATTENTION: the disk is full
    invalid-utf8: attention ATTENTION: the disk is full
    huge-line:20000000: attention ATTENTION: the disk is full
    half-line: error no output from the model for 1s (idleTimeout)
    half-line, exit:0: error ended without a result
    die-at:300: error killed by signal 9
    die:KILL: error killed by signal 9: ATTENTION: the disk is full
    exit:3: error exited with code 3: ATTENTION: the disk is full
    stderr-flood:1000000: attention ATTENTION: the disk is full
    setsid-child: attention ATTENTION: the disk is full
    setsid-child-clean-env: attention ATTENTION: the disk is full
    hold-output: attention ATTENTION: the disk is full
    close-stdout: attention ATTENTION: the disk is full
    success-after-term: error no output from the model for 1s (idleTimeout); the agent had said: ATTENTION: the disk is full
    hang-before: error no output from the agent within 1s of its start (startTimeout)
    hang, ignore-term: attention ATTENTION: the disk is full
    not-logged-in: error reported an error: cannot begin a conversation: the agent is not logged in (Authentication required); log in with its own program, or set its API key
    no-hooks: attention ATTENTION: the disk is full
    ");
}
