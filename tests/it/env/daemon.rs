//! A daemon that a test owns.

use std::io::{BufRead, BufReader};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, Receiver};

use rustix::process::Signal;

use super::{DEADLINE, Env, Run, kill};

/// A running `murmur start --foreground` that answers.
pub(crate) struct Daemon {
    child: Child,
    lines: Receiver<String>,
}

impl Env {
    /// Starts a daemon and returns when it listens.
    pub(crate) fn daemon(&self) -> Daemon {
        Daemon::new(self.murmur(["start", "--foreground"]))
    }
}

impl Daemon {
    /// Starts `run`, a foreground daemon, and returns when it listens.
    pub(crate) fn new(run: Run) -> Self {
        let mut child = run.in_own_group().start();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (tell, lines) = mpsc::channel();
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        let daemon = Self { child, lines };
        daemon.says("started (PID");
        daemon
    }

    pub(crate) fn pid(&self) -> i64 {
        self.child.id().into()
    }

    /// Waits until it prints a line that contains `words`, and returns that line.
    pub(crate) fn says(&self, words: &str) -> String {
        let mut printed = Vec::new();
        loop {
            match self.lines.recv_timeout(DEADLINE) {
                Ok(line) if line.contains(words) => return line,
                Ok(line) => printed.push(line),
                Err(error) => panic!("the daemon never printed {words:?} ({error}), but: {printed:#?}"),
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal);
    }

    /// Waits until it has ended; returns how, and the output that wasn't waited for.
    pub(crate) fn ended(mut self) -> (ExitStatus, Vec<String>) {
        let status = self.child.wait().unwrap();
        (status, self.lines.iter().collect())
    }

    /// Ends it by SIGTERM: exit code 0 and no output.
    pub(crate) fn stop(self) {
        self.signal(Signal::TERM);
        let (status, said) = self.ended();
        assert!(status.success(), "{status} {said:#?}");
        assert!(matches!(&said[..], [last] if last.ends_with("murmur stopped")), "{said:#?}");
    }

    /// Stops it; every line that it printed before contains `words`, and there is one.
    pub(crate) fn stop_after_saying(self, words: &str) {
        self.says(words);
        self.signal(Signal::TERM);
        let (status, said) = self.ended();
        assert!(status.success(), "{status} {said:#?}");
        let (_stopped, before) = said.split_last().unwrap();
        assert!(before.iter().all(|line| line.contains(words)), "{said:#?}");
    }

    /// Ends it like a crash. Its beats continue, and hold its stderr.
    pub(crate) fn crash(mut self) {
        self.signal(Signal::KILL);
        self.child.wait().unwrap();
    }
}
