//! Folders that are created step by step, replaced, or created later.

use std::process::Command;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::Signal;
use serde_json::json;

use super::{ring, wait_for_last_run};
use crate::env::Env;

#[test]
fn a_named_heartbeat_created_step_by_step_runs() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_journal(1);
    wait_for_last_run(&env);
    std::fs::create_dir(site.0.join("heartbeats")).unwrap();
    ring(&env, &daemon, "bell1");
    std::fs::create_dir(site.0.join("heartbeats/nightly")).unwrap();
    ring(&env, &daemon, "bell2");
    assert_eq!(env.journal().len(), 1);
    site.named("nightly", "Count.");
    assert_eq!(env.wait_for_journal(2)[1]["heartbeat"], "nightly");
    daemon.stop();
    assert_eq!(env.journal().len(), 2);
}

#[test]
fn each_step_is_noticed_without_another_edit() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_journal(1);
    for name in ["one", "two", "three"] {
        std::fs::create_dir_all(site.0.join("heartbeats").join(name)).unwrap();
    }
    for (count, name) in ["one", "two", "three"].into_iter().enumerate() {
        site.named(name, "Count.");
        assert_eq!(env.wait_for_journal(count + 2)[count + 1]["heartbeat"], name);
    }
    daemon.stop();
    assert_eq!(env.journal().len(), 4);
}

#[test]
fn a_replaced_workspace_is_still_watched() {
    let env = Env::new();
    let site = env.workspace("site", "---\ninterval: 1d\n---\nBefore.");
    site.named("nightly", "---\ninterval: 1d\n---\nBefore.");
    env.configure(&json!({ "workspaces": [{ "path": site.0, "interval": "1s" }] }).to_string());
    let daemon = env.daemon();
    env.wait_for_journal(2);
    env.wait(&env.data(), || (env.config().contains("\"nightly\":\"")).then_some(()));
    // An atomic exchange, since a workspace that is missing when its heartbeat is due causes an error.
    let other = env.root().join("site.other");
    assert!(Command::new("cp").arg("-r").args([&site.0, &other]).status().unwrap().success());
    renameat_with(CWD, &site.0, CWD, &other, RenameFlags::EXCHANGE).unwrap();
    ring(&env, &daemon, "bell");
    assert_eq!(env.journal().len(), 2);
    site.heartbeat("---\ninterval: 1s\n---\nAfter.");
    let line = env.wait_for_journal(3).remove(2);
    assert_eq!((&line["outcome"], &line["heartbeat"]), (&json!("ok"), &json!(null)));
    assert!(env.agents()[2]["stdin"].as_str().unwrap().contains("After."));
    site.heartbeat("---\ninterval: 1d\n---\nAfter.");
    // A folder in it is a different one, too.
    site.named("nightly", "---\ninterval: 1s\n---\nAfter.");
    env.wait(&env.data(), || {
        let nightly = env.journal().into_iter().filter(|line| line["heartbeat"] == "nightly").count();
        (nightly > 1).then_some(())
    });
    daemon.stop();
}

#[test]
fn a_workspace_created_later_runs() {
    let env = Env::new();
    // Several steps away, and with a schedule only in its own file.
    let path = env.root().join("later/still/site");
    env.configure(&json!({ "workspaces": [{ "path": path }] }).to_string());
    let daemon = env.daemon();
    let status = env.run(["status"]);
    assert!(status.contains("the workspace does not exist"), "{status}");
    std::fs::create_dir(env.root().join("later")).unwrap();
    ring(&env, &daemon, "bell");
    assert_eq!(env.journal_text(), "");
    let site = env.workspace("later/still/site", "---\ninterval: 1h\n---\nDo it.");
    let line = env.wait_for_journal(1).remove(0);
    assert_eq!((&line["workspace"], &line["outcome"]), (&json!(site.path()), &json!("ok")));
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().0.success());
    assert_eq!(env.journal().len(), 1);
}
