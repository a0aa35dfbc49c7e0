//! What the doctor reports about files and folders in the data folder.

use std::os::unix::fs::PermissionsExt;

use super::{finding, write};
use crate::env::Env;

#[test]
fn folders_that_are_open_to_others_or_not_folders_are_named() {
    let env = Env::new();
    let folder = |name: &str, mode: u32| {
        let path = env.create_data().join(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        path.display().to_string()
    };
    let hosts = folder("hosts", 0o777);
    let found = finding(&env, "hosts");
    assert_eq!(found["level"], "fail", "{found}");
    assert_eq!(found["found"], format!("{hosts} is accessible to other users (mode 0777)"));
    assert_eq!(found["hint"], format!("run: chmod 700 {hosts}"));
    folder("hosts", 0o755);
    assert_eq!(finding(&env, "hosts")["level"], "warn");
    folder("hosts", 0o700);
    let beats = folder("beats", 0o755);
    let found = finding(&env, "data folder");
    assert_eq!(found["level"], "warn", "{found}");
    assert_eq!(found["found"], format!("{beats} is accessible to other users (mode 0755)"));
    assert_eq!(found["hint"], format!("run: chmod 700 {beats}"));
    write(&env.data().join("locks"), "", 0o600);
    let found = finding(&env, "data folder");
    assert_eq!(found["level"], "fail", "{found}");
    assert_eq!(found["found"], format!("{}/locks is not a folder (and 1 more)", env.data().display()));
    std::fs::remove_file(env.data().join("locks")).unwrap();
    let locks = folder("locks", 0);
    let found = finding(&env, "data folder");
    // Root can use it anyway.
    if !rustix::process::geteuid().is_root() {
        assert_eq!(
            found["found"],
            format!("cannot use {locks} (mode 0000): Permission denied (os error 13) (and 1 more)")
        );
        assert_eq!(found["hint"], format!("run: chmod u+rwx {locks}"));
    }
}

#[test]
fn invalid_lines_are_reported_by_the_number_of_the_first() {
    let env = Env::new();
    let line = r#"{"ts":"2026-01-01T00:00:00Z","workspace":"/w","outcome":"ok","durationMs":0}"#;
    let journal = |text: &str| {
        write(&env.create_data().join("heartbeats.jsonl"), text, 0o600);
        finding(&env, "journal")["found"].as_str().unwrap().to_owned()
    };
    assert_eq!(journal(&format!("{line}\n\nx\n{line}\n")), "1 of 3 lines is not a journal line, line 3");
    assert_eq!(
        journal(&format!("{line}\nx\n{line}\ny\n{line}\n")),
        "2 of 5 lines are not journal lines, the first in line 2"
    );
}

#[test]
fn a_journal_from_the_future_is_a_clock_problem_and_a_torn_line_is_counted() {
    let env = Env::new();
    let line = r#"{"ts":"2999-01-01T00:00:00Z","workspace":"/w","outcome":"ok","durationMs":0}"#;
    write(&env.create_data().join("heartbeats.jsonl"), &format!("{line}\n{{\"ts\""), 0o600);
    let clock = finding(&env, "clock");
    assert_eq!(clock["level"], "fail", "{clock}");
    assert!(clock["found"].as_str().unwrap().contains("behind the journal's newest line of 2999"), "{clock}");
    let journal = finding(&env, "journal");
    assert_eq!(
        journal["found"], "1 of 2 lines is not a journal line, line 2, the last of which is incomplete",
        "{journal}"
    );
}

#[test]
fn a_pipe_in_place_of_a_file_is_reported_without_blocking() {
    let env = Env::new();
    env.create_data();
    for name in ["config.json", "heartbeats.jsonl"] {
        sys::fifo::make(&env.data().join(name)).unwrap();
    }
    for check in ["config.json", "journal"] {
        let found = finding(&env, check);
        assert_eq!(found["level"], "fail", "{found}");
        assert!(found["found"].as_str().unwrap().ends_with(" is a named pipe, not a file"), "{found}");
    }
}
