//! `murmur watch` on a terminal: it starts, shows what happens, and gives the terminal back.

mod keys;
mod tmux;

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::json;

use crate::env::{Env, MURMUR, kill};
use crate::hostile_text::with_a_huge_summary;
use crate::run::terminal::Terminal;
use std::time::{Duration, Instant};

/// Takes the terminal over.
const ENTERED: &str = "\u{1b}[?1049h\u{1b}[?25l";

/// Gives it back.
const LEFT: &str = "\u{1b}[?2004l\u{1b}[?25h\u{1b}[?1049l";

/// `murmur watch` on a terminal of 24 rows of 80 columns, which `act` ends. Returns what it wrote, and how it ended.
fn watching(env: &Env, act: impl FnOnce(&mut Terminal)) -> (String, Option<i32>) {
    let terminal = Terminal::open();
    terminal.resize(24, 80);
    let program = |words: &[&str]| env.program("setsid", words).set("TERM", "xterm");
    let mut terminal = terminal.start(program, &[MURMUR, "watch"]);
    act(&mut terminal);
    let session = terminal.finish();
    (session.text(), session.signal())
}

/// Waits until a terminal of this size shows `text`, after the frame that is on it or a later one.
fn until(terminal: &mut Terminal, (rows, columns): (u16, u16), text: &str) {
    while !screen(terminal.so_far(), rows, columns).contains(text) {
        terminal.wait_for("\u{1b}[?2026l");
    }
}

const SMALL: (u16, u16) = (24, 80);
const LARGE: (u16, u16) = (40, 160);
const TINY: (u16, u16) = (5, 20);

/// What a terminal shows after these bytes.
fn screen(bytes: &[u8], rows: u16, columns: u16) -> String {
    let mut parser = vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0);
    parser.process(bytes);
    parser.screen().rows(0, columns).map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn the_terminal_is_given_back_however_the_view_ends() {
    let env = Env::new();
    let ways: [(Option<&str>, Option<Signal>); 5] = [
        (Some("q"), None),
        (Some("\u{3}"), None),
        (None, Some(Signal::TERM)),
        (None, Some(Signal::HUP)),
        (None, Some(Signal::KILL)),
    ];
    for (key, signal) in ways {
        let (shown, ended) = watching(&env, |terminal| {
            terminal.wait_for(ENTERED);
            until(terminal, SMALL, "no heartbeats");
            match (key, signal) {
                (Some(key), _) => terminal.send(key),
                (None, signal) => kill(terminal.pid(), signal.unwrap()),
            }
            if signal == Some(Signal::KILL) {
                terminal.wait_for(LEFT);
                assert_eq!(terminal.look(), Terminal::open().look());
            }
        });
        assert!(shown.ends_with(LEFT), "{key:?} {signal:?}: {shown:?}");
        assert_eq!(ended, signal.map(Signal::as_raw));
    }
}

#[test]
fn heartbeats_with_the_same_name_are_told_apart() {
    let env = Env::new();
    let sites = [env.workspace("mine/site", "Do it."), env.workspace("other/site", "Do it.")];
    env.register(&[&sites[0], &sites[1]]);
    env.murmur(["beat", sites[0].path()]).assert().success();
    let (_, ended) = watching(&env, |terminal| {
        until(terminal, SMALL, "other/site ");
        until(terminal, SMALL, "mine/site ");
        terminal.send("4");
        until(terminal, SMALL, "log (1)");
        until(terminal, SMALL, " mine/site ");
        env.murmur(["beat", sites[1].path()]).assert().success();
        until(terminal, SMALL, " other/site ");
        terminal.send("q");
    });
    assert_eq!(ended, None);
}

