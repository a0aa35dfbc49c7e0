//! A disk that is full, has space again, and is full again: every beat that began has one line, whatever is killed.

use rustix::process::Signal;
use serde_json::{Value, json};
use sys::clock;

use super::{Moments, parent, time_limit, times};
use crate::env::{Disk, Env, Run, Workspace, fixture, kill, result, wait_for_end};

/// How often the disk fills up.
fn flips() -> u64 {
    times(4, 20)
}

/// No line is missing or duplicated, and none waits.
fn check(env: &Env, disk: &Disk) {
    let text = std::fs::read_to_string(disk.file("heartbeats.jsonl")).unwrap();
    let lines =
        text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str::<Value>(line).unwrap());
    // A line about repeated failures names an agent, too.
    let lines = lines.filter(|line| line["kind"].is_null());
    let mut lines: Vec<String> = lines.map(|line| line["agent"].as_str().unwrap().to_owned()).collect();
    let agents = env.agents();
    let mut agents: Vec<&str> =
        agents.iter().map(|agent| agent["env"]["MURMUR_AGENT_ID"].as_str().unwrap()).collect();
    lines.sort_unstable();
    agents.sort_unstable();
    assert_eq!(lines, agents);
    assert_eq!(env.names(&disk.file("beats")), "");
    eprintln!("{} flips: {} beats, {} lines", flips(), agents.len(), lines.len());
}

