//! Who the agent is and where it works: ids, branches, workspaces, tasks, processes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{HOOK, called, is_quiet};
use crate::env::{Env, programs};

/// The pulse of an agent at `cwd`.
fn at(env: &Env, cwd: &Path) -> Value {
    let mut told = called("Bash", &json!({ "command": "ls" }));
    told["cwd"] = cwd.to_str().unwrap().into();
    is_quiet(env.pulse_hook("PostToolUse", told.to_string()));
    env.pulse("claude-s1")
}

#[test]
fn no_agent_id_leads_outside_the_data_folder() {
    let env = Env::new();
    let long = "x".repeat(5000);
    let names = ["../../escaped", "/etc/passwd", ".hidden", "a\nb", "ä", "..", &long];
    for name in names {
        let told = called("Bash", &json!({ "command": "ls" })).to_string();
        is_quiet(env.pulse_hook("PostToolUse", told).set("MURMUR_AGENT_ID", name));
    }
    let pulses = sys::paths::DataDir::find(Some(&env.data()), None, None).unwrap();
    let found = murmur_store::pulse::folder::all(&pulses).unwrap();
    let mut ids: Vec<&str> = found.iter().map(|found| found.pulse.agent_id.as_str()).collect();
    // Ids have at most 4 KiB.
    let mut expected = [&names[..6], &[&long[..4096]]].concat();
    ids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ids, expected);
    assert_eq!(env.names(&env.data()), "agents\nheartbeats");
    assert_eq!(std::fs::read_dir(env.data().join("agents")).unwrap().count(), names.len());
    // So does one whose conversation has such an id.
    is_quiet(env.pulse_hook("Stop", json!({ "session_id": "../../x" }).to_string()));
    assert_eq!(env.names(&env.data()), "agents\nheartbeats");
    assert!(!env.names(env.root()).contains('x'), "{}", env.names(env.root()));
}

#[test]
fn an_agent_with_an_odd_id_sets_its_own_task() {
    let env = Env::new();
    let long = "ü".repeat(3000);
    for (name, value) in [
        ("MURMUR_AGENT_ID", OsStr::from_bytes(b"a\xff")),
        ("MURMUR_AGENT_ID", OsStr::new(&long)),
        ("CLAUDE_CODE_SESSION_ID", OsStr::from_bytes(b"s\xff")),
        ("CLAUDE_CODE_SESSION_ID", OsStr::new(&long)),
    ] {
        env.murmur(["agent", "task", "Mend it"]).set(name, value).assert().success();
        is_quiet(env.pulse_hook("Stop", "{}").set(name, value));
        let file = env.names(&env.data().join("heartbeats"));
        assert_eq!(env.pulse(file.strip_suffix(".json").unwrap())["current_task"], "Mend it", "{value:?}");
        std::fs::remove_dir_all(env.data().join("heartbeats")).unwrap();
    }
}

#[test]
fn no_pulse_exceeds_the_size_that_is_read() {
    let env = Env::new();
    let mut told = called("Bash", &json!({ "command": "ls" }));
    // Each of these is an escape of six characters in JSON.
    told["cwd"] = "\u{1}".repeat(4096).into();
    let agent = "\u{1}".repeat(10_000);
    is_quiet(env.pulse_hook("PostToolUse", told.to_string()).set("MURMUR_AGENT_ID", &agent));
    let dir = sys::paths::DataDir::find(Some(&env.data()), None, None).unwrap();
    assert_eq!(murmur_store::pulse::folder::all(&dir).unwrap().len(), 1);
    for cwd in ["/".repeat(4097), "/x".repeat(10 << 20)] {
        assert_eq!(at(&env, Path::new(&cwd))["workspace"], env.root().to_str().unwrap());
    }
    let hook = env.pulse_hook("PostToolUse", called("Bash", &json!({})).to_string());
    is_quiet(hook.set("MURMUR_WORKSPACE", "/".repeat(5000)));
    assert_eq!(env.pulse("claude-s1")["workspace"], "/");
}

#[test]
fn the_branch_is_the_one_that_git_reports() {
    let env = Env::new();
    let git = |folder: &str, args: &[&str]| {
        let folder = env.root().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let mut git = Command::new("git");
        git.env_clear().env("PATH", programs()).env("HOME", env.home()).current_dir(folder);
        git.args(["-c", "user.name=x", "-c", "user.email=x", "-c", "init.defaultBranch=main"]).args(args);
        git.args(if args[0] == "submodule" { &["--quiet"][..] } else { &[] });
        assert!(git.output().unwrap().status.success(), "{args:?}");
    };
    git("repo", &["init", "--quiet"]);
    let branch = |folder: &str| at(&env, &env.root().join(folder))["git_branch"].as_str().unwrap().to_owned();
    assert_eq!(branch("repo"), "main", "without a commit");
    git("repo", &["commit", "--quiet", "--allow-empty", "-m", "x"]);
    git("repo", &["checkout", "--quiet", "-b", "feature/pan-30"]);
    git("repo", &["worktree", "add", "--quiet", "../tree", "-b", "tree"]);
    std::fs::create_dir_all(env.root().join("repo/a/b")).unwrap();
    assert_eq!(branch("repo"), "feature/pan-30");
    assert_eq!(branch("repo/a/b"), "feature/pan-30");
    assert_eq!(branch("repo/.git/refs"), "feature/pan-30");
    std::os::unix::fs::symlink("repo/a", env.root().join("link")).unwrap();
    assert_eq!(branch("link/b"), "feature/pan-30");
    assert_eq!(branch("tree"), "tree");
    git("tree", &["checkout", "--quiet", "--detach"]);
    let head = std::fs::read_to_string(env.root().join("repo/.git/worktrees/tree/HEAD")).unwrap();
    assert_eq!(branch("tree"), format!("detached at {}", &head[..12]));
    assert_eq!(branch("home"), "unknown");
}