#[test]
fn a_huge_summary_and_a_tiny_terminal_are_shown() {
    let env = Env::new();
    with_a_huge_summary(&env);
    let (shown, _) = watching(&env, |terminal| {
        until(terminal, SMALL, "site");
        terminal.send("4");
        until(terminal, SMALL, "ATTENTION: wide");
        terminal.resize(TINY.0, TINY.1);
        until(terminal, TINY, "log (1)");
        for pane in ["1", "2", "3", "5", "4", "?"] {
            terminal.send(pane);
        }
        until(terminal, TINY, "help");
        terminal.send("q");
        terminal.send("q");
    });
    assert!(shown.ends_with(LEFT), "{shown:?}");
    assert!(shown.len() < 100_000 && !shown.contains('\u{202e}'), "{}", shown.len());
}

#[test]
fn a_panic_gives_the_terminal_back_before_it_is_reported() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.configure(&json!({ "workspaces": [{ "path": site.0, "interval": "1h" }] }).to_string());
    let mut modes = None;
    let (shown, _) = watching(&env, |terminal| {
        until(terminal, SMALL, "site");
        // There is no memory for the stack of another thread, which reads the transcript.
        let pid = Pid::from_raw(terminal.pid().try_into().unwrap());
        let pages = std::fs::read_to_string(format!("/proc/{}/statm", terminal.pid())).unwrap();
        let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
        let bytes = Some(pages * u64::try_from(rustix::param::page_size()).unwrap() + (1 << 20));
        prlimit(pid, Resource::As, Rlimit { current: bytes, maximum: bytes }).unwrap();
        terminal.send("\r");
        terminal.wait_for("panicked at");
        modes = Some((terminal.look(), Terminal::open().look()));
    });
    let (after, before) = modes.unwrap();
    assert_eq!(after, before);
    let (view, report) = shown.split_once(LEFT).unwrap();
    assert!(view.contains(ENTERED) && report.contains("thread 'main'"), "{shown:?}");
    assert!(!report.contains("\u{1b}"), "{report:?}");
}

#[test]
fn a_stopped_view_gives_the_terminal_back_until_it_continues() {
    let env = Env::new();
    for is_key in [false, true] {
        let (shown, _) = watching(&env, |terminal| {
            until(terminal, SMALL, "no heartbeats");
            if is_key {
                terminal.send("\u{1a}");
            } else {
                kill(terminal.pid(), Signal::TSTP);
            }
            terminal.wait_for(LEFT);
            kill(terminal.pid(), Signal::CONT);
            terminal.wait_for(ENTERED);
            until(terminal, SMALL, "no heartbeats");
            terminal.send("q");
        });
        assert!(shown.ends_with(LEFT), "{shown:?}");
    }
}

#[test]
fn the_panes_show_what_happens_and_a_resized_terminal_is_filled() {
    let env = Env::new();
    env.workspace("site", "---\nname: shop\n---\nDo it.").plays(&json!({
        "script": [[{ "type": "text", "text": "ATTENTION: the cellar is wet" }]]
    }));
    env.run(["add", "site", "--interval", "1h"]);
    let mut shown = String::new();
    watching(&env, |terminal| {
        until(terminal, SMALL, "no daemon");
        env.run(["beat", "site"]);
        until(terminal, SMALL, "attention");
        terminal.send("4");
        until(terminal, SMALL, "ATTENTION: the cellar");
        terminal.send("\r");
        until(terminal, SMALL, "outcome  attention");
        terminal.send("\u{1b}");
        until(terminal, SMALL, "ENDED");
        terminal.resize(40, 160);
        until(terminal, LARGE, "limits (0)");
        shown = screen(terminal.so_far(), 40, 160);
        terminal.send("q");
    });
    for text in ["heartbeats (1)", "agents (", "inbox (0)", "log (1)", "limits (0)", "ATTENTION: the cellar"]
    {
        assert!(shown.contains(text), "{text}: {shown}");
    }
}

