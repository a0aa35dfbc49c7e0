//! The command's terminal is like murmur's own, and that is restored, whatever happens.

use rustix::process::Signal;
use rustix::termios::{InputModes, LocalModes, OutputModes, SpecialCodeIndex, Termios};

use super::terminal::Terminal;
use super::{By, Place, same};
use crate::env::{kill, wait_for_end};

/// Prints the size, and again after every change, until there are 50 rows.
const WATCH_SIZE: &str = r#"
    $SIG{WINCH} = sub { print $size = `stty size` };
    $| = 1; sigprocmask(SIG_BLOCK, POSIX::SigSet->new(28)); print `stty size`; sigsuspend(POSIX::SigSet->new) until $size =~ /^50 /
"#;

/// No flow control, unusual keys, and tabs that the terminal expands.
fn unusual(modes: &mut Termios) {
    modes.input_modes.remove(InputModes::IXON);
    modes.input_modes.insert(InputModes::IXANY);
    modes.output_modes.insert(OutputModes::XTABS);
    modes.local_modes.remove(LocalModes::ECHOCTL);
    modes.special_codes[SpecialCodeIndex::VERASE] = 8;
    modes.special_codes[SpecialCodeIndex::VINTR] = 24;
}

fn on(terminal: Terminal, place: &Place, words: &[&str]) -> Terminal {
    terminal.start(|args| place.program("setsid", args), &[place.by.words(), words].concat())
}

fn unusual_terminal() -> Terminal {
    let terminal = Terminal::open();
    let mut modes = terminal.modes();
    unusual(&mut modes);
    terminal.set_modes(&modes);
    terminal
}

/// Starts `words` under murmur on an unusual terminal, and waits until it has printed "ready"; returns the terminal's
/// settings.
fn started(place: &Place, words: &[&str]) -> (Terminal, String) {
    let terminal = unusual_terminal();
    let before = terminal.look();
    let mut terminal = on(terminal, place, words);
    terminal.wait_for("ready\r\n");
    assert_ne!(terminal.look(), before, "the terminal passes every byte meanwhile");
    (terminal, before)
}

#[test]
fn a_command_sees_the_settings_of_murmurs_terminal() {
    let usual = same(|place| place.on_terminal(&["stty", "-a"]).finish());
    assert!(usual.text().contains("rows 24; columns 80;"), "{usual:?}");
    let unusual = same(|place| on(unusual_terminal(), place, &["stty", "-a"]).finish());
    assert!(unusual.text().contains("-ixon") && unusual.text().contains("erase = ^H"), "{unusual:?}");
    assert_ne!(usual, unusual);
}

#[test]
fn tabs_are_expanded_once() {
    let shown = same(|place| on(unusual_terminal(), place, &["printf", "a\\tb\\n"]).finish());
    assert_eq!(shown.text(), "a       b\r\n");
}

#[test]
fn the_interrupt_key_is_that_of_the_terminal() {
    let shown = same(|place| {
        let mut terminal = on(unusual_terminal(), place, &["sh", "-c", "echo ready; exec cat"]);
        terminal.wait_for("ready\r\n");
        terminal.send("a\u{3}\n");
        terminal.wait_for("\u{3}\r\na\u{3}\r\n");
        terminal.send([24]);
        terminal.finish()
    });
    assert_eq!(shown.signal(), Some(libc::SIGINT));
}

#[test]
fn a_command_sees_every_resize() {
    for by in [By::Itself, By::Murmur] {
        let place = Place::new(by);
        let mut terminal = place.on_terminal(&["perl", "-MPOSIX", "-e", WATCH_SIZE]);
        terminal.wait_for("24 80\r\n");
        for (rows, columns) in [(40, 100), (10, 30), (50, 132)] {
            terminal.resize(rows, columns);
            terminal.wait_for(format!("{rows} {columns}\r\n"));
        }
        assert_eq!(terminal.finish().code(), Some(0), "{by:?}");
    }
}

#[test]
fn the_terminal_is_restored_after_an_exit_a_fatal_signal_and_a_failed_start() {
    for words in [&["sh", "-c", "stty raw -echo; exit 3"][..], &["sh", "-c", "kill -KILL $$"], &["no-such"]] {
        let terminal = unusual_terminal();
        let before = terminal.look();
        let place = Place::new(By::Murmur);
        let mut terminal = on(terminal, &place, words);
        terminal.ended();
        assert_eq!(terminal.look(), before, "{words:?}");
    }
}

#[test]
fn the_terminal_is_restored_after_the_command_is_killed() {
    let place = Place::new(By::Murmur);
    let (mut terminal, before) = started(&place, &["sh", "-c", "echo $$; echo ready; exec sleep 60"]);
    let pid = String::from_utf8_lossy(terminal.so_far()).lines().next().unwrap().trim().parse().unwrap();
    kill(pid, Signal::KILL);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&terminal.ended()), Some(libc::SIGKILL));
    assert_eq!(terminal.look(), before);
}

#[test]
fn the_terminal_is_restored_after_murmur_is_terminated() {
    for (signal, number) in
        [(Signal::TERM, libc::SIGTERM), (Signal::HUP, libc::SIGHUP), (Signal::INT, libc::SIGINT)]
    {
        let place = Place::new(By::Murmur);
        let (mut terminal, before) = started(&place, &["sh", "-c", "echo ready; exec sleep 60"]);
        kill(terminal.pid(), signal);
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&terminal.ended()), Some(number));
        assert_eq!(terminal.look(), before, "{signal:?}");
        assert_eq!(place.env.alive(), [0; 0], "{signal:?}");
    }
}

#[test]
fn the_terminal_is_restored_and_the_command_hung_up_after_murmur_is_killed() {
    let place = Place::new(By::Murmur);
    let (mut terminal, before) = started(&place, &["sh", "-c", "echo ready; read never"]);
    let others: Vec<i64> = place.env.alive().into_iter().filter(|pid| *pid != terminal.pid()).collect();
    assert_eq!(others.len(), 2, "the command and who leads its session");
    kill(terminal.pid(), Signal::KILL);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&terminal.ended()), Some(libc::SIGKILL));
    for pid in others {
        wait_for_end(pid);
    }
    assert_eq!(terminal.look(), before);
}
