//! A shell's job control: it shows the same for a job whether or not murmur runs the command.

use super::terminal::Terminal;
use super::{Place, same};

/// What the shell shows while `does` uses it, without process numbers.
fn at_a_shell(place: &Place, does: impl Fn(&mut Terminal)) -> String {
    let mut shell = place.shell();
    let before = shell.look();
    does(&mut shell);
    assert_eq!(shell.look(), before, "the terminal is not what it was");
    shell.send("exit\n");
    let text = shell.finish().text();
    // The shell chooses when to report that a background job has ended.
    let lines = text.split("\r\n").filter(|line| !line.starts_with("[1]+  Exit")).map(|line| {
        match line.strip_prefix("[1] ") {
            Some(pid) if pid.bytes().all(|byte| byte.is_ascii_digit()) => "[1] PID",
            _ => line,
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn same_at_a_shell(does: impl Fn(&mut Terminal)) -> String {
    same(|place| at_a_shell(place, &does))
}

#[test]
fn ctrl_c_ends_a_job_and_the_shell_continues() {
    let shown = same_at_a_shell(|shell| {
        shell.send("$M sh -c 'echo ready; exec sleep 60'\n");
        shell.wait_for("\r\nready\r\n");
        shell.send([3]);
        shell.wait_for("$ ");
        shell.line("echo $?");
    });
    assert!(shown.contains("ready\n^C\n$ echo $?\n130\n"), "{shown}");
}

#[test]
fn ctrl_c_ends_the_surrounding_script_too() {
    let shown = same_at_a_shell(|shell| {
        shell.line("echo 'for n in 1 2 3; do $M sh -c \"echo ready; exec sleep 60\"; done; echo not reached' > script");
        shell.send("bash script\n");
        shell.wait_for("\r\nready\r\n");
        shell.send([3]);
        shell.wait_for("$ ");
        shell.line("echo $?");
        shell.send("sh -c '$M sh -c \"echo ready; exec sleep 60\"; echo not reached'\n");
        shell.wait_for("\r\nready\r\n");
        shell.send([3]);
        shell.wait_for("$ ");
        shell.line("echo $?");
    });
    assert_eq!(shown.matches("\nready\n^C\n$ echo $?\n130\n").count(), 2, "{shown}");
}

#[test]
fn ctrl_backslash_quits_a_job_and_the_shell_reports_it() {
    let shown = same_at_a_shell(|shell| {
        shell.line("ulimit -c 0");
        // bash, which `sh` may be, ignores this signal.
        shell.send("$M perl -e 'syswrite STDOUT, \"ready\\n\"; sleep 60'\n");
        shell.wait_for("\r\nready\r\n");
        shell.send([0x1c]);
        shell.wait_for("$ ");
        shell.line("echo $?");
    });
    assert!(shown.contains("^\\Quit") && shown.contains("\n131\n"), "{shown}");
}

/// Prints when it is continued, and which signal it got.
const GOES_ON: &str = r#"
    $| = 1; $SIG{CONT} = sub { syswrite STDOUT, "on\n" }; print "ready\n";
    while (1) { $line = <STDIN>; last if defined $line }
    print "got $line"; exit 3
"#;

#[test]
fn ctrl_z_stops_a_job_and_fg_continues_it() {
    let shown = same(|place| {
        std::fs::write(place.env.root().join("job.pl"), GOES_ON).unwrap();
        at_a_shell(place, |shell| {
            shell.send("$M perl job.pl\n");
            shell.wait_for("\r\nready\r\n");
            for _ in 0..3 {
                shell.send([26]);
                shell.wait_for("Stopped");
                shell.wait_for("$ ");
                shell.line("echo $?; jobs; stty | grep -o 'speed [0-9]*'");
                shell.send("fg\n");
                shell.wait_for("on\r\n");
            }
            shell.send("hey\n");
            shell.wait_for("got hey\r\n");
            shell.wait_for("$ ");
            shell.line("echo $?");
        })
    });
    assert!(shown.contains("got hey\n$ echo $?\n3\n"), "{shown}");
}

#[test]
fn bg_continues_a_stopped_job_in_the_background() {
    let shown = same_at_a_shell(|shell| {
        shell.line("mkfifo gate");
        shell.send("$M sh -c 'echo ready; read x < gate; echo one; exit 4'\n");
        shell.wait_for("\r\nready\r\n");
        shell.send([26]);
        shell.wait_for("Stopped");
        shell.wait_for("$ ");
        shell.line("bg");
        shell.line("jobs");
        shell.send("echo > gate; wait %1; echo code $?\n");
        shell.wait_for("code $?\r\n");
        shell.wait_for("one\r\n");
        shell.wait_for("$ ");
    });
    assert!(shown.contains("Running") && shown.contains("\ncode 4\n"), "{shown}");
}

#[test]
fn a_background_job_writes_and_can_be_brought_to_the_foreground() {
    let shown = same(|place| {
        at_a_shell(place, |shell| {
            let other = place.env.root().join("other");
            shell.line("mkfifo gate other");
            shell.line("$M sh -c 'read x < gate; echo one; read x < other; echo two; exit 5' &");
            // The shell shows no prompt before the job has written, so the prompt can't come first.
            shell.send("echo > gate; read line\n");
            shell.wait_for("one\r\n");
            shell.line("go on");
            shell.line("jobs");
            shell.send("fg\n");
            shell.wait_for("exit 5'\r\n");
            std::fs::write(other, "\n").unwrap();
            shell.wait_for("two\r\n");
            shell.wait_for("$ ");
            shell.line("echo $?");
        })
    });
    assert!(shown.contains("two\n$ echo $?\n5\n"), "{shown}");
}

#[test]
fn the_shell_reports_a_killed_job_as_it_would_without_murmur() {
    for (signal, said) in [("KILL", "Killed"), ("TERM", "Terminated"), ("SEGV", "Segmentation fault")] {
        let shown = same_at_a_shell(|shell| {
            shell.line("ulimit -c 0");
            shell.line(&format!("$M sh -c 'kill -{signal} $$'"));
            shell.line("echo $?");
        });
        assert!(shown.contains(said), "{shown}");
    }
}

#[test]
fn a_shell_in_murmur_has_its_own_jobs() {
    same(|place| {
        std::fs::write(place.env.root().join("job.pl"), GOES_ON).unwrap();
        at_a_shell(place, |shell| {
            shell.send("$M bash --norc --noprofile --noediting -i\n");
            shell.wait_for("-i\r\n");
            shell.wait_for("$ ");
            shell.send("perl job.pl\n");
            shell.wait_for("\r\nready\r\n");
            shell.send([26]);
            shell.wait_for("Stopped");
            shell.wait_for("$ ");
            shell.line("jobs");
            shell.send("fg\n");
            shell.wait_for("on\r\n");
            shell.send([3]);
            shell.wait_for("$ ");
            shell.line("exit 6");
            shell.line("echo $?");
        })
    });
}

#[test]
fn a_job_in_pipes_gets_the_terminals_interrupt_once() {
    let count = r#"$SIG{INT} = sub { syswrite STDERR, "INT\n" }; syswrite STDERR, "ready\n"; select undef, undef, undef, undef while 1"#;
    let shown = same_at_a_shell(|shell| {
        shell.line("ulimit -c 0");
        shell.send(format!("$M perl -e '{count}' > file\n"));
        shell.wait_for("\r\nready\r\n");
        shell.send([3]);
        shell.wait_for("INT\r\n");
        shell.send([0x1c]);
        shell.wait_for("Quit");
        shell.wait_for("$ ");
    });
    assert_eq!(shown.matches("\n^CINT\n").count() + shown.matches("\nINT\n").count(), 1, "{shown}");
}

#[test]
fn a_job_in_pipes_stops_and_continues() {
    let shown = same_at_a_shell(|shell| {
        shell.send("$M sh -c 'echo ready >&2; read x; echo got $x >&2; exit 3' > file\n");
        shell.wait_for("\r\nready\r\n");
        shell.send([26]);
        shell.wait_for("Stopped");
        shell.wait_for("$ ");
        shell.send("fg\n");
        shell.wait_for("exit 3' > file\r\n");
        shell.send("hey\n");
        shell.wait_for("got hey\r\n");
        shell.wait_for("$ ");
        shell.line("echo $?");
    });
    assert!(shown.contains("got hey\n$ echo $?\n3\n"), "{shown}");
}
