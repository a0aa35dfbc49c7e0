//! A disk that is full, has room again, and is full again: every beat that began has one line, whoever is killed.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Moments, patience, times};
use crate::env::{Disk, Env, Run, fixture, kill, result};

/// How often the disk becomes full.
fn flips() -> u64 {
    times(4, 20)
}

/// No line is missing, none is there twice, and none waits.
fn check(env: &Env, disk: &Disk) {
    let text = std::fs::read_to_string(disk.file("heartbeats.jsonl")).unwrap();
    let lines =
        text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut lines: Vec<String> = lines.map(|line| line["agent"].as_str().unwrap().to_owned()).collect();
    let agents = env.agents();
    let mut agents: Vec<&str> =
        agents.iter().map(|agent| agent["env"]["MURMUR_AGENT_ID"].as_str().unwrap()).collect();
    lines.sort_unstable();
    agents.sort_unstable();
    assert_eq!(lines, agents);
    assert_eq!(env.names(&disk.file("beats")), "");
}

#[test]
fn beats_by_hand_on_a_disk_that_is_full_and_free_lose_no_line() {
    let env = Env::for_as_long_as(patience());
    let Some(disk) = Disk::new(&env, "256k") else { return };
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
    let beat = || disk.murmur(&env, &["beat", site.path()]).output();
    let mut began = 0;
    for flip in 0..flips() {
        disk.fill();
        for _ in 0..3 {
            let output = beat();
            let warned = String::from_utf8(output.stderr).unwrap();
            // Before there was room once, no line can be kept, so that no beat begins.
            assert_eq!(output.status.code(), Some(i32::from(flip == 0)), "{warned}");
            let expected = if flip == 0 { "no room for a beat's journal line" } else { "the line is kept" };
            assert!(warned.contains(expected), "{warned}");
            began += usize::from(flip > 0);
        }
        assert_eq!(env.agents().len(), began);
        disk.free();
        let output = beat();
        assert!(output.status.success(), "{output:?}");
        began += 1;
        assert_eq!((disk.lines(), env.agents().len()), (began, began), "{output:?}");
    }
    check(&env, &disk);
}

#[test]
fn beats_by_hand_that_are_killed_on_a_full_disk_have_their_lines() {
    let env = Env::for_as_long_as(patience());
    let Some(disk) = Disk::new(&env, "256k") else { return };
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "fixture": fixture("ok"), "faults": ["hang"] }));
    let beat = || disk.murmur(&env, &["beat", site.path()]);
    let mut moments = Moments::new(0x6675_6c6c);
    // Takes what a full disk needs.
    assert!(!beat().output_when_killed(&env, 1));
    for flip in 0..flips() {
        let is_full = flip == 0 || moments.below(4) > 0;
        if is_full {
            disk.fill();
        }
        let begun = env.agents().len();
        assert!(!beat().output_when_killed(&env, begun + 1));
        if is_full {
            disk.free();
        }
    }
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
    assert!(beat().output().status.success());
    check(&env, &disk);
}

/// Asks for a beat, and says whether it began.
fn ask(disk: &Disk, workspace: &str) -> bool {
    let answer = disk.connect().answer("beat", &json!({ "workspace": workspace }));
    answer["success"].as_bool().unwrap()
}

#[test]
fn a_daemon_that_starts_on_a_full_disk_loses_no_line() {
    let env = Env::for_as_long_as(patience());
    let Some(disk) = Disk::new(&env, "512k") else { return };
    let (site, blog) = (env.workspace("site", "Do it."), env.workspace("blog", "Do it."));
    let mut entries = Vec::new();
    for workspace in [&site, &blog] {
        workspace.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
        entries.push(json!({ "path": workspace.0, "interval": "9d", "enabled": true }));
    }
    std::fs::write(disk.file("config.json"), json!({ "workspaces": entries }).to_string()).unwrap();
    std::fs::create_dir(disk.file("beats")).unwrap();
    disk.fill();
    let output = disk.murmur(&env, &["start"]).output();
    assert!(output.status.success(), "{output:?}");
    let beats = disk.file("beats");
    let over = || env.wait(&beats, || env.names(&beats).is_empty().then_some(()));
    let mut began = 0;
    for flip in 0..flips() {
        for (is_full, workspace) in [(true, &site), (true, &blog), (false, &site)] {
            match (is_full, disk.file("fill").exists()) {
                (true, false) => disk.fill(),
                (false, true) => disk.free(),
                _ => {}
            }
            let begins = ask(&disk, workspace.path());
            assert!(begins || (is_full && flip == 0));
            began += usize::from(begins);
            env.wait_for_agents(began);
            over();
        }
    }
    disk.fill();
    assert!(disk.murmur(&env, &["stop"]).output().status.success());
    disk.free();
    assert!(disk.murmur(&env, &["start"]).output().status.success());
    assert!(disk.murmur(&env, &["stop"]).output().status.success());
    check(&env, &disk);
    let text = std::fs::read_to_string(disk.file("heartbeats.jsonl")).unwrap();
    assert_eq!(text.matches(r#""outcome":"ok""#).count(), began, "{text}");
}

/// A run that hangs until it is killed.
trait Killed {
    /// Kills it when `agents` agents have begun; whether it had ended by itself.
    fn output_when_killed(self, env: &Env, agents: usize) -> bool;
}

impl Killed for Run {
    fn output_when_killed(self, env: &Env, agents: usize) -> bool {
        let mut child = self.start();
        let agent = env.wait_for_agents(agents).pop().unwrap();
        kill(child.id().into(), Signal::KILL);
        let ended = child.wait().unwrap().code().is_some();
        env.wait_until_dead(&agent);
        ended
    }
}
