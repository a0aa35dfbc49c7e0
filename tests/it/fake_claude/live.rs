//! fake-claude as a live agent: turns, echoes, joined messages, refusals and exits.

use std::io::{BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout, Command};

use fake_claude::replay::{Fixture, lines};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Running, Stage, fixture, kill, line};

pub(super) const ECHO: (&str, &str) = ("LIVE", "echo");

/// A live agent and the ends of its pipes.
pub(super) struct Live {
    pub(super) child: Running,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: BufReader<ChildStdout>,
}

/// How it ended: the rest of its stdout, its stderr, and its exit code.
pub(super) type End = (String, String, Option<i32>);

impl Live {
    pub(super) fn start(stage: &Stage, instructions: &[(&str, &str)]) -> Self {
        Self::spawn(stage.command(instructions))
    }

    pub(super) fn spawn(mut command: Command) -> Self {
        command.args(["--print", "--verbose", "--output-format", "stream-json"]);
        let mut child = command.args(["--input-format", "stream-json"]).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child: Running(child), stdin, stdout }
    }

    /// Writes these lines in one write.
    pub(super) fn write(&mut self, lines: &[&str]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    pub(super) fn line(&mut self) -> Value {
        serde_json::from_str(&line(&mut self.stdout)).unwrap()
    }

    /// The lines up to a result, each as its type.
    pub(super) fn turn(&mut self) -> (Vec<String>, Value) {
        let mut types = Vec::new();
        loop {
            let line = self.line();
            types.push(line["type"].as_str().unwrap().to_owned());
            if line["type"] == "result" {
                return (types, line);
            }
        }
    }

    pub(super) fn answer(&mut self) -> String {
        self.turn().1["result"].as_str().unwrap().to_owned()
    }

    pub(super) fn end(mut self) -> End {
        drop(self.stdin.take());
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut stdout).unwrap();
        self.child.0.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (stdout, stderr, self.child.0.wait().unwrap().code())
    }
}

pub(super) fn user(content: impl Into<Value>) -> String {
    json!({"type": "user", "message": {"role": "user", "content": content.into()}}).to_string()
}

pub(super) fn well(code: i32) -> End {
    (String::new(), String::new(), Some(code))
}

