//! The real Claude Code as a hosted agent: its conversation continues while a daemon is killed and started again.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::place::Place;

pub(crate) const AGENT: &str = "conformed";

pub(crate) fn status(place: &Place) -> Result<Value> {
    let said = place.run(&["host", "status", AGENT, "--json"])?;
    Ok(serde_json::from_slice(&said.stdout)?)
}

/// `murmur agent attach --from 0`, whose events must be consecutive.
pub(crate) struct Events {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    next: u64,
    said: Vec<String>,
}

impl Events {
    pub(crate) fn follow(place: &Place) -> Result<Self> {
        let mut child =
            place.murmur(&["attach", AGENT, "--from", "0", "--json"]).stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().context("no stdout")?;
        Ok(Self { child, lines: BufReader::new(stdout).lines(), next: 0, said: Vec::new() })
    }

    pub(crate) fn until_state(&mut self, state: &str) -> Result<Value> {
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
    // fake-model counts the assistant's earlier messages: a lost conversation would start with the first answer.
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let script = json!([text("The first answer."), text("The second."), text("The third.")]);
    let place = Place::new(claude, &script)?;

    place.run(&["start"])?;
    place.run(&["host", "spawn", "One.", "--agent-id", AGENT])?;
    let mut events = Events::follow(&place)?;
    events.until_state("idle")?;
    let before = status(&place)?;

    place.kill_daemon()?;
    place.run(&["host", "send", AGENT, "Two, while no daemon runs."])?;
    events.until_state("idle")?;
    place.run(&["start"])?;
    place.run(&["host", "send", AGENT, "Three."])?;
    events.until_state("idle")?;

    let after = status(&place)?;
    ensure!(events.said == ["The first answer.", "The second.", "The third."], "it said {:?}", events.said);
    for key in ["pid", "agentPid", "sessionId", "capture"] {
        ensure!(before[key] == after[key] && !after[key].is_null(), "{key}: {before} and {after}");
    }
    place.run(&["host", "stop", AGENT])?;
    let exited = events.until_state("exited")?;
    ensure!(exited["exit"] == json!({ "code": 0 }), "{exited}");
    Ok(())
}
