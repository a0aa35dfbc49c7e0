//! Real full-screen programs: their bytes are compared if the output is deterministic, otherwise the screen.

use std::num::NonZeroU16;

use super::needed::has;
use super::same;
use super::terminal::{Session, Terminal};

const ROWS: NonZeroU16 = NonZeroU16::new(50).unwrap();

/// What a terminal shows after `bytes`: characters, colors, cursor and modes.
fn screen(bytes: &[u8]) -> String {
    let mut parser = vt100::Parser::default();
    parser.process(bytes);
    parser.screen().state_formatted()
}

/// Uses the program both ways. Checks that the bytes, and so the screens, are equal.
fn same_use(words: &[&str], uses: impl Fn(&mut Terminal)) -> Session {
    let session = same(|place| {
        std::fs::write(place.env.root().join("text"), "one\ntwo\n".repeat(60)).unwrap();
        let mut terminal = place.on_terminal(words);
        uses(&mut terminal);
        let session = terminal.finish();
        (screen(&session.shown), session)
    });
    assert_eq!(session.1.code(), Some(0));
    session.1
}

#[test]
fn a_full_screen_program_works() {
    let draw = r#"stty -echo -icanon min 1; printf '\033[?1049h\033[2J\033[?25l\033[3;10H\033[1;31mred\033[0m\033[38;5;82m\342\226\210\033[0m'
        printf '\033[5;20r\033[20;1H\n\n\033[r\033[10;1H\033(0lqqk\033(B\033[?1h\033=\033[6nready'
        key=$(dd bs=1 count=1 2>/dev/null); printf '\033[12;1Hkey %s' "$key"; printf '\033[?25h\033[?1049l'; stty sane; printf 'after'"#;
    let shown = same_use(&["sh", "-c", draw], |terminal| {
        terminal.wait_for("ready");
        terminal.send("k");
    });
    assert!(shown.text().ends_with("key k\u{1b}[?25h\u{1b}[?1049lafter"), "{shown:?}");
}

#[test]
fn vim_works() {
    if has("vim") {
        same_use(
            &[
                "vim",
                "-u",
                "NONE",
                "-N",
                "-i",
                "NONE",
                "-n",
                "--cmd",
                "set t_RV= t_u7= t_RF= t_RB= nottyfast",
                "text",
            ],
            |terminal| {
                terminal.wait_for("480B");
                terminal.send("ohello");
                terminal.wait_for("hello");
                terminal.send("\u{1b}:2,3d\r");
                terminal.wait_for(":2,3d");
                terminal.send(":set number\r");
                terminal.wait_for(":set number");
                terminal.send(":q!\r");
            },
        );
    }
}

#[test]
fn less_works() {
    if has("less") {
        same_use(&["less", "text"], |terminal| {
            terminal.wait_for("text");
            terminal.send("G");
            terminal.wait_for("(END)");
            terminal.send("q");
        });
    }
}

/// Uses the program both ways, and compares the terminal when `uses` returns; then `ends` quits it.
fn same_screen(words: &[&str], uses: impl Fn(&mut Terminal), ends: &str) {
    let shown = same(|place| {
        let mut terminal = place.on_terminal(words);
        uses(&mut terminal);
        let shown = screen(terminal.so_far());
        terminal.send(ends);
        assert_eq!(terminal.finish().code(), Some(0));
        shown
    });
    assert!(!shown.is_empty());
}

#[test]
fn htop_works() {
    if has("htop") {
        same(|place| {
            // Tall enough for everything. htop's values differ every time, but its help doesn't.
            let terminal = Terminal::open();
            terminal.resize(50, 80);
            let words = [place.by.words(), &["htop"]].concat();
            let mut terminal = terminal.start(|args| place.program("setsid", args), &words);
            terminal.wait_for("Quit");
            terminal.send("h");
            terminal.wait_for("Press any key to return.");
            let mut parser = vt100::Parser::default();
            parser.set_size(ROWS, vt100::Parser::DEFAULT_COLS);
            parser.process(terminal.so_far());
            terminal.send(" ");
            terminal.wait_for("Quit");
            terminal.send("q");
            assert_eq!(terminal.finish().code(), Some(0));
            parser.screen().contents()
        });
    }
}

#[test]
fn fish_works() {
    if has("fish") {
        let uses = |terminal: &mut Terminal| {
            terminal.wait_for("> ");
            terminal.send("echo hi\r");
            terminal.wait_for("\rhi\r\n");
            terminal.wait_for("> ");
        };
        same_screen(
            &["fish", "--no-config", "--private", "-C", "function fish_prompt; echo -n '> '; end"],
            uses,
            "exit\r",
        );
    }
}
