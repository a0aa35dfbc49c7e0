//! `murmur run` in `murmur run`.

use derun::record::Channel;

use super::{By, same};
use crate::env::MURMUR;

const INNER: &str = "printf 'a\\tb\\n'; echo err >&2; exit 5";

#[test]
fn nested_runs_in_pipes_record_two_sessions() {
    let output = same(|place| {
        let output = match place.by {
            By::Itself => place.command(&["sh", "-c", INNER]).output(),
            By::Murmur => place.command(&[MURMUR, "capture", "run", "--", "sh", "-c", INNER]).output(),
        };
        if place.by == By::Murmur {
            let mut sessions = place.captured();
            assert_eq!(sessions.len(), 2);
            for session in &mut sessions {
                session.sort_by_key(|(channel, _)| *channel == Channel::Stderr);
                assert_eq!(
                    *session,
                    [(Channel::Stdout, b"a\tb\n".to_vec()), (Channel::Stderr, b"err\n".to_vec())]
                );
            }
        }
        output
    });
    assert_eq!(output.status.code(), Some(5));
}

#[test]
fn nested_runs_on_a_terminal_record_two_sessions() {
    let words = ["sh", "-c", "stty -a; echo ready; read x; echo got $x; kill -TERM $$"];
    let shown = same(|place| {
        let mut terminal = match place.by {
            By::Itself => place.on_terminal(&words),
            By::Murmur => place.on_terminal(&[&[MURMUR, "capture", "run", "--"], &words[..]].concat()),
        };
        terminal.wait_for("ready\r\n");
        terminal.send("hey\n");
        let shown = terminal.finish();
        if place.by == By::Murmur {
            let kept = vec![(Channel::Pty, shown.shown.clone())];
            assert!(place.captured() == [kept.clone(), kept]);
        }
        shown
    });
    assert_eq!(shown.signal(), Some(libc::SIGTERM));
    assert!(shown.text().contains("ready\r\nhey\r\ngot hey\r\n"), "{shown:?}");
}
