//! Processes with a PID that a record names, but which are others: they are never signaled.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};

use jiff::Timestamp;
use murmur_core::config::backend::Backend;
use murmur_core::id::AgentId;
use murmur_host::protocol::AgentInfo;
use murmur_host::record::Record;
use murmur_host::state::AgentKind;
use serde_json::{Value, json};
use sys::process_lock::{Durability, ProcessLock};

use crate::env::Env;

/// A process that runs until it is dropped.
struct Bystander(Child);

impl Bystander {
    /// An agent with this id, according to its environment.
    fn new(env: &Env, agent: &str, data: &Path) -> Self {
        let run = env.program("cat", [] as [&str; 0]);
        let run = run.set("MURMUR_AGENT_ID", agent).set("MURMUR_DIR", data).stdin(Stdio::piped());
        Self(run.start())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Checks that it is still running.
    fn assert_alive(mut self) {
        assert!(self.0.try_wait().unwrap().is_none(), "it is dead");
        let mut out = self.0.stdout.take().unwrap();
        drop(self.0.stdin.take());
        assert_eq!(out.read_to_end(&mut Vec::new()).unwrap(), 0);
        assert!(self.0.wait().unwrap().success());
    }
}

/// When the process `pid` started, in the form of records.
fn began(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap().parse().unwrap()
}

/// A record of a dead host, whose PID is now that of another process.
fn leave_host(env: &Env, agent: &str, pid: u32, kind: AgentKind) {
    let info = AgentInfo {
        agent_id: AgentId::parse(agent).unwrap(),
        kind,
        project: "site".to_owned(),
        role: "agent".to_owned(),
        backend: Backend::Claude,
        worktree: "/srv/site".into(),
        issue: None,
        beat: None,
        heartbeat: None,
        started_at: "2026-02-03T10:00:00Z".to_owned(),
    };
    let mut record = Record::ours(info, env.data());
    (record.host.pid, record.host.started) = (pid, began(pid));
    assert!(record.host.is_alive());
    drop(record.claim(&env.data().join("hosts"), |_| Ok(())).unwrap());
}

/// A record of a beat whose process is dead, and whose PID is now that of another process.
fn leave_beat(env: &Env, beat: &str, agent: &str, pid: u32, more: &Value) {
    let entry = json!({ "ts": "2026-02-03T10:00:00.000Z", "workspace": env.root().join("site"), "outcome": "error",
        "durationMs": 0, "error": "died", "beat": beat, "agent": agent });
    let mut begun = json!({ "pid": pid, "entry": entry, "over": false, "scheduled": true });
    begun.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let text = begun.to_string();
    ProcessLock::create(
        &env.data().join("beats"),
        &format!("{beat}.json"),
        text.as_bytes(),
        Durability::Unsynced,
    )
    .unwrap()
    .unwrap();
}

#[test]
fn a_reused_pid_is_never_signaled() {
    let env = Env::new();
    env.create_data();
    let elsewhere = env.root().join("elsewhere");
    let ids = ["live-1", "live-2", "beat-1", "beat-2"];
    // The first of each was never an agent, the second is one with this name under another data folder.
    let strangers =
        ["nobody", "live-2", "nobody", "beat-2"].map(|agent| Bystander::new(&env, agent, &elsewhere));
    for (round, commands) in [
        &[&["host", "discover"][..], &["host", "stop", "live-1"], &["host", "stop", "--all", "--force"]][..],
        &[&["stop"], &["stop", "--leave-agents"]],
        &[&["start"], &["status"], &["host", "discover"], &["restart"], &["stop"]],
    ]
    .into_iter()
    .enumerate()
    {
        std::fs::remove_dir_all(env.data().join("hosts")).unwrap_or_default();
        for (agent, stranger) in ids.iter().zip(&strangers) {
            let kind = if agent.starts_with("live") { AgentKind::Live } else { AgentKind::Beat };
            leave_host(&env, agent, stranger.pid(), kind);
            leave_beat(
                &env,
                &format!("{round}-{agent}"),
                agent,
                stranger.pid(),
                &json!({ "dataDir": env.data() }),
            );
        }
        std::fs::write(env.data().join("murmur.pid"), strangers[0].pid().to_string()).unwrap();
        for command in commands {
            let shown = env.run(*command);
            assert!(
                shown.ends_with("[exit 0]") || *command == ["host", "stop", "live-1"],
                "{command:?}: {shown}"
            );
        }
    }
    // Every beat got its line.
    assert_eq!((env.journal().len(), env.names(&env.data().join("beats"))), (3 * ids.len(), String::new()));
    strangers.into_iter().for_each(Bystander::assert_alive);
}

#[test]
fn the_pid_in_a_beats_announcement_is_never_signaled_if_reused() {
    let env = Env::new();
    env.create_data();
    let stranger = Bystander::new(&env, "site-1", &env.root().join("elsewhere"));
    let announced = json!({ "announced": true, "dataDir": env.data(), "before": Timestamp::UNIX_EPOCH });
    leave_beat(&env, "one", "site-1", stranger.pid(), &announced);
    let daemon = env.daemon();
    env.wait(&env.data().join("beats"), || env.names(&env.data().join("beats")).is_empty().then_some(()));
    daemon.stop();
    assert_eq!(env.journal_text(), "");
    stranger.assert_alive();
}
