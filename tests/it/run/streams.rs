//! The command's streams, and everything else it inherits, are as without murmur.

use std::process::Stdio;

use derun::record::Channel;

use super::{By, Place, same, same_script};

#[test]
fn closed_streams_are_closed() {
    same_script("$M cat <&-; echo $?");
    same_script("$M env echo hi >&-; echo $?");
    same_script("$M sh -c 'echo hi; echo err >&2; echo $?' 2>&-");
    same_script("$M sh -c 'exec 3>file; echo 0 >&0; echo 1 >&1; echo 2 >&2' <&- >&- 2>&-; cat file; echo $?");
}

#[test]
fn stdin_may_be_anything_and_only_the_command_reads_it() {
    let shown = same_script(
        "printf abcdef > file; ($M head -c 3; echo; cat) < file; printf abcdef | ($M head -c 3; echo; cat)
        $M wc -c < /dev/null; printf abc | $M wc -c; ($M true; cat) < file; printf abc | ($M true; cat)
        while read line; do $M echo $line; done < <(printf '1\n2\n3\n')",
    );
    assert_eq!(shown.stdout, "abc\ndefabc\ndef0\n3\nabcdefabc1\n2\n3\n");
}

#[test]
fn a_closed_reader_ends_the_command_as_without_murmur() {
    let shown = same_script(
        "$M yes | head -1; echo ${PIPESTATUS[0]}; $M sh -c 'yes >&2' 2>&1 | head -1; echo ${PIPESTATUS[0]}",
    );
    assert_eq!(shown.stdout, "y\n141\ny\n141\n");
    let shown = same_script("trap '' PIPE; $M yes | head -1; echo ${PIPESTATUS[0]}");
    assert_eq!(shown.stdout, "y\n1\n");
}

#[test]
fn a_silent_command_notices_that_its_reader_is_gone() {
    let wait = r#"use IO::Poll qw(POLLERR); $| = 1; print "one\n"; my $p = IO::Poll->new; $p->mask(STDOUT, POLLERR);
        $p->poll; print STDERR "gone\n"; print "two\n"; print STDERR "not to be reached\n""#;
    let shown = same_script(&format!("$M perl -e '{wait}' | head -1; echo ${{PIPESTATUS[0]}}"));
    assert_eq!((shown.stdout.as_str(), shown.stderr.as_str()), ("one\n141\n", "gone\n"));
}

#[test]
fn merged_stdout_and_stderr_keep_their_order() {
    let writes = "for n in 1 2 3 4 5; do echo out$n; echo err$n >&2; done";
    let shown =
        same_script(&format!("$M sh -c '{writes}' 2>&1 | cat; $M sh -c '{writes}' > file 2>&1; cat file"));
    let lines: String = (1..=5).map(|n| format!("out{n}\nerr{n}\n")).collect();
    assert_eq!(shown.stdout, lines.repeat(2));
}

#[test]
fn an_unwritable_stream_fails_the_command() {
    for by in [By::Itself, By::Murmur] {
        let shown = Place::new(by)
            .script("$M env echo hi > /dev/full; echo $?; $M sh -c 'echo hi; exit 7' > /dev/full; echo $?");
        assert_eq!(shown.stdout, "1\n7\n", "{by:?}");
        assert_ne!(shown.stderr, "", "{by:?}");
    }
}

#[test]
fn ignored_and_blocked_signals_stay_so_for_the_command() {
    let show = "grep -E '^(SigBlk|SigIgn|SigPnd|ShdPnd)' /proc/self/status";
    let set = "use POSIX; sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGUSR1, SIGTERM, SIGCHLD)); exec @ARGV";
    for before in [
        "exec".to_owned(),
        "trap '' HUP PIPE INT QUIT USR1 TSTP TTOU TTIN WINCH CONT TERM; exec".to_owned(),
        "trap '' PIPE; exec".to_owned(),
        "exec nohup".to_owned(),
        "exec perl -e '$SIG{CHLD} = \"IGNORE\"; exec @ARGV'".to_owned(),
        format!("exec perl -e '{set}'"),
    ] {
        same_script(&format!("{before} $M {show}"));
    }
}

