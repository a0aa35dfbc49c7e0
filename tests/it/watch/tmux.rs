//! Each pane of the view in tmux, a terminal that other people wrote.

use crate::env::{Env, MURMUR};
use crate::pulse::tmux::tmux;
use crate::run::needed;
use serde_json::json;

#[test]
fn each_pane_is_shown_in_tmux_in_both_sizes() {
    if !needed::has("tmux") {
        return;
    }
    let env = Env::new();
    env.workspace("site", "Look.").plays(&json!({
        "script": [[{ "type": "text", "text": "ATTENTION: the cellar is wet" }]]
    }));
    env.run(["add", "site", "--interval", "1h"]);
    env.run(["beat", "site"]);
    let folder = env.root().join("screen");
    std::fs::create_dir(&folder).unwrap();
    // The view starts after what tells of its output.
    tmux(&env, &["new-session", "-d", "-x", "80", "-y", "24", "cat"]);
    tmux(&env, &["set-option", "status", "off"]);
    tmux(&env, &["set-option", "remain-on-exit", "on"]);
    tmux(&env, &["resize-window", "-x", "80", "-y", "24"]);
    // Touches a file at each piece of output.
    let touch = format!(
        "while [ -n \"$(dd bs=64k count=1 2>/dev/null | head -c 1)\" ]; do : >'{}/written'; done",
        folder.display()
    );
    tmux(&env, &["pipe-pane", &touch]);
    tmux(&env, &["respawn-pane", "-k", &format!("'{MURMUR}' watch")]);
    let until = |texts: &[&str]| {
        env.wait(&folder, || {
            let shown = tmux(&env, &["capture-pane", "-p"]);
            texts.iter().all(|text| shown.contains(text)).then_some(shown)
        })
    };
    let press = |key: &str| tmux(&env, &["send-keys", key]);
    for (key, texts) in [
        ("1", &["heartbeats (1)", "LAST 30", "attention"][..]),
        ("2", &["agents ("]),
        ("3", &["inbox (0)", "nothing waits for you"]),
        ("5", &["limits (0)"]),
        ("?", &["help", "filter"]),
        ("Escape", &["limits (0)"]),
        ("4", &["log (1)", "ATTENTION: the cellar"]),
        ("Enter", &["outcome  attention", "ATTENTION: the cellar"]),
        ("Escape", &["log (1)"]),
    ] {
        press(key);
        let shown = until(texts);
        assert!(
            shown.lines().count() <= 24 && shown.lines().all(|line| line.chars().count() <= 80),
            "{shown}"
        );
    }
    tmux(&env, &["resize-window", "-x", "200", "-y", "50"]);
    let all = until(&["heartbeats (1)", "agents (", "inbox (0)", "log (1)", "limits (0)"]);
    assert!(all.lines().any(|line| line.chars().count() > 150), "{all}");
    press("q");
    // The screen before the view is back.
    env.wait(&folder, || (!tmux(&env, &["capture-pane", "-p"]).contains("heartbeats (1)")).then_some(()));
    tmux(&env, &["kill-server"]);
}
