//! Colors: only on a terminal, and not with NO_COLOR.

use std::io::Read;
use std::process::Stdio;

use insta::assert_snapshot;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::env::{Env, Run};

/// The output of `run` on a terminal.
pub(crate) fn on_a_terminal(run: Run) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = std::fs::File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut child = run.stdout(Stdio::from(theirs)).start();
    let mut shown = Vec::new();
    // Reading the terminal fails once nobody has the other side.
    let _end = std::fs::File::from(ours).read_to_end(&mut shown);
    assert!(child.wait().unwrap().success());
    String::from_utf8(shown).unwrap().replace("\r\n", "\n").replace('\u{1b}', "^[")
}

#[test]
fn outcomes_are_colored_on_a_terminal() {
    let env = Env::new();
    super::journal(&env);
    assert_snapshot!(on_a_terminal(env.murmur(["log", "-n", "4"])), @"
    ^[[2m[WHEN]^[[0m  ^[[33mattention^[[0m [S]  [ENV]/blog  2 tests failing in auth.test.ts
    ^[[2m[WHEN]^[[0m  ^[[31merror    ^[[0m [S]  [ENV]/site  HEARTBEAT.md not found
    ^[[2m[WHEN]^[[0m  ^[[32mok       ^[[0m [S]  [ENV]/site::nightly
    ^[[2m[WHEN]^[[0m  ^[[32mok       ^[[0m [S]  [ENV]/blog
    ");
    let site = env.root().join("site");
    env.configure(&serde_json::json!({ "workspaces": [{ "path": site, "interval": "1h" }] }).to_string());
    assert_snapshot!(on_a_terminal(env.murmur(["status"])), @"
    murmur is not running; start it with: murmur start

    ^[[1msite^[[0m  ^[[2m[ENV]/site^[[0m
      schedule  every 1h
      last      ^[[31merror    ^[[0m [SPAN] ago HEARTBEAT.md not found
      next      not scheduled: the daemon is not running
    ");
    assert_snapshot!(on_a_terminal(env.murmur(["beat", "site", "-V"])), @"
    Nothing to do.

    HEARTBEAT_OK

    ^[[1mConversation^[[0m
      1. Nothing to do. HEARTBEAT_OK
         ^[[2m1 turn, $0.0004, [MS] ms^[[0m

    ^[[32mok       ^[[0m ^[[2m[S]^[[0m
    ");
}

#[test]
fn no_color_and_a_dumb_terminal_get_plain_text() {
    let env = Env::new();
    super::journal(&env);
    let plain = String::from_utf8(env.murmur(["log"]).output().stdout).unwrap();
    assert!(!plain.contains('\u{1b}'));
    assert_eq!(on_a_terminal(env.murmur(["log"]).set("NO_COLOR", "1")), plain);
    assert_eq!(on_a_terminal(env.murmur(["log"]).set("TERM", "dumb")), plain);
    assert_ne!(on_a_terminal(env.murmur(["log"]).set("NO_COLOR", "")), plain);
}
