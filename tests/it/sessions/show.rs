//! `murmur capture show`: raw bytes, live output, plain text, and messages about what is missing.

use std::io::Read;
use std::process::Child;

use derun::record::{Channel, Lost};
use derun::writer::End;
use insta::assert_snapshot;
use sys::clock;

use super::{Captures, began};
use crate::env::Run;
use crate::log::terminal::on_a_terminal;

/// Reads the expected output.
fn expect(child: &mut Child, expected: &str) {
    let mut bytes = vec![0; expected.len()];
    child.stdout.as_mut().unwrap().read_exact(&mut bytes).unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), expected);
}

/// The child prints nothing more and succeeds.
fn expect_end(child: Child) {
    let output = child.wait_with_output().unwrap();
    assert_eq!(crate::env::show(&output), "[exit 0]");
}

#[test]
fn every_byte_is_shown_unchanged() {
    let place = Captures::new();
    let output: Vec<u8> = (0..1_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    place.ended("s", &output, &End::Exited(1));
    let runs = [
        place.murmur(["show", "s"]),
        place.murmur(["show", "s", "--follow"]),
        place.murmur(["show", "s", "--tail", "999999"]),
    ];
    for shown in runs.map(Run::output) {
        assert!(shown.stdout == output && shown.stderr.is_empty() && shown.status.success());
    }
}

#[test]
fn channels_are_shown_in_captured_order() {
    let place = Captures::new();
    let mut writer = place.begin("s", &["make"], began());
    for (channel, bytes) in [(Channel::Stdout, "out "), (Channel::Stderr, "err "), (Channel::Stdout, "end\n")]
    {
        writer.append(channel, bytes.as_bytes(), began()).unwrap();
    }
    assert_snapshot!(place.run(["show", "s"]), @"
    out err end
    [exit 0]
    ");
}

#[test]
fn tail_counts_lines() {
    let place = Captures::new();
    place.ended("s", b"one\n\x1b[1mtwo\r\n\nfour", &End::Exited(0));
    for (lines, shown) in [
        ("0", ""),
        ("1", "four"),
        ("2", "\nfour"),
        ("3", "\x1b[1mtwo\r\n\nfour"),
        ("4", "one\n\x1b[1mtwo\r\n\nfour"),
    ] {
        let output = place.murmur(["show", "s", "--tail", lines]).output();
        assert_eq!(String::from_utf8_lossy(&output.stdout), shown, "{lines}");
    }
    let many: String = (0..200_000).map(|n| format!("{n}\n")).collect();
    place.ended("many", many.as_bytes(), &End::Exited(0));
    assert_snapshot!(place.run(["show", "many", "--tail", "2"]), @"
    199998
    199999
    [exit 0]
    ");
    let output = place.murmur(["show", "many", "--tail", "150000"]).output();
    assert!(output.stdout.starts_with(b"50000\n50001\n"));
}

#[test]
fn following_shows_bytes_as_they_arrive_and_ends_with_the_session() {
    let place = Captures::new();
    let mut writer = place.begin("s", &["make"], clock::now());
    writer.append(Channel::Stdout, b"before\n", clock::now()).unwrap();
    let mut all = place.murmur(["show", "s", "--follow"]).start();
    let mut tail = place.murmur(["show", "s", "--follow", "--tail", "0", "--plain"]).start();
    expect(&mut all, "before\n");
    writer.started(7).unwrap();
    for piece in ["10%\r", "\x1b[32m100%\x1b[m\n"] {
        writer.append(Channel::Stderr, piece.as_bytes(), clock::now()).unwrap();
        expect(&mut all, piece);
    }
    writer.append(Channel::Stdout, b"end", clock::now()).unwrap();
    writer.finish(&End::Exited(3), None, clock::now()).unwrap();
    expect(&mut all, "end");
    expect_end(all);
    let shown = tail.wait().map(|status| status.success());
    assert!(shown.unwrap());
    let mut text = String::new();
    tail.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!("before\n100%\nend".ends_with(&text), "{text:?}");
}

#[test]
fn following_can_start_before_there_is_output() {
    let place = Captures::new();
    let mut writer = place.begin("s", &["make"], clock::now());
    let mut child = place.murmur(["show", "s", "--follow"]).start();
    writer.append(Channel::Stdout, b"first", clock::now()).unwrap();
    expect(&mut child, "first");
    writer.finish(&End::Signaled("SIGTERM".to_owned()), None, clock::now()).unwrap();
    expect_end(child);
}

#[test]
fn plain_prints_text() {
    let place = Captures::new();
    place.ended("s", b"\x1b[31mred\x1b[0m\r\n10%\r100%\r\n\xff\x1b]0;title\x07\n", &End::Exited(0));
    assert_snapshot!(place.run(["show", "s", "--plain"]), @"
    red
    100%
    �
    [exit 0]
    ");
    assert_snapshot!(place.run(["show", "s", "--plain", "--tail", "2"]), @"
    100%
    �
    [exit 0]
    ");
}

#[test]
fn lost_output_and_failures_are_reported_at_the_end() {
    let place = Captures::new();
    let mut lossy = place.begin("lossy", &["make"], began());
    lossy.append(Channel::Stdout, b"some\n", began()).unwrap();
    let lost = Lost { kept_bytes: 5, lost_bytes: 70, reason: "No space left on device".to_owned() };
    lossy.finish(&End::Exited(0), Some(lost), began()).unwrap();
    assert_snapshot!(place.run(["show", "lossy"]), @"
    some
    | note: 70 bytes after the first 5 were lost: No space left on device
    [exit 0]
    ");
    place
        .begin("failed", &["x"], began())
        .finish(&End::Failed("x: not found".to_owned()), None, began())
        .unwrap();
    assert_snapshot!(place.run(["show", "failed"]), @"
    | note: the session failed: x: not found
    [exit 0]
    ");
    drop(place.begin("dead", &["x"], began()));
    let meta = place.store.root().join("sessions/dead/meta.json");
    let text = std::fs::read_to_string(&meta).unwrap().replace("\"owner\"", "\"other\"");
    std::fs::write(&meta, text).unwrap();
    assert_snapshot!(place.run(["show", "dead", "--follow"]), @"
    | note: its end was not recorded: the capturing process died, or the disk was full
    [exit 0]
    ");
}

#[test]
fn an_id_may_be_shortened_but_not_misspelled() {
    let place = Captures::new();
    place.ended("build-42", b"", &End::Exited(0));
    for id in ["42", "../sessions/build-42", "\x1b[31m"] {
        let shown = place.run(["show", id]);
        assert!(shown.starts_with("| error: no beat, heartbeat, agent or capture \""), "{shown}");
        assert!(
            shown.ends_with("\n| hint: see: murmur log, murmur agent list, murmur capture list\n[exit 1]"),
            "{shown}"
        );
        assert!(!shown.contains('\x1b'), "{shown}");
    }
    for id in ["build-42", "build", "b"] {
        assert_eq!(place.run(["show", id]), "[exit 0]", "{id}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let place = Captures::new();
    place.ended("s", &b"line\n".repeat(200_000), &End::Failed("x".to_owned()));
    for args in [["show", "s", "--follow"], ["show", "s", "--plain"]] {
        let mut child = place.murmur(args).start();
        drop(child.stdout.take());
        expect_end(child);
    }
}

#[test]
fn a_terminal_is_restored() {
    let place = Captures::new();
    place.ended("s", b"\x1b[31;?25lred\n", &End::Exited(0));
    assert_snapshot!(on_a_terminal(place.murmur(["show", "s"])), @"
    ^[[31;?25lred
    ^[[0m^[[?25h^[[?1l^[>^[[?1000l^[[?1002l^[[?1003l^[[?1006l^[[?2004l
    ");
    assert_snapshot!(on_a_terminal(place.murmur(["show", "s", "--plain"])), @"red");
}
