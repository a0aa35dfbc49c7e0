//! Agents under their own hosts, and their clients: `murmur host`, `murmur agent attach`, and plain sockets.

mod attach;
mod backends;
mod chosen;
mod client;
mod conversation;
mod files;
mod holds;
mod hostile;
mod killed;
mod named;
mod others;
mod own_turns;
mod page;
mod peer;
mod rivals;
mod signals;
mod slow;
mod stop;
mod texts;
mod undecided;
mod unkept;
mod unknown;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::env::{Env, Run, wait_for_end};
use peer::Peer;

/// The id of the agent in every test that has one.
const ID: &str = "site-1";

/// A hosted agent that runs under its host.
struct Live<'a> {
    env: &'a Env,
    id: &'a str,
    /// The host's process.
    pid: i64,
}

impl Env {
    /// The agents' folder, in which they follow these instructions and echo.
    fn site(&self, instructions: &Value) -> PathBuf {
        let site = self.root().join("site");
        std::fs::create_dir_all(&site).unwrap();
        let mut all = json!({ "live": "echo" });
        all.as_object_mut().unwrap().extend(instructions.as_object().unwrap().clone());
        std::fs::write(site.join(".fake-claude.json"), all.to_string()).unwrap();
        site
    }

    /// `murmur agent start` of the agent `id`, which works in [`Self::site`].
    fn spawning(&self, id: &str, more: &[&str]) -> Run {
        let site = self.root().join("site");
        let mut args = vec!["host", "spawn", "--agent-id", id, "--worktree", site.to_str().unwrap()];
        args.extend(more);
        self.murmur(args)
    }

    /// Starts an agent that follows these instructions and echoes; it has no message yet.
    fn live(&self, instructions: &Value) -> Live<'_> {
        self.site(instructions);
        Live::of(self, self.spawning(ID, &["--json"]))
    }

    fn hosts(&self) -> PathBuf {
        self.data().join("hosts")
    }

    /// The record of the agent `id`.
    fn record(&self, id: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.hosts().join(format!("{id}.json"))).unwrap()).unwrap()
    }

    /// What `murmur agent attach` shows of the agent, from its first event to its end.
    fn told_again(&self, id: &str) -> String {
        let output = self.murmur(["attach", id, "--from", "0", "--json"]).output();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl<'a> Live<'a> {
    /// The agent [`ID`], whose host `spawning` starts.
    fn of(env: &'a Env, spawning: Run) -> Self {
        // Without a daemon, there is a warning, too.
        let spawned: Value = serde_json::from_slice(&spawning.output().stdout).unwrap();
        assert_eq!(spawned["agent_id"], ID);
        Self { env, id: ID, pid: spawned["pid"].as_i64().unwrap() }
    }

    /// A connection to the host.
    fn peer(&self) -> Peer {
        Peer::connect(&self.env.hosts().join(format!("{}.sock", self.id)))
    }

    /// A connection that follows the events from `from` on.
    fn follow(&self, from: impl Into<Value>) -> Peer {
        let mut peer = self.peer();
        peer.attach(from);
        peer
    }

    fn send(&self, text: &str) -> Value {
        self.peer().result("send", json!({ "text": text }))
    }

    fn stop(&self) -> Value {
        self.peer().result("stop", Value::Null)
    }

    fn status(&self) -> Value {
        self.peer().result("status", Value::Null)
    }

    /// The agent's own process.
    fn agent_pid(&self) -> i64 {
        self.status()["agentPid"].as_i64().unwrap()
    }

    /// Checks that the host serves.
    fn assert_answers(&self) {
        assert_eq!(self.peer().result("ping", Value::Null)["pid"], self.pid);
    }

    /// Waits until the host's process is gone.
    fn wait_for_end(&self) {
        wait_for_end(self.pid);
    }
}

/// An event as a short text.
fn brief(event: &Value) -> String {
    let payload = &event["payload"];
    let text = |key: &str| payload[key].as_str().unwrap_or("?").to_owned();
    match event["event_type"].as_str().unwrap() {
        "chat" => format!("{}: {}", text("role"), text("text")),
        "state" => match text("state").as_str() {
            "idle" => format!("idle {}", payload["turns"]),
            "running" => format!("running {} queued {}", payload["turn"], payload["queued"]),
            "stopping" => format!("stopping force {} grace {}", payload["force"], payload["graceMs"]),
            "exited" => format!("exited {}", payload["exit"]),
            other => other.to_owned(),
        },
        "result" => format!("result {}", text("text")),
        other => other.to_owned(),
    }
}

fn briefs(events: &[Value]) -> Vec<String> {
    events.iter().map(brief).collect()
}

/// Whether the event is the state `word`.
fn is_state(event: &Value, word: &str) -> bool {
    event["event_type"] == "state" && event["payload"]["state"] == word
}

/// Whether the event says that this many turns have ended.
fn is_idle_after(event: &Value, turns: u64) -> bool {
    is_state(event, "idle") && event["payload"]["turns"] == turns
}

/// Checks that these are the events from `first` on, each once, in order.
fn assert_seamless(events: &[Value], first: u64) {
    for (event, expected) in events.iter().zip(first..) {
        assert_eq!(event["offset"], expected, "{event}");
        assert!(!["gap", "lagged"].contains(&event["event_type"].as_str().unwrap()), "{event}");
    }
}
