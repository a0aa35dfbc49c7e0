//! A command's output passes through and is recorded byte for byte.

use derun::record::Channel;

use super::{By, same};

/// Writes this 100 times, with line ends that the terminal changes: every byte value.
const EVERY_BYTE: &str = r#"binmode STDOUT; for (1..100) { print map(chr, 0..255), "\n" }"#;
/// Characters of all lengths: wide, combining and invalid ones.
const UTF_8: &str = r#"for (1..3000) { print "h\303\251llo \342\202\254 \360\237\230\200 \344\270\255e\314\201 \303( \377\n" }"#;
const PROGRESS: &str = r##"$| = 1; printf "\r%3d%% [%-50s]", $_ * 2, "#" x $_ for 0..50; print "\n""##;
/// A mebibyte without repetitions, in writes of odd sizes.
const MEBIBYTE: &str = r#"
    $x = 1; $all = "";
    while (length $all < 1 << 20) { $x = ($x * 1103515245 + 12345) % 2147483648; $all .= pack "N", $x }
    for ($at = 0; $at < length $all; $at += $size) { $size = 1 + $at % 9973; syswrite STDOUT, substr $all, $at, $size }
"#;

/// Checks that `perl` behaves the same on a terminal, and that its output is recorded as shown. Returns the output.
fn comes_through(perl: &str) -> Vec<u8> {
    let shown = same(|place| {
        let session = place.on_terminal(&["perl", "-e", perl]).finish();
        if place.by == By::Murmur {
            assert!(place.captured() == [[(Channel::Pty, session.shown.clone())]], "not what was shown");
        }
        session
    });
    assert_eq!(shown.code(), Some(0));
    shown.shown
}

#[test]
fn every_byte_passes_through_a_terminal() {
    assert_eq!(comes_through(EVERY_BYTE).len(), 100 * (256 + 1 + 2));
}

#[test]
fn valid_and_invalid_characters_pass_through_a_terminal() {
    assert!(comes_through(UTF_8).len() > 60_000);
}

#[test]
fn a_progress_bar_passes_through_a_terminal() {
    let shown = comes_through(PROGRESS);
    assert_eq!(shown.iter().filter(|byte| **byte == b'\r').count(), 52);
}

#[test]
fn a_mebibyte_passes_through_a_terminal() {
    // The terminal turns every line end into two bytes.
    assert!(comes_through(MEBIBYTE).len() > 1 << 20);
}

#[test]
fn a_mebibyte_passes_through_a_pipe() {
    let output = same(|place| {
        let output = place.command(&["perl", "-e", MEBIBYTE]).output();
        if place.by == By::Murmur {
            assert!(place.captured() == [[(Channel::Stdout, output.stdout.clone())]], "not what was written");
        }
        output
    });
    assert_eq!(output.stdout.len(), 1 << 20);
}

#[test]
fn typed_input_reaches_the_command_and_is_not_recorded() {
    let words = [
        "sh",
        "-c",
        "stty -echo; echo ready; read secret; echo got ${#secret}; stty raw; echo on; head -c 256 | od -c",
    ];
    let every_byte: Vec<u8> = (0..=255).collect();
    same(|place| {
        let mut terminal = place.on_terminal(&words);
        terminal.wait_for("ready\r\n");
        terminal.send("not to be told\n");
        terminal.wait_for("got 14\r\n");
        terminal.wait_for("on\n");
        terminal.send(&every_byte);
        let session = terminal.finish();
        assert!(!session.text().contains("told"), "{session:?}");
        assert_eq!(session.code(), Some(0));
        session
    });
}