#[test]
fn each_message_plays_a_turn_of_the_fixture_and_the_last_one_repeats() {
    let recorded = Fixture::load(fixture("live").as_ref()).unwrap();
    let stage = Stage::new();
    let mut live = Live::start(&stage, &[("FIXTURE", &fixture("live"))]);
    let mut played = String::new();
    for (message, wanted) in [("one", 3), ("two", 5), ("three", 5)] {
        live.write(&[&user(message)]);
        let turn: String = (0..wanted).map(|_| line(&mut live.stdout)).collect();
        assert!(turn.lines().last().unwrap().contains(r#""type":"result""#), "{message}: {turn}");
        if message == "three" {
            assert!(played.ends_with(&turn));
            continue;
        }
        played += &turn;
    }
    assert_eq!(played.as_bytes(), recorded.stdout);
    assert_eq!(live.end(), well(0));
}

#[test]
fn a_recorded_beat_is_played_for_every_message_and_its_exit_at_the_end() {
    let recorded = Fixture::load(fixture("max-turns").as_ref()).unwrap();
    let count = lines(&recorded.stdout).count();
    let stage = Stage::new();
    let mut live = Live::start(&stage, &[("FIXTURE", &fixture("max-turns"))]);
    for message in ["one", "two"] {
        live.write(&[&user(message)]);
        let turn: String = (0..count).map(|_| line(&mut live.stdout)).collect();
        assert_eq!(turn.as_bytes(), recorded.stdout);
    }
    assert_eq!(live.end(), well(1));
}

#[test]
fn literal_text_is_played_whole_for_each_message() {
    let stage = Stage::new();
    let mut live = Live::start(&stage, &[("STDOUT", "{\"a\":1}\nb\n"), ("STDERR", "oh\n")]);
    for _ in 0..2 {
        live.write(&[&user("go")]);
        assert_eq!((line(&mut live.stdout), line(&mut live.stdout)), ("{\"a\":1}\n".into(), "b\n".into()));
    }
    assert_eq!(live.end(), (String::new(), "oh\n".into(), Some(0)));
}

#[test]
fn an_echo_repeats_this_message_and_the_earlier_ones() {
    let stage = Stage::new();
    std::fs::write(stage.path().join(".fake-claude.json"), r#"{"live":"echo"}"#).unwrap();
    let mut live = Live::start(&stage, &[]);
    live.write(&[&user("hi")]);
    let init = live.line();
    assert_eq!((&init["type"], &init["subtype"]), (&json!("system"), &json!("init")));
    assert_eq!(init["cwd"], stage.path().canonicalize().unwrap().to_str().unwrap());
    let assistant = live.line();
    assert_eq!(assistant["message"]["content"], json!([{"type": "text", "text": "turn 1: hi"}]));
    let result = live.line();
    assert_eq!((&result["result"], &result["num_turns"]), (&json!("turn 1: hi"), &json!(1)));
    assert_eq!(init["session_id"], result["session_id"]);
    let blocks = json!([{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}]);
    live.write(&[&user(blocks)]);
    assert_eq!(live.answer(), "turn 2: one\ntwo (before: hi)");
    live.write(&["", "  ", "7", r#"{"type":"control_response"}"#, &user("three")]);
    assert_eq!(live.answer(), "turn 3: three (before: one\ntwo)");
    assert_eq!(live.end(), well(0));
}

#[test]
fn a_beat_can_be_an_echo_too() {
    let output = Stage::new().run(&[ECHO]);
    let last: Value = serde_json::from_slice(lines(&output.stdout).last().unwrap()).unwrap();
    assert_eq!((&last["result"], output.status.code()), (&json!("turn 1: prompt"), Some(0)));
}

#[test]
fn a_live_run_is_logged_before_its_first_message() {
    let stage = Stage::new();
    let log = stage.path().join("log");
    sys::fifo::make(&log).unwrap();
    let live = Live::start(&stage, &[ECHO, ("FAULT", "setsid-child")]);
    let logged: Value = serde_json::from_reader(std::fs::File::open(&log).unwrap()).unwrap();
    std::fs::remove_file(&log).unwrap();
    std::fs::write(&log, format!("{logged}\n")).unwrap();
    assert_eq!((&logged["pid"], &logged["stdin"]), (&json!(live.child.0.id()), &json!("")));
    assert_eq!(logged["children"].as_array().unwrap().len(), 1);
    assert_eq!(live.end(), well(0));
}

#[test]
fn messages_during_a_turn_are_answered_together() {
    let stage = Stage::new();
    let gate = stage.fifo();
    let mut live = Live::start(&stage, &[ECHO, ("PACE", &format!("gate:{}", gate.display()))]);
    let mut gate = std::fs::File::options().write(true).open(gate).unwrap();
    live.write(&[&user("one")]);
    gate.write_all(b".").unwrap();
    live.line();
    live.write(&[&user("two"), &user("three")]);
    gate.write_all(b"..").unwrap();
    assert_eq!(live.answer(), "turn 1: one");
    drop(gate);
    assert_eq!(live.answer(), "turn 2: two\nthree (before: one)");
    assert_eq!(live.end(), well(0));
}

#[test]
fn the_first_of_simultaneous_messages_is_answered_alone() {
    let stage = Stage::new();
    let mut live = Live::start(&stage, &[ECHO]);
    live.write(&[&user("one"), &user("two"), &user("three")]);
    assert_eq!(live.answer(), "turn 1: one");
    assert_eq!(live.answer(), "turn 2: two\nthree (before: one)");
    assert_eq!(live.end(), well(0));
}

#[test]
fn a_last_message_needs_no_newline() {
    let stage = Stage::new();
    let mut live = Live::start(&stage, &[ECHO]);
    live.stdin.take().unwrap().write_all(user("one").as_bytes()).unwrap();
    assert_eq!(live.answer(), "turn 1: one");
    assert_eq!(live.end(), well(0));
}

#[test]
fn a_closed_stdin_ends_it_after_the_turn_or_at_once_without_one() {
    let stage = Stage::new();
    let gate = stage.fifo();
    let mut live = Live::start(&stage, &[ECHO, ("PACE", &format!("gate:{}", gate.display()))]);
    let mut gate = std::fs::File::options().write(true).open(gate).unwrap();
    live.write(&[&user("one")]);
    gate.write_all(b".").unwrap();
    live.line();
    drop(live.stdin.take());
    drop(gate);
    assert_eq!(live.answer(), "turn 1: one");
    assert_eq!(live.end(), well(0));
    assert_eq!(Live::start(&Stage::new(), &[ECHO]).end(), well(0));
}

#[test]
fn an_unreadable_line_ends_it_with_claude_codes_message() {
    for (written, said) in [
        ("{not json", "Error parsing streaming input line (type=unknown, 9 chars): SyntaxError"),
        ("null", "Error parsing streaming input line (type=unknown, 4 chars): TypeError"),
        (r#"{"type":"user"}"#, "Error: Expected message role 'user', got 'undefined'"),
        (r#"{"type":"user","message":{"role":"me"}}"#, "Error: Expected message role 'user', got 'me'"),
        (r#"{"type":"control_request"}"#, "Error: Missing request on control_request"),
    ] {
        let stage = Stage::new();
        let mut live = Live::start(&stage, &[ECHO]);
        live.write(&[written]);
        assert_eq!(live.end(), (String::new(), format!("{said}\n"), Some(1)), "{written}");
    }
}

#[test]
fn replayed_messages_come_back_after_init() {
    let stage = Stage::new();
    let mut command = stage.command(&[ECHO]);
    command.arg("--replay-user-messages");
    let mut live = Live::spawn(command);
    live.write(&[&user("one")]);
    live.line();
    let replayed = live.line();
    assert_eq!((&replayed["message"]["content"], &replayed["isReplay"]), (&json!("one"), &json!(true)));
    assert_eq!(live.answer(), "turn 1: one");
}

#[test]
fn sigterm_ends_it_with_143_when_idle_and_in_a_turn() {
    let stage = Stage::new();
    let gate = stage.fifo();
    let pace = format!("gate:{}", gate.display());
    for instructions in [&[ECHO][..], &[ECHO, ("PACE", &pace)]] {
        let mut live = Live::start(&stage, instructions);
        live.write(&[&user("one")]);
        if instructions.len() == 1 {
            live.answer();
        } else {
            let mut gate = std::fs::File::options().write(true).open(&gate).unwrap();
            gate.write_all(b".").unwrap();
            live.line();
        }
        kill(live.child.0.id().into(), Signal::TERM);
        assert_eq!(live.child.0.wait().unwrap().code(), Some(143), "{instructions:?}");
    }
}
