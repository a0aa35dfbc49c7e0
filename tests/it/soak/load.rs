//! Hosted agents that are always busy: they echo what a thread sends them, in an endless sequence.
//!
//! Their events are the clock of these tests: a random moment is a random number of events later.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::env::{Env, Run};

/// Longer than any answer takes.
const TIMEOUT: Duration = Duration::from_secs(60);

/// One agent: its id and its processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Agent {
    pub(super) id: String,
    pub(super) host: i64,
    pub(super) pid: i64,
}

/// The events of agents while they work.
#[derive(Default)]
struct Ticks {
    count: Mutex<u64>,
    more: Condvar,
}

/// The agents, and the thread that sends them messages.
pub(super) struct Load<'a> {
    env: &'a Env,
    pub(super) agents: Vec<Agent>,
    ticks: Arc<Ticks>,
    is_over: Arc<AtomicBool>,
    come: mpsc::Sender<String>,
    speaking: Option<JoinHandle<BTreeMap<String, u64>>>,
}

/// The folder of hosts.
pub(super) fn hosts(env: &Env) -> PathBuf {
    env.data().join("hosts")
}

/// A connection to a host.
struct Peer {
    lines: BufReader<UnixStream>,
}

impl Peer {
    fn connect(folder: &Path, id: &str) -> std::io::Result<Self> {
        let stream = UnixStream::connect(folder.join(format!("{id}.sock")))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self { lines: BufReader::new(stream) })
    }

    fn ask(&mut self, msg_type: &str, payload: &Value) -> Option<()> {
        let line = format!("{}\n", json!({ "msg_type": msg_type, "id": "x", "payload": payload }));
        self.lines.get_mut().write_all(line.as_bytes()).ok()
    }

    /// The next complete line; `None` at the end, which may be in the middle of one.
    fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.lines.read_line(&mut line).ok()?;
        line.ends_with('\n').then(|| serde_json::from_str(&line).unwrap())
    }
}

/// The state of the agent `id`, as reported by its host.
pub(super) fn status(env: &Env, id: &str) -> Value {
    let mut peer = Peer::connect(&hosts(env), id).unwrap();
    peer.ask("status", &Value::Null).unwrap();
    peer.receive().unwrap()["payload"].clone()
}

/// `murmur agent start` of the agent `id`, which follows the instructions of its own folder.
fn spawning(env: &Env, id: &str, instructions: &Value) -> Run {
    let folder = env.root().join("live").join(id);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(".fake-claude.json"), instructions.to_string()).unwrap();
    env.murmur(["host", "spawn", "--json", "--agent-id", id, "--worktree", folder.to_str().unwrap()])
}

fn agent(env: &Env, id: &str) -> Agent {
    let status = status(env, id);
    let pid = |name: &str| status[name].as_i64().unwrap();
    Agent { id: id.to_owned(), host: pid("pid"), pid: pid("agentPid") }
}

impl<'a> Load<'a> {
    /// `count` agents with `faults`; one at a time has something to do.
    pub(super) fn new(env: &'a Env, count: usize, faults: &[&str]) -> Self {
        let instructions = json!({ "live": "echo", "faults": faults });
        let ids: Vec<String> = (0..count).map(|n| format!("live-{n}")).collect();
        let spawned: Vec<_> = ids.iter().map(|id| spawning(env, id, &instructions).start()).collect();
        for child in spawned {
            crate::env::ended(child).success();
        }
        let agents: Vec<Agent> = ids.iter().map(|id| agent(env, id)).collect();
        let (ticks, is_over) = (Arc::<Ticks>::default(), Arc::<AtomicBool>::default());
        let (come, coming) = mpsc::channel();
        ids.into_iter().for_each(|id| come.send(id).unwrap());
        let speaker =
            Speaker { folder: hosts(env), ticks: Arc::clone(&ticks), is_over: Arc::clone(&is_over), coming };
        let speaking = Some(std::thread::spawn(move || speaker.speak()));
        Self { env, agents, ticks, is_over, come, speaking }
    }

    /// Starts one more, and gives it work.
    pub(super) fn add(&mut self, id: &str, faults: &[&str]) {
        spawning(self.env, id, &json!({ "live": "echo", "faults": faults })).assert().success();
        self.agents.push(agent(self.env, id));
        self.come.send(id.to_owned()).unwrap();
    }

    /// Waits for so many more events of agents.
    pub(super) fn wait(&self, more: u64) {
        let count = self.ticks.count.lock().unwrap();
        let until = *count + more;
        let waited = self.ticks.more.wait_timeout_while(count, TIMEOUT, |count| *count < until).unwrap();
        let late = waited.1;
        assert!(!late.timed_out(), "the agents do nothing any more");
    }

    /// Waits for so long, while they work.
    pub(super) fn work(&self, time: Duration) {
        let count = self.ticks.count.lock().unwrap();
        let before = *count;
        let (count, _) = self.ticks.more.wait_timeout_while(count, time, |_| true).unwrap();
        assert!(time.is_zero() || *count > before, "the agents do nothing any more");
    }

    /// Stops sending; returns how many messages each agent got and answered.
    pub(super) fn stop_sending(&mut self) -> BTreeMap<String, u64> {
        self.is_over.store(true, Ordering::Relaxed);
        self.speaking.take().unwrap().join().unwrap()
    }

    /// Checks that every agent is the same process as in the beginning, under the same host.
    pub(super) fn assert_same(&self) {
        for known in &self.agents {
            assert_eq!(agent(self.env, &known.id), *known);
        }
    }
}

impl Drop for Load<'_> {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// The thread that sends messages to the agents.
struct Speaker {
    folder: PathBuf,
    ticks: Arc<Ticks>,
    is_over: Arc<AtomicBool>,
    coming: mpsc::Receiver<String>,
}

impl Speaker {
    fn speak(self) -> BTreeMap<String, u64> {
        let mut peers: Vec<(String, Peer)> = Vec::new();
        let mut answered = BTreeMap::new();
        while !self.is_over.load(Ordering::Relaxed) {
            for id in self.coming.try_iter() {
                // It may be dead already.
                let Ok(mut peer) = Peer::connect(&self.folder, &id) else { continue };
                if peer.ask("attach", &json!({ "from": null })).is_some() {
                    peers.push((id, peer));
                }
            }
            // A killed agent sends nothing more.
            peers.retain_mut(|(id, peer)| {
                let said = answered.entry(id.clone()).or_default();
                let is_alive = self.turn(peer, *said).is_some();
                *said += u64::from(is_alive);
                is_alive
            });
        }
        answered
    }

    /// One message, and all its results.
    fn turn(&self, peer: &mut Peer, number: u64) -> Option<()> {
        peer.ask("send", &json!({ "text": format!("message {number}") }))?;
        loop {
            let line = peer.receive()?;
            if line["success"] == false {
                panic!("refused: {line}");
            }
            *self.ticks.count.lock().unwrap() += 1;
            self.ticks.more.notify_all();
            let is_idle = line["event_type"] == "state" && line["payload"]["state"] == "idle";
            // Earlier ones are reported before any message.
            if is_idle && line["payload"]["turns"] == number + 1 {
                return Some(());
            }
        }
    }
}
