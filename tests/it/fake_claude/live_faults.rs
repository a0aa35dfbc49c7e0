//! Faults of a live agent: they affect its first turn, or what follows it.

use std::io::{BufRead, Read};
use std::os::unix::process::ExitStatusExt;

use rustix::process::Signal;

use super::live::{ECHO, Live, user};
use super::{Stage, kill, line};

fn started(stage: &Stage, fault: &str) -> Live {
    let mut live = Live::start(stage, &[ECHO, ("FAULT", fault)]);
    live.write(&[&user("one")]);
    live
}

#[test]
fn it_ends_after_its_first_turn_as_instructed() {
    for (fault, signal, code) in [("die:KILL", Some(9), None), ("exit:42", None, Some(42))] {
        let stage = Stage::new();
        let mut live = started(&stage, fault);
        assert_eq!(live.turn().1["result"], "turn 1: one", "{fault}");
        let status = live.child.0.wait().unwrap();
        assert_eq!((status.signal(), status.code()), (signal, code), "{fault}");
    }
    assert_eq!(Live::start(&Stage::new(), &[ECHO, ("FAULT", "exit:42")]).end().2, Some(42));
}

#[test]
fn the_configured_exit_code_applies_at_the_end_of_stdin() {
    let stage = Stage::new();
    let mut live = Live::start(&stage, &[ECHO, ("EXIT", "7")]);
    for message in ["one", "two"] {
        live.write(&[&user(message)]);
        live.turn();
    }
    assert_eq!(live.end().2, Some(7));
}

#[test]
fn hang_ignores_messages_and_a_closed_stdin() {
    let stage = Stage::new();
    let mut live = started(&stage, "hang,ignore-term");
    live.turn();
    live.write(&[&user("two")]);
    drop(live.stdin.take());
    kill(live.child.0.id().into(), Signal::TERM);
    assert!(live.child.0.try_wait().unwrap().is_none());
    kill(live.child.0.id().into(), Signal::KILL);
    let mut rest = String::new();
    live.stdout.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), live.child.0.wait().unwrap().signal()), ("", Some(9)));
}

#[test]
fn hang_before_prints_no_line_of_a_turn_and_sigterm_ends_it() {
    let stage = Stage::new();
    let mut live = started(&stage, "hang-before,stderr-flood:3");
    // The flood shows that the turn has started.
    live.child.0.stderr.as_mut().unwrap().read_exact(&mut [0; 3]).unwrap();
    kill(live.child.0.id().into(), Signal::TERM);
    assert_eq!(line(&mut live.stdout), "");
    assert_eq!(live.child.0.wait().unwrap().code(), Some(143));
}

#[test]
fn close_stdout_ends_the_stream_but_not_the_process() {
    let stage = Stage::new();
    let mut live = started(&stage, "close-stdout");
    live.turn();
    assert_eq!(line(&mut live.stdout), "");
    assert!(live.child.0.try_wait().unwrap().is_none());
}

#[test]
fn only_the_first_turn_has_garbled_lines() {
    let stage = Stage::new();
    let mut live = started(&stage, "invalid-utf8,huge-line:100000");
    let first: Vec<Vec<u8>> = live.stdout.by_ref().split(b'\n').take(5).map(Result::unwrap).collect();
    assert!(std::str::from_utf8(&first[2]).is_err() && first[3].len() > 100_000);
    live.write(&[&user("two")]);
    assert_eq!(live.turn().0, ["system", "assistant", "result"]);
}

#[test]
fn a_torn_line_with_a_crash_is_the_only_output() {
    let stage = Stage::new();
    let mut live = started(&stage, "half-line,die:KILL");
    let mut text = String::new();
    live.stdout.read_to_string(&mut text).unwrap();
    assert!(text.lines().count() == 3 && !text.ends_with('\n'), "{text}");
    assert_eq!(live.child.0.wait().unwrap().signal(), Some(9));
}
