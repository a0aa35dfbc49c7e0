//! The stream of events, and `log --follow`, which must neither miss a line nor show one twice.

use std::fs::File;
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Child, ChildStdout};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::rpc::register_idle;
use super::waits_at;
use crate::env::{Env, Socket, kill, wait_for_end};

/// The journal up to the byte that the event names: it ends with the event's line.
fn line_of(env: &Env, event: &Value) -> Value {
    let end = usize::try_from(event["payload"]["journalEnd"].as_u64().unwrap()).unwrap();
    let text = env.journal_text();
    serde_json::from_str(text[..end].lines().last().unwrap()).unwrap()
}

fn append(env: &Env, line: &str) {
    let path = env.data().join("heartbeats.jsonl");
    let mut journal = File::options().append(true).create(true).open(path).unwrap();
    journal.write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn foreign(n: usize) -> String {
    format!(r#"{{"ts":"2026-02-03T10:00:00Z","workspace":"/w","outcome":"ok","durationMs":{n},"own":"{n}"}}"#)
}

#[test]
fn every_beat_has_one_start_event_and_one_end_event() {
    let env = Env::new();
    let [left, site, shop] = ["left", "site", "shop"].map(|name| env.workspace(name, "Do it."));
    let (pace, mut gate) = env.gate("gate");
    for workspace in [&left, &site, &shop] {
        workspace.plays(&waits_at(&pace));
    }
    register_idle(&env, 3, &[&left, &site]);
    let daemon = env.daemon();
    env.ask("beat", &json!({ "workspace": left.0 }));
    env.wait_for_agents(1);
    daemon.crash();
    let daemon = env.daemon();
    let mut events = env.connect();
    let attached = events.ask("attach", &json!({ "from": 0 }));
    assert_eq!((&attached["next"], &attached["journalEnd"]), (&json!(1), &json!(0)));
    let begins = env.ask("beat", &json!({ "workspace": site.0 }));
    env.wait_for_agents(2);
    let by_hand = env.murmur(["beat", "shop", "-V"]).start();
    env.wait_for_agents(3);
    let started: Vec<Value> = (0..3).map(|_| events.event("beat_started")).collect();
    let of = |started: &Value| {
        let workspace = started["payload"]["workspace"].as_str().unwrap().rsplit('/').next().unwrap();
        (workspace.to_owned(), started["payload"]["scheduled"].as_bool().unwrap())
    };
    let found: Vec<_> = started.iter().map(of).collect();
    assert_eq!(found, [("left".to_owned(), true), ("site".to_owned(), true), ("shop".to_owned(), false)]);
    assert_eq!(
        (&started[1]["payload"]["beat"], &started[1]["agent_id"]),
        (&begins["beat"], &begins["agent"])
    );
    gate.write_all(b"...").unwrap();
    crate::env::ended(by_hand).success();
    for offset in 3..6 {
        let mut ended = events.event("beat_ended");
        assert_eq!(ended["offset"], offset);
        let mut line = line_of(&env, &ended);
        let inode =
            std::os::unix::fs::MetadataExt::ino(&env.data().join("heartbeats.jsonl").metadata().unwrap());
        assert_eq!(ended["payload"]["journalInode"], inode);
        let payload = ended["payload"].as_object_mut().unwrap();
        payload.retain(|key, _| !key.starts_with("journal"));
        line.as_object_mut().unwrap().remove("turns");
        assert_eq!(ended["payload"], line);
        assert_eq!(ended["agent_id"], line["agent"]);
    }
    // Another client gets the same, and nothing after it detaches.
    let mut second = env.connect();
    second.ask("attach", &json!({ "from": 2 }));
    let offsets: Vec<_> = (0..4).map(|_| second.receive().unwrap()["offset"].as_u64().unwrap()).collect();
    assert_eq!(offsets, [2, 3, 4, 5]);
    second.ask("detach", &Value::Null);
    append(&env, &foreign(7));
    assert_eq!(events.event("beat_ended")["payload"]["durationMs"], 7);
    assert_eq!(second.answer("ping", &Value::Null)["success"], true);
    daemon.stop();
    assert_eq!((events.receive(), second.receive()), (None, None));
}

#[test]
fn the_last_beats_of_a_daemon_are_reported_before_it_exits() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": "", "faults": ["hang"] }));
    env.register(&[&site]);
    let daemon = env.daemon();
    let mut events = env.connect();
    events.ask("attach", &json!({ "from": 0 }));
    env.wait_for_agents(1);
    daemon.stop();
    events.event("beat_started");
    let ended = events.event("beat_ended");
    assert_eq!(ended["payload"]["beat"], line_of(&env, &ended)["beat"]);
    assert_eq!(events.receive(), None);
}

#[test]
fn a_moved_journal_and_lines_that_are_not_beats_cause_no_false_events() {
    let env = Env::new();
    env.create_data();
    append(&env, &foreign(1));
    let daemon = env.daemon();
    let mut events = env.connect();
    let attached = events.ask("attach", &json!({}));
    assert_eq!(attached["journalEnd"], env.journal_text().len());
    append(&env, "not ours\n\n[1,2]");
    append(&env, &foreign(2));
    assert_eq!(line_of(&env, &events.event("beat_ended"))["own"], "2");
    std::fs::rename(env.data().join("heartbeats.jsonl"), env.data().join("old.jsonl")).unwrap();
    append(&env, &foreign(3));
    let ended = events.event("beat_ended");
    assert_eq!((line_of(&env, &ended)["own"].clone(), ended["offset"].clone()), (json!("3"), json!(1)));
    assert_ne!(ended["payload"]["journalInode"], attached["journalInode"]);
    File::create(env.data().join("heartbeats.jsonl")).unwrap();
    append(&env, &foreign(4));
    assert_eq!(line_of(&env, &events.event("beat_ended"))["own"], "4");
    daemon.stop();
    assert_eq!(events.receive(), None);
}

#[test]
fn events_no_longer_in_memory_are_a_gap() {
    let env = Env::new();
    env.create_data();
    let daemon = env.daemon();
    let mut events = env.connect();
    events.ask("attach", &json!({}));
    // In parts that are smaller than what is kept.
    for part in [0..600, 600..1200] {
        let many: Vec<String> = part.clone().map(foreign).collect();
        append(&env, &many.join("\n"));
        for n in part {
            assert_eq!(events.event("beat_ended")["payload"]["durationMs"], n);
        }
    }
    let mut late = env.connect();
    late.ask("attach", &json!({ "from": 3 }));
    assert_eq!(late.event("gap")["payload"], json!({ "from": 3, "to": 200 }));
    assert_eq!(late.event("beat_ended")["offset"], 200);
    daemon.stop();
}

/// `murmur log --follow --json` and its output.
struct Follow {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Follow {
    /// A follower that starts after the journal's last line, which it has shown.
    fn new(env: &Env) -> Self {
        let mut child = env.murmur(["log", "--follow", "--json", "-n", "1"]).start();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut follow = Self { child, lines };
        assert_eq!(follow.next(), env.journal_text().lines().last().unwrap());
        follow
    }

    fn next(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    /// Ends it; all its output must have been checked.
    fn end(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        assert_eq!(self.lines.next().map(Result::unwrap), None);
    }
}

#[test]
fn a_follower_shows_every_beat_once_across_daemons() {
    let env = Env::new();
    env.create_data();
    append(&env, &foreign(0));
    let mut follow = Follow::new(&env);
    let mut next = 0;
    let mut shown_once = |env: &Env, follow: &mut Follow| {
        next += 1;
        append(env, &foreign(next));
        assert_eq!(follow.next(), foreign(next));
    };
    shown_once(&env, &mut follow);
    let daemon = env.daemon();
    shown_once(&env, &mut follow);
    daemon.crash();
    shown_once(&env, &mut follow);
    let daemon = env.daemon();
    shown_once(&env, &mut follow);
    // A hanging daemon doesn't keep lines from being shown.
    kill(daemon.pid(), Signal::STOP);
    shown_once(&env, &mut follow);
    kill(daemon.pid(), Signal::CONT);
    shown_once(&env, &mut follow);
    std::fs::rename(env.data().join("heartbeats.jsonl"), env.data().join("old.jsonl")).unwrap();
    shown_once(&env, &mut follow);
    daemon.stop();
    shown_once(&env, &mut follow);
    follow.end();
}

#[test]
fn a_follower_attaches_and_attaches_again_to_the_next_daemon() {
    let env = Env::new();
    env.create_data();
    append(&env, &foreign(0));
    let path = env.data().join("murmur.sock");
    let mut follow = Follow::new(&env);
    for life in 1..=3 {
        let listener = UnixListener::bind(&path).unwrap();
        // Like a daemon once it listens: earlier clients are told to retry.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let mut client = Socket::new(listener.accept().unwrap().0);
        let asked = client.receive().unwrap();
        assert_eq!((&asked["msg_type"], &asked["payload"]), (&json!("attach"), &json!({ "from": null })));
        let payload = json!({ "startedAt": "", "next": 0, "journalInode": 0, "journalEnd": 0 });
        let answer = json!({ "msg_type": "attach", "id": asked["id"], "success": true, "payload": payload });
        client.say(format!("{answer}\n"));
        append(&env, &foreign(life));
        assert_eq!(follow.next(), foreign(life));
        // The listener goes first: nothing answers until the next daemon starts.
        drop(listener);
        std::fs::remove_file(&path).unwrap();
    }
    follow.end();
}

#[test]
fn a_journal_stored_elsewhere_is_followed_through_events() {
    let env = Env::new();
    let workspaces = ["a", "b", "c"].map(|name| env.workspace(name, "Do it."));
    register_idle(&env, 3, &workspaces.each_ref());
    let elsewhere = env.root().join("elsewhere.jsonl");
    std::fs::write(&elsewhere, foreign(0) + "\n").unwrap();
    std::os::unix::fs::symlink(&elsewhere, env.data().join("heartbeats.jsonl")).unwrap();
    let daemon = env.daemon();
    let mut follow = Follow::new(&env);
    for workspace in &workspaces {
        let begins = env.ask("beat", &json!({ "workspace": workspace.0 }));
        let shown: Value = serde_json::from_str(&follow.next()).unwrap();
        assert_eq!(shown["beat"], begins["beat"]);
    }
    let pid = daemon.pid();
    daemon.stop();
    wait_for_end(pid);
    follow.end();
}
