//! `murmur run` ends like its command.

use std::os::unix::process::ExitStatusExt;

use insta::assert_snapshot;

use super::{By, Place, Shown, same, same_script};
use crate::env::show;

/// Signals that end a process by default.
const DEADLY: [(&str, i32); 12] = [
    ("HUP", libc::SIGHUP),
    ("INT", libc::SIGINT),
    ("QUIT", libc::SIGQUIT),
    ("ABRT", libc::SIGABRT),
    ("SEGV", libc::SIGSEGV),
    ("KILL", libc::SIGKILL),
    ("USR1", libc::SIGUSR1),
    ("USR2", libc::SIGUSR2),
    ("PIPE", libc::SIGPIPE),
    ("ALRM", libc::SIGALRM),
    ("TERM", libc::SIGTERM),
    ("XFSZ", libc::SIGXFSZ),
];

#[test]
fn every_exit_code_is_passed_through() {
    same(|place| {
        for code in [0, 1, 2, 3, 125, 126, 127, 128, 130, 137, 143, 254, 255] {
            let exit = format!("exit {code}");
            let words = ["sh", "-c", &exit];
            let piped = place.command(&words).output();
            assert_eq!((piped.status.code(), piped.stdout, piped.stderr), (Some(code), vec![], vec![]));
            let shown = place.on_terminal(&words).finish();
            assert_eq!((shown.code(), shown.text().as_str()), (Some(code), ""));
        }
    });
}

#[test]
fn murmur_dies_by_the_commands_signal_without_a_core_dump() {
    let places = [By::Itself, By::Murmur].map(Place::new);
    for (name, number) in DEADLY {
        // Not in a shell: bash, which `sh` may be, ignores SIGQUIT.
        let words = ["perl", "-e", r#"syswrite STDOUT, "last words\n"; kill shift, $$"#, name];
        for place in &places {
            let by = place.by;
            let piped = place.command(&words).output();
            assert_eq!(piped.status.signal(), Some(number), "{by:?} {piped:?}");
            assert_eq!(piped.stdout, b"last words\n", "{by:?}");
            let shown = place.on_terminal(&words).finish();
            assert_eq!(shown.signal(), Some(number), "{by:?} {shown:?}");
            assert_eq!(shown.text(), "last words\r\n");
            assert!(
                by == By::Itself || !(piped.status.core_dumped() || shown.status.core_dumped()),
                "{name}"
            );
        }
    }
}

#[test]
fn a_missing_command_exits_with_127_and_a_nonexecutable_one_with_126() {
    let place = Place::new(By::Murmur);
    assert_snapshot!(show(&place.command(&["no-such-command", "x"]).output()), @"
    | error: cannot run 'no-such-command': No such file or directory
    [exit 127]
    ");
    assert_snapshot!(show(&place.command(&["/etc/passwd"]).output()), @"
    | error: cannot run '/etc/passwd': Permission denied
    [exit 126]
    ");
    assert_snapshot!(show(&place.command(&["/etc"]).output()), @"
    | error: cannot run '/etc': Permission denied
    [exit 126]
    ");
    assert_snapshot!(show(&place.command(&["/etc/passwd/x"]).output()), @"
    | error: cannot run '/etc/passwd/x': Not a directory
    [exit 126]
    ");
    let shown = place.on_terminal(&["no-such-command"]).finish();
    assert_snapshot!(shown.text().replace('\r', ""), @"error: cannot run 'no-such-command': No such file or directory");
    assert_eq!(shown.code(), Some(127));
    assert_eq!(place.on_terminal(&["/etc/passwd"]).finish().code(), Some(126));
    // Like env(1).
    for (word, code) in
        [("no-such-command", 127), ("/etc/passwd", 126), ("/etc", 126), ("/etc/passwd/x", 126)]
    {
        assert_eq!(place.program("env", &[word]).output().status.code(), Some(code), "{word}");
    }
}

#[test]
fn a_script_without_a_shebang_runs_in_sh() {
    let write = "printf 'echo \"$1\"; test -t 1 && echo terminal; exit 7\n' > script; chmod +x script";
    let Shown { stdout, .. } = same_script(&format!("{write}; $M ./script one; echo $?"));
    assert_eq!(stdout, "one\n7\n");
    let shown = same(|place| {
        place.script(write);
        place.on_terminal(&["./script", "one"]).finish()
    });
    assert_eq!((shown.text().as_str(), shown.code()), ("one\r\nterminal\r\n", Some(7)));
}

#[test]
fn arguments_are_passed_unchanged() {
    let Shown { stdout, .. } =
        same_script(r#"$M printf '[%s]' -- --help '' 'a b' '*' "$(printf '\377')" -h --session-id | od -c"#);
    assert!(stdout.contains("377"), "{stdout}");
}

#[test]
fn usage_errors_exit_with_2_and_run_nothing() {
    let place = Place::new(By::Murmur);
    for words in [
        &["capture", "run"][..],
        &["capture", "run", "--"],
        &["capture", "run", "--retention", "500ms", "--", "touch", "ran"],
        &["capture", "run", "--retention", "1500ms", "--", "touch", "ran"],
        &["capture", "run", "--retention", "0s", "--", "touch", "ran"],
        &["capture", "run", "--session-id", ".", "--", "touch", "ran"],
        &["capture", "run", "--session-id", "../x", "--", "touch", "ran"],
        &["capture", "run", "--no-such-flag", "--", "touch", "ran"],
    ] {
        let output = place.program(crate::env::MURMUR, words).output();
        assert_eq!(output.status.code(), Some(2), "{words:?} {output:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{words:?} {output:?}");
    }
    assert!(!place.env.root().join("ran").exists());
    assert!(!place.state().join("sessions").exists() || place.captured().is_empty());
}
