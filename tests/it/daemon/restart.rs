//! The daemon stops or is replaced; what it started continues.

use std::io::Write;

use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::rpc::register_idle;
use super::waits_at;
use crate::env::{Env, kill, wait_for_end};

fn ping(env: &Env) -> Value {
    env.ask("ping", &Value::Null)
}

#[test]
fn restart_replaces_the_daemon_and_its_beats_continue() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let (pace, mut gate) = env.gate("gate");
    site.plays(&waits_at(&pace));
    env.register(&[&site]);
    env.run(["start", "--tick", "90s"]);
    let agent = env.wait_for_agents(1).remove(0);
    let old = ping(&env);
    assert_eq!((&old["foreground"], &old["tick"]), (&json!(false), &json!("1m 30s")));
    let shown = env.run(["restart"]);
    let new = ping(&env);
    assert_eq!(shown, format!("murmur was restarted (PID {} -> {})\n[exit 0]", old["pid"], new["pid"]));
    assert_ne!((&old["pid"], &old["startedAt"]), (&new["pid"], &new["startedAt"]));
    assert_eq!(new["tick"], "1m 30s");
    assert!(env.config().contains("lastRun"), "{}", env.config());
    assert_eq!(env.agents_alive(), [agent["pid"].as_i64().unwrap()]);
    env.run(["restart", "--tick", "2m"]);
    assert_eq!(ping(&env)["tick"], "2m");
    gate.write_all(b".").unwrap();
    env.wait_for_journal(1);
    env.wait_for_no_beats();
    assert!(env.run(["stop"]).ends_with("[exit 0]"));
    let lines = env.journal();
    assert_eq!(
        (lines.len(), &lines[0]["outcome"], &lines[0]["agent"]),
        (1, &json!("ok"), &agent["env"]["MURMUR_AGENT_ID"])
    );
    assert_eq!(env.agents().len(), 1);
    let log = std::fs::read_to_string(env.data().join("murmur.log")).unwrap();
    assert_snapshot!(log, @"
    [TIME] murmur 0.1.0 started (PID [PID])
    [TIME] murmur stopped
    [TIME] murmur 0.1.0 started (PID [PID])
    [TIME] murmur stopped
    [TIME] murmur 0.1.0 started (PID [PID])
    [TIME] murmur stopped
    ");
}

