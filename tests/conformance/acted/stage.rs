//! Runs one case on one agent, in its own home and workspace, and answers its requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use anyhow::{Context, Result};
use fake_claude::replay::End;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionread;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Run;
use crate::built::built;
use crate::run::{Model, PATIENT, QUIET};

/// The placeholder for the workspace in scripts and settings.
const WORKSPACE: &str = "/workspace";

/// How long a pipe isn't read once it is nearly full, if a case asks for it.
const PAUSE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// More than precedes a long answer, less than a pipe holds however small its parts are.
const NEARLY_FULL: u64 = 32 << 10;

/// Which of the two agents.
pub(crate) enum Agent<'a> {
    Real(&'a Path),
    /// fake-claude, as this version.
    Fake(&'a str),
}

/// An agent and its environment, for all runs of a case.
pub(crate) struct Stage<'a> {
    agent: Agent<'a>,
    pub(crate) root: TempDir,
    script: PathBuf,
    model: Option<Model>,
}

impl<'a> Stage<'a> {
    pub(crate) fn set(agent: Agent<'a>, script: &Value) -> Result<Self> {
        let root = tempfile::tempdir()?;
        for name in ["home", "workspace"] {
            std::fs::create_dir(root.path().join(name))?;
        }
        let path = root.path().join("script.json");
        std::fs::write(&path, placed(&root, &script.to_string()))?;
        let model = if let Agent::Real(_) = agent { Some(Model::start(&path)?) } else { None };
        Ok(Self { agent, root, script: path, model })
    }

    fn command(&self, run: &Run, session: Option<&str>) -> Result<Command> {
        let at = |name: &str| self.root.path().join(name);
        let mut command = match self.agent {
            Agent::Real(claude) => Command::new(claude),
            Agent::Fake(_) => Command::new(built("fake-claude")?),
        };
        command.args(["--print", "--verbose", "--output-format", "stream-json", "--max-turns", "6"]);
        for (flag, wanted) in [
            (&["--dangerously-skip-permissions"][..], !run.careful),
            (&["--permission-prompt-tool", "stdio"], run.asks),
            (&["--input-format", "stream-json"], run.live),
        ] {
            command.args(flag.iter().filter(|_| wanted));
        }
        let settings = run.settings().map(|settings| placed(&self.root, &settings));
        command.args(settings.into_iter().flat_map(|settings| ["--settings".to_owned(), settings]));
        command.args(session.into_iter().flat_map(|id| ["--resume", id]));
        command.args(&run.argv).current_dir(at("workspace")).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", at("home")).env("TERM", "dumb");
        command.env("CLAUDE_CODE_TMPDIR", self.root.path()).envs(QUIET.map(|name| (name, "1")));
        command.envs([PATIENT]);
        if run.login {
            command.env("ANTHROPIC_API_KEY", "scripted");
        }
        command.env("ANTHROPIC_BASE_URL", "http://127.0.0.1:8080").envs(&run.env);
        match (&self.agent, &self.model) {
            (Agent::Fake(version), _) => {
                let number = version.split(' ').next().unwrap_or_default();
                command.env("FAKE_CLAUDE_SCRIPT", &self.script).env("FAKE_CLAUDE_VERSION", number);
                if !run.login {
                    command.env("FAKE_CLAUDE_FAULT", "not-logged-in");
                }
            }
            (Agent::Real(_), model) => {
                let port = model.as_ref().map_or(0, |model| model.port);
                command.env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}"));
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    pub(crate) fn perform(&self, run: &Run, session: Option<&str>) -> Result<Ran> {
        let workspace = self.root.path().join("workspace");
        for (name, text) in &run.files {
            let path = workspace.join(name);
            std::fs::create_dir_all(path.parent().context("a file without a folder")?)?;
            std::fs::write(&path, text)?;
        }
        let mut child = self.command(run, session)?.spawn().context("starting the agent")?;
        let mut host = Host { stdin: child.stdin.take(), answers: run.answers.iter() };
        host.begin(run);
        let stdout = child.stdout.take().context("no stdout")?;
        if run.pauses {
            pause(&child, &stdout)?;
        }
        let mut lines = Vec::new();
        for line in BufReader::new(stdout).lines() {
            // Text can't contain half of a surrogate pair.
            let line = serde_json::from_str(&line?).unwrap_or_else(|_| json!({"type": "unreadable"}));
            host.receive(&line);
            lines.push(line);
        }
        let mut stderr = String::new();
        child.stderr.take().context("no stderr")?.read_to_string(&mut stderr)?;
        let status = child.wait()?;
        // What hooks were told, where they store it.
        let told = std::fs::read_to_string(workspace.join("told")).unwrap_or_default();
        drop(std::fs::remove_file(workspace.join("told")));
        Ok(Ran { lines, stderr, status, told })
    }
}

/// Waits until the agent has nearly filled its stdout, then for [`PAUSE`] or its end.
fn pause(child: &Child, stdout: &ChildStdout) -> Result<()> {
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let has_ended =
        |timeout| poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(timeout)).map(|ready| ready > 0);
    while ioctl_fionread(stdout)? < NEARLY_FULL && !has_ended(&Timespec { tv_sec: 0, tv_nsec: 20_000_000 })? {
    }
    has_ended(&PAUSE)?;
    Ok(())
}

/// The results of a run.
pub(crate) struct Ran {
    pub(crate) lines: Vec<Value>,
    pub(super) stderr: String,
    status: ExitStatus,
    /// What its hooks appended to the file `told`.
    pub(crate) told: String,
}

impl Ran {
    pub(super) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    pub(super) fn end(&self) -> End {
        self.code().map_or_else(|| End::Signal(self.status.signal().unwrap_or_default()), End::Code)
    }
}

/// A text with the real workspace in place of `/workspace`.
fn placed(root: &TempDir, text: &str) -> String {
    text.replace(WORKSPACE, &root.path().join("workspace").to_string_lossy())
}

/// Answers the agent's requests.
struct Host<'a> {
    stdin: Option<ChildStdin>,
    answers: std::slice::Iter<'a, Value>,
}

impl Host<'_> {
    fn begin(&mut self, run: &Run) {
        let prompt = run.prompt.as_deref().unwrap_or("Go.\n");
        if run.live {
            let message = json!({"role": "user", "content": prompt});
            self.say(&format!("{}\n", json!({"type": "user", "message": message})));
        } else {
            self.say(prompt);
            self.stdin = None;
        }
    }

    fn say(&mut self, text: &str) {
        // An agent that rejected its arguments doesn't read stdin; its output shows that.
        if let Some(stdin) = &mut self.stdin {
            drop(stdin.write_all(text.as_bytes()));
        }
    }

    fn receive(&mut self, line: &Value) {
        match line["type"].as_str() {
            Some("control_request") => match self.answers.next() {
                Some(answer) if answer != "close" => {
                    let response =
                        json!({"subtype": "success", "request_id": line["request_id"], "response": answer});
                    self.say(&format!("{}\n", json!({"type": "control_response", "response": response})));
                }
                _ => self.stdin = None,
            },
            Some("result") => self.stdin = None,
            _ => {}
        }
    }
}
