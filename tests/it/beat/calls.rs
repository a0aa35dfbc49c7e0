//! How many system calls a beat makes. Each costs little, but many callers add some, so an increase must not go
//! unnoticed. `just bench` counts those of a release build.

use crate::env::{Env, programs};
use std::collections::HashSet;
use std::path::Path;

/// System calls of a beat, without those below.
const MAX_CALLS: usize = 390;
/// For each ancestor of the process: whether an agent started it.
const PER_ANCESTOR: usize = 7;
/// For each folder above the workspace: whether Claude Code would run or obey files there.
const PER_FOLDER: usize = 5;

#[test]
fn a_beat_makes_few_system_calls() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    // The first beat also creates folders, and space for lines on a full disk.
    env.run(["beat", "site"]);
    let Some(trace) = traced(&env, &["beat", "site"]) else { return };
    let calls = own_calls(&trace);
    let ancestors = calls.iter().filter(|call| call.contains("/environ\"")).count();
    let folders = site.0.ancestors().count();
    let most = MAX_CALLS + PER_ANCESTOR * ancestors + PER_FOLDER * folders;
    assert!(ancestors > 1 && calls.len() > 200, "not a trace of a beat: {calls:#?}");
    assert!(calls.len() <= most, "{} of at most {most}: {calls:#?}", calls.len());
}

#[test]
fn the_time_zone_is_not_read_for_each_heartbeat() {
    let env = Env::new();
    let sites = ["a", "b", "c", "d"].map(|name| env.workspace(name, "Do it."));
    env.register(&sites.each_ref());
    for name in ["a", "b", "c", "d"] {
        env.murmur(["pause", name, "--until", "2099-01-01 08:00"]).quiet();
    }
    let Some(trace) = traced(&env, &["status"]) else { return };
    let reads = trace.lines().filter(|call| call.contains("/Europe/Berlin\"")).count();
    assert!((1..4).contains(&reads), "{reads}: {trace}");
}

/// The system calls of murmur with these arguments and of its children; `None` if strace is not available.
fn traced(env: &Env, args: &[&str]) -> Option<String> {
    let trace = env.root().join("trace");
    let run = |args: &[&str]| {
        let options = ["-f", "-qq", "-o", trace.to_str().unwrap()];
        env.program("strace", options.iter().chain(args)).set("TZ", "Europe/Berlin").output()
    };
    let is_installed = programs().split(':').any(|folder| Path::new(folder).join("strace").exists());
    if !is_installed || !run(&["true"]).status.success() {
        eprintln!("system calls were not counted: strace is not available here");
        return None;
    }
    let done = run(&[&[env!("CARGO_BIN_EXE_murmur")], args].concat());
    assert!(done.status.success(), "{done:?}");
    Some(std::fs::read_to_string(trace).unwrap())
}

/// The calls of the first process in a trace and of its threads, without those of other processes.
fn own_calls(trace: &str) -> Vec<&str> {
    let lines = || trace.lines().filter_map(|line| line.split_once(' '));
    let ours = lines().next().map(|(pid, _)| pid);
    let threads: HashSet<&str> = lines()
        .filter(|(pid, call)| Some(*pid) == ours && call.contains("CLONE_THREAD"))
        .filter_map(|(_, call)| Some(call.rsplit_once("= ")?.1.trim()))
        .collect();
    lines()
        .filter(|(pid, _)| Some(*pid) == ours || threads.contains(pid))
        .map(|(_, call)| call.trim_start())
        // Neither signals, nor the second lines of calls that others interrupted.
        .filter(|call| call.starts_with(|first: char| first.is_ascii_lowercase()))
        // std checks in debug builds that what it closes is open.
        .filter(|call| !call.contains("F_GETFD"))
        .collect()
}
