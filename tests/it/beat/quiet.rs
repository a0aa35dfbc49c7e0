//! What a beat leaves that had nothing to report.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::env::{Env, Workspace};

/// The sizes of all files below these folders, in bytes.
fn sizes(folders: &[PathBuf]) -> BTreeMap<PathBuf, u64> {
    let mut sizes = BTreeMap::new();
    let mut waiting = folders.to_vec();
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let entry = entry.unwrap();
            match entry.metadata().unwrap() {
                found if found.is_dir() => waiting.push(entry.path()),
                found => _ = sizes.insert(entry.path(), found.len()),
            }
        }
    }
    sizes
}

/// Everywhere that murmur may write to: data folder, captures, the workspace.
fn places(env: &Env, site: &Workspace) -> [PathBuf; 3] {
    [env.data(), env.home().join(".local"), site.0.clone()]
}

fn plays(site: &Workspace, says: &str) {
    let call = json!([{ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "echo hi" } }]);
    site.plays(&json!({ "script": [call, [{ "type": "text", "text": says }]] }));
}

fn is_of(path: &Path, agent: &str) -> bool {
    path.to_string_lossy().contains(agent)
}

#[test]
fn a_quiet_beat_leaves_at_most_two_files_and_six_kilobytes() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    plays(&site, "HEARTBEAT_OK");
    let daemon = env.daemon();
    // The first one creates folders and files that all beats share.
    env.murmur(["beat", "site"]).quiet();
    let before = sizes(&places(&env, &site));
    let agent = env.murmur(["beat", "site", "--json"]).json()["agent"].as_str().unwrap().to_owned();
    let after = sizes(&places(&env, &site));
    let new: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    let grown = after.values().sum::<u64>().saturating_sub(before.values().sum());
    assert!(new.len() <= 2 && grown <= 6 << 10, "{grown} bytes more, and {new:#?}");
    assert!(!after.keys().any(|path| is_of(path, &agent)), "{after:#?}");
    // One that has something to report can be looked at.
    plays(&site, "ATTENTION: look");
    let agent = env.murmur(["beat", "site", "--json"]).json()["agent"].as_str().unwrap().to_owned();
    daemon.stop();
    let left = sizes(&places(&env, &site)).into_keys().filter(|path| is_of(path, &agent)).count();
    assert_eq!(left, 2, "pulse and last actions");
}