#[test]
fn manual_beats_lose_no_line_while_the_disk_fills_and_empties() {
    let env = Env::for_as_long_as(time_limit());
    let Some(disk) = Disk::new(&env, "256k") else { return };
    let site = env.workspace("site", "Do it.");
    register(&disk, std::slice::from_ref(&site), &json!({ "stdout": result("HEARTBEAT_OK") }));
    let beat = || disk.murmur(&env, &["beat", site.path()]).output();
    let mut began = 0;
    for flip in 0..flips() {
        disk.fill();
        for _ in 0..3 {
            let output = beat();
            let warned = String::from_utf8(output.stderr).unwrap();
            // Before there was space once, no line can be kept, so no beat begins.
            assert_eq!(output.status.code(), Some(i32::from(flip == 0)), "{warned}");
            let expected = if flip == 0 {
                "cannot reserve space for a beat's journal line"
            } else {
                "the line was kept"
            };
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
fn killed_manual_beats_have_their_lines_on_a_full_disk() {
    let env = Env::for_as_long_as(time_limit());
    let Some(disk) = Disk::new(&env, "256k") else { return };
    let site = env.workspace("site", "Do it.");
    register(&disk, std::slice::from_ref(&site), &json!({ "fixture": fixture("ok"), "faults": ["hang"] }));
    let beat = || disk.murmur(&env, &["beat", site.path()]);
    let mut moments = Moments::new(0x6675_6c6c);
    // Allocates the reserve for a full disk.
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

/// Requests a beat; returns why it did not begin, if it didn't.
fn ask(disk: &Disk, workspace: &str) -> Option<String> {
    let answer = disk.connect().answer("beat", &json!({ "workspace": workspace }));
    (answer["success"] != true).then(|| answer["error"].as_str().unwrap().to_owned())
}

/// Registers workspaces whose heartbeats are not due for days.
fn register(disk: &Disk, workspaces: &[Workspace], instructions: &Value) {
    let now = clock::rfc3339(clock::now());
    let entry = |workspace: &Workspace| {
        workspace.plays(instructions);
        // Otherwise a small disk is a reason not to begin, and an agent that hangs after its answer is ended soon.
        json!({
            "path": workspace.0, "interval": "9d", "lastRun": now, "minFree": "0B", "backgroundWait": "1h",
        })
    };
    let entries: Vec<Value> = workspaces.iter().map(entry).collect();
    std::fs::write(disk.file("config.json"), json!({ "workspaces": entries }).to_string()).unwrap();
    std::fs::create_dir(disk.file("beats")).unwrap();
}

/// Starts or stops the daemon in the normal way.
fn tell(env: &Env, disk: &Disk, what: &str) {
    let output = disk.murmur(env, &[what]).output();
    assert!(output.status.success(), "{what}: {output:?}");
}

/// Starts the daemon and waits until it has allocated everything for a full disk: the reserve comes last.
fn start_with_reserve(env: &Env, disk: &Disk) {
    tell(env, disk, "start");
    let root = disk.file("");
    env.wait(&root, || root.join("journal.reserve").exists().then_some(()));
}

/// Waits until no beat has a record.
fn over(env: &Env, disk: &Disk) {
    let beats = disk.file("beats");
    env.wait(&beats, || env.names(&beats).is_empty().then_some(()));
}

#[test]
fn a_daemon_started_on_a_full_disk_loses_no_line() {
    let env = Env::for_as_long_as(time_limit());
    let Some(disk) = Disk::new(&env, "512k") else { return };
    let workspaces = ["site", "blog"].map(|name| env.workspace(name, "Do it."));
    register(&disk, &workspaces, &json!({ "stdout": result("HEARTBEAT_OK") }));
    let [site, blog] = &workspaces;
    disk.fill();
    tell(&env, &disk, "start");
    let mut began = 0;
    for flip in 0..flips() {
        for (is_full, workspace) in [(true, site), (true, blog), (false, site)] {
            match (is_full, disk.file("fill").exists()) {
                (true, false) => disk.fill(),
                (false, true) => disk.free(),
                _ => {}
            }
            let refused = ask(&disk, workspace.path());
            // Before there was space once, no line can be kept, so no beat begins.
            if flip == 0 && is_full {
                assert!(refused.unwrap().contains("its journal line could not be kept"));
                continue;
            }
            assert_eq!(refused, None, "flip {flip}");
            began += 1;
            env.wait_for_agents(began);
            over(&env, &disk);
        }
    }
    disk.fill();
    tell(&env, &disk, "stop");
    disk.free();
    tell(&env, &disk, "start");
    tell(&env, &disk, "stop");
    check(&env, &disk);
    let text = std::fs::read_to_string(disk.file("heartbeats.jsonl")).unwrap();
    assert_eq!(text.matches(r#""outcome":"ok""#).count(), began, "{text}");
}

#[test]
fn a_daemon_and_beats_killed_on_a_full_disk_lose_no_line() {
    let env = Env::for_as_long_as(time_limit());
    let Some(disk) = Disk::new(&env, "512k") else { return };
    let mut moments = Moments::new(0x6461_656d_6f6e);
    let workspaces = ["site", "blog"].map(|name| env.workspace(name, "Do it."));
    register(&disk, &workspaces, &json!({ "fixture": fixture("ok"), "faults": ["hang"] }));
    start_with_reserve(&env, &disk);
    for flip in 0..flips() {
        disk.fill();
        for workspace in &workspaces {
            assert_eq!(ask(&disk, workspace.path()), None, "flip {flip}");
        }
        let agents = env.wait_for_agents(workspaces.len() * (usize::try_from(flip).unwrap() + 1));
        let agents = &agents[agents.len() - workspaces.len()..];
        let daemon = disk.connect().ask("ping", &Value::Null)["pid"].as_i64().unwrap();
        let (mut order, mut hosts) = (Vec::new(), Vec::new());
        for agent in agents {
            let agent = agent["pid"].as_i64().unwrap();
            let host = parent(agent);
            hosts.push(host);
            // A host whose agent is dead is about to write the line.
            order.extend(moments.of(&[vec![host], vec![agent], vec![agent, host]]).clone());
        }
        let is_daemon_killed = moments.below(3) > 0;
        if is_daemon_killed {
            order.insert(usize::try_from(moments.below(order.len() as u64 + 1)).unwrap(), daemon);
        }
        for pid in order {
            kill(pid, Signal::KILL);
            // Some time passes.
            for _ in 0..moments.below(200) {
                disk.lines();
            }
        }
        hosts.iter().copied().for_each(wait_for_end);
        agents.iter().for_each(|agent| env.wait_until_dead(agent));
        if is_daemon_killed {
            wait_for_end(daemon);
            tell(&env, &disk, "start");
        }
        over(&env, &disk);
        disk.free();
    }
    tell(&env, &disk, "stop");
    tell(&env, &disk, "start");
    tell(&env, &disk, "stop");
    check(&env, &disk);
}

#[test]
fn a_host_that_cannot_write_does_not_change_the_outcome_and_status_names_the_disk() {
    let env = Env::new();
    let Some(disk) = Disk::new(&env, "512k") else { return };
    let site = [env.workspace("site", "Do it.")];
    register(&disk, &site, &json!({ "stdout": result("HEARTBEAT_OK") }));
    start_with_reserve(&env, &disk);
    disk.fill();
    assert_eq!(ask(&disk, site[0].path()), None);
    env.wait_for_agents(1);
    over(&env, &disk);
    let status = disk.murmur(&env, &["status"]).output();
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(status.contains("1 journal line is not written yet: "), "{status}");
    disk.free();
    tell(&env, &disk, "stop");
    check(&env, &disk);
    let text = std::fs::read_to_string(disk.file("heartbeats.jsonl")).unwrap();
    assert!(text.contains(r#""outcome":"ok""#) && !text.contains("without a word"), "{text}");
}

/// A run that hangs until it is killed.
trait Killed {
    /// Kills it when `agents` agents have started; returns whether it had ended by itself.
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
