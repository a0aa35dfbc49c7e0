//! `murmur run -- CMD` is as CMD: each is done twice, bare and by murmur, and nobody can tell which was which.
//!
//! What is compared is what came to the terminal or the pipe, to the byte, and how it ended. A script starts its
//! command as `$M command`: `M` is empty or `murmur run --`, so that a shell prints the same of both.

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
    /// What stands before a command's words.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Itself => &[],
            Self::Murmur => &[MURMUR, "run", "--"],
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

/// A place, and who starts the commands in it.
struct Place {
    env: Env,
    by: By,
}

impl Place {
    fn new(by: By) -> Self {
        Self { env: Env::new(), by }
    }

    /// `program`, in an environment that tells who starts commands as `M`.
    fn program(&self, program: &str, args: &[&str]) -> Run {
        self.set(self.env.program(program, args))
    }

    /// `words`, started by whoever is to.
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

    /// Starts `words` on a terminal of their own, by whoever is to.
    fn on_terminal(&self, words: &[&str]) -> Terminal {
        Terminal::open().start(|args| self.program("setsid", args), &[self.by.words(), words].concat())
    }

    /// Starts a shell that has jobs on a terminal of its own, and waits until it asks for a command.
    fn shell(&self) -> Terminal {
        let words = ["bash", "--norc", "--noprofile", "--noediting", "-i"];
        // Perl then heeds a signal when it comes, and not only when it next looks.
        let unsafely = |args: &[&str]| self.program("setsid", args).set("PERL_SIGNALS", "unsafe");
        let mut shell = Terminal::open().start(unsafely, &words);
        shell.wait_for("$ ");
        shell
    }

    /// What the shell script `script` does.
    fn script(&self, script: &str) -> Shown {
        let output = self.program("bash", &["--norc", "-c", script]).output();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replace(MURMUR, "murmur");
        Shown { stdout: text(output.stdout), stderr: text(output.stderr), status: output.status }
    }

    /// Starts `words` with its output in pipes, by whoever is to.
    fn piped(&self, words: &[&str]) -> Child {
        self.command(words).stdin(Stdio::piped()).start()
    }

    /// What was captured, the newest session first: every channel with its bytes.
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

/// Does it twice, and sees that it came out the same. Returns what came out.
fn same<T: PartialEq + std::fmt::Debug>(mut does: impl FnMut(&Place) -> T) -> T {
    let bare = does(&Place::new(By::Itself));
    let place = Place::new(By::Murmur);
    let ours = does(&place);
    assert!(ours == bare, "by murmur: {ours:#?}\nbare: {bare:#?}");
    assert!(place.state().join("sessions").read_dir().unwrap().next().is_some(), "murmur did not run");
    ours
}

/// Has the shell script `script` do the same by murmur as bare. Returns what it does.
fn same_script(script: &str) -> Shown {
    same(|place| place.script(script))
}
