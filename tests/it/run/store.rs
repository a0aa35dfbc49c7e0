//! An unusable store disturbs no command: it runs and ends as usual, and only then is there a message.

use super::{By, Place};
use crate::env::MURMUR;

/// Runs a command with a store made unusable by `before`, and returns the final message.
fn disturbed(before: &str, command: &str) -> String {
    let place = Place::new(By::Murmur);
    let shown = place.script(&format!("{before}; {MURMUR} run -- {command}"));
    assert_eq!(shown.stdout, "out\n", "{before}");
    assert_eq!(shown.status.code(), Some(3), "{before}: {shown:?}");
    shown.stderr.replace(place.env.root().to_str().unwrap(), "[ENV]")
}

#[test]
fn an_unusable_store_is_reported_after_the_command() {
    for before in [
        "export DERUN_STATE_ROOT=/dev/null/x",
        "export DERUN_STATE_ROOT=/proc",
        "echo > file; export DERUN_STATE_ROOT=$PWD/file",
        "unset DERUN_STATE_ROOT HOME XDG_STATE_HOME",
    ] {
        let said = disturbed(before, "sh -c 'echo out; echo err >&2; exit 3'");
        let lines: Vec<&str> = said.lines().collect();
        assert!(
            matches!(lines[..], ["err", warning] if warning.starts_with("warning: nothing was captured: ")),
            "{before}: {said}"
        );
    }
}

#[test]
fn a_session_removed_meanwhile_is_reported_after_the_command() {
    // meta.json may be written once more while the folder is removed.
    let gone = "until rm -rf $DERUN_STATE_ROOT/sessions 2>/dev/null; do :; done";
    let said = disturbed("true", &format!("sh -c '{gone}; echo out; exit 3'"));
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("warning: session ") && said.contains("its end was not recorded"), "{said}");
}

#[test]
fn a_file_size_limit_ends_the_capture_but_not_the_command() {
    let place = Place::new(By::Murmur);
    let shown = place
        .script("ulimit -f 8; $M sh -c 'head -c 100000 /dev/zero; exit 3' | wc -c; echo ${PIPESTATUS[0]}");
    assert_eq!(shown.stdout, "100000\n3\n", "{shown:?}");
    let shown = super::same_script("ulimit -f 1; $M sh -c 'head -c 5000 /dev/zero > file; echo $?'");
    assert_eq!(shown.stdout, "153\n");
}

#[test]
fn nothing_is_printed_if_all_is_well() {
    let place = Place::new(By::Murmur);
    let shown = place.script("$M true; $M false; $M sh -c 'exit 3'");
    assert_eq!((shown.stdout.as_str(), shown.stderr.as_str()), ("", ""));
}
