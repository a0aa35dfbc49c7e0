//! The view in tmux, a terminal that other people wrote.

use crate::env::{Env, MURMUR};
use crate::pulse::tmux::tmux;
use crate::run::needed;
use serde_json::json;
use std::path::PathBuf;

/// `murmur watch` in the only window of a tmux server, which ends with this.
struct View<'a> {
    env: &'a Env,
    folder: PathBuf,
}

impl<'a> View<'a> {
    /// Starts a server whose window has 80 columns and 24 rows.
    fn new(env: &'a Env) -> Self {
        let folder = env.root().join("screen");
        std::fs::create_dir(&folder).unwrap();
        // The view starts after what tells of its output.
        tmux(env, &["new-session", "-d", "-x", "80", "-y", "24", "cat"]);
        tmux(env, &["set-option", "status", "off"]);
        tmux(env, &["set-option", "remain-on-exit", "on"]);
        tmux(env, &["resize-window", "-x", "80", "-y", "24"]);
        // Touches a file at each piece of output.
        let touch = format!(
            "while [ -n \"$(dd bs=64k count=1 2>/dev/null | head -c 1)\" ]; do : >'{}/written'; done",
            folder.display()
        );
        tmux(env, &["pipe-pane", &touch]);
        Self { env, folder }
    }

    /// Starts the view with these variables and arguments.
    fn start(&self, variables: &[&str], args: &str) {
        let command = format!("env {} '{MURMUR}' watch {args}", variables.join(" "));
        tmux(self.env, &["respawn-pane", "-k", &command]);
    }

    /// The screen, with escape codes for its colors if `is_colored`.
    fn shown(&self, is_colored: bool) -> String {
        tmux(self.env, &["capture-pane", if is_colored { "-ep" } else { "-p" }])
    }

    /// Waits until the screen has all of `texts`.
    fn until(&self, texts: &[&str]) -> String {
        self.env.wait(&self.folder, || {
            let shown = self.shown(false);
            texts.iter().all(|text| shown.contains(text)).then_some(shown)
        })
    }

    fn press(&self, key: &str) {
        tmux(self.env, &["send-keys", key]);
    }

    /// Types these bytes.
    fn send(&self, text: &str) {
        tmux(self.env, &["send-keys", "-l", text]);
    }

    /// What tmux knows of the terminal.
    fn knows(&self, what: &str) -> String {
        tmux(self.env, &["display-message", "-p", what])
    }

    /// Leaves the view: the screen before it is back.
    fn leave(&self) {
        self.press("q");
        self.env.wait(&self.folder, || (self.knows("#{alternate_on}") == "0").then_some(()));
    }
}

impl Drop for View<'_> {
    fn drop(&mut self) {
        let socket = self.env.root().join("tmux");
        let _ended = self.env.program("tmux", ["-S", socket.to_str().unwrap(), "kill-server"]).start().wait();
    }
}

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
    let view = View::new(&env);
    view.start(&[], "");
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
        view.press(key);
        let shown = view.until(texts);
        assert!(
            shown.lines().count() <= 24 && shown.lines().all(|line| line.chars().count() <= 80),
            "{shown}"
        );
    }
    tmux(&env, &["resize-window", "-x", "200", "-y", "50"]);
    let all = view.until(&["heartbeats (1)", "agents (", "inbox (0)", "log (1)", "limits (0)"]);
    assert!(all.lines().any(|line| line.chars().count() > 150), "{all}");
    view.leave();
    assert!(!view.shown(false).contains("heartbeats (1)"));
}

#[test]
fn there_are_as_many_colors_as_the_terminal_and_the_user_want() {
    if !needed::has("tmux") {
        return;
    }
    let env = Env::new();
    let now = sys::clock::now();
    let resets = sys::clock::rfc3339(now + jiff::SignedDuration::from_mins(90));
    let window = json!({ "utilization": 0.84, "status": "allowed", "resetsAt": resets,
        "reportedAt": sys::clock::rfc3339(now) });
    // The first row is selected, which hides its color.
    let windows = json!({ "five_hour": window, "seven_day": window });
    let limits = json!({ "version": 1, "accounts": { "claude": { "windows": windows } } });
    std::fs::write(env.create_data().join("limits.json"), limits.to_string()).unwrap();
    let view = View::new(&env);
    let (plain, many) = (["COLORTERM=", "TERM=xterm"], ["COLORTERM=", "TERM=xterm-256color"]);
    let (all, none) = (["COLORTERM=truecolor", "TERM=xterm"], ["COLORTERM=truecolor", "NO_COLOR=1"]);
    let codes = regex::Regex::new(r"\x1b\[[\d;]*m").unwrap();
    let colors = regex::Regex::new(r"[\[;](3[0-8]|4[0-8])[;m]").unwrap();
    for (variables, args, kind) in [
        (&plain, "", Some("31m")),
        (&many, "", Some("38;5;")),
        (&all, "", Some("38;2;")),
        (&none, "", None),
        (&none, "--color=always", Some("38;2;")),
        (&all, "--color=never", None),
    ] {
        view.start(variables, args);
        view.until(&["no heartbeats"]);
        view.press("5");
        view.until(&["84%", "limits (2)"]);
        let shown = view.shown(true);
        let used: Vec<&str> =
            codes.find_iter(&shown).map(|code| code.as_str()).filter(|code| colors.is_match(code)).collect();
        match kind {
            Some(kind) => {
                let others = ["38;5;", "38;2;"].into_iter().filter(|other| *other != kind);
                let has = |kind: &str| used.iter().any(|code| code.contains(kind));
                assert!(has(kind) && !others.clone().any(has), "{variables:?} {args}: {used:?}");
            }
            None => assert_eq!(used, [""; 0], "{variables:?} {args}"),
        }
        // What is selected is seen without colors, too.
        assert!(shown.contains("\u{1b}[7m") || shown.contains(";7m") || shown.contains("[1;7"), "{shown:?}");
        view.leave();
    }
}

#[test]
fn the_mouse_selects_and_scrolls_only_if_wanted() {
    if !needed::has("tmux") {
        return;
    }
    let env = Env::new();
    let sites = ["a-site", "b-site"].map(|name| env.workspace(name, "Do it."));
    env.register(&[&sites[0], &sites[1]]);
    let view = View::new(&env);
    let mouse = "#{mouse_standard_flag}#{mouse_sgr_flag}";
    for (args, flags) in [("", "00"), ("--mouse", "11")] {
        view.start(&["TERM=xterm"], args);
        let shown = view.until(&["a-site ", "b-site "]);
        assert_eq!(view.knows(mouse), flags, "{args}");
        if flags == "11" {
            let row = shown.lines().position(|line| line.starts_with("b-site ")).unwrap() + 1;
            // A click, and letting go.
            view.send(&format!("\u{1b}[<0;5;{row}M\u{1b}[<0;5;{row}m"));
            view.press("p");
            view.until(&["paused b-site"]);
            // The wheel.
            view.send("\u{1b}[<64;5;5M");
            view.press("p");
            view.until(&["paused a-site"]);
        }
        view.leave();
        assert_eq!(view.knows(mouse), "00", "{args}");
    }
}
