//! Recording doesn't change a run, and recordings can be replayed.

use crate::env::fake_claude;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};

use fake_claude::replay::{
    End, Fixture, Pace, PlayError, RecordError, RecordPlan, Recorded, Stdin, Streams, play, record,
    record_through,
};

use crate::env::programs;
use crate::fake_claude::{fixture, kill};

fn shell(into: &Path, script: &str, stdin: &[u8]) -> RecordPlan {
    RecordPlan {
        name: "run".into(),
        into: into.into(),
        program: "/bin/sh".into(),
        version: "unknown".into(),
        argv: vec!["-c".into(), script.into()],
        cwd: into.into(),
        env: vec![("PATH".into(), programs().into()), ("SHOP_TOKEN".into(), "tiger-tiger".into())],
        only_env: true,
        stdin: Stdin::Bytes(stdin.into()),
        grace: None,
    }
}

/// What was passed through, and the recording.
fn record_with(plan: &RecordPlan, stdin: impl AsFd) -> (Vec<u8>, Vec<u8>, Result<Recorded, RecordError>) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let streams = Streams { stdin: stdin.as_fd(), stdout: &mut out, stderr: &mut err };
    let recorded = record_through(plan, streams);
    (out, err, recorded)
}

#[test]
fn a_recorded_run_is_unchanged_and_only_its_fixture_is_scrubbed() {
    let root = tempfile::tempdir().unwrap();
    let script = "cat; echo \"$PWD $SHOP_TOKEN\"; printf 'oh\\377'; echo bad >&2; exit 7";
    let (out, err, recorded) = record_with(&shell(root.path(), script, b"in\n"), std::io::stdin());
    let recorded = recorded.unwrap();
    let expected = format!("in\n{} tiger-tiger\noh", root.path().display());
    assert_eq!(out, [expected.as_bytes(), b"\xff"].concat());
    assert_eq!(err, b"bad\n");
    assert_eq!(recorded.end, End::Code(7));
    let saved = Fixture::load(&root.path().join("run")).unwrap();
    assert_eq!(saved, recorded.fixture);
    assert_eq!(saved.stdout, b"in\n/workspace [removed]\noh\xff");
    assert_eq!((saved.stdin.as_slice(), saved.times.len()), (&b"in\n"[..], 3));
    assert_eq!((saved.run.cwd.as_str(), saved.run.program.as_str()), ("/workspace", "sh"));
}

#[test]
fn stdin_is_copied_as_it_arrives_and_output_is_forwarded_at_once() {
    let root = tempfile::tempdir().unwrap();
    let plan = RecordPlan { stdin: Stdin::Inherit, ..shell(root.path(), "cat", b"") };
    let (from, mut to) = std::io::pipe().unwrap();
    let (answers, mut out) = std::io::pipe().unwrap();
    let fixture = std::thread::scope(|scope| {
        let recording = scope.spawn(move || {
            let streams = Streams { stdin: from.as_fd(), stdout: &mut out, stderr: &mut std::io::sink() };
            record_through(&plan, streams).unwrap().fixture
        });
        let mut answers = BufReader::new(answers).lines();
        for word in ["one", "two"] {
            writeln!(to, "{word}").unwrap();
            assert_eq!(answers.next().unwrap().unwrap(), word);
        }
        drop(to);
        recording.join().unwrap()
    });
    assert_eq!((fixture.stdin, fixture.run.end), (b"one\ntwo\n".to_vec(), End::Code(0)));
}

#[test]
fn the_recorder_does_not_wait_for_a_child_that_holds_the_pipes() {
    let root = tempfile::tempdir().unwrap();
    let log = root.path().join("log");
    let mut plan = shell(root.path(), "", b"prompt");
    plan.program = fake_claude().into();
    plan.argv = vec!["--print".into()];
    plan.env = [("STDOUT", "hi\n"), ("FAULT", "hold-output"), ("LOG", log.to_str().unwrap())]
        .map(|(name, value)| (format!("FAKE_CLAUDE_{name}").into(), value.into()))
        .to_vec();
    let (out, _, recorded) = record_with(&plan, std::io::stdin());
    let line: serde_json::Value = serde_json::from_slice(&std::fs::read(log).unwrap()).unwrap();
    kill(line["children"][0].as_i64().unwrap(), rustix::process::Signal::KILL);
    assert_eq!((out.as_slice(), recorded.unwrap().end), (&b"hi\n"[..], End::Code(0)));
}

#[test]
fn a_death_by_signal_is_recorded() {
    let root = tempfile::tempdir().unwrap();
    let (_, _, recorded) = record_with(&shell(root.path(), "kill -9 $$", b""), std::io::stdin());
    assert_eq!(recorded.unwrap().end, End::Signal(9));
}

