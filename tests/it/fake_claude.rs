//! fake-claude: what it plays, refuses and logs. `fake_claude/` has tests of faults and live agents.

mod acted;
mod acted_background;
mod acted_deferred;
mod acted_errors;
mod acted_events;
mod acted_hooks;
mod acted_live;
mod acted_plan;
mod burst;
mod faults;
mod live;
mod live_control;
mod live_faults;

use crate::env::fake_claude;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use fake_claude::replay::Fixture;
use serde_json::Value;
use tempfile::TempDir;

/// A workspace and a log; every process logged as running is killed on drop.
pub(crate) struct Stage {
    root: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    /// fake-claude with a cleared environment, the log, and these instructions.
    pub(crate) fn command(&self, instructions: &[(&str, &str)]) -> Command {
        let mut command = Command::new(fake_claude());
        command.env_clear().env("FAKE_CLAUDE_LOG", self.path().join("log")).current_dir(self.path());
        for (name, value) in instructions {
            command.env(format!("FAKE_CLAUDE_{name}"), value);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it like a beat, with a prompt.
    pub(crate) fn run(&self, instructions: &[(&str, &str)]) -> Output {
        let mut child = self.command(instructions).arg("--print").spawn().unwrap();
        // If its instructions are invalid, it ends before it reads.
        let _unread = child.stdin.take().unwrap().write_all(b"prompt");
        child.wait_with_output().unwrap()
    }

    pub(crate) fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path().join("log")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn fifo(&self) -> PathBuf {
        let path = self.path().join("gate");
        sys::fifo::make(&path).unwrap();
        path
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for run in self.log() {
            for pid in run["children"].as_array().into_iter().flatten() {
                kill(pid.as_i64().unwrap(), rustix::process::Signal::KILL);
            }
        }
    }
}

/// A running fake-claude, killed and reaped on drop.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Starts it with a prompt; its stdout can be read.
pub(crate) fn start(mut command: Command) -> (Running, BufReader<std::process::ChildStdout>) {
    let mut child = command.arg("--print").spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"prompt").unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (Running(child), stdout)
}

pub(crate) fn line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    line
}

pub(crate) fn kill(pid: i64, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let _ = rustix::process::kill_process(pid, signal);
}

pub(crate) fn fixture(name: &str) -> String {
    format!("{}/fixtures/claude/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_fixture_is_replayed_byte_for_byte_with_its_exit() {
    for entry in std::fs::read_dir(fixture("")).unwrap() {
        let folder = entry.unwrap().path();
        let recorded = Fixture::load(&folder).unwrap();
        let played = Stage::new().run(&[("FIXTURE", folder.to_str().unwrap())]);
        assert_eq!(played.stdout, recorded.stdout, "{}", folder.display());
        assert_eq!(played.stderr, recorded.stderr, "{}", folder.display());
        assert_eq!(played.status.code(), Some(recorded.run.end.shell_code()), "{}", folder.display());
    }
}

#[test]
fn a_run_is_logged_with_arguments_folder_environment_and_prompt() {
    let stage = Stage::new();
    stage.run(&[("FIXTURE", &fixture("ok"))]);
    stage.run(&[("FIXTURE", &fixture("max-turns"))]);
    let [first, second] = &stage.log()[..] else { panic!("not two lines") };
    assert_eq!(first["argv"], serde_json::json!(["--print"]));
    assert_eq!(first["stdin"], "prompt");
    assert_eq!(first["cwd"], stage.path().canonicalize().unwrap().to_str().unwrap());
    assert_eq!(first["env"]["FAKE_CLAUDE_FIXTURE"], fixture("ok"));
    assert_ne!(first["pid"], second["pid"]);
    assert_eq!(first["children"], serde_json::json!([]));
}

#[test]
fn the_file_in_the_folder_overrides_the_environment() {
    let stage = Stage::new();
    let told = r#"{"stdout":"hello\n","stderr":"oh\n","exit":3,"faults":[],"log":"own"}"#;
    std::fs::write(stage.path().join(".fake-claude.json"), told).unwrap();
    let output = stage.run(&[("FIXTURE", &fixture("ok")), ("FAULT", "die:KILL")]);
    assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"hello\n"[..], &b"oh\n"[..]));
    assert_eq!(output.status.code(), Some(3));
    assert!(stage.log().is_empty() && stage.path().join("own").exists());
}

#[test]
fn invalid_instructions_are_reported_and_not_taken_for_a_run() {
    for (instructions, said) in [
        (
            &[][..],
            "fake-claude: nothing to play: set FAKE_CLAUDE_SCRIPT or FAKE_CLAUDE_FIXTURE (see fake-claude --help)\n",
        ),
        (&[("FAULT", "explode")], "fake-claude: unknown fault: explode (see fake-claude --help-faults)\n"),
        (&[("PACE", "fast")], "fake-claude: unknown pace: fast (instant, recorded, gate:FIFO)\n"),
        (
            &[("FIXTURE", "/none")],
            "fake-claude: cannot read fixture: /none/run.json: No such file or directory (os error 2)\n",
        ),
    ] {
        let output = Stage::new().run(instructions);
        assert_eq!(String::from_utf8_lossy(&output.stderr), said);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(70), 0));
    }
}

