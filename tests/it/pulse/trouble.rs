//! Whatever goes wrong, the hook prints nothing and succeeds, and murmur.log reports it once.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::json;

use super::{HOOK, called, is_quiet};
use crate::env::{Env, Run};

fn told() -> String {
    called("Bash", &json!({ "command": "ls" })).to_string()
}

/// The hook in its own namespace, in which `script` has mounted something at `$1`, which is `folder`.
fn where_mounted(env: &Env, script: &str, folder: &Path) -> Run {
    let given = env.root().join("told");
    std::fs::write(&given, told()).unwrap();
    let script = format!("{script} && exec \"$2\" PostToolUse <\"$3\"");
    let words = ["-rm", "sh", "-c", &script, "sh", folder.to_str().unwrap(), HOOK, given.to_str().unwrap()];
    env.program("unshare", words)
}

/// Whether this user can mount in its own namespace.
fn may_mount(env: &Env) -> bool {
    let may =
        env.program("unshare", ["-rm", "sh", "-c", "mount -t tmpfs none /mnt"]).output().status.success();
    if !may {
        eprintln!("not tested with a real file system: mounting is not possible here");
    }
    may
}

#[test]
fn invalid_json_on_stdin_is_only_logged() {
    let huge = vec![b' '; (32 << 20) + 1];
    let noted: Vec<String> = [&b""[..], b"{\"tool_name\":", b"\xff\xfe", b"null", &huge]
        .into_iter()
        .map(|stdin| {
            let env = Env::new();
            is_quiet(env.pulse_hook("PostToolUse", stdin));
            assert_eq!(env.names(&env.data()), "murmur.log");
            env.noted().join("\n")
        })
        .collect();
    assert_snapshot!(noted.join("\n"), @"
    cannot write pulse: stdin is empty, expected a hook event as JSON
    cannot write pulse: stdin is not a hook event: EOF while parsing a value at line 1 column 13
    cannot write pulse: stdin is not a hook event: expected value at line 1 column 1
    cannot write pulse: stdin is not a hook event: invalid type: null, expected an object at line 1 column 4
    cannot write pulse: stdin has more than 32 MiB
    ");
}

#[test]
fn long_and_deeply_nested_input_works() {
    let env = Env::new();
    // Just enough to overflow a stack: the hook has 2 s, however busy the machine is. `hook::pulse_event` reads far
    // more, without a deadline.
    let deep = "[".repeat(1 << 17) + &"]".repeat(1 << 17);
    let long = "x".repeat(1 << 18);
    let told = format!(
        r#"{{"session_id":"s1","tool_name":"Bash","tool_input":{{"command":"{long}"}},"tool_response":{deep}}}"#
    );
    is_quiet(env.pulse_hook("PostToolUse", told));
    assert_eq!(env.pulse("claude-s1")["last_action"], format!("{}…", "x".repeat(99)));
}

#[test]
fn the_hook_does_not_wait_for_an_endless_stdin() {
    let env = Env::new();
    let (_, gate) = env.gate("gate");
    is_quiet(env.program(HOOK, ["PostToolUse"]).stdin(gate));
    assert_snapshot!(env.noted().join("\n"), @"cannot write pulse: stdin did not end within [MS] ms");
}

#[test]
fn the_hook_does_not_wait_for_a_blocking_file() {
    let env = Env::new();
    let pipe = env.root().join("pipe");
    sys::fifo::make(&pipe).unwrap();
    // Opening a pipe without a writer blocks forever, like a disk that is gone.
    is_quiet(env.pulse_hook("PostToolUse", told()).set("TZ", format!(":{}", pipe.display())));
    assert!(!env.data().exists());
}

#[test]
fn without_home_the_hook_writes_no_pulse_and_succeeds() {
    let env = Env::new();
    is_quiet(env.pulse_hook("PostToolUse", told()).unset("HOME").unset("MURMUR_DIR"));
    assert!(!env.data().exists());
    is_quiet(env.pulse_hook("PostToolUse", told()).unset("MURMUR_DIR"));
    assert!(env.home().join(".murmur/heartbeats/claude-s1.json").exists());
}

#[test]
fn without_proc_the_agents_process_is_unknown() {
    let env = Env::new();
    if !may_mount(&env) {
        return;
    }
    is_quiet(where_mounted(&env, "mount -t tmpfs none /proc", env.root()));
    assert_eq!(env.pulse("claude-s1")["pid"], 0);
}

#[test]
fn huge_files_do_not_prevent_a_pulse() {
    let env = Env::new();
    let folder = env.create_data().join("agents/claude-s1");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["activity.jsonl", "current-task.json"] {
        // A byte less than a step, so that the first line is followed by a check of the number of lines.
        std::fs::File::create(folder.join(name)).unwrap().set_len((10 << 40) - 1).unwrap();
    }
    is_quiet(env.pulse_hook("PostToolUse", told()));
    assert_eq!(env.pulse("claude-s1")["last_action"], "ls");
    assert_eq!(env.activity("claude-s1"), [env.pulse("claude-s1")]);
    assert_eq!(env.noted(), [] as [&str; 0]);
}

#[test]
fn on_a_full_disk_the_old_pulse_is_kept_and_the_failure_logged_once() {
    let env = Env::new();
    if !may_mount(&env) {
        return;
    }
    let log = env.root().join("log-of-it");
    // Full except for what the log needs; an old pulse, and ten that don't fit.
    let script = format!(
        "mount -t tmpfs -o size=64k,mode=700 none \"$1\" && \"$2\" PostToolUse <\"$3\" && : >\"$1/murmur.log\" &&
        echo x >\"$1/murmur.log\" && cp \"$1\"/heartbeats/*.json \"$1/../before\" &&
        {{ head -c 200000 /dev/zero >\"$1/fill\" 2>/dev/null; true; }} &&
        for turn in 1 2 3 4 5 6 7 8 9 10; do \"$2\" PostToolUse <\"$3\" || exit 1; done &&
        cmp \"$1\"/heartbeats/*.json \"$1/../before\" && ls -A \"$1/heartbeats\" && cat \"$1/murmur.log\" >{}",
        log.display()
    );
    let data = env.create_data();
    let given = env.root().join("told");
    std::fs::write(&given, told()).unwrap();
    let words = ["-rm", "sh", "-c", &script, "sh", data.to_str().unwrap(), HOOK, given.to_str().unwrap()];
    assert_eq!(env.program("unshare", words).run(), "claude-s1.json\n[exit 0]");
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.matches("No space left on device").count(), 1, "{log}");
}

#[test]
fn unwritable_folders_are_logged() {
    let env = Env::new();
    if !may_mount(&env) {
        return;
    }
    let read_only = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\"";
    for name in ["heartbeats", "agents"] {
        std::fs::create_dir_all(env.create_data().join(name)).unwrap();
    }
    is_quiet(where_mounted(&env, read_only, &env.data().join("agents")));
    // The pulse itself could be written.
    assert_eq!(env.pulse("claude-s1")["last_action"], "ls");
    let noted = env.noted();
    is_quiet(where_mounted(&env, read_only, &env.data().join("heartbeats")));
    assert_eq!(env.noted(), noted, "once a minute");
    std::fs::remove_file(env.data().join("murmur.log")).unwrap();
    is_quiet(where_mounted(&env, read_only, &env.data().join("heartbeats")));
    assert_snapshot!([noted, env.noted()].concat().join("\n"), @r#"
    cannot write pulse: cannot write [ENV]/data/agents/claude-s1/activity.jsonl: Read-only file system (os error 30)
    cannot write pulse: cannot write [ENV]/data/heartbeats/claude-s1.json: Read-only file system (os error 30) at path "[ENV]/data/heartbeats/.new-[RANDOM]"
    "#);
    // Without a log, nothing is reported.
    is_quiet(where_mounted(&env, read_only, &env.data()));
}

#[test]
fn a_failure_of_many_hooks_is_logged_once() {
    let env = Env::new();
    std::fs::create_dir_all(env.create_data().join("heartbeats/claude-s1.json")).unwrap();
    let hooks: Vec<_> = (0..40).map(|_| env.pulse_hook("PostToolUse", told()).start()).collect();
    for hook in hooks {
        let output = hook.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stdout, output.stderr), (Some(0), vec![], vec![]));
    }
    assert_snapshot!(env.noted().join("\n"), @"cannot write pulse: cannot write [ENV]/data/heartbeats/claude-s1.json: Is a directory (os error 21)");
    assert_eq!(env.names(&env.data().join("heartbeats")), "claude-s1.json");
    assert_eq!(env.activity("claude-s1").len(), 40);
}

#[test]
fn a_file_size_limit_does_not_kill_the_hook() {
    let env = Env::new();
    let given = env.root().join("told");
    std::fs::write(&given, told()).unwrap();
    let script = "ulimit -f 0; exec \"$1\" PostToolUse <\"$2\"";
    is_quiet(env.program("sh", ["-c", script, "sh", HOOK, given.to_str().unwrap()]));
    assert_eq!(env.names(&env.data().join("heartbeats")), "");
}

#[test]
fn planted_links_are_replaced_and_not_followed() {
    let env = Env::new();
    let other = env.root().join("other");
    std::fs::write(&other, "other").unwrap();
    for folder in ["heartbeats", "agents/claude-s1"] {
        std::fs::create_dir_all(env.create_data().join(folder)).unwrap();
    }
    for path in ["heartbeats/claude-s1.json", "agents/claude-s1/activity.jsonl"] {
        std::os::unix::fs::symlink(&other, env.data().join(path)).unwrap();
    }
    is_quiet(env.pulse_hook("PostToolUse", told()));
    assert_eq!(env.activity("claude-s1"), [env.pulse("claude-s1")]);
    assert_eq!(std::fs::read_to_string(other).unwrap(), "other");
    assert_eq!(env.noted(), [] as [&str; 0]);
}
