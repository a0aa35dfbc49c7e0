//! `--watch` on a terminal: redraws a table in place, and restores the terminal when it ends.

use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::json;

use super::{pulse, with};
use crate::env::{Env, kill};
use crate::run::terminal::Terminal;

/// `murmur agent list --watch` with `more` on a terminal of 6 rows of 100 columns, which `act` ends.
fn watching(env: &Env, more: &[&str], act: impl FnOnce(&mut Terminal)) -> (String, Option<i32>) {
    let terminal = Terminal::open();
    terminal.resize(6, 100);
    let program = |words: &[&str]| env.program("setsid", words).set("TERM", "xterm");
    let mut terminal = terminal.start(program, &[&[crate::env::MURMUR, "agents", "--watch"], more].concat());
    act(&mut terminal);
    let session = terminal.finish();
    (session.text(), session.signal())
}

/// What a terminal of this size shows after these bytes.
fn screen(bytes: &[u8], rows: u16, columns: u16) -> String {
    let mut parser = vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0);
    parser.process(bytes);
    let lines = parser.screen().rows(0, columns).map(|line| line.trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// Waits for frames until one is as `wanted`. A change can take two frames, and one more can come before a resize.
fn picture(terminal: &mut Terminal, wanted: impl Fn(&str) -> bool) -> String {
    loop {
        terminal.wait_for("\u{1b}[J");
        let picture = screen(terminal.so_far(), 6, 100);
        if wanted(&picture) {
            return picture;
        }
    }
}

#[test]
fn the_table_is_redrawn_in_place_and_the_terminal_is_restored() {
    let env = Env::new();
    for (signal, key) in [(Signal::INT, Some("\u{3}")), (Signal::TERM, None)] {
        // Their minutes have just begun.
        env.beats(&pulse("site-1", 421));
        let mut pictures = Vec::new();
        let (shown, ended) = watching(&env, &[], |terminal| {
            terminal.wait_for("\u{1b}[?1049h\u{1b}[?25l");
            pictures.push(picture(terminal, |picture| picture.contains("site-1")));
            env.beats(&with(pulse("site-2", 2701), &json!({ "last_action": "sleep 日本語" })));
            pictures.push(picture(terminal, |picture| picture.contains("site-2")));
            terminal.resize(3, 60);
            pictures.push(picture(terminal, |picture| !picture.contains("BRANCH")));
            terminal.resize(2, 60);
            terminal.wait_for("and 2 more");
            match key {
                Some(key) => terminal.send(key),
                None => kill(terminal.pid(), signal),
            }
        });
        assert!(shown.ends_with("\u{1b}[?25h\u{1b}[?1049l"), "{shown:?}");
        assert_eq!(ended, Some(signal.as_raw()));
        assert_snapshot!("redrawn", pictures.join("\n---\n"));
        std::fs::remove_file(env.pulses().join("site-2.json")).unwrap();
    }
}

#[test]
fn a_suspended_watch_restores_the_terminal_until_it_continues() {
    let env = Env::new();
    env.beats(&pulse("site-1", 450));
    let (shown, ended) = watching(&env, &[], |terminal| {
        terminal.wait_for("site-1");
        kill(terminal.pid(), Signal::TSTP);
        terminal.wait_for("\u{1b}[?1049l");
        kill(terminal.pid(), Signal::CONT);
        terminal.wait_for("\u{1b}[?1049h");
        terminal.wait_for("site-1");
        kill(terminal.pid(), Signal::TERM);
    });
    assert!(shown.ends_with("\u{1b}[?1049l"), "{shown:?}");
    assert_eq!(ended, Some(Signal::TERM.as_raw()));
}

#[test]
fn watching_one_agent_shows_its_end() {
    let env = Env::new();
    env.beats(&pulse("site-1", 450));
    env.beats(&pulse("site-2", 450));
    let (shown, _) = watching(&env, &["site-2"], |terminal| {
        terminal.wait_for("site-2");
        std::fs::remove_file(env.pulses().join("site-2.json")).unwrap();
        terminal.wait_for("no agents\u{1b}[K");
        kill(terminal.pid(), Signal::TERM);
    });
    assert!(!shown.contains("site-1"), "{shown:?}");
}
