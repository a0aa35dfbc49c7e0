//! The daemon as a service: what its manager is told, and the files that are written for it. The managers themselves are
//! stand-ins that write down what they are asked.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use insta::assert_snapshot;
use rustix::process::Signal;

use crate::env::{Daemon, Env};

/// `systemctl`, which writes down its words and says yes, but for what `answers` has it say.
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

/// What is told next, or an error after a while.
fn told(socket: &UnixDatagram) -> String {
    let mut told = [0; 100];
    let read = socket.recv(&mut told).unwrap();
    String::from_utf8(told[..read].to_vec()).unwrap()
}

#[test]
fn its_manager_is_told_when_the_daemon_answers_that_it_lives_and_when_it_ends() {
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
fn a_daemon_whose_manager_is_gone_runs_all_the_same() {
    let env = Env::new();
    let path = env.home().join("nobody");
    let daemon = Daemon::new(env.murmur(["start", "--foreground"]).set("NOTIFY_SOCKET", path));
    env.murmur(["status", "--json"]).json();
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().0.success());
}

#[cfg(target_os = "linux")]
#[test]
fn the_unit_is_written_started_replaced_and_removed() {
    let env = Env::new();
    with_manager(&env, "is-active) echo active ;;\nis-enabled) echo enabled ;;");
    assert_snapshot!(env.run(["service", "status"]), @"
    murmur is no service; murmur service install makes it one
    [exit 1]
    ");
    let printed = env.run(["service", "install", "--print"]);
    assert!(!unit(&env).exists() && asked(&env).is_empty());
    assert_snapshot!(env.run(["service", "install"]), @"
    Wrote [ENV]/home/.config/systemd/user/murmur.service
    murmur runs as a service
    It ends when you log out, unless you run once: loginctl enable-linger
    [exit 0]
    ");
    assert_eq!(format!("{}[exit 0]", std::fs::read_to_string(unit(&env)).unwrap()), printed);
    assert_eq!(asked(&env), "--user daemon-reload\n--user enable --now murmur.service\n");
    assert_snapshot!(env.run(["service", "install"]), @"
    [ENV]/home/.config/systemd/user/murmur.service is up to date
    murmur runs as a service
    It ends when you log out, unless you run once: loginctl enable-linger
    [exit 0]
    ");
    assert_snapshot!(env.run(["service", "status"]), @"
    [ENV]/home/.config/systemd/user/murmur.service
    active, enabled
    [exit 0]
    ");
    std::fs::write(unit(&env), "[Service]\n").unwrap();
    assert_snapshot!(env.run(["service", "status"]), @"
    [ENV]/home/.config/systemd/user/murmur.service is not what this murmur would write; murmur service install replaces it
    active, enabled
    [exit 0]
    ");
    std::fs::remove_file(env.home().join("asked")).unwrap();
    assert!(env.run(["service", "install"]).starts_with("Wrote "));
    let replaced =
        "--user daemon-reload\n--user enable --now murmur.service\n--user restart murmur.service\n";
    assert_eq!(asked(&env), replaced);
    assert_snapshot!(env.run(["service", "uninstall"]), @"
    Removed [ENV]/home/.config/systemd/user/murmur.service; agents that run go on
    [exit 0]
    ");
    assert!(!unit(&env).exists());
    assert_snapshot!(env.run(["service", "uninstall"]), @"
    murmur is no service
    [exit 0]
    ");
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_manager_refuses_is_said() {
    let env = Env::new();
    assert_snapshot!(env.murmur(["service", "install"]).set("PATH", "/nowhere").run(), @"
    Wrote [ENV]/home/.config/systemd/user/murmur.service
    | error: cannot run systemctl: No such file or directory (os error 2)
    | hint: without it, have `murmur start --foreground` started by what you have instead
    [exit 1]
    ");
    with_manager(&env, "daemon-reload) echo 'Failed to connect to bus: No medium found' >&2; exit 1 ;;");
    assert_snapshot!(env.run(["service", "install"]), @"
    [ENV]/home/.config/systemd/user/murmur.service is up to date
    | error: systemctl --user daemon-reload: Failed to connect to bus: No medium found
    | hint: see: murmur service status
    [exit 1]
    ");
}

#[cfg(target_os = "linux")]
#[test]
fn a_daemon_that_runs_already_is_not_made_a_service_beside_itself() {
    let env = Env::new();
    with_manager(&env, "");
    let daemon = env.daemon();
    assert_snapshot!(env.run(["service", "install"]), @"
    | error: murmur runs already (PID [PID]), and not as a service
    | hint: run `murmur stop`, then this again
    [exit 1]
    ");
    assert!(!unit(&env).exists() && asked(&env).is_empty());
    drop(daemon);
}
