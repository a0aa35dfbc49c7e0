//! Data folders that are deep, open to others, full, or not folders.

use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use insta::assert_snapshot;

use crate::env::{Daemon, Env};

#[test]
fn a_data_folder_too_deep_for_a_socket_path_works() {
    let env = Env::new();
    let deep = env.root().join("deep/".repeat(30));
    let murmur = |args: &[&str]| env.murmur(args).set("MURMUR_DIR", &deep).run();
    let shown = murmur(&["start"]);
    assert!(shown.starts_with("murmur is running (PID") && shown.ends_with("[exit 0]"), "{shown}");
    assert!(murmur(&["status"]).contains("is running (PID"));
    assert!(murmur(&["stop"]).ends_with("[exit 0]"));
    assert_eq!(env.names(&deep), "beats\nbeats.reserve\nheartbeats\nhosts\njournal.reserve\nmurmur.log");
}

/// The modes of every socket and its folder, by its path in the data folder.
fn sockets(env: &Env) -> Vec<(String, u32, u32)> {
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    let mut found = Vec::new();
    let mut folders = vec![env.data()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let (entry, path) = (entry.as_ref().unwrap().file_type().unwrap(), entry.unwrap().path());
            if entry.is_dir() {
                folders.push(path);
            } else if entry.is_socket() {
                let name = path.strip_prefix(env.data()).unwrap().display().to_string();
                found.push((name, mode(&path), mode(&folder)));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_folder_that_others_can_read_is_used_with_a_warning_and_private_sockets() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    std::fs::create_dir(env.data().join("hosts")).unwrap();
    for folder in [env.data(), env.data().join("hosts")] {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    }
    assert_snapshot!(env.run(["start"]), @"
    murmur is running (PID [PID])
    | warning: the data folder [ENV]/data is open to other users (mode 0755); run: chmod 700 [ENV]/data
    [exit 0]
    ");
    env.wait_for_journal(1);
    let args = ["host", "spawn", "--agent-id", "site-1", "--worktree", site.path()];
    assert!(env.run(args).contains("| warning: the data folder "));
    assert_eq!(
        sockets(&env),
        [("hosts/site-1.sock".to_owned(), 0o600, 0o700), ("sockets/murmur.sock".to_owned(), 0o600, 0o700)]
    );
    // The documented path leads there, wherever the folder is moved.
    assert_eq!(std::fs::read_link(env.data().join("murmur.sock")).unwrap(), Path::new("sockets/murmur.sock"));
    std::os::unix::net::UnixStream::connect(env.data().join("murmur.sock")).unwrap();
    let status = env.run(["status"]);
    assert!(status.starts_with("murmur 0.1.0 is running"), "{status}");
    assert!(status.contains("problem: the data folder "), "{status}");
    env.run(["host", "stop", "site-1"]);
    assert!(env.run(["restart"]).contains("murmur was restarted"));
    env.run(["stop"]);
    assert_eq!(sockets(&env), []);
    assert!(env.data().join("murmur.sock").symlink_metadata().is_err());
    assert_snapshot!(env.run(["beat", "site"]), @"
    ok [S]
    | warning: the data folder [ENV]/data is open to other users (mode 0755); run: chmod 700 [ENV]/data
    [exit 0]
    ");
    // Once private, it has its socket in the usual place.
    std::fs::set_permissions(env.data(), PermissionsExt::from_mode(0o700)).unwrap();
    let daemon = env.daemon();
    assert_eq!(sockets(&env), [("murmur.sock".to_owned(), 0o600, 0o700)]);
    daemon.stop();
}

#[test]
fn a_data_folder_that_others_can_write_to_is_refused() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    for mode in [0o777, 0o770, 0o1777] {
        std::fs::set_permissions(env.data(), PermissionsExt::from_mode(mode)).unwrap();
        for args in [
            &["start"][..],
            &["start", "--foreground"],
            &["restart"],
            &["beat", "site"],
            &["host", "spawn", "--worktree", "site"],
        ] {
            let folder = env.data();
            let folder = folder.display();
            let expected = format!(
                "| error: other users can write to {folder} (mode {mode:04o})\n| hint: check what is there, then run: chmod 700 {folder}\n[exit 1]"
            );
            assert_eq!(env.run(args), expected);
        }
        assert!(env.run(["status"]).contains("problem: other users can write to "));
    }
    // If others can enter the folder, only its own mode protects a file in it.
    std::fs::set_permissions(env.data(), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(env.data().join("config.json"), PermissionsExt::from_mode(0o666)).unwrap();
    assert_snapshot!(env.run(["start"]), @"
    | error: other users can write to [ENV]/data/config.json (mode 0666)
    | hint: check what is there, then run: chmod 600 [ENV]/data/config.json
    [exit 1]
    ");
    assert!(env.agents().is_empty() && env.journal().is_empty());
}

#[test]
fn no_command_writes_to_a_folder_that_others_can_write_to_and_readers_warn() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let other = env.workspace("other", "Do it.");
    std::fs::set_permissions(env.data(), PermissionsExt::from_mode(0o777)).unwrap();
    let folder = env.data().display().to_string();
    let problem = format!("other users can write to {folder} (mode 0777)");
    let error =
        format!("| error: {problem}\n| hint: check what is there, then run: chmod 700 {folder}\n[exit 1]");
    let all = || (env.names(&env.data()), env.config(), env.names(&env.home()));
    let before = all();
    for args in [
        &["init", "new"][..],
        &["init", "site", "--name", "nightly"],
        &["workspaces", "add", other.path()],
        &["workspaces", "remove", "site"],
        &["beat", "site"],
        &["host", "spawn", "--worktree", "site"],
        &["setup", "hooks"],
        &["agent", "task", "site-1", "Sweep."],
        &["start"],
        &["restart"],
    ] {
        assert_eq!(env.run(args), error, "{args:?}");
    }
    assert_eq!(all(), before);
    assert!(!env.root().join("new").exists());
    let warning = format!("| warning: {problem}; check what is there, then run: chmod 700 {folder}\n");
    for args in [
        &["log"][..],
        &["workspaces", "list"],
        &["beat", "site", "--dry-run"],
        &["permission", "list"],
        &["permission", "rules"],
        &["agents"],
        &["host", "list"],
        &["stop"],
    ] {
        let shown = env.run(args);
        assert_eq!(shown.matches(&warning).count(), 1, "{args:?}: {shown}");
    }
    assert_eq!(env.run(["status"]).matches(&format!("problem: {problem}")).count(), 1);
}

#[test]
fn a_line_that_does_not_fit_is_kept_and_written_later() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let journal = env.data().join("heartbeats.jsonl");
    env.fill_journal();
    assert_snapshot!(env.limited(["beat", "site"]).run(), @"
    ok [S]
    | warning: cannot write [ENV]/data/heartbeats.jsonl: File too large (os error 27); the line was kept and will be written later; raise the limit on file sizes (ulimit -f) where murmur is started
    [exit 0]
    ");
    assert_snapshot!(env.run(["status"]), @"
    murmur is not running; start it with: murmur start
    problem: 1 journal line is not written yet; run: murmur start

    site  [ENV]/site
      schedule  every 1h
      last      [SPAN] ago; the journal has no line for it
      next      not scheduled: the daemon is not running
    [exit 0]
    ");
    let log = env.run(["log"]);
    assert!(log.contains("| warning: 1 journal line is not written yet; run: murmur start\n"), "{log}");
    std::fs::remove_file(&journal).unwrap();
    let first = env.run(["status"]);
    assert_eq!(first.matches("problem").count(), 1, "{first}");
    env.run(["beat", "site"]);
    assert_snapshot!(env.journal_text(), @r#"
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"ok","durationMs":[MS],"beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00044,"numTurns":1,"exit":{"code":0},"model":"claude-opus-5-5","tokens":{"input":10,"output":20,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}
    {"ts":"[TIME]","workspace":"[ENV]/site","outcome":"ok","durationMs":[MS],"beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00044,"numTurns":1,"exit":{"code":0},"model":"claude-opus-5-5","tokens":{"input":10,"output":20,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}
    "#);
    assert_eq!(env.names(&env.data().join("beats")), "");
}

#[test]
fn a_daemon_with_a_full_journal_reports_it_and_continues() {
    let env = Env::new();
    let (site, blog) = (env.workspace("site", "Do it."), env.workspace("blog", "Do it."));
    env.register(&[&site]);
    let journal = env.data().join("heartbeats.jsonl");
    env.fill_journal();
    let daemon = Daemon::new(env.limited(["start", "--foreground"]));
    assert_snapshot!(daemon.says("not written"), @"[TIME] 1 journal line is not written yet: cannot write [ENV]/data/heartbeats.jsonl: File too large (os error 27); raise the limit on file sizes (ulimit -f) where murmur is started");
    env.register(&[&site, &blog]);
    assert_snapshot!(daemon.says("not written"), @"[TIME] 2 journal lines are not written yet: cannot write [ENV]/data/heartbeats.jsonl: File too large (os error 27); raise the limit on file sizes (ulimit -f) where murmur is started");
    // The line is kept a moment before the beat's process has ended.
    let mut seen = std::iter::repeat_with(|| env.run(["status"]));
    let status = seen.find(|status| !status.contains("  running ")).unwrap();
    assert_snapshot!(status, @"
    murmur 0.1.0 is running (PID [PID]), up [SPAN]
    problem: 2 journal lines are not written yet: cannot write [ENV]/data/heartbeats.jsonl: File too large (os error 27); raise the limit on file sizes (ulimit -f) where murmur is started

    site  [ENV]/site
      schedule  every 1h
      last      [SPAN] ago; the journal has no line for it
      next      in [SPAN] ([WHEN])

    blog  [ENV]/blog
      schedule  every 1h
      last      [SPAN] ago; the journal has no line for it
      next      in [SPAN] ([WHEN])
    [exit 0]
    ");
    let log = env.run(["log"]);
    assert!(log.contains("| warning: 2 journal lines are not written yet: cannot write "), "{log}");
    assert!(log.contains("; raise the limit on file sizes (ulimit -f) where murmur is started\n"), "{log}");
    std::fs::remove_file(&journal).unwrap();
    daemon.stop();
    let daemon = env.daemon();
    let lines = env.wait_for_journal(2);
    daemon.stop();
    assert!(lines.iter().all(|line| line["outcome"] == "ok"), "{lines:#?}");
    assert_eq!((env.journal().len(), env.agents().len()), (2, 2));
}

#[test]
fn without_home_the_data_folder_must_be_given() {
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
    // HOME is where its login shell finds the agent; without it PATH must suffice.
    assert_eq!(env.wait_for_journal(1)[0]["outcome"], "ok");
    assert!(env.run(["stop"]).ends_with("[exit 0]"));
}

#[test]
fn a_data_folder_that_is_a_file_is_refused_by_every_command() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    std::fs::write(env.data(), "mine").unwrap();
    for args in [
        &["start"][..],
        &["start", "--foreground"],
        &["beat", "site"],
        &["init", "site"],
        &["status"],
        &["stop"],
        &["log"],
    ] {
        let shown = env.run(args);
        insta::allow_duplicates! { assert_snapshot!(shown, @"
        | error: the data folder [ENV]/data is not a folder
        | hint: choose another with --data-dir or MURMUR_DIR, or move that file away
        [exit 1]
        "); }
    }
    assert_eq!(std::fs::read_to_string(env.data()).unwrap(), "mine");
}
