//! What gates and verifiers print can be read afterwards, within the limits of captures.

use std::os::unix::fs::MetadataExt;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::site;
use crate::env::{Env, result};

/// The id of the capture that the newest line names.
fn capture(env: &Env) -> String {
    let line = env.journal().pop().unwrap();
    line["gateCapture"].as_str().unwrap_or_else(|| panic!("{line}")).to_owned()
}

/// What `murmur capture show` prints.
fn shown(env: &Env) -> String {
    let output = env.murmur(["capture", "show", &capture(env)]).output();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names in the folder of captures.
fn sessions(env: &Env) -> Vec<String> {
    let folder = env.home().join(".local/state/derun/sessions");
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn all_that_gates_and_verifiers_print_can_be_read_afterwards() {
    let env = Env::new();
    let when = json!([{ "run": "./silent.sh" }, { "run": ["./new.sh", "a b"] }, { "git": "new-commits" }]);
    let site = site(&env, "Do it.", json!({ "when": when, "verify": "./check.sh" }));
    env.program("git", ["init", "--quiet"]).at(&site.0).quiet();
    let commit = ["-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet", "--allow-empty", "-m", "x"];
    env.program("git", commit).at(&site.0).quiet();
    site.script("silent.sh", "exit 0");
    site.script("new.sh", "echo noise >&2; exec >&2; printf '3 new mails'");
    site.script("check.sh", "exec 2>&1; seq 3; echo bad; exit 3");
    assert_snapshot!(env.run(["beat", "site"]), @"
    attention [S] verify: ./check.sh exited with code 3: 1 2 3 bad
    [exit 0]
    ");
    assert_snapshot!(shown(&env), @"
    == when: ./new.sh 'a b'
    noise
    3 new mails
    == verify: ./check.sh
    1
    2
    3
    bad
    ");
    let listed = env.murmur(["capture", "list", "--json"]).json();
    let gates = &listed["sessions"][1];
    assert_eq!((&gates["exit_code"], &gates["command"]), (&json!(3), &json!(["./new.sh", "a b"])));
    let listed = env.murmur(["capture", "list"]).quiet();
    let names: Vec<_> = listed.lines().skip(1).map(|line| line.rsplit_once("B  ").unwrap().1).collect();
    assert_eq!(names, ["site: attention", "site: attention (gates)"]);
    let beat = env.murmur(["show", "site"]).quiet();
    let row = format!("\n  gates    their output: murmur capture show {}\n", capture(&env));
    assert!(beat.contains(&row), "{beat}");
    // One small file with two names.
    let names = sessions(&env);
    assert!(names.iter().all(|name| name.ends_with(".zst")) && names.len() == 2);
    let folder = env.home().join(".local/state/derun/sessions");
    let [one, other] = [&names[0], &names[1]].map(|name| folder.join(name).metadata().unwrap());
    assert_eq!(one.ino(), other.ino());
    assert!(one.blocks() * 512 <= 6 << 10, "{one:?}");
    assert!(env.run(["show", "site"]).contains("HEARTBEAT_OK"), "{}", env.run(["show", "site"]));
    // Both go together.
    env.setting("config.toml", "[captures]\nmax = \"1MiB\"\n");
    site.script("check.sh", "head -c 1200000 /dev/urandom | base64; exit 3");
    env.program("git", commit).at(&site.0).quiet();
    env.run(["beat", "site"]);
    let removed = env.run(["gc"]);
    let left = sessions(&env);
    assert!(
        left.len() == 2 && names.iter().all(|name| !left.contains(name)),
        "{names:?} {left:?}\n{removed}"
    );
}

#[test]
fn a_skipped_beat_leaves_its_gates_output_in_one_small_file_or_nothing() {
    let env = Env::new();
    let site = site(&env, "Do it.", json!({ "when": "./changed.sh" }));
    site.script("changed.sh", "exit 78");
    env.run(["beat", "site"]);
    assert_eq!((sessions(&env).len(), env.journal()[0].get("gateCapture")), (0, None));
    site.script("changed.sh", "seq 1000; exit 78");
    env.run(["beat", "site"]);
    let [file] = &sessions(&env)[..] else { panic!("{:?}", sessions(&env)) };
    assert_eq!(*file, format!("{}.zst", capture(&env)));
    let seen = env.home().join(".local/state/derun/sessions").join(file).metadata().unwrap();
    assert!(seen.blocks() * 512 <= 6 << 10, "{seen:?}");
    assert_snapshot!(shown(&env).lines().take(2).collect::<Vec<_>>().join("\n"), @"
    == when: ./changed.sh
    1
    ");
    assert_eq!(shown(&env).lines().count(), 1001);
    assert_snapshot!(env.run(["show", "site", "--raw"]).replace(&capture(&env), "[CAPTURE]"), @"
    | error: nothing to show: its agent did not run, or its output was not captured
    | hint: see what its gates printed with: murmur capture show [CAPTURE]
    [exit 1]
    ");
    // The agent's last capture stays, however many beats its gate skips.
    site.script("changed.sh", "head -c 1200000 /dev/urandom | base64");
    env.run(["beat", "site"]);
    let ran = env.journal().pop().unwrap()["capture"].as_str().unwrap().to_owned();
    site.script("changed.sh", "echo nothing new; exit 78");
    env.run(["beat", "site"]);
    let newest = capture(&env);
    env.setting("config.toml", "[captures]\nmax = \"1MiB\"\n");
    env.run(["gc"]);
    let left = sessions(&env);
    // Also what the gate printed when it ran.
    assert_eq!(left.len(), 3, "{left:?}");
    assert!([ran, newest].iter().all(|id| left.contains(&format!("{id}.zst"))), "{left:?}");
}

#[test]
fn a_gate_that_floods_or_hangs_is_captured_within_the_limits() {
    let env = Env::new();
    let site = site(&env, "Do it.", json!({ "when": { "run": "./gate.sh", "timeout": "2s" } }));
    env.setting("config.toml", "[captures]\nmax-per-run = \"1MiB\"\n");
    site.script("gate.sh", "seq 1000000; echo the end");
    env.run(["beat", "site"]);
    assert_eq!(env.journal()[0]["outcome"], "ok");
    let text = shown(&env);
    assert!(text.starts_with("== when: ./gate.sh\n1\n2\n") && text.ends_with("\n1000000\nthe end\n"));
    assert!((1 << 19..1 << 20).contains(&text.len()), "{}", text.len());
    let listed = env.murmur(["capture", "list", "--json"]).json();
    let gap = &listed["sessions"][1]["gap"];
    assert!(gap["length"].as_u64().unwrap() > 5 << 20, "{listed}");

    site.script("gate.sh", "echo waiting; sleep 600");
    env.run(["beat", "site"]);
    assert_eq!(shown(&env), "== when: ./gate.sh\nwaiting\n");
    let listed = env.murmur(["capture", "list", "--json"]).json();
    let hung = &listed["sessions"][0];
    assert_eq!((&hung["state"], &hung["error"]), (&json!("failed"), &json!("timed out after 2s")));
    assert_eq!(env.alive(), [0; 0]);
}

#[test]
fn a_store_that_cannot_be_used_stops_neither_gate_nor_beat() {
    let env = Env::new();
    let site = site(&env, "Do it.", json!({ "when": ["echo", "new"], "minFree": "0B" }));
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
    std::fs::create_dir_all(env.home().join(".local/state")).unwrap();
    std::fs::write(env.home().join(".local/state/derun"), "").unwrap();
    env.run(["beat", "site"]);
    let line = env.journal().pop().unwrap();
    assert_eq!((&line["outcome"], line.get("gateCapture")), (&json!("ok"), None), "{line}");
    assert!(line["captureLost"].is_string(), "{line}");
    // Without an agent, the line says why nothing was captured.
    let mut config: Value = serde_json::from_str(&env.config()).unwrap();
    config["workspaces"][0]["when"] = json!(["sh", "-c", "echo nothing; exit 78"]);
    env.configure(&config.to_string());
    env.run(["beat", "site"]);
    let line = env.journal().pop().unwrap();
    let lost = line["captureLost"].as_str().unwrap();
    assert!(lost.starts_with("gates: cannot use the state folder "), "{lost}");
}
