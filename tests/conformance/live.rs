//! The real Claude Code as a live agent: its conversation goes on across a daemon that is killed and started again.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::{Model, QUIET};

const MURMUR: &str = env!("CARGO_BIN_EXE_murmur");
const AGENT: &str = "conformed";

/// A home with the real `claude` on its PATH, and a data folder.
struct Place {
    folder: TempDir,
    port: u16,
}

impl Place {
    fn murmur(&self, args: &[&str]) -> Command {
        let at = |name: &str| self.folder.path().join(name);
        let mut command = Command::new(MURMUR);
        command.args(args).current_dir(at("site")).env_clear();
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", at("home/bin").display()));
        command.env("HOME", at("home")).env("MURMUR_DIR", at("data"));
        command.env("IS_SANDBOX", "1").env("ANTHROPIC_API_KEY", "scripted");
        command.env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", self.port));
        command.envs(QUIET.map(|name| (name, "1"))).stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Result<Output> {
        let output = self.murmur(args).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "murmur {args:?}: {} {said}", output.status);
        Ok(output)
    }

    fn status(&self) -> Result<Value> {
        let said = self.run(&["host", "status", AGENT, "--json"])?;
        Ok(serde_json::from_slice(&said.stdout)?)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(self.murmur(&["host", "stop", AGENT, "--force"]).output());
        drop(self.murmur(&["stop"]).output());
    }
}

/// `murmur attach --from 0`, whose events have to come one after the other.
struct Events {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    next: u64,
    said: Vec<String>,
}

impl Events {
    fn follow(place: &Place) -> Result<Self> {
        let mut child =
            place.murmur(&["attach", AGENT, "--from", "0", "--json"]).stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().context("no stdout")?;
        Ok(Self { child, lines: BufReader::new(stdout).lines(), next: 0, said: Vec::new() })
    }

    fn until_state(&mut self, state: &str) -> Result<Value> {
        for line in self.lines.by_ref() {
            let event: Value = serde_json::from_str(&line?)?;
            ensure!(event["offset"] == self.next, "event {} is missing: {event}", self.next);
            self.next += 1;
            let payload = &event["payload"];
            if event["event_type"] == "chat" && payload["role"] == "assistant" {
                self.said.extend(payload["text"].as_str().map(str::to_owned));
            }
            if event["event_type"] == "state" && payload["state"] == state {
                return Ok(payload.clone());
            }
        }
        anyhow::bail!("the events ended before the agent was {state}; it said {:?}", self.said)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) fn across_a_killed_daemon(claude: &Path) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    for name in ["site", "home/bin"] {
        std::fs::create_dir_all(at(name))?;
    }
    std::os::unix::fs::symlink(claude, at("home/bin/claude"))?;
    // fake-model counts what the assistant has said before: a conversation that is lost begins with the first answer.
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let script = json!([text("The first answer."), text("The second."), text("The third.")]);
    std::fs::write(at("script.json"), script.to_string())?;
    let model = Model::start(&at("script.json"))?;
    let place = Place { port: model.port, folder };

    place.run(&["start"])?;
    place.run(&["host", "spawn", "One.", "--agent-id", AGENT])?;
    let mut events = Events::follow(&place)?;
    events.until_state("idle")?;
    let before = place.status()?;

    let pid = std::fs::read_to_string(place.folder.path().join("data/murmur.pid"))?;
    let pid = rustix::process::Pid::from_raw(pid.trim().parse()?).context("no PID")?;
    rustix::process::kill_process(pid, rustix::process::Signal::KILL)?;
    place.run(&["host", "send", AGENT, "Two, while no daemon runs."])?;
    events.until_state("idle")?;
    place.run(&["start"])?;
    place.run(&["host", "send", AGENT, "Three."])?;
    events.until_state("idle")?;

    let after = place.status()?;
    ensure!(events.said == ["The first answer.", "The second.", "The third."], "it said {:?}", events.said);
    for key in ["pid", "agent_pid", "session_id", "capture"] {
        ensure!(before[key] == after[key] && !after[key].is_null(), "{key}: {before} and {after}");
    }
    place.run(&["host", "stop", AGENT])?;
    let exited = events.until_state("exited")?;
    ensure!(exited["exit"] == json!({ "code": 0 }), "{exited}");
    Ok(())
}
