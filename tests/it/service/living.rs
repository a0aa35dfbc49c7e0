//! A running service: its manager, a stand-in, starts the daemon on request, and nobody else does.

use std::io::Write;

use insta::{allow_duplicates, assert_snapshot};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{asked, unit, with_manager};
use crate::env::{Env, MURMUR, kill, result};

/// `systemctl`, which starts the daemon as the service in a session of its own, as a manager does, returns when it
/// listens, and reports its PID.
fn with_living_manager(env: &Env) {
    sys::fifo::make(&env.home().join("said")).unwrap();
    let start = format!(
        "setsid '{MURMUR}' start --foreground >/dev/null 2>\"$HOME/said\" & echo $! >\"$HOME/main\"; read -r line <\"$HOME/said\""
    );
    let answers = format!(
        "show) echo \"MainPID=$(cat \"$HOME/main\")\" ;;\nenable) test -e \"$HOME/main\" || {{ {start}; }} ;;\nrestart) {start} ;;"
    );
    with_manager(env, &answers);
}

fn ping(env: &Env) -> Value {
    env.ask("ping", &Value::Null)
}

/// The requests to the manager after the service was installed.
fn asked_since(env: &Env, before: &str) -> String {
    asked(env).strip_prefix(before).unwrap().to_owned()
}

#[test]
fn only_the_service_manager_restarts_a_service_and_its_beats_continue() {
    for force in [false, true] {
        let env = Env::new();
        let site = env.workspace("site", "Do it.");
        let (pace, mut gate) = env.gate("gate");
        site.plays(&json!({ "stdout": result("HEARTBEAT_OK"), "pace": pace }));
        env.register(&[&site]);
        with_living_manager(&env);
        let installed = env.run(["service", "install"]);
        assert!(installed.ends_with("[exit 0]"), "{installed}");
        let agent = env.wait_for_agents(1).remove(0);
        let (old, before) = (ping(&env), asked(&env));
        let words: &[&str] = if force { &["restart", "--force"] } else { &["restart"] };
        if force {
            kill(old["pid"].as_i64().unwrap(), Signal::STOP);
        }
        let shown = env.run(words);
        let new = ping(&env);
        assert_eq!(shown, format!("murmur was restarted (PID {} -> {})\n[exit 0]", old["pid"], new["pid"]));
        assert_ne!(old["pid"], new["pid"]);
        assert_eq!(new["foreground"], true);
        let show = "--user show --property=MainPID murmur.service\n";
        assert_eq!(asked_since(&env, &before), format!("{show}--user restart murmur.service\n{show}"));
        assert_eq!(env.agents_alive(), [agent["pid"].as_i64().unwrap()]);
        gate.write_all(b".").unwrap();
        env.wait_for_journal(1);
        env.wait_for_no_beats();
        assert!(env.run(["stop"]).ends_with("[exit 0]"));
        assert_eq!((env.journal()[0]["outcome"].clone(), env.agents().len()), (json!("ok"), 1));
    }
}

#[test]
fn an_unreachable_service_manager_is_reported_before_anything_is_stopped() {
    let env = Env::new();
    with_living_manager(&env);
    env.run(["service", "install"]);
    let pid = ping(&env)["pid"].clone();
    assert_snapshot!(env.run(["restart", "--tick", "2m"]), @"
    | error: --tick has no effect: murmur runs as a service, whose file sets its options
    | hint: remove --tick
    [exit 1]
    ");
    with_manager(&env, "*) echo 'Failed to connect to bus: No medium found' >&2; exit 1 ;;");
    kill(pid.as_i64().unwrap(), Signal::STOP);
    let folder = format!("/run/user/{}", rustix::process::getuid().as_raw());
    assert_snapshot!(env.run(["restart", "--force"]).replace(&folder, "/run/user/[UID]"), @"
    | error: systemctl --user show --property=MainPID murmur.service: Failed to connect to bus: No medium found
    | hint: run `murmur start --foreground` under your own supervisor, or run `loginctl enable-linger`, set XDG_RUNTIME_DIR=/run/user/[UID] and try again
    [exit 1]
    ");
    kill(pid.as_i64().unwrap(), Signal::CONT);
    // It is unknown who manages it, but somebody does.
    assert_snapshot!(env.run(["restart"]), @"
    | error: murmur (PID [PID]) runs in the foreground
    | hint: run: murmur stop --leave-agents, then start it again
    [exit 1]
    ");
    assert_eq!(ping(&env)["pid"], pid);
    env.run(["stop"]);
}

#[test]
fn a_running_service_can_be_reinstalled_but_another_daemon_cannot_become_one() {
    let env = Env::new();
    with_living_manager(&env);
    env.run(["service", "install"]);
    let pid = ping(&env)["pid"].clone();
    assert!(env.run(["service", "install"]).contains("murmur.service is up to date\n"));
    assert_eq!(ping(&env)["pid"], pid);
    // It ends, and a daemon is started manually although the service's file exists.
    env.run(["stop"]);
    std::fs::write(env.home().join("main"), "0\n").unwrap();
    env.run(["start"]);
    let before = asked(&env);
    for text in [None, Some("[Service]\n")] {
        if let Some(text) = text {
            std::fs::write(unit(&env), text).unwrap();
        }
        let found = std::fs::read_to_string(unit(&env)).unwrap();
        allow_duplicates! { assert_snapshot!(env.run(["service", "install"]), @"
        | error: murmur is already running (PID [PID]), but not as a service
        | hint: run `murmur stop --leave-agents`, then run this again
        [exit 1]
        ") };
        assert_eq!(std::fs::read_to_string(unit(&env)).unwrap(), found);
    }
    assert!(!asked_since(&env, &before).contains("enable"));
    // murmur itself can restart it.
    let shown = env.run(["restart"]);
    assert!(shown.starts_with("murmur was restarted"), "{shown}");
    assert!(!asked_since(&env, &before).contains("restart"));
    env.run(["stop"]);
}
