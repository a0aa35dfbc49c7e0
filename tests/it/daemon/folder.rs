//! Data folders that are deep, open, full, or no folders at all.

use std::os::unix::fs::{PermissionsExt, symlink};

use insta::assert_snapshot;

use crate::env::Env;

#[test]
fn a_folder_too_deep_for_a_socket_works() {
    let env = Env::new();
    let deep = env.root().join("deep/".repeat(30));
    let murmur = |args: &[&str]| env.murmur(args).set("MURMUR_DIR", &deep).run();
    let shown = murmur(&["start"]);
    assert!(shown.starts_with("murmur is running (PID") && shown.ends_with("[exit 0]"), "{shown}");
    assert!(murmur(&["status"]).contains("is running (PID"));
    assert!(murmur(&["stop"]).ends_with("[exit 0]"));
    assert_eq!(env.names(&deep), "beats\nheartbeats\nhosts\njournal.reserve\nmurmur.log");
}

#[test]
fn a_folder_that_others_can_read_gets_no_socket() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(env.made_data(), mode).unwrap();
    assert_snapshot!(env.run(["start"]), @"
    | error: the data folder [ENV]/data is open to other users (mode 0755)
    | hint: run: chmod 700 [ENV]/data
    [exit 1]
    ");
    assert_snapshot!(env.run(["start", "--foreground"]), @"
    | error: the data folder [ENV]/data is open to other users (mode 0755)
    | hint: run: chmod 700 [ENV]/data
    [exit 1]
    ");
    assert_snapshot!(env.run(["status"]), @"
    murmur is not running; start it with: murmur start
    problem: the data folder [ENV]/data is open to other users (mode 0755); run: chmod 700 [ENV]/data
    no heartbeats; make one with: murmur init PATH
    [exit 0]
    ");
    assert_snapshot!(env.run(["beat", "site"]), @"
    ok [S]
    | warning: the data folder [ENV]/data is open to other users (mode 0755); run: chmod 700 [ENV]/data
    [exit 0]
    ");
    assert_eq!(env.data().metadata().unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn a_line_that_the_journal_has_no_room_for_is_kept_and_written_when_there_is() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let journal = env.data().join("heartbeats.jsonl");
    symlink("/dev/full", &journal).unwrap();
    assert_snapshot!(env.run(["beat", "site"]), @"
    ok [S]
    | warning: cannot write the journal: No space left on device (os error 28); the line is kept and written when there is room
    [exit 0]
    ");
    assert_snapshot!(env.run(["status"]), @"
    murmur is not running; start it with: murmur start
    problem: 1 journal line waits for room on the disk; make room

    site  [ENV]/site
      schedule  every 1h
      last      began [SPAN] ago; the journal has no line for it
      next      not scheduled: the daemon is not running
    [exit 0]
    ");
    std::fs::remove_file(&journal).unwrap();
    let first = env.run(["status"]);
    assert_eq!(first.matches("problem").count(), 1, "{first}");
    env.run(["beat", "site"]);
    assert_snapshot!(env.journal_text(), @r#"
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"ok","durationMs":[MS],"beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00044,"numTurns":1,"exit":{"code":0},"capture":"[SESSION]"}
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"ok","durationMs":[MS],"beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00044,"numTurns":1,"exit":{"code":0},"capture":"[SESSION]"}
    "#);
    assert_eq!(env.names(&env.data().join("beats")), "");
}

#[test]
fn a_daemon_whose_journal_is_full_says_so_and_goes_on() {
    let env = Env::new();
    let (site, blog) = (env.workspace("site", "Do it."), env.workspace("blog", "Do it."));
    env.register(&[&site]);
    let journal = env.data().join("heartbeats.jsonl");
    symlink("/dev/full", &journal).unwrap();
    let daemon = env.daemon();
    assert_snapshot!(daemon.says("room"), @"[TIME] the journal has no room; lines kept until there is: 1");
    env.register(&[&site, &blog]);
    assert_snapshot!(daemon.says("room"), @"[TIME] the journal has no room; lines kept until there is: 2");
    assert_snapshot!(env.run(["status"]), @"
    murmur 0.1.0 is running (PID [PID]), up [SPAN]
    problem: 2 journal lines wait for room on the disk; make room

    site  [ENV]/site
      schedule  every 1h
      last      began [SPAN] ago; the journal has no line for it
      next      in [SPAN] ([TIME])

    blog  [ENV]/blog
      schedule  every 1h
      last      began [SPAN] ago; the journal has no line for it
      next      in [SPAN] ([TIME])
    [exit 0]
    ");
    std::fs::remove_file(&journal).unwrap();
    daemon.stop();
    let daemon = env.daemon();
    let lines = env.wait_for_journal(2);
    daemon.stop();
    assert!(lines.iter().all(|line| line["outcome"] == "ok"), "{lines:#?}");
    assert_eq!((env.journal().len(), env.agents().len()), (2, 2));
}

#[test]
fn without_a_home_the_data_folder_is_asked_for() {
    let env = Env::new();
    for command in ["start", "status", "stop", "log", "beat"] {
        let shown = env.murmur([command]).unset("HOME").unset("MURMUR_DIR").run();
        insta::allow_duplicates! { assert_snapshot!(shown, @"
        | error: no data folder: neither HOME nor MURMUR_DIR is set
        | hint: set one, or pass --data-dir
        [exit 1]
        "); }
    }
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let shown = env.murmur(["start"]).unset("HOME").run();
    assert!(shown.ends_with("[exit 0]"), "{shown}");
    // HOME is where its login shell finds the agent; without it PATH has to do.
    assert_eq!(env.wait_for_journal(1)[0]["outcome"], "ok");
    assert!(env.run(["stop"]).ends_with("[exit 0]"));
}

#[test]
fn a_data_folder_that_is_a_file_is_refused_by_every_command() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    std::fs::write(env.data(), "mine").unwrap();
    for args in [&["start"][..], &["start", "--foreground"], &["beat", "site"], &["init", "site"]] {
        let shown = env.run(args);
        insta::allow_duplicates! { assert_snapshot!(shown, @"
        | error: cannot use the data folder [ENV]/data: File exists (os error 17)
        | hint: choose another with --data-dir or MURMUR_DIR
        [exit 1]
        "); }
    }
    assert_snapshot!(env.run(["status"]), @"
    | error: cannot read [ENV]/data/beats: Not a directory (os error 20)
    | hint: choose another data folder with --data-dir or MURMUR_DIR, or move [ENV]/data away if nobody needs it
    [exit 1]
    ");
    assert_snapshot!(env.run(["stop"]), @"
    murmur is not running
    [exit 0]
    ");
    assert_snapshot!(env.run(["log"]), @"
    | error: cannot read [ENV]/data/heartbeats.jsonl: Not a directory (os error 20)
    | hint: choose another data folder with --data-dir or MURMUR_DIR, or move [ENV]/data away if nobody needs it
    [exit 1]
    ");
    assert_eq!(std::fs::read_to_string(env.data()).unwrap(), "mine");
}
