//! Followers of an agent from its first event to its last, which must get each of them once: `murmur agent attach`, and
//! a client of the daemon that reattaches at its next event whenever the daemon is replaced.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::env::Env;

/// Everything an agent did, summarized.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// How many events there were.
    pub(super) events: u64,
    /// How many turns ended.
    pub(super) results: u64,
    /// A hash of all lines.
    hash: u64,
    is_over: bool,
}

impl Told {
    /// Adds the next event's line.
    fn take(&mut self, id: &str, line: &str) {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert!(!self.is_over, "{id}: after the end: {line}");
        assert_eq!((&event["agent_id"], &event["offset"]), (&json!(id), &json!(self.events)), "{line}");
        self.events += 1;
        let kind = event["event_type"].as_str().unwrap();
        assert!(!["gap", "lagged", "lost", "problem"].contains(&kind), "{id}: {line}");
        self.results += u64::from(kind == "result");
        self.is_over = kind == "state" && event["payload"]["state"] == "exited";
        let mut hasher = DefaultHasher::new();
        (self.hash, line.trim_end()).hash(&mut hasher);
        self.hash = hasher.finish();
    }
}

/// A running follower.
pub(super) struct Follower {
    thread: JoinHandle<Told>,
    process: Option<Child>,
}

/// A client that follows an agent through the daemon; the test tells it when a new daemon runs.
pub(super) struct DaemonFollower {
    follower: Follower,
    up: mpsc::Sender<u64>,
    attached: mpsc::Receiver<u64>,
    daemons: u64,
}

impl Follower {
    /// `murmur agent attach ID --from 0 --json`.
    pub(super) fn attach(env: &Env, id: &str) -> Self {
        let mut process = env.murmur(["attach", id, "--from", "0", "--json"]).start();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        let id = id.to_owned();
        let thread = std::thread::spawn(move || {
            let (mut told, mut line) = (Told::default(), String::new());
            while lines.read_line(&mut line).unwrap() > 0 {
                told.take(&id, &line);
                line.clear();
            }
            told
        });
        Self { thread, process: Some(process) }
    }

    /// Everything that it received, once the agent has ended.
    pub(super) fn told(self) -> Told {
        let told = self.thread.join().unwrap();
        if let Some(process) = self.process {
            crate::env::ended(process).success();
        }
        assert!(told.is_over, "{told:?}");
        told
    }
}

impl DaemonFollower {
    /// The daemon's `host.attach`, again at its next event whenever there is another daemon.
    pub(super) fn new(env: &Env, id: &str) -> Self {
        let (up, coming) = mpsc::channel();
        let (tell, attached) = mpsc::channel();
        let (socket, id) = (env.data().join("murmur.sock"), id.to_owned());
        let thread = std::thread::spawn(move || {
            let mut told = Told::default();
            while !told.is_over {
                let daemon = coming.recv_timeout(Duration::from_secs(60)).expect("no further daemon");
                let mut attached = || {
                    let _nobody_waits = tell.send(daemon);
                };
                while follow(&socket, &id, &mut told, &mut attached).is_some_and(|left| left == Left::Lagged)
                {
                }
            }
            told
        });
        Self { follower: Follower { thread, process: None }, up, attached, daemons: 0 }
    }

    /// There is a daemon.
    pub(super) fn comes(&mut self) {
        self.daemons += 1;
        self.up.send(self.daemons).unwrap();
    }

    /// Waits until it follows through the last daemon, which is running.
    pub(super) fn is_there(&self) {
        while self.attached.recv_timeout(Duration::from_secs(60)).unwrap() < self.daemons {}
    }

    /// Everything that it received, once the agent has ended.
    pub(super) fn told(self) -> Told {
        self.follower.told()
    }
}

#[derive(PartialEq, Eq)]
enum Left {
    Gone,
    Lagged,
}

/// Follows on one connection. `None` if there is no daemon, or it doesn't respond.
fn follow(socket: &Path, id: &str, told: &mut Told, attached: &mut impl FnMut()) -> Option<Left> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let asked =
        json!({ "msg_type": "host.attach", "id": "f", "payload": { "agent_id": id, "from": told.events } });
    stream.write_all(format!("{asked}\n").as_bytes()).ok()?;
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    lines.read_line(&mut line).ok().filter(|_| line.ends_with('\n'))?;
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&answer["success"], &answer["payload"]["from"]),
        (&json!(true), &json!(told.events)),
        "{answer}"
    );
    attached();
    loop {
        line.clear();
        // The daemon may be killed in the middle of a line.
        let heard = lines.read_line(&mut line).ok().filter(|_| line.ends_with('\n'));
        if heard.is_none() || told.is_over {
            return Some(Left::Gone);
        }
        if line.starts_with(r#"{"event_type":"lagged""#) {
            return Some(Left::Lagged);
        }
        told.take(id, &line);
    }
}