#[test]
fn restart_starts_a_daemon_if_none_is_running() {
    let env = Env::new();
    assert_snapshot!(env.run(["restart"]), @"
    murmur was not running; started it (PID [PID])
    [exit 0]
    ");
    assert!(env.run(["status"]).starts_with("murmur 0.1.0 is running"));
    assert!(env.run(["stop"]).ends_with("[exit 0]"));
}

#[test]
fn a_foreground_daemon_is_not_restarted() {
    let env = Env::new();
    let daemon = env.daemon();
    assert_snapshot!(env.run(["restart"]), @"
    | error: murmur (PID [PID]) runs in the foreground
    | hint: run: murmur stop --leave-agents, then start it again
    [exit 1]
    ");
    assert_eq!(ping(&env)["pid"], daemon.pid());
    daemon.stop();
}

#[test]
fn a_hanging_daemon_is_killed_only_with_force() {
    let env = Env::new();
    let daemon = env.daemon();
    kill(daemon.pid(), Signal::STOP);
    let runs = [("restart", &["restart"][..]), ("stop", &["stop", "--leave-agents"])]
        .map(|(word, args)| (word, env.murmur(args).start()));
    for (word, run) in runs {
        let shown = crate::env::show(&run.wait_with_output().unwrap());
        let expected = format!(
            "| error: murmur (PID {}) does not answer: no answer within 5s\n| hint: kill only the daemon: \
             murmur {word} --force\n[exit 1]",
            daemon.pid()
        );
        assert_eq!(shown, expected);
    }
    // It only got a ping and continues.
    kill(daemon.pid(), Signal::CONT);
    assert_eq!(ping(&env)["pid"], daemon.pid());
    daemon.stop();
}

#[test]
fn force_stops_or_replaces_a_hanging_daemon_and_its_agents_continue() {
    for word in ["stop", "restart"] {
        let env = Env::new();
        env.workspace("site", "Do it.").plays(&json!({ "live": "echo" }));
        env.run(["host", "spawn", "--agent-id", "site-1", "--worktree", "site", "hello"]);
        env.run(["start"]);
        let pid = ping(&env)["pid"].as_i64().unwrap();
        kill(pid, Signal::STOP);
        let shown = env.run([word, "--force"]);
        let begins = match word {
            "stop" => format!("murmur (PID {pid}) did not answer and was killed; its agents keep running\n"),
            _ => format!("murmur was restarted (PID {pid} -> "),
        };
        assert!(shown.starts_with(&begins) && shown.ends_with("[exit 0]"), "{shown}");
        let status = env.murmur(["status", "--json"]).json();
        assert_eq!(status["daemon"].is_null(), word == "stop", "{status}");
        assert_eq!(status["liveAgents"], json!(["site-1"]), "{status}");
        env.run(["host", "stop", "--all", "--force"]);
    }
}

#[test]
fn force_does_not_kill_a_daemon_that_answers() {
    let env = Env::new();
    env.run(["start"]);
    let pid = ping(&env)["pid"].clone();
    assert_eq!(env.run(["stop", "--force"]), format!("murmur stopped (PID {pid})\n[exit 0]"));
}

#[test]
fn a_hanging_daemon_does_not_block_stop() {
    let env = Env::new();
    let daemon = env.daemon();
    kill(daemon.pid(), Signal::STOP);
    let expected = format!(
        "| error: murmur (PID {}) does not answer\n| hint: kill only the daemon: murmur stop --force\n[exit 1]",
        daemon.pid()
    );
    assert_eq!(env.run(["stop"]), expected);
    // It was told to stop, and does so when it can.
    kill(daemon.pid(), Signal::CONT);
    assert!(daemon.ended().0.success());
}

#[test]
fn many_concurrent_restarts_leave_one_daemon() {
    let env = Env::new();
    env.run(["start"]);
    let restarts: Vec<_> = (0..6).map(|_| env.murmur(["restart"]).start()).collect();
    for restart in restarts {
        let shown = crate::env::show(&restart.wait_with_output().unwrap());
        assert!(shown.ends_with("[exit 0]") || shown.contains("try again"), "{shown}");
    }
    let pid = ping(&env)["pid"].clone();
    assert_eq!(env.run(["stop"]), format!("murmur stopped (PID {pid})\n[exit 0]"));
    assert!(env.run(["status"]).starts_with("murmur is not running"));
}

#[test]
fn the_next_daemon_waits_for_agents_left_running() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let (pace, mut gate) = env.gate("gate");
    site.plays(&waits_at(&pace));
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_agents(1);
    assert_snapshot!(env.run(["stop", "--leave-agents"]), @"
    murmur stopped (PID [PID]); its agents keep running
    [exit 0]
    ");
    wait_for_end(daemon.pid());
    assert_eq!(env.agents_alive().len(), 1);
    assert!(["murmur.pid", "murmur.sock"].iter().all(|name| !env.data().join(name).exists()));
    assert!(env.config().contains("lastRun"), "{}", env.config());
    assert_snapshot!(env.run(["stop", "--leave-agents"]), @"
    murmur is not running
    [exit 0]
    ");
    let daemon = env.daemon();
    let busy = env.connect().refusal("beat", &json!({ "workspace": site.0 }));
    assert!(busy.contains("is already running"), "{busy}");
    gate.write_all(b".").unwrap();
    env.wait_for_journal(1);
    env.wait_for_no_beats();
    daemon.stop();
    assert_eq!((env.journal().len(), env.agents().len()), (1, 1));
}

#[test]
fn a_beat_that_is_just_starting_is_not_lost() {
    let env = Env::new();
    let workspaces = ["a", "b", "c", "d"].map(|name| env.workspace(name, "Do it."));
    register_idle(&env, 4, &workspaces.each_ref());
    let daemon = env.daemon();
    let mut client = env.connect();
    let begins =
        workspaces.each_ref().map(|workspace| client.ask("beat", &json!({ "workspace": workspace.0 })));
    client.ask("stop", &json!({ "beats": "leave" }));
    wait_for_end(daemon.pid());
    env.wait_for_journal(4);
    env.wait_for_no_beats();
    let mut lines: Vec<_> = env.journal().iter().map(|line| line["beat"].clone().to_string()).collect();
    lines.sort();
    let mut begun = begins.map(|begins| begins["beat"].to_string());
    begun.sort();
    assert_eq!((lines, env.agents().len()), (begun.to_vec(), 4));
    assert!(env.journal().iter().all(|line| line["outcome"] == "ok"));
}

#[test]
fn a_daemon_that_is_still_starting_can_be_replaced() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    register_idle(&env, 1, &[&site]);
    // The login shell never answers, so that beats wait for it.
    let (_, mut gate) = env.gate("gate");
    std::fs::write(env.home().join(".profile"), format!("read line <{}/gate\n", env.root().display()))
        .unwrap();
    env.run(["start"]);
    let mut waits = env.connect();
    waits.say(format!("{}\n", json!({ "msg_type": "beat", "id": "1", "payload": { "workspace": site.0 } })));
    let shown = env.run(["restart"]);
    assert!(shown.starts_with("murmur was restarted"), "{shown}");
    assert!(waits.receive().unwrap()["error"].as_str().unwrap().contains("is stopping"));
    // A beat requested from the new daemon starts once the shell has answered.
    waits = env.connect();
    waits.say(format!("{}\n", json!({ "msg_type": "beat", "id": "2", "payload": { "workspace": site.0 } })));
    assert_eq!(ping(&env)["foreground"], false);
    gate.write_all(b"\n\n\n").unwrap();
    assert_eq!(waits.receive().unwrap()["success"], true);
    env.wait_for_journal(1);
    assert!(env.run(["stop"]).ends_with("[exit 0]"));
}