#[test]
fn a_command_inherits_the_same_as_without_murmur() {
    same_script(
        "exec 3< /etc/passwd 7> file; $M head -1 <&3; $M sh -c 'echo seven >&7'; cat file; $M ls /proc/self/fd",
    );
    same_script(
        "umask 027; $M sh -c umask; ulimit -n 100; ulimit -c 0; $M sh -c 'ulimit -a'; $M nice; nice -n 3 $M nice",
    );
    same_script("mkdir d; cd d; rmdir ../d; $M sh -c 'echo ok; pwd -P 2>&1'; echo $?");
    let shown = same_script(
        "exec env -u M -u DERUN_STATE_ROOT DERUN_STATE_ROOT=state sh -c \"$M env\" | grep -Ev '^_=|FAKE|HOME|MURMUR_DIR|PWD|PATH'",
    );
    assert!(shown.stdout.contains("TERM=xterm-256color"), "{shown:?}");
}

#[test]
fn a_command_on_a_terminal_inherits_no_descriptor_of_murmurs() {
    let shown = same(|place| {
        place
            .on_terminal(&[
                "sh",
                "-c",
                "ls /proc/self/fd; grep -E 'Sig(Blk|Ign)' /proc/self/status; env | grep -c .",
            ])
            .finish()
    });
    assert_eq!(shown.code(), Some(0));
}

#[test]
fn background_processes_delay_nothing_and_their_output_is_kept() {
    let place = Place::new(By::Murmur);
    let (_, _gate) = place.env.gate("gate");
    let left = "(read x < gate) & head -c 60000 /dev/zero; echo b >&2; exit 6";
    let output = place.command(&["sh", "-c", left]).stdout(Stdio::piped()).output();
    assert_eq!(
        (output.stdout.len(), output.stderr.as_slice(), output.status.code()),
        (60_000, &b"b\n"[..], Some(6))
    );
}

#[test]
fn background_processes_on_a_terminal_survive() {
    for by in [By::Itself, By::Murmur] {
        let place = Place::new(by);
        let (_, gate) = place.env.gate("gate");
        let mut shell = place.shell();
        shell.send("$M sh -c '(read x < gate; echo on > survived) & echo last; exit 6'\n");
        shell.wait_for("\r\nlast\r\n");
        shell.wait_for("$ ");
        shell.line("echo $?");
        std::io::Write::write_all(&mut &gate, b"\n").unwrap();
        let survived = place.env.root().join("survived");
        let read = || std::fs::read_to_string(&survived).ok().filter(|text| text == "on\n");
        place.env.wait(place.env.root(), read);
        assert!(String::from_utf8_lossy(shell.so_far()).contains("$?\r\n6\r\n"), "{by:?}");
        shell.send("exit\n");
        shell.ended();
    }
}

#[test]
fn a_redirected_stderr_stays_redirected_and_is_its_own_channel() {
    let words = ["sh", "-c", "exec 2> err; exec $M sh -c 'test -t 1 && echo out; test -t 2 || echo err >&2'"];
    let shown = same(|place| {
        let session =
            super::terminal::Terminal::open().start(|args| place.program("setsid", args), &words).finish();
        assert_eq!(std::fs::read(place.env.root().join("err")).unwrap(), b"err\n");
        if place.by == By::Murmur {
            let mut captured = place.captured();
            captured[0].sort_by_key(|(channel, _)| *channel == Channel::Stderr);
            assert_eq!(
                captured,
                [[(Channel::Pty, b"out\r\n".to_vec()), (Channel::Stderr, b"err\n".to_vec())]]
            );
        }
        session
    });
    assert_eq!(shown.text(), "out\r\n");
}