#[test]
fn an_invalid_script_is_reported_with_the_expected_form() {
    let stage = Stage::new();
    let path = stage.path().join("script.json");
    let path = path.to_str().unwrap();
    let said = |text: &str, instructions: &[(&str, &str)]| {
        std::fs::write(path, text).unwrap();
        let output = stage.run(instructions);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(70), 0));
        String::from_utf8(output.stderr).unwrap()
    };
    let is = "not a script; write a list of turns, each a list of blocks: \
        [[{\"type\":\"text\",\"text\":\"HEARTBEAT_OK\"}]]\n";
    for text in [r#"[{"type":"text","text":"hi"}]"#, r#""hi""#, r#"{"turns":[]}"#] {
        assert_eq!(said(text, &[("SCRIPT", path)]), format!("fake-claude: {path}: {is}"), "{text}");
    }
    let torn = said("[[", &[("SCRIPT", path)]);
    assert_eq!(torn, format!("fake-claude: {path}: EOF while parsing a list at line 1 column 2\n"));
    std::fs::write(stage.path().join(".fake-claude.json"), r#"{"script":[7]}"#).unwrap();
    assert_eq!(said("", &[]), format!("fake-claude: .fake-claude.json: script: {is}"));
}

#[test]
fn the_help_lists_what_it_can_play() {
    for word in ["--help", "-h"] {
        let output = Stage::new().command(&[]).arg(word).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
        for name in [
            "SCRIPT", "FIXTURE", "STDOUT", "STDERR", "LIVE", "FAULT", "EXIT", "PACE", "BURST", "VERSION",
            "LOG",
        ] {
            assert!(said.contains(&format!("FAKE_CLAUDE_{name}=")), "{name}: {said}");
        }
    }
}

#[test]
fn the_version_is_that_of_the_fixture_and_not_logged_as_a_run() {
    let stage = Stage::new();
    let output = stage.command(&[("FIXTURE", &fixture("ok"))]).arg("--version").output().unwrap();
    assert_eq!(output.stdout, b"2.1.329 (Claude Code)\n");
    assert!(stage.log().is_empty());
}

/// Each was measured on 2.1.329: the message on stderr, nothing on stdout, exit code 1.
#[test]
fn invalid_arguments_are_refused_with_claude_codes_messages() {
    let table: &[(&str, &str, &str)] = &[
        ("--nope", "", "error: unknown option '--nope'\n(Did you mean --name?)"),
        ("--print --verbos", "", "error: unknown option '--verbos'\n(Did you mean --verbose?)"),
        ("--print --verbose=3", "", "error: unknown option '--verbose=3'\n(Did you mean --verbose?)"),
        ("--tool", "", "error: unknown option '--tool'\n(Did you mean --tools?)"),
        ("--allow", "", "error: unknown option '--allow'"),
        ("-Q", "", "error: unknown option '-Q'"),
        ("--print --max-turns", "", "error: option '--max-turns <turns>' argument missing"),
        (
            "--print --nope --max-turns abc --output-format bad",
            "hi",
            "error: option '--max-turns <turns>' argument 'abc' is invalid. must be a number",
        ),
        (
            "--print --output-format xml",
            "hi",
            "error: option '--output-format <format>' argument 'xml' is invalid. Allowed choices are text, \
             json, stream-json.",
        ),
        (
            "--print --output-format stream-json",
            "hi",
            "Error: When using --print, --output-format=stream-json requires --verbose",
        ),
        (
            "--print --input-format stream-json",
            "hi",
            "Error: --input-format=stream-json requires output-format=stream-json.",
        ),
        (
            "--print --output-format stream-json --disallowedTools a b",
            "",
            "Error: Input must be provided either through stdin or as a prompt argument when using --print",
        ),
        (
            "--print",
            " \n",
            "Error: Input contained only whitespace. Provide a prompt with text through stdin or as a prompt \
             argument when using --print",
        ),
    ];
    for (argv, prompt, said) in table {
        let stage = Stage::new();
        let mut command = stage.command(&[("FIXTURE", &fixture("ok"))]);
        let mut child = command.args(argv.split(' ')).spawn().unwrap();
        // If it refuses its arguments, it may have ended before it reads.
        drop(child.stdin.take().unwrap().write_all(prompt.as_bytes()));
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("{said}\n"), "{argv}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{argv}");
        assert_eq!(stage.log().len(), 1, "{argv}");
    }
}

#[test]
fn silent_stdin_is_given_up_with_claude_codes_warning() {
    let stage = Stage::new();
    let mut child =
        Running(stage.command(&[("FIXTURE", &fixture("ok"))]).args(["--print", "do it"]).spawn().unwrap());
    let _silent = child.0.stdin.take().unwrap();
    let mut said = String::new();
    child.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.starts_with("Warning: no stdin data received in 3s, proceeding without it."), "{said}");
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
}

#[test]
fn a_gate_releases_one_line_per_byte_and_the_rest_at_its_end() {
    let stage = Stage::new();
    let gate = stage.fifo();
    let pace = format!("gate:{}", gate.display());
    let (mut child, mut stdout) =
        start(stage.command(&[("STDOUT", "one\ntwo\nthree\nfour"), ("PACE", &pace)]));
    let mut gate = File::options().write(true).open(gate).unwrap();
    for wanted in ["one\n", "two\n"] {
        gate.write_all(b".").unwrap();
        assert_eq!(line(&mut stdout), wanted);
    }
    assert!(child.0.try_wait().unwrap().is_none());
    drop(gate);
    assert_eq!(std::io::read_to_string(stdout).unwrap(), "three\nfour");
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
}