#[test]
fn a_request_is_answered_from_the_view() {
    let env = Env::new();
    let call =
        json!({ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "git push && ls" } });
    env.workspace("site", "---\npermissionsChecker: manual\n---\nDo it.").plays(&json!({
        "script": [[call], [{ "type": "text", "text": "HEARTBEAT_OK" }]]
    }));
    // Only `murmur beat` starts it.
    let site = env.root().join("site");
    env.configure(
        &json!({ "workspaces": [{ "path": site, "interval": "1h", "enabled": false }] }).to_string(),
    );
    let daemon = env.daemon();
    let beat = env.murmur(["beat", "site"]).start();
    watching(&env, |terminal| {
        until(terminal, SMALL, "1 waiting for you");
        until(terminal, SMALL, "  waits ");
        terminal.send("3");
        until(terminal, SMALL, "git push");
        terminal.send("y");
        until(terminal, SMALL, "1  Bash  asked");
        until(terminal, SMALL, "the guard reads: git push; ls");
        until(terminal, SMALL, "y allow");
        terminal.send("y");
        until(terminal, SMALL, "allowed Bash for site-");
        terminal.send("q");
    });
    let ended = beat.wait_with_output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    daemon.stop();
}

#[test]
fn the_inbox_shows_what_murmur_inbox_lists() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let hook =
        json!({ "hooks": { "SessionStart": [{ "hooks": [{ "type": "command", "command": "true" }] }] } });
    std::fs::create_dir(site.0.join(".claude")).unwrap();
    std::fs::write(site.0.join(".claude/settings.json"), hook.to_string()).unwrap();
    env.register(&[&site]);
    let rules = env.data().join("config/permissions.toml");
    std::fs::create_dir_all(rules.parent().unwrap()).unwrap();
    std::fs::write(&rules, "[[allow]\n").unwrap();
    let listed = env.run(["inbox"]);
    let kinds = ["rules", "untrusted"].map(|kind| listed.find(&format!("{kind}  ")));
    watching(&env, |terminal| {
        until(terminal, SMALL, "inbox(2)");
        terminal.send("3");
        until(terminal, SMALL, "rules ");
        let shown = screen(terminal.so_far(), 24, 80);
        assert!(shown.find(" rules ") < shown.find(" untrusted "), "{shown}");
        assert!(kinds[0] < kinds[1], "{listed}");
        terminal.send("\r");
        until(terminal, SMALL, "permissions.toml:1:9");
        terminal.send("\u{1b}");
        until(terminal, SMALL, "LEFT");
        terminal.send("j\r");
        until(terminal, SMALL, "murmur trust");
        until(terminal, SMALL, "Run:");
        // It is left when it is solved.
        env.run(["trust", "site", "--yes"]);
        until(terminal, SMALL, "the problem is solved");
        until(terminal, SMALL, "inbox(1)");
        std::fs::remove_file(&rules).unwrap();
        until(terminal, SMALL, "nothing waits for you");
        terminal.send("q");
    });
}

#[test]
fn what_a_killed_view_left_on_the_screen_is_cleared() {
    let env = Env::new();
    let (shown, _) = watching(&env, |terminal| {
        until(terminal, SMALL, "no heartbeats");
        terminal.send("q");
    });
    // Many terminals don't clear the alternate screen that they are on already.
    let (view, _) = shown.split_once(LEFT).unwrap();
    let after = format!("{}{}", "x".repeat(24 * 80), view.replace(ENTERED, ""));
    let after = screen(after.as_bytes(), 24, 80);
    assert!(!after.contains("xx"), "{after}");
}

#[test]
fn a_reached_limit_is_shown_as_murmur_limits_does() {
    let env = Env::new();
    let until_reset = sys::clock::now() + jiff::SignedDuration::from_mins(90);
    let limit = json!({ "status": 429, "error": { "type": "rate_limit_error", "message": "limit" }, "headers": {
        "x-should-retry": "false",
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": until_reset.as_second().to_string(),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
    }});
    env.workspace("site", "Do it.").plays(&json!({ "script": [limit] }));
    env.murmur(["beat", "site"]).set("CLAUDE_CODE_OAUTH_TOKEN", "sk-test").unset("ANTHROPIC_API_KEY").run();
    assert!(env.run(["limits"]).contains("reached"));
    watching(&env, |terminal| {
        until(terminal, SMALL, "inbox(1)");
        terminal.send("5");
        until(terminal, SMALL, " reached ");
        terminal.send("q");
    });
}

