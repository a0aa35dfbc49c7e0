//! The daemon as a service: the notifications to its manager, and the files written for it. The managers are
//! stand-ins that record their arguments.

mod living;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::Duration;

use insta::{allow_duplicates, assert_snapshot};
use rustix::process::Signal;
use serde_json::json;

use crate::env::{Daemon, Env};

/// `systemctl`, which records its arguments and succeeds, except as `answers` says.
fn with_manager(env: &Env, answers: &str) {
    let script = env.home().join("bin/systemctl");
    let text = format!("#!/bin/sh\necho \"$@\" >> \"$HOME/asked\"\ncase \"$2\" in\n{answers}\nesac\n");
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn asked(env: &Env) -> String {
    std::fs::read_to_string(env.home().join("asked")).unwrap_or_default()
}

fn unit(env: &Env) -> std::path::PathBuf {
    env.home().join(".config/systemd/user/murmur.service")
}

/// The next notification, or an error after a while.
fn told(socket: &UnixDatagram) -> String {
    let mut told = [0; 100];
    let read = socket.recv(&mut told).unwrap();
    String::from_utf8(told[..read].to_vec()).unwrap()
}

#[test]
fn the_service_manager_gets_readiness_watchdog_and_stopping_notifications() {
    let env = Env::new();
    let path = env.home().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let run = env.murmur(["start", "--foreground"]).set("NOTIFY_SOCKET", &path).set("WATCHDOG_USEC", "20000");
    let daemon = Daemon::new(run);
    assert_eq!(told(&socket), "READY=1");
    for _ in 0..3 {
        assert_eq!(told(&socket), "WATCHDOG=1");
    }
    daemon.signal(Signal::TERM);
    let last = std::iter::repeat_with(|| told(&socket)).find(|told| told != "WATCHDOG=1");
    assert_eq!(last.as_deref(), Some("STOPPING=1"));
    assert!(daemon.ended().0.success());
}

#[test]
fn agents_do_not_inherit_the_notify_socket() {
    let env = Env::new();
    let told = [("NOTIFY_SOCKET", "/nowhere"), ("WATCHDOG_USEC", "20000"), ("WATCHDOG_PID", "1")];
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "live": "echo" }));
    env.register(&[&site]);
    let run =
        told.iter().fold(env.murmur(["start", "--foreground"]), |run, (name, value)| run.set(name, value));
    let daemon = Daemon::new(run);
    env.wait_for_agents(1);
    env.ask("host.spawn", &json!({ "worktree": site.0, "message": "hello" }));
    let agents = env.wait_for_agents(2);
    for (name, agent) in told.iter().flat_map(|(name, _)| agents.iter().map(move |agent| (name, agent))) {
        assert!(agent["env"].get(name).is_none(), "{name}: {agent:#}");
    }
    env.run(["host", "stop", "--all", "--force"]);
    daemon.stop();
}

#[test]
fn a_daemon_without_its_service_manager_still_runs() {
    let env = Env::new();
    let path = env.home().join("nobody");
    let daemon = Daemon::new(env.murmur(["start", "--foreground"]).set("NOTIFY_SOCKET", path));
    env.murmur(["status", "--json"]).json();
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().0.success());
}

