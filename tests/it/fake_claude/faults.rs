//! Every fault of fake-claude does what its name says.

use std::io::{BufRead, Read, Write};
use std::os::unix::process::ExitStatusExt;

use rustix::process::Signal;

use super::{Stage, fixture, kill, line, start};

const TWO: (&str, &str) = ("STDOUT", "{\"one\":1}\n{\"two\":2}\n");

#[test]
fn it_exits_with_143_on_sigterm_and_129_on_sighup_like_claude_code() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let stage = Stage::new();
        let (mut child, mut stdout) = start(stage.command(&[TWO, ("FAULT", "hang")]));
        assert_eq!(line(&mut stdout), "{\"one\":1}\n");
        assert_eq!(line(&mut stdout), "{\"two\":2}\n");
        kill(child.0.id().into(), signal);
        assert_eq!(child.0.wait().unwrap().code(), Some(code));
    }
}

#[test]
fn hang_before_prints_no_line() {
    let stage = Stage::new();
    let (mut child, stdout) = start(stage.command(&[TWO, ("FAULT", "hang-before,stderr-flood:3")]));
    // The flood shows that it has reached its lines.
    child.0.stderr.take().unwrap().read_exact(&mut [0; 3]).unwrap();
    kill(child.0.id().into(), Signal::TERM);
    assert_eq!(std::io::read_to_string(stdout).unwrap(), "");
    assert_eq!(child.0.wait().unwrap().code(), Some(143));
}

#[test]
fn ignore_term_continues_after_sigterm_and_dies_of_sigkill() {
    let stage = Stage::new();
    let gate = stage.fifo();
    let pace = format!("gate:{}", gate.display());
    let (mut child, mut stdout) =
        start(stage.command(&[TWO, ("FAULT", "ignore-term,hang"), ("PACE", &pace)]));
    let mut gate = std::fs::File::options().write(true).open(gate).unwrap();
    gate.write_all(b".").unwrap();
    assert_eq!(line(&mut stdout), "{\"one\":1}\n");
    kill(child.0.id().into(), Signal::TERM);
    gate.write_all(b".").unwrap();
    assert_eq!(line(&mut stdout), "{\"two\":2}\n");
    kill(child.0.id().into(), Signal::KILL);
    assert_eq!(child.0.wait().unwrap().signal(), Some(9));
}

#[test]
fn success_after_term_prints_a_result_and_exits_with_143() {
    let stage = Stage::new();
    let (mut child, mut stdout) = start(stage.command(&[TWO, ("FAULT", "success-after-term")]));
    line(&mut stdout);
    line(&mut stdout);
    kill(child.0.id().into(), Signal::TERM);
    let result: serde_json::Value = serde_json::from_str(&line(&mut stdout)).unwrap();
    assert_eq!((&result["subtype"], &result["is_error"]), (&"success".into(), &false.into()));
    assert_eq!(child.0.wait().unwrap().code(), Some(143));
}

#[test]
fn it_dies_by_the_given_signal_or_exits_with_the_given_code() {
    for (fault, signal, code) in [
        ("die:KILL", Some(9), None),
        ("die:SIGSEGV", Some(11), None),
        ("die:15", Some(15), None),
        ("exit:42", None, Some(42)),
    ] {
        let output = Stage::new().run(&[TWO, ("FAULT", fault)]);
        assert_eq!((output.status.signal(), output.status.code()), (signal, code), "{fault}");
        assert_eq!(output.stdout, TWO.1.as_bytes(), "{fault}");
    }
}

