//! Which beats `murmur stop` ends, and which it doesn't.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::json;

use crate::env::{Env, result};

#[test]
fn stop_ends_the_beats_of_a_killed_daemon_but_no_manual_ones() {
    let env = Env::new();
    let (site, shop) = (env.workspace("site", "Do it."), env.workspace("shop", "Do it."));
    site.plays(&json!({ "stdout": "", "faults": ["hang", "setsid-child"] }));
    let (pace, mut gate) = env.gate("gate");
    shop.plays(&json!({ "stdout": result("HEARTBEAT_OK"), "pace": pace }));
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_agents(1);
    daemon.crash();
    let by_hand = env.murmur(["beat", "shop"]).start();
    let agents = env.wait_for_agents(2);
    // A new beat shows that the next daemon is working.
    let blog = env.workspace("blog", "Do it.");
    env.register(&[&site, &blog]);
    let daemon = env.daemon();
    assert_eq!(env.wait_for_journal(1)[0]["workspace"], blog.path());
    assert_snapshot!(env.run(["stop"]), @"
    murmur stopped (PID [PID])
    [exit 0]
    ");
    assert!(daemon.ended().0.success());
    assert_eq!(env.agents_alive(), [agents[1]["pid"].as_i64().unwrap()]);
    let stopped = env.journal().remove(1);
    gate.write_all(b".").unwrap();
    crate::env::ended(by_hand).success();
    assert_eq!((&stopped["workspace"], &stopped["exit"]), (&json!(site.path()), &json!({ "code": 143 })));
    assert_eq!((env.journal().len(), &env.journal()[2]["outcome"]), (3, &json!("ok")));
    env.wait_for_no_beats();
}

#[test]
fn stop_before_the_first_beat_ends_those_of_a_killed_daemon_too() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": "", "faults": ["hang"] }));
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_agents(1);
    daemon.crash();
    // The next one's login shell never answers.
    let (_, _gate) = env.gate("gate");
    std::fs::write(env.home().join(".profile"), format!("read line <{}/gate\n", env.root().display()))
        .unwrap();
    let daemon = env.daemon();
    assert_snapshot!(env.run(["stop"]), @"
    murmur stopped (PID [PID])
    [exit 0]
    ");
    assert!(daemon.ended().0.success());
    assert_eq!(env.agents_alive(), [0; 0]);
    assert_snapshot!(env.journal_text(), @r#"{"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"stopped after [SPAN], while waiting for the model ([SPAN])","beat":"[BEAT]","agent":"site-[ID]","exit":{"code":143},"stopped":true,"capture":"[SESSION]"}"#);
}

#[test]
fn a_stale_pid_file_with_a_live_pid_is_not_a_daemon() {
    let env = Env::new();
    let mut bystander = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let path = env.create_data().join("murmur.pid");
    std::fs::write(&path, format!("{}\n", bystander.id())).unwrap();
    // `status` holds a shared lock for a moment; this one keeps running.
    let looking = File::open(&path).unwrap();
    looking.lock_shared().unwrap();
    assert_snapshot!(env.run(["stop"]), @"
    murmur is not running
    [exit 0]
    ");
    drop(looking);
    let looks: Vec<_> = (0..8).map(|_| env.murmur(["status"]).start()).collect();
    assert_snapshot!(env.run(["stop"]), @"
    murmur is not running
    [exit 0]
    ");
    for look in looks {
        let shown = crate::env::show(&look.wait_with_output().unwrap());
        assert!(shown.starts_with("murmur is not running; ") && shown.ends_with("[exit 0]"), "{shown}");
    }
    // It still answers, so it got no signal.
    let mut stdin = bystander.stdin.take().unwrap();
    writeln!(stdin, "alive").unwrap();
    let mut answer = String::new();
    BufReader::new(bystander.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    drop(stdin);
    assert!(bystander.wait().unwrap().success());
    assert_eq!(answer, "alive\n");
}
