//! The output and exit codes of `shell-guard check`.

use std::process::Command;

/// Returns the exit code and the first line printed.
fn run(args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shell-guard"));
    let output = command.args(args).env("HOME", "/home/user").current_dir("/").output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    let first = String::from_utf8(printed).unwrap().lines().next().unwrap_or_default().to_owned();
    (output.status.code(), first)
}

#[test]
fn each_finding_has_its_exit_code() {
    assert_eq!(run(&["check", "git status"]), (Some(0), "clear".to_owned()));
    let (code, printed) = run(&["check", "sudo ls"]);
    assert_eq!(code, Some(1));
    assert!(printed.starts_with("refused (sudo): `sudo ls` is refused: "), "{printed}");
    let (code, printed) = run(&["check", "$(cat x)"]);
    assert_eq!(code, Some(3));
    assert!(printed.starts_with("in doubt: "), "{printed}");
    let (code, printed) = run(&["check", "echo x >> ~/.bashrc"]);
    assert_eq!(code, Some(4));
    assert!(printed.starts_with("refused unless a rule allows it (~/.bashrc): "), "{printed}");
}

#[test]
fn a_relative_path_is_relative_to_cwd() {
    assert_eq!(run(&["check", "--cwd", "/home/user/project", "rm -rf ../project/target"]).0, Some(0));
    assert_eq!(run(&["check", "--cwd", "/home/user", "rm -rf ."]).0, Some(1));
    assert_eq!(run(&["check", "--home", "/srv/me", "rm -rf /srv/me"]).0, Some(1));
}

#[test]
fn a_usage_error_says_what_is_wrong() {
    for (args, problem) in [
        (&[][..], "error: a command is missing"),
        (&["chek"], "error: unknown command: chek"),
        (&["check"], "error: COMMAND is missing"),
        (&["check", "ls", "-l"], "error: more than one COMMAND; quote it as one argument"),
        (&["check", "--cwd", "here", "ls"], "error: --cwd must be an absolute path: here"),
        (&["check", "--home"], "error: --home needs a folder"),
    ] {
        assert_eq!(run(args), (Some(2), problem.to_owned()));
    }
    assert_eq!(run(&["--help"]).0, Some(0));
}