#[test]
fn an_editor_gets_the_terminal_and_returns_it() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    env.run(["add", "site"]);
    for (editor, printed, said) in [
        ("echo seen by an editor:", "seen by an editor:", "did not change "),
        ("echo More. >>", LEFT, "edited "),
        ("false", LEFT, "the editor failed (exit status: 1); set VISUAL or EDITOR to one"),
        ("kill -TERM $$; :", LEFT, "the editor failed (signal: 15"),
    ] {
        let terminal = Terminal::open();
        terminal.resize(24, 80);
        let program =
            |words: &[&str]| env.program("setsid", words).set("TERM", "xterm").set("EDITOR", editor);
        let mut terminal = terminal.start(program, &[MURMUR, "watch"]);
        until(&mut terminal, SMALL, "site");
        terminal.send("e");
        terminal.wait_for(printed);
        terminal.wait_for(ENTERED);
        until(&mut terminal, SMALL, said);
        // The rest of the view is there again.
        until(&mut terminal, SMALL, "heartbeats (1)");
        terminal.send("q");
        assert!(terminal.finish().text().ends_with(LEFT), "{editor}");
    }
}

#[test]
fn a_change_soon_after_another_is_shown_at_once() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    env.run(["add", "site", "--interval", "1h"]);
    let paused = env.data().join("paused.json");
    env.run(["pause", "site"]);
    let pause = std::fs::read(&paused).unwrap();
    let mut waits = Vec::new();
    watching(&env, |terminal| {
        until(terminal, SMALL, "paused");
        for _ in 0..10 {
            std::fs::remove_file(&paused).unwrap();
            let changed = Instant::now();
            while screen(terminal.so_far(), 24, 80).contains("paused") {
                terminal.wait_for("\u{1b}[?2026l");
            }
            waits.push(changed.elapsed());
            sys::atomic::write(&paused, &pause).unwrap();
            let changed = Instant::now();
            until(terminal, SMALL, "paused");
            waits.push(changed.elapsed());
        }
        terminal.send("q");
    });
    // Any of them may have had to wait for other programs of a busy machine, but not all.
    assert!(waits.iter().skip(1).min().unwrap() < &Duration::from_millis(50), "{waits:?}");
}

#[test]
fn without_a_terminal_there_is_one_error_with_the_next_step() {
    let env = Env::new();
    insta::assert_snapshot!(env.run(["watch"]), @"
    | error: cannot show the live view: stdout is not a terminal
    | hint: run: murmur status, or: murmur log --follow
    [exit 1]
    ");
}

#[test]
fn the_cost_of_an_agent_is_shown_although_it_was_caused_before() {
    let env = Env::new();
    let site = env.workspace("site", "");
    let lines = [
        json!({ "type": "system", "subtype": "init", "session_id": "s-1", "model": "claude-x" }),
        json!({ "type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "result": "x",
            "session_id": "s-1", "total_cost_usd": 1.25, "usage": { "input_tokens": 50_000 } }),
    ];
    let stdout: String = lines.iter().map(|line| format!("{line}\n")).collect();
    site.plays(&json!({ "stdout": stdout, "faults": ["hang"] }));
    env.run(["agent", "start", "--agent-id", "fixer", "--worktree", site.path(), "Hi"]);
    watching(&env, |terminal| {
        terminal.wait_for(ENTERED);
        terminal.send("2");
        until(terminal, SMALL, "25%  $1.25");
        terminal.send("q");
    });
    env.run(["agent", "stop", "fixer", "--force"]);
}
