//! `murmur start` warns about what `murmur status` reports.

use serde_json::{Value, json};

use crate::env::{Disk, Env};

/// Invalid configurations, as entries of the workspace `site`.
fn wrong_entries(env: &Env) -> [Value; 5] {
    let site = env.root().join("site");
    [
        json!({ "path": site, "interval": "1h", "permissions": { "permision": "deny" } }),
        json!({ "path": site, "cron": "0 9 * MNO *" }),
        json!({ "path": site, "cron": "0 9 * * *", "tz": "Europe/Nowhere" }),
        json!({ "path": env.root().join("gone"), "interval": "1h" }),
        json!({ "path": site, "interval": "1h", "lastRuns": 5 }),
    ]
}

/// The problems in the status, including those of heartbeats.
fn problems(env: &Env) -> Vec<String> {
    let status = env.run(["status"]);
    let lines = status.lines().filter_map(|line| line.trim_start().strip_prefix("problem"));
    lines.map(|line| line.trim_start_matches([':', ' ']).to_owned()).collect()
}

#[test]
fn start_warns_about_every_problem_that_status_shows() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    for entry in wrong_entries(&env) {
        env.configure(&json!({ "workspaces": [entry] }).to_string());
        let problems = problems(&env);
        assert_eq!(problems.len(), 1, "{entry}: {problems:#?}");
        let started = env.run(["start"]);
        assert!(started.contains(&format!("| warning: {}\n", problems[0])), "{entry}: {started}");
        assert_eq!(started.matches("warning").count(), 1, "{entry}: {started}");
        env.run(["stop"]);
        let log = std::fs::read_to_string(env.data().join("murmur.log")).unwrap();
        assert!(log.contains(&problems[0]), "{entry}: {log}");
    }
}

#[test]
fn start_warns_about_a_full_disk() {
    let env = Env::new();
    let Some(disk) = Disk::new(&env, "256k") else { return };
    disk.fill();
    let started = disk.murmur(&env, &["start"]).run();
    let warning = "heartbeats.jsonl: No space left on device (os error 28); make room on that disk\n";
    assert!(started.contains("| warning: cannot write ") && started.contains(warning), "{started}");
    let status = disk.murmur(&env, &["status"]).run();
    assert!(status.contains("problem: cannot write ") && status.contains(warning), "{status}");
    disk.murmur(&env, &["stop"]).run();
}