#[cfg(target_os = "linux")]
#[test]
fn the_unit_is_installed_started_replaced_and_removed() {
    let env = Env::new();
    with_manager(&env, "is-active) echo active ;;\nis-enabled) echo enabled ;;");
    assert_snapshot!(env.run(["service", "status"]), @"
    the service is not installed; run: murmur service install
    [exit 1]
    ");
    let printed = env.run(["service", "install", "--print"]);
    assert!(!unit(&env).exists() && asked(&env).is_empty());
    assert_snapshot!(env.run(["service", "install"]), @"
    wrote [ENV]/home/.config/systemd/user/murmur.service
    murmur runs as a service
    it stops when you log out; to keep it running, run: loginctl enable-linger
    [exit 0]
    ");
    assert_eq!(format!("{}[exit 0]", std::fs::read_to_string(unit(&env)).unwrap()), printed);
    assert_eq!(asked(&env), "--user daemon-reload\n--user enable --now murmur.service\n");
    assert_snapshot!(env.run(["service", "install"]), @"
    [ENV]/home/.config/systemd/user/murmur.service is up to date
    murmur runs as a service
    it stops when you log out; to keep it running, run: loginctl enable-linger
    [exit 0]
    ");
    assert_snapshot!(env.run(["service", "status"]), @"
    [ENV]/home/.config/systemd/user/murmur.service
    active, enabled
    [exit 0]
    ");
    std::fs::write(unit(&env), "[Service]\n").unwrap();
    assert_snapshot!(env.run(["service", "status"]), @"
    [ENV]/home/.config/systemd/user/murmur.service is outdated or was edited; `murmur service install` replaces it and keeps a backup
    active, enabled
    [exit 0]
    ");
    std::fs::remove_file(env.home().join("asked")).unwrap();
    assert_snapshot!(env.run(["service", "install"]), @"
    wrote [ENV]/home/.config/systemd/user/murmur.service, and saved the previous version as [ENV]/home/.config/systemd/user/murmur.service.murmur-[RANDOM]
    to keep changes to it, use a drop-in: systemctl --user edit murmur.service
    murmur runs as a service
    it stops when you log out; to keep it running, run: loginctl enable-linger
    [exit 0]
    ");
    assert_eq!(
        std::fs::read_to_string(unit(&env).with_extension("service.murmur-backup")).unwrap(),
        "[Service]\n"
    );
    let replaced =
        "--user daemon-reload\n--user enable --now murmur.service\n--user restart murmur.service\n";
    assert_eq!(asked(&env), replaced);
    assert_snapshot!(env.run(["service", "uninstall"]), @"
    removed [ENV]/home/.config/systemd/user/murmur.service; hosted agents keep running
    [exit 0]
    ");
    assert!(!unit(&env).exists());
    assert_snapshot!(env.run(["service", "uninstall"]), @"
    the service is not installed
    [exit 0]
    ");
}

#[cfg(target_os = "linux")]
#[test]
fn refusals_of_the_service_manager_are_reported() {
    let env = Env::new();
    assert_snapshot!(env.murmur(["service", "install"]).set("PATH", "/nowhere").run(), @"
    | error: cannot run systemctl: No such file or directory (os error 2)
    | hint: run `murmur start --foreground` under another supervisor
    [exit 1]
    ");
    assert!(!unit(&env).exists());
    with_manager(&env, "enable) echo 'it is masked' >&2; exit 1 ;;");
    assert_snapshot!(env.run(["service", "install"]), @"
    wrote [ENV]/home/.config/systemd/user/murmur.service
    | error: systemctl --user enable --now murmur.service: it is masked
    | hint: see: murmur service status
    [exit 1]
    ");
    assert!(unit(&env).exists());
}

#[cfg(target_os = "linux")]
#[test]
fn an_unreachable_manager_prevents_install_but_not_uninstall() {
    let env = Env::new();
    let unreachable = "*) echo 'Failed to connect to bus: No medium found' >&2; exit 1 ;;";
    with_manager(&env, unreachable);
    let folder = format!("/run/user/{}", rustix::process::getuid().as_raw());
    assert_snapshot!(env.run(["service", "install"]).replace(&folder, "/run/user/[UID]"), @"
    | error: systemctl --user daemon-reload: Failed to connect to bus: No medium found
    | hint: run `murmur start --foreground` under your own supervisor, or run `loginctl enable-linger`, set XDG_RUNTIME_DIR=/run/user/[UID] and try again
    [exit 1]
    ");
    assert!(!unit(&env).exists());
    with_manager(&env, "");
    env.run(["service", "install"]);
    let wants = unit(&env).with_file_name("default.target.wants");
    std::fs::create_dir(&wants).unwrap();
    symlink(unit(&env), wants.join("murmur.service")).unwrap();
    std::fs::write(unit(&env), "mine").unwrap();
    with_manager(&env, &format!("is-enabled) echo enabled ;;\n{unreachable}"));
    assert!(env.run(["service", "install"]).ends_with("[exit 1]"));
    assert_eq!(std::fs::read_to_string(unit(&env)).unwrap(), "mine");
    assert_snapshot!(env.run(["service", "status"]), @"
    [ENV]/home/.config/systemd/user/murmur.service is outdated or was edited; `murmur service install` replaces it and keeps a backup
    unknown, enabled
    problem: Failed to connect to bus: No medium found
    [exit 1]
    ");
    assert_snapshot!(env.run(["service", "status", "--json"]), @r#"
    {"schema":"service/1","current":false,"enabled":"enabled","file":"[ENV]/home/.config/systemd/user/murmur.service","installed":true,"problem":"Failed to connect to bus: No medium found","state":"unknown"}
    [exit 1]
    "#);
    assert_snapshot!(env.run(["service", "uninstall"]), @"
    removed [ENV]/home/.config/systemd/user/murmur.service; hosted agents keep running
    | note: cannot reach the service manager: systemctl --user disable --now murmur.service: Failed to connect to bus: No medium found; if the daemon is running, stop it with: murmur stop
    [exit 0]
    ");
    assert_eq!(env.names(unit(&env).parent().unwrap()), "default.target.wants");
    assert_eq!(env.names(&wants), "");
    assert_snapshot!(env.run(["service", "status", "--json"]), @r#"
    {"schema":"service/1","current":null,"enabled":null,"file":"[ENV]/home/.config/systemd/user/murmur.service","installed":false,"problem":null,"state":null}
    [exit 1]
    "#);
}

#[cfg(target_os = "linux")]
#[test]
fn the_service_gets_the_shells_variables_for_settings_folders() {
    let env = Env::new();
    let printed = |name: &str, value: &str| {
        let shown = env.murmur(["service", "install", "--print"]).set(name, value).run();
        shown.lines().filter(|line| line.starts_with("Environment=")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(printed("XDG_CONFIG_HOME", "/my c"), "Environment=\"XDG_CONFIG_HOME=/my c\"");
    assert_eq!(printed("CLAUDE_CONFIG_DIR", "/c"), "Environment=\"CLAUDE_CONFIG_DIR=/c\"");
    assert_eq!(printed("CODEX_HOME", "/x"), "Environment=\"CODEX_HOME=/x\"");
    assert_eq!(printed("DERUN_STATE_ROOT", "/s"), "Environment=\"DERUN_STATE_ROOT=/s\"");
    assert_eq!(printed("XDG_STATE_HOME", env.home().join(".local/state").to_str().unwrap()), "");
}

#[cfg(target_os = "linux")]
#[test]
fn service_install_refuses_while_a_daemon_is_running() {
    let env = Env::new();
    with_manager(&env, "");
    let daemon = env.daemon();
    assert_snapshot!(env.run(["service", "install"]), @"
    | error: murmur is already running (PID [PID]), but not as a service
    | hint: run `murmur stop --leave-agents`, then run this again
    [exit 1]
    ");
    assert!(!unit(&env).exists() && asked(&env).is_empty());
    drop(daemon);
}

/// As Home Manager creates it.
#[test]
fn a_link_to_another_file_is_not_changed() {
    let env = Env::new();
    with_manager(&env, "is-active) echo active ;;\nis-enabled) echo linked ;;");
    let store = env.root().join("store");
    std::fs::create_dir_all(&store).unwrap();
    std::fs::create_dir_all(unit(&env).parent().unwrap()).unwrap();
    let theirs = store.join("murmur.service");
    std::fs::write(&theirs, "[Service]\nExecStart=/nix/store/murmur start --foreground\n").unwrap();
    symlink(&theirs, unit(&env)).unwrap();
    for command in ["install", "uninstall"] {
        allow_duplicates! { assert_snapshot!(env.run(["service", command]), @"
        | error: [ENV]/home/.config/systemd/user/murmur.service is a link to [ENV]/store/murmur.service
        | hint: change it with the program that created it, for example Home Manager
        [exit 1]
        ") };
    }
    assert_eq!(env.names(unit(&env).parent().unwrap()), "murmur.service");
    assert_eq!(asked(&env), "");
    assert_snapshot!(env.run(["service", "status"]), @"
    [ENV]/home/.config/systemd/user/murmur.service is a link to [ENV]/store/murmur.service; change it with the program that created it, for example Home Manager
    active, linked
    [exit 0]
    ");
    let findings = env.murmur(["doctor", "--json"]).json()["findings"].as_array().unwrap().clone();
    let service = findings.iter().find(|one| one["check"] == "service").unwrap();
    let found = format!("{} is a link to {}, which is not checked", unit(&env).display(), theirs.display());
    assert_eq!((&service["level"], &service["found"]), (&json!("ok"), &json!(found)));
    // A dangling link starts nothing.
    std::fs::remove_file(&theirs).unwrap();
    let findings = env.murmur(["doctor", "--json"]).json()["findings"].as_array().unwrap().clone();
    assert_eq!(findings.iter().find(|one| one["check"] == "service").unwrap()["level"], "warn");
}

/// systemd's own check of the unit. Without systemd, the test prints a note and passes.
#[test]
fn systemd_accepts_the_unit() {
    let env = Env::new();
    let printed = env.murmur(["service", "install", "--print"]).output().stdout;
    let path = env.root().join("murmur.service");
    std::fs::write(&path, printed).unwrap();
    let mut verify = Command::new("systemd-analyze");
    verify.args(["--user", "--man=no", "verify"]).arg(&path);
    verify.env("XDG_RUNTIME_DIR", env.root()).env("HOME", env.home());
    match verify.output() {
        Ok(verified) => {
            let said = String::from_utf8_lossy(&verified.stderr).into_owned();
            assert!(verified.status.success() && !said.contains("murmur.service"), "{said}");
        }
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
            eprintln!("systemd-analyze is not installed: systemd did not check the unit");
        }
    }
}
