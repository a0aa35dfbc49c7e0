//! A data folder, or part of it, that is moved or deleted under a running daemon.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::waits_at;
use crate::env::{Daemon, Env};

/// Waits until it has ended by itself, with exit code 1 and a reason.
fn assert_ended(daemon: Daemon, why: &str) {
    let (status, said) = daemon.ended();
    assert_eq!(status.code(), Some(1), "{said:#?}");
    let said: Vec<&str> =
        said.iter().map(|line| line.split_once(' ').map_or(&**line, |(_, said)| said)).collect();
    let reason = format!("{why}; murmur stops, since another daemon could start there");
    let error = format!("the daemon cannot continue: {why}");
    assert_eq!(said, [&*reason, "murmur stopped", &*error]);
}

#[test]
fn a_daemon_whose_data_folder_is_moved_exits_and_says_why() {
    let env = Env::new();
    let (pace, _gate) = env.gate("gate");
    let site = env.workspace("site", "Do it.");
    site.plays(&waits_at(&pace));
    env.register(&[&site]);
    let daemon = env.daemon();
    let agent = env.wait_for_agents(1).remove(0);
    std::fs::rename(env.data(), env.root().join("moved")).unwrap();
    assert_ended(daemon, &format!("the data folder {} was moved or deleted", env.data().display()));
    env.wait_until_dead(&agent);
    // Nothing is created at the old path, and the next daemon finds everything.
    assert!(!env.data().exists());
    std::fs::rename(env.root().join("moved"), env.data()).unwrap();
    let daemon = env.daemon();
    let line = env.wait_for_journal(1).remove(0);
    assert_eq!((&line["outcome"], env.agents().len()), (&json!("error"), 1), "{line}");
    assert!(line.get("stopped").is_none(), "nobody stopped it: {line}");
    daemon.stop();
}

#[test]
fn a_daemon_whose_data_folder_is_deleted_exits_and_another_can_start() {
    let env = Env::new();
    env.create_data();
    let daemon = env.daemon();
    // At once, not file by file.
    std::fs::rename(env.data(), env.root().join("deleted")).unwrap();
    std::fs::remove_dir_all(env.root().join("deleted")).unwrap();
    let next = env.daemon();
    // The new folder may have the old one's inode number.
    let (ended, said) = daemon.ended();
    assert_eq!(ended.code(), Some(1), "{said:#?}");
    assert!(said.iter().any(|line| line.contains("was moved or deleted; murmur stops")), "{said:#?}");
    let status = env.run(["status"]);
    assert!(status.starts_with("murmur 0.1.0 is running"), "{status}");
    next.stop();
}

#[test]
fn a_daemon_that_loses_its_lock_or_socket_exits_and_its_beats_continue() {
    for name in ["murmur.pid", "murmur.sock"] {
        let env = Env::new();
        let (pace, mut gate) = env.gate("gate");
        let site = env.workspace("site", "Do it.");
        site.plays(&waits_at(&pace));
        env.register(&[&site]);
        let daemon = env.daemon();
        env.wait_for_agents(1);
        let lost = env.data().join(name);
        std::fs::remove_file(&lost).unwrap();
        // Its beat holds its stderr, which doesn't end.
        daemon.says(&format!("the daemon cannot continue: {} was moved or deleted", lost.display()));
        let daemon = env.daemon();
        std::io::Write::write_all(&mut gate, b".").unwrap();
        assert_eq!(env.wait_for_journal(1)[0]["outcome"], "ok");
        env.wait_for_no_beats();
        daemon.stop();
        assert_eq!(env.agents().len(), 1);
    }
}

#[test]
fn a_background_daemon_exits_too() {
    let env = Env::new();
    assert!(env.run(["start"]).ends_with("[exit 0]"));
    let status: Value = env.ask("ping", &Value::Null);
    std::fs::rename(env.data(), env.root().join("moved")).unwrap();
    crate::env::wait_for_end(status["pid"].as_i64().unwrap());
    let log = std::fs::read_to_string(env.root().join("moved/murmur.log")).unwrap();
    let said: Vec<&str> = log.lines().filter_map(|line| line.split_once(' ')).map(|(_, said)| said).collect();
    assert_snapshot!(said[1..].join("\n"), @"
    the data folder [ENV]/data was moved or deleted; murmur stops, since another daemon could start there
    murmur stopped
    the daemon cannot continue: the data folder [ENV]/data was moved or deleted
    ");
}