#[test]
fn lines_can_be_torn_garbled_or_huge() {
    let stdout = |fault: &str| Stage::new().run(&[TWO, ("FAULT", fault)]).stdout;
    assert_eq!(stdout("half-line"), b"{\"one\":1}\n{\"two");
    let spoilt = stdout("invalid-utf8");
    assert!(std::str::from_utf8(&spoilt).is_err());
    assert!(spoilt.starts_with(b"{\"one\":1}\n") && spoilt.ends_with(b"\n{\"two\":2}\n"));
    let huge = stdout("huge-line:3000000");
    let sizes: Vec<usize> = huge.lines().map(|line| line.unwrap().len()).collect();
    assert!(sizes.len() == 3 && sizes[1] >= 3_000_000, "{sizes:?}");
}

#[test]
fn close_stdout_ends_the_stream_but_not_the_process() {
    let stage = Stage::new();
    let (mut child, stdout) = start(stage.command(&[TWO, ("FAULT", "close-stdout")]));
    assert_eq!(std::io::read_to_string(stdout).unwrap(), TWO.1);
    assert!(child.0.try_wait().unwrap().is_none());
}

#[test]
fn stderr_flood_comes_before_the_lines() {
    let output = Stage::new().run(&[TWO, ("FAULT", "stderr-flood:1000000")]);
    assert_eq!(output.stderr.len(), 1_000_000);
    assert_eq!(output.stdout, TWO.1.as_bytes());
}

/// Session, whether its environment is empty, whether its parent is fake-claude.
fn look(pid: u64) -> Option<(u64, bool)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let session = stat.rsplit_once(')')?.1.split_whitespace().nth(3)?.parse().ok()?;
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    Some((session, environment.is_empty()))
}

#[cfg(target_os = "linux")]
#[test]
fn setsid_children_stay_in_another_session_and_are_logged() {
    let stage = Stage::new();
    stage.run(&[TWO, ("FAULT", "setsid-child,setsid-child-clean-env")]);
    let children = stage.log()[0]["children"].clone();
    let pids: Vec<u64> = children.as_array().unwrap().iter().map(|pid| pid.as_u64().unwrap()).collect();
    let own = look(u64::from(std::process::id())).unwrap().0;
    let (first, second) = (look(pids[0]).unwrap(), look(pids[1]).unwrap());
    assert_eq!(first, (pids[0], false));
    assert!(second.0 != own && second.0 != first.0 && second.1, "{second:?}");
}

#[test]
fn hold_output_keeps_stdout_open_after_its_end() {
    let stage = Stage::new();
    let (mut child, mut stdout) = start(stage.command(&[TWO, ("FAULT", "hold-output")]));
    line(&mut stdout);
    line(&mut stdout);
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
    rustix::io::ioctl_fionbio(stdout.get_ref(), true).unwrap();
    let error = stdout.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    let pid = stage.log()[0]["children"][0].as_i64().unwrap();
    kill(pid, Signal::KILL);
    rustix::io::ioctl_fionbio(stdout.get_ref(), false).unwrap();
    assert_eq!(stdout.read(&mut [0]).unwrap(), 0);
}

#[test]
fn check_root_refuses_to_skip_permissions_outside_a_sandbox() {
    let run = |sandbox: bool| {
        let stage = Stage::new();
        let mut command = stage.command(&[("FIXTURE", &fixture("ok")), ("FAULT", "check-root")]);
        if sandbox {
            command.env("IS_SANDBOX", "1");
        }
        command.args(["--print", "--dangerously-skip-permissions", "hi"]).stdin(std::process::Stdio::null());
        command.output().unwrap()
    };
    assert_eq!(run(true).status.code(), Some(0));
    if rustix::process::geteuid().is_root() {
        let output = run(false);
        let said = "--dangerously-skip-permissions cannot be used with root/sudo privileges for security \
                    reasons\n";
        assert_eq!(String::from_utf8_lossy(&output.stderr), said);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    }
}

#[test]
fn help_faults_lists_them() {
    let output = Stage::new().command(&[]).arg("--help-faults").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for fault in ["hang ", "hang-before", "ignore-term", "die:SIGNAL", "huge-line:BYTES", "check-root"] {
        assert!(text.contains(fault), "{fault}");
    }
}
