//! Signals sent to murmur reach the command.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;

use rustix::process::Signal;

use super::terminal::Terminal;
use super::{By, Place};
use crate::env::kill;

/// Prints each signal it gets, until SIGTERM.
const SAY: &str = r#"
    $| = 1;
    for my $name (qw(INT HUP QUIT USR1 USR2 WINCH TSTP CONT TERM)) { $SIG{$name} = sub { print "$name\n"; $over = $name eq "TERM" } }
    print "ready\n";
    POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(1..31));
    print "waiting\n";
    until ($over) { POSIX::sigsuspend(POSIX::SigSet->new) }
    exit 7
"#;

const SENT: [(Signal, &str); 8] = [
    (Signal::INT, "INT"),
    (Signal::HUP, "HUP"),
    (Signal::QUIT, "QUIT"),
    (Signal::USR1, "USR1"),
    (Signal::USR2, "USR2"),
    (Signal::TSTP, "TSTP"),
    (Signal::CONT, "CONT"),
    (Signal::TERM, "TERM"),
];

#[test]
fn signals_sent_to_murmur_reach_a_command_in_pipes() {
    for by in [By::Itself, By::Murmur] {
        let place = Place::new(by);
        let mut child = place.piped(&["perl", "-MPOSIX", "-e", SAY]);
        let mut said = child.stdout.take().unwrap();
        let mut wait_for = |words: &str| {
            let mut line = vec![0; words.len()];
            said.read_exact(&mut line).unwrap();
            assert_eq!(String::from_utf8_lossy(&line), words, "{by:?}");
        };
        wait_for("ready\nwaiting\n");
        for (signal, name) in [(Signal::WINCH, "WINCH")].into_iter().chain(SENT) {
            kill(child.id().into(), signal);
            wait_for(&format!("{name}\n"));
        }
        assert_eq!(child.wait().unwrap().code(), Some(7));
    }
}

#[test]
fn signals_sent_to_murmur_reach_a_command_on_a_terminal() {
    for by in [By::Itself, By::Murmur] {
        let place = Place::new(by);
        let mut terminal = place.on_terminal(&["perl", "-MPOSIX", "-e", SAY]);
        terminal.wait_for("ready\r\nwaiting\r\n");
        for (signal, name) in SENT {
            kill(terminal.pid(), signal);
            terminal.wait_for(format!("{name}\r\n"));
        }
        assert_eq!(terminal.finish().code(), Some(7), "{by:?}");
    }
}

#[test]
fn a_signal_during_startup_is_not_lost_in_pipes() {
    let place = Place::new(By::Murmur);
    for round in 0..60 {
        let mut child = place.piped(&["sleep", "60"]);
        wait_a_little(round);
        kill(child.id().into(), Signal::TERM);
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM), "round {round}");
    }
    assert_eq!(place.env.alive(), [0; 0]);
}

#[test]
fn a_signal_during_startup_is_not_lost_on_a_terminal() {
    let place = Place::new(By::Murmur);
    for round in 0..60 {
        let terminal = Terminal::open();
        let before = terminal.look();
        let mut terminal = place.start_on(terminal, &["sleep", "60"]);
        wait_a_little(round);
        kill(terminal.pid(), Signal::TERM);
        assert_eq!(terminal.ended().signal(), Some(libc::SIGTERM), "round {round}");
        if round == 0 {
            assert_eq!(terminal.look(), before);
        }
    }
    assert_eq!(place.env.alive(), [0; 0]);
}

/// Yields so many times that each round sends its signal slightly later during startup.
fn wait_a_little(round: u32) {
    for _ in 0..round * 40 {
        std::thread::yield_now();
    }
}
