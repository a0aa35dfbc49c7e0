//! fake-claude under the names of other agents: what it plays, what it asks, and what its hooks decide.

mod acp;
mod codex;

use crate::env::{Env, fake_claude};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use fake_claude::replay::{End, Fixture, lines};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A running agent and its workspace. Its output is kept.
pub(crate) struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    pub(crate) said: Vec<Value>,
    pub(crate) folder: TempDir,
}

impl Agent {
    /// Starts fake-claude under this name, with instructions and variables.
    pub(crate) fn start(name: &str, args: &[String], instructions: &Value, env: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::start_in(folder, name, args, instructions, env)
    }

    /// The same, in the workspace of one that has ended.
    pub(crate) fn start_in(
        folder: TempDir,
        name: &str,
        args: &[String],
        instructions: &Value,
        env: &[(&str, &str)],
    ) -> Self {
        let link = folder.path().join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(fake_claude(), &link).unwrap();
        }
        std::fs::write(folder.path().join(".fake-claude.json"), instructions.to_string()).unwrap();
        let mut command = Command::new(link);
        command.args(args).current_dir(folder.path()).env_clear().env("HOME", folder.path());
        command.envs(env.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout, said: Vec::new(), folder }
    }

    pub(crate) fn say(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    /// The next line; `None` at the end.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let read = self.stdout.read_until(b'\n', &mut line).unwrap();
        (read > 0).then(|| String::from_utf8_lossy(&line).into_owned())
    }

    /// Reads until a message matches.
    pub(crate) fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.line().unwrap_or_else(|| panic!("it ended after {:#?}", self.said));
            let message: Value = serde_json::from_str(&line).unwrap();
            self.said.push(message.clone());
            if fits(&message) {
                return message;
            }
        }
    }

    /// Reads until the response to the request with this id.
    pub(crate) fn answer(&mut self, id: &str) -> Value {
        self.until(|message| message["id"] == id && message["method"].is_null())
    }

    /// Closes stdin; returns how it ends, its remaining output, and its workspace.
    pub(crate) fn end(mut self) -> (Option<i32>, String, TempDir) {
        drop(self.stdin.take());
        let mut rest = String::new();
        while let Some(line) = self.line() {
            rest += &line;
        }
        (self.child.wait().unwrap().code(), rest, self.folder)
    }
}

#[test]
fn the_program_name_chooses_the_agent() {
    let env = Env::new();
    for (name, version) in [("codex", "codex-cli 0.169.0\n"), ("opencode", "1.18.33\n")] {
        let link = env.agent(name);
        assert_eq!(env.program(link.to_str().unwrap(), ["--version"]).quiet(), version);
    }
}

fn fixtures(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// Plays every recording to a client with its own ids.
fn every_recording_is_replayed(name: &str, program: &str) {
    for folder in fixtures(name) {
        let fixture = Fixture::load(&folder).unwrap();
        let instructions = json!({"fixture": folder});
        let mut agent = Agent::start(program, &fixture.run.argv, &instructions, &[]);
        let read = |line: &[u8]| serde_json::from_slice::<Value>(line).unwrap();
        let own = |mut message: Value| {
            if let Some(id) = message["id"].as_str() {
                message["id"] = format!("own {id}").into();
            }
            message
        };
        for line in lines(&fixture.stdin) {
            agent.say(&own(read(line)));
        }
        for line in lines(&fixture.stdout) {
            let said: Value = serde_json::from_str(&agent.line().unwrap()).unwrap();
            assert_eq!(said, own(read(line)), "{}", folder.display());
        }
        let (code, rest, _) = agent.end();
        assert_eq!((code.map(End::Code), rest.as_str()), (Some(fixture.run.end), ""), "{}", folder.display());
    }
}