#[test]
fn a_command_that_goes_on_after_its_input_is_ended_if_it_has_a_grace_period() {
    let root = tempfile::tempdir().unwrap();
    let grace = Some(std::time::Duration::from_millis(50));
    for (name, script, end) in [
        ("term", "cat; exec sleep 1000", End::Signal(15)),
        ("kill", "trap '' TERM; cat; exec sleep 1000", End::Signal(9)),
        ("none", "cat; exit 3", End::Code(3)),
    ] {
        let plan = shell(root.path(), script, b"");
        let plan = RecordPlan { name: name.into(), stdin: Stdin::Inherit, grace, ..plan };
        let (from, to) = std::io::pipe().unwrap();
        drop(to);
        assert_eq!(record_with(&plan, from).2.unwrap().end, end, "{name}");
    }
}

#[test]
fn a_recording_with_a_private_key_is_refused_and_nothing_is_saved() {
    let root = tempfile::tempdir().unwrap();
    let script = "echo fine; echo '-----BEGIN RSA PRIVATE KEY-----' >&2";
    let (out, _, recorded) = record_with(&shell(root.path(), script, b""), std::io::stdin());
    let error = recorded.unwrap_err();
    assert_eq!(out, b"fine\n");
    assert_eq!(error.to_string(), "nothing saved (the command ended with 0)");
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(why, "recording refused: stderr line 1, column 1 contains a private key");
    assert!(!root.path().join("run").exists());
}

#[test]
fn a_command_that_cannot_be_saved_or_started_does_not_run() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("run")).unwrap();
    std::fs::write(root.path().join("run/main.rs"), "").unwrap();
    let plan = shell(root.path(), "touch ran", b"");
    record_with(&plan, std::io::stdin()).2.unwrap_err();
    let named = RecordPlan { name: "../run".into(), ..plan.clone() };
    let error = record_with(&named, std::io::stdin()).2.unwrap_err();
    assert_eq!(error.to_string(), "invalid fixture name: \"../run\"");
    assert!(!root.path().join("ran").exists());
    let missing = RecordPlan { name: "new".into(), program: "/none/claude".into(), ..plan };
    let error = record_with(&missing, std::io::stdin()).2.unwrap_err();
    assert_eq!(error.to_string(), "cannot run /none/claude");
}

/// Not a test: the process to which `a_signal_to_the_recorder_reaches_the_command` sends a signal.
#[test]
fn recorder_process() {
    let Some(into) = std::env::var_os("RECORDER_INTO") else { return };
    let mut plan = shell(Path::new(&into), "", b"prompt");
    plan.program = fake_claude().into();
    plan.argv = vec!["--print".into()];
    plan.env = [("STDOUT", "ready\n"), ("FAULT", "hang")]
        .map(|(name, value)| (format!("FAKE_CLAUDE_{name}").into(), value.into()))
        .to_vec();
    assert_eq!(record(&plan).unwrap().end, End::Code(143));
}

#[test]
fn a_signal_to_the_recorder_reaches_the_command() {
    let root = tempfile::tempdir().unwrap();
    let mut recorder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "replay::recorder_process", "--nocapture"])
        .env("RECORDER_INTO", root.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(recorder.stdout.take().unwrap());
    let ready = stdout.by_ref().lines().map(Result::unwrap).any(|line| line.ends_with("ready"));
    assert!(ready);
    kill(recorder.id().into(), rustix::process::Signal::TERM);
    std::io::read_to_string(stdout).unwrap();
    assert!(recorder.wait().unwrap().success());
    assert_eq!(Fixture::load(&root.path().join("run")).unwrap().run.end, End::Code(143));
}

#[test]
fn a_fixture_plays_to_writers_and_returns_its_exit() {
    let recorded = Fixture::load(Path::new(&fixture("max-turns"))).unwrap();
    for pace in [Pace::Instant, Pace::Gate("/dev/null".into())] {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        assert_eq!(play(&recorded, &pace, &mut out, &mut err).unwrap(), End::Code(1));
        assert_eq!((out, err), (recorded.stdout.clone(), recorded.stderr.clone()));
    }
    let missing = Pace::Gate("/none/gate".into());
    let error = play(&recorded, &missing, &mut std::io::sink(), &mut std::io::sink()).unwrap_err();
    assert!(matches!(error, PlayError::Gate { .. }));
}

#[test]
fn no_committed_fixture_reveals_where_it_was_recorded() {
    for entry in std::fs::read_dir(fixture("")).unwrap() {
        let folder = entry.unwrap().path();
        let recorded = Fixture::load(&folder).unwrap();
        let text = String::from_utf8_lossy(&recorded.stdout).into_owned();
        assert!(!text.contains("/tmp/.tmp") && !text.contains("/root/."), "{}", folder.display());
        assert_eq!(recorded.run.cwd, "/workspace");
    }
}