#[test]
fn the_workspace_comes_from_murmur_then_claude_then_the_calls_folder() {
    let env = Env::new();
    let told = called("Bash", &json!({ "command": "ls" })).to_string();
    for (variables, expected) in [
        (&[("MURMUR_WORKSPACE", "/one"), ("CLAUDE_PROJECT_DIR", "/two")][..], "/one"),
        (&[("MURMUR_WORKSPACE", ""), ("CLAUDE_PROJECT_DIR", "/two")], "/two"),
        (&[], "/"),
    ] {
        let hook = env.pulse_hook("PostToolUse", &told);
        is_quiet(variables.iter().fold(hook, |hook, (name, value)| hook.set(name, value)));
        assert_eq!(env.pulse("claude-s1")["workspace"], expected);
    }
}

#[test]
fn the_pulse_has_the_agents_task() {
    let env = Env::new();
    let dir = sys::paths::DataDir::find(Some(&env.create_data()), None, None).unwrap();
    murmur_store::pulse::task::set(&dir, "claude-s1", "Mend the build").unwrap();
    assert_eq!(at(&env, Path::new("/"))["current_task"], "Mend the build");
    std::fs::write(env.data().join("agents/claude-s1/current-task.json"), "{").unwrap();
    assert_eq!(at(&env, Path::new("/"))["current_task"], "");
}

#[test]
fn the_time_has_the_offset_of_the_local_zone() {
    let env = Env::new();
    let told = called("Bash", &json!({ "command": "ls" })).to_string();
    is_quiet(env.pulse_hook("PostToolUse", &told).set("TZ", "IST-5:30"));
    let time = env.pulse("claude-s1")["timestamp"].as_str().unwrap().to_owned();
    assert!(time.ends_with("+05:30"), "{time}");
    let ago = sys::clock::now().duration_since(time.parse().unwrap());
    assert!((0..60).contains(&ago.as_secs()), "{time}");
}

#[test]
fn the_pid_is_the_agents_whatever_processes_are_between() {
    let env = Env::new();
    let told = env.root().join("told");
    std::fs::write(&told, called("Bash", &json!({ "command": "ls" })).to_string()).unwrap();
    // The agent is a shell with another conversation in its environment; it prints its own PID.
    let between = "sh -c 'env sh -c \"\\\"$1\\\" PostToolUse <\\\"$2\\\"; true\" sh \"$@\"; true' sh";
    let script = format!("echo $$; CLAUDE_CODE_SESSION_ID=s1 {between} \"$@\"; true");
    let words = ["-c", &script, "sh", HOOK, told.to_str().unwrap()];
    let agent = env.program("/bin/sh", words).set("CLAUDE_CODE_SESSION_ID", "outer").output();
    let pid: u32 = String::from_utf8(agent.stdout).unwrap().trim().parse().unwrap();
    assert_eq!(env.pulse("claude-s1")["pid"], pid);
    // Without the conversation in the environment, it is the first that isn't a shell.
    let words = ["-c", "sh -c '\"$1\" PostToolUse <\"$2\"; true' sh \"$@\"; true", "sh", HOOK];
    is_quiet(env.program("/bin/sh", words.into_iter().chain([told.to_str().unwrap()])));
    assert_eq!(env.pulse("claude-s1")["pid"], std::process::id());
}

#[test]
fn the_hook_starts_no_process() {
    let env = Env::new();
    let told = env.root().join("told");
    std::fs::write(&told, called("Bash", &json!({ "command": "ls" })).to_string()).unwrap();
    // With processes numbered from 1 on, the number of the next one tells how many there were. A thread would
    // count as well.
    let next = |command: &str| {
        let script = format!("{command} <\"$2\"; sh -c 'echo $$'; true");
        let words = ["-rpf", "--mount-proc", "sh", "-c", &script, "sh", HOOK, told.to_str().unwrap()];
        let output = env.program("unshare", words).set("TMUX", "/nowhere/tmux,1,0").output();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    };
    match (next("env true"), next("sh -c 'env true; true'")) {
        (Some(none), Some(one)) => {
            assert_eq!((none.as_str(), one.as_str()), ("3\n", "4\n"));
            assert_eq!(next("\"$1\" PostToolUse").unwrap(), none);
            assert_eq!(env.pulse("claude-s1")["last_action"], "ls");
        }
        _ => eprintln!("not tested by PIDs: PID namespaces are not available here"),
    }
    // A program that isn't on the PATH can't be started by name.
    is_quiet(
        env.pulse_hook("Stop", json!({ "session_id": "s2" }).to_string()).set("PATH", "").unset("SHELL"),
    );
    assert_eq!(env.pulse("claude-s2")["state"], "idle");
}
