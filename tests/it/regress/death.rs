//! Beats that must end and be reported, whatever their environment.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;

use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::json;

use crate::env::{Daemon, Env, kill, programs, wait_for_end};

#[test]
fn unread_output_does_not_delay_a_timeout() {
    let env = Env::new();
    let site = env.workspace("site", "---\ntimeout: 3s\n---\nTalk.");
    let text = "x".repeat(10_000);
    let content = json!([{ "type": "text", "text": text }]);
    let event = json!({
        "type": "assistant",
        "message": { "id": "msg_long", "role": "assistant", "content": content },
        "parent_tool_use_id": null,
    });
    let flood = format!("{event}\n").repeat(300);
    site.plays(&json!({ "stdout": flood, "faults": ["hang"] }));
    let mut beat = env.murmur(["beat", "site", "-V"]).start();
    let line = env.wait_for_journal(1).remove(0);
    assert_eq!((&line["outcome"], &line["timedOut"]), (&json!("error"), &json!(true)));
    env.wait_until_dead(&env.agents()[0]);
    // Only now does somebody read.
    let mut shown = String::new();
    beat.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
    assert_eq!(beat.wait().unwrap().code(), Some(1));
    assert!(shown.starts_with(&text) && shown.contains("events were dropped: stdout was not read"));
    let last = shown.lines().last().unwrap();
    assert_snapshot!(last, @"error [S] timed out after 3s, while waiting for the model ([SPAN])");
}

#[test]
fn a_path_that_is_not_utf8_does_not_prevent_a_beat() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let profile = b"PATH=\"/odd/\xff:$HOME/bin:$PATH\"\n";
    std::fs::write(env.home().join(".profile"), profile).unwrap();
    // Only the login shell finds the agent, and the daemon's own PATH is just as odd.
    let own = OsString::from_vec([b"/own/\xfe:", programs().as_bytes()].concat());
    let daemon = Daemon::new(env.murmur(["start", "--foreground"]).set("PATH", &own));
    let line = env.wait_for_journal(1).remove(0);
    assert_eq!((&line["outcome"], &line["error"]), (&json!("ok"), &json!(null)));
    daemon.stop();
    let by_hand = env.murmur(["beat", "site"]).set("PATH", &own).run();
    assert_snapshot!(by_hand, @"
    ok [S]
    [exit 0]
    ");
    assert_eq!((env.agents().len(), env.journal().len()), (2, 2));
}

#[test]
fn a_beat_that_dies_without_a_record_has_its_line() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": "", "faults": ["hang"] }));
    env.configure("{}");
    let daemon = env.daemon();
    let beats = env.data().join("beats");
    std::fs::remove_dir(&beats).unwrap();
    std::fs::write(&beats, "no folder").unwrap();
    env.register(&[&site]);
    let agent = env.wait_for_agents(1).remove(0);
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", agent["pid"])).unwrap();
    let host = stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
    kill(host, Signal::KILL);
    env.wait_for_journal(1);
    assert_snapshot!(env.journal_text(), @r#"{"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"the beat's process ended without a report (signal: 9 (SIGKILL))","beat":"[BEAT]","agent":"site-[ID]"}"#);
    wait_for_end(agent["pid"].as_i64().unwrap());
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().0.success());
    assert_eq!(env.journal().len(), 1);
}

#[test]
fn a_missing_interpreter_is_reported() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    std::fs::remove_file(env.claude()).unwrap();
    std::fs::write(env.claude(), "#!/nonexistent/interpreter\n").unwrap();
    let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    std::fs::set_permissions(env.claude(), mode).unwrap();
    let daemon = env.daemon();
    let line = env.wait_for_journal(1).remove(0);
    daemon.stop();
    assert_snapshot!(line["error"].as_str().unwrap(), @"cannot start [ENV]/home/bin/claude: No such file or directory (os error 2); the interpreter in its first line is missing");
}
