//! `murmur capture run -- CMD` behaves like CMD: each test runs it both ways, bare and under murmur, and compares.
//!
//! The bytes that reach the terminal or pipe are compared, and how it ended. A script starts its
//! command as `$M command`: `M` is empty or `murmur capture run --`, so that a shell prints the same in both cases.

mod exit;
mod jobs;
mod modes;
pub(crate) mod needed;
mod nested;
mod programs;
mod signals;
mod store;
mod streams;
pub(crate) mod terminal;
pub(crate) mod times;
mod transcript;

use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};

use derun::record::Channel;
use derun::store::Store;
use sys::clock;

use crate::env::{Env, MURMUR, Run};
use terminal::Terminal;

/// Who starts a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Itself,
    Murmur,
}

impl By {
    /// The words before a command.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Itself => &[],
            Self::Murmur => &[MURMUR, "capture", "run", "--"],
        }
    }
}

/// What a script wrote to two pipes, and how it ended.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    stdout: String,
    stderr: String,
    status: ExitStatus,
}

/// An environment, and who starts the commands in it.
struct Place {
    env: Env,
    by: By,
}

impl Place {
    fn new(by: By) -> Self {
        Self { env: Env::new(), by }
    }

    /// `program`, in an environment in which `M` is set accordingly.
    fn program(&self, program: &str, args: &[&str]) -> Run {
        self.set(self.env.program(program, args))
    }

    /// `words`, started accordingly.
    fn command(&self, words: &[&str]) -> Run {
        let words = [self.by.words(), words].concat();
        self.program(words[0], &words[1..])
    }

    fn set(&self, run: Run) -> Run {
        let run = run.set("M", self.by.words().join(" ")).set("DERUN_STATE_ROOT", self.state());
        run.set("TERM", "xterm-256color").set("LC_ALL", "C.UTF-8").set("PS1", "$ ").set("MURMUR", MURMUR)
    }

    fn state(&self) -> PathBuf {
        self.env.root().join("state")
    }

    /// Starts `words` on its own terminal.
    fn on_terminal(&self, words: &[&str]) -> Terminal {
        self.start_on(Terminal::open(), words)
    }

    fn start_on(&self, terminal: Terminal, words: &[&str]) -> Terminal {
        terminal.start(|args| self.program("setsid", args), &[self.by.words(), words].concat())
    }

    /// Starts a shell with job control on its own terminal, and waits for its prompt.
    fn shell(&self) -> Terminal {
        let words = ["bash", "--norc", "--noprofile", "--noediting", "-i"];
        // Perl then handles a signal when it arrives, not only at its next check.
        let unsafely = |args: &[&str]| self.program("setsid", args).set("PERL_SIGNALS", "unsafe");
        let mut shell = Terminal::open().start(unsafely, &words);
        shell.wait_for("$ ");
        shell
    }

    /// Runs the shell script `script` and returns the results.
    fn script(&self, script: &str) -> Shown {
        let output = self.program("bash", &["--norc", "-c", script]).output();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replace(MURMUR, "murmur");
        Shown { stdout: text(output.stdout), stderr: text(output.stderr), status: output.status }
    }

    /// Starts `words` with its output in pipes.
    fn piped(&self, words: &[&str]) -> Child {
        self.command(words).stdin(Stdio::piped()).start()
    }

    /// The captures, newest session first: every channel with its bytes.
    fn captured(&self) -> Vec<Vec<(Channel, Vec<u8>)>> {
        let store = Store::open(&self.state()).unwrap();
        let sessions = store.list().unwrap();
        let all = sessions.iter().map(|id| {
            let session = store.session(id.as_str()).unwrap();
            let page = session.read(0, usize::MAX >> 1, clock::now()).unwrap();
            let mut channels: Vec<(Channel, Vec<u8>)> = Vec::new();
            for (stretch, bytes) in page.chunks() {
                match channels.iter_mut().find(|(channel, _)| *channel == stretch.channel) {
                    Some((_, so_far)) => so_far.extend_from_slice(bytes),
                    None => channels.push((stretch.channel, bytes.to_vec())),
                }
            }
            channels
        });
        all.collect()
    }
}

/// Runs it both ways and checks that the results are equal. Returns the result.
fn same<T: PartialEq + std::fmt::Debug>(mut does: impl FnMut(&Place) -> T) -> T {
    let bare = does(&Place::new(By::Itself));
    let place = Place::new(By::Murmur);
    let ours = does(&place);
    assert!(ours == bare, "by murmur: {ours:#?}\nbare: {bare:#?}");
    assert!(place.state().join("sessions").read_dir().unwrap().next().is_some(), "murmur did not run");
    ours
}

/// Checks that the shell script `script` does the same under murmur as bare. Returns the result.
fn same_script(script: &str) -> Shown {
    same(|place| place.script(script))
}
