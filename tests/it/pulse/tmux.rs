//! An agent in a tmux session that murmur didn't start is named after the session.

use serde_json::json;

use super::{called, is_quiet};
use crate::env::Env;
use crate::run::needed;

/// The response of a tmux server in the Env to these arguments.
pub(crate) fn tmux(env: &Env, words: &[&str]) -> String {
    let socket = env.root().join("tmux");
    let words = [&["-S", socket.to_str().unwrap(), "-f", "/dev/null"], words].concat();
    let run = env.program("tmux", words).set("TERM", "xterm").set("LC_ALL", "C.UTF-8").assert().success();
    String::from_utf8_lossy(&run.get_output().stdout).trim_end().to_owned()
}

#[test]
fn the_tmux_session_of_the_pane_names_the_agent_even_after_a_rename() {
    if !needed::has("tmux") {
        return;
    }
    let env = Env::new();
    tmux(&env, &["new-session", "-d", "-s", "feature/pan 30", "cat"]);
    let [server, pane] =
        ["#{socket_path},#{pid},0", "#{pane_id}"].map(|what| tmux(&env, &["display-message", "-p", what]));
    let hook = || {
        let told = called("Bash", &json!({ "command": "ls" })).to_string();
        env.pulse_hook("PostToolUse", told).set("TMUX", &server).set("TMUX_PANE", &pane)
    };
    is_quiet(hook());
    let file = env.names(&env.data().join("heartbeats"));
    let stem = file.strip_suffix(".json").unwrap();
    assert!(stem.starts_with("feature-pan-30-"), "{stem}");
    assert_eq!(env.pulse(stem)["agent_id"], "feature/pan 30");
    tmux(&env, &["rename-session", "日本 ☃"]);
    is_quiet(hook());
    let text = env.names(&env.data().join("heartbeats"));
    let stems = text.lines().filter_map(|file| file.strip_suffix(".json")).filter(|other| *other != stem);
    assert_eq!(stems.map(|stem| env.pulse(stem)["agent_id"].clone()).collect::<Vec<_>>(), ["日本 ☃"]);
    tmux(&env, &["rename-session", "pan"]);
    is_quiet(hook());
    assert_eq!(env.pulse("pan")["agent_id"], "pan");
    // murmur's own name for an agent takes precedence.
    is_quiet(hook().set("MURMUR_AGENT_ID", "site-1"));
    assert_eq!(env.pulse("site-1")["agent_id"], "site-1");
    tmux(&env, &["kill-server"]);
    is_quiet(hook());
    assert_eq!(env.pulse("claude-s1")["agent_id"], "claude-s1");
}
