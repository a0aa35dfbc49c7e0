//! A hosted agent, which is `fake-claude`, under its own host.

use super::super::home::Home;
use super::line::Lines;
use crate::built::built;
use anyhow::Context;
use murmur_agent::claude::ClaudeDialog;
use murmur_agent::dialog::Dialog;
use murmur_agent::invocation::live_args;
use murmur_host::protocol::Status;
use murmur_host::state::State;
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The id of every agent: each has its own home.
const ID: &str = "figures";

/// The agent and its host, both ended when this is dropped.
#[derive(Debug)]
pub(super) struct Live {
    home: Home,
}

impl Live {
    /// An agent that answers each message with a turn; with `burst`, in fake-claude's form, of many lines.
    pub(super) fn start(burst: Option<&str>) -> anyhow::Result<Self> {
        let burst = burst.map_or_else(String::new, |burst| format!("FAKE_CLAUDE_BURST={burst} "));
        let fake = built("fake-claude")?;
        let home = Home::new(&format!("#!/bin/sh\n{burst}FAKE_CLAUDE_LIVE=echo exec {fake} \"$@\"\n"))?;
        // By default, a capture keeps only its beginning and its end.
        let settings = home.data().join("config");
        std::fs::create_dir_all(&settings)?;
        std::fs::write(settings.join("config.toml"), "[captures]\nmax-per-run = \"10GiB\"\n")?;
        let mut command = home.murmur();
        command.args(["host", "spawn", "--agent-id", ID, "--worktree"]).arg(home.path());
        let said = command.stderr(Stdio::piped()).output()?;
        anyhow::ensure!(said.status.success(), "no host: {}", String::from_utf8_lossy(&said.stderr));
        let live = Self { home };
        // A spawned agent is not idle yet: its first state is.
        live.client(Some(0))?.until_idle(0)?;
        Ok(live)
    }

    /// A connection; with `from` it follows the events from there.
    pub(super) fn client(&self, from: Option<u64>) -> anyhow::Result<Client> {
        let stream = UnixStream::connect(self.home.data().join("hosts").join(format!("{ID}.sock")))?;
        let mut client = Client { lines: Lines::new(stream.try_clone()?), stream, turns: 0 };
        if from.is_some() {
            client.tell("attach", &json!({ "from": from }))?;
        }
        Ok(client)
    }

    pub(super) fn status(&self) -> anyhow::Result<Status> {
        let mut client = self.client(None)?;
        client.tell("status", &Value::Null)?;
        let answer: Value = serde_json::from_slice(client.lines.next()?)?;
        Ok(serde_json::from_value(answer["payload"].clone())?)
    }

    /// The store with its session.
    pub(super) fn store(&self) -> PathBuf {
        self.home.path().join(".local/state/derun")
    }

    /// The same agent without a host.
    pub(super) fn bare(&self) -> anyhow::Result<Bare> {
        let mut command = self.home.command(self.home.claude());
        command.args(live_args(Some(&[]), None, &[], &[])).current_dir(self.home.path());
        Bare::start(&mut command)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ended = self.home.murmur().args(["host", "stop", "--force", ID]).status();
    }
}

/// A connection to a host.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) lines: Lines<UnixStream>,
    stream: UnixStream,
    /// How many ended turns it has seen.
    turns: u64,
}

impl Client {
    /// Sends a request and leaves the response to be read.
    pub(super) fn tell(&mut self, msg_type: &str, payload: &Value) -> anyhow::Result<()> {
        let mut line = json!({ "msg_type": msg_type, "id": "1", "payload": payload }).to_string();
        line.push('\n');
        Ok(self.stream.write_all(line.as_bytes())?)
    }

    /// Runs a turn, and reads until the agent is idle again. Returns the events.
    pub(super) fn turn(&mut self) -> anyhow::Result<Seen> {
        self.tell("send", &json!({ "text": "go" }))?;
        self.turns += 1;
        self.until_idle(self.turns)
    }

    /// Reads until the agent is idle after `turns` turns.
    pub(super) fn until_idle(&mut self, turns: u64) -> anyhow::Result<Seen> {
        let state = serde_json::to_string(&State::Idle { turns, background: 0 })?;
        let end = format!("\"payload\":{state}}}");
        self.until(|line| line.ends_with(end.as_bytes()))
    }

    /// Reads up to the line for which `is_last`, and attaches again whenever it lagged.
    pub(super) fn until(&mut self, is_last: impl Fn(&[u8]) -> bool) -> anyhow::Result<Seen> {
        let mut all = Seen::default();
        loop {
            let Seen { events, lost, said, lagged } = self.lines.until(&is_last)?;
            (all.events, all.lost, all.said) = (all.events + events, all.lost + lost, all.said + said);
            let Some(next) = lagged else { return Ok(all) };
            self.tell("attach", &json!({ "from": next }))?;
        }
    }
}

/// The result of a stream of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// How many events there were,
    pub(super) events: u64,
    /// and how many expected ones were missing.
    pub(super) lost: u64,
    /// How many of them are lines of a burst.
    pub(super) said: u64,
    /// Where to attach again, if it lagged.
    pub(super) lagged: Option<u64>,
}

/// The agent, read by a plain loop.
#[derive(Debug)]
pub(super) struct Bare {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<ChildStdout>,
}

impl Bare {
    fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take().context("no stdin")?;
        let lines = Lines::new(child.stdout.take().context("no stdout")?);
        Ok(Self { child, stdin, lines })
    }

    /// Runs a turn and reads all of it. Returns the number of bytes.
    pub(super) fn turn(&mut self) -> anyhow::Result<u64> {
        self.stdin.write_all(&ClaudeDialog::default().send("go"))?;
        let before = self.lines.taken();
        while !is_result(self.lines.next()?) {}
        Ok(self.lines.taken() - before)
    }
}

/// Whether `line` is the last of a turn: as the agent writes it, with its keys in any order.
fn is_result(line: &[u8]) -> bool {
    memchr::memmem::find(&line[..line.len().min(400)], br#""duration_api_ms""#).is_some()
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// The bytes of the session `capture` in `store`.
pub(super) fn output(store: &Path, capture: &str) -> PathBuf {
    store.join("sessions").join(capture).join("output.bin")
}
