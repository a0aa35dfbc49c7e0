//! One bash for one document: its command lines run in order, in their own home, with murmur's programs on the PATH.
//!
//! Variables, functions and the folder carry over from one to the next. Processes left behind are found.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::page::root;
use crate::env::{Env, MURMUR, ends_within, fake_claude};
use crate::run::terminal::Terminal;

/// Functions for every document.
const PRELUDE: &str = include_str!("prelude.bash");

/// The bash.
pub(super) struct Shell<'env> {
    env: &'env Env,
    child: Child,
    stdin: ChildStdin,
    answers: BufReader<ChildStdout>,
    count: usize,
    /// The ids that documents made up, and their actual values.
    learned: Vec<(String, String)>,
}

/// What a command printed to stdout and stderr, and its exit code; `None` if it ended the shell.
pub(super) struct Ran {
    pub(super) printed: String,
    pub(super) code: Option<i32>,
}

impl<'env> Shell<'env> {
    pub(super) fn new(env: &'env Env) -> Self {
        let bin = env.home().join("bin");
        let programs = PathBuf::from(MURMUR).parent().unwrap().to_owned();
        for (name, program) in [
            ("murmur", "murmur"),
            ("mm", "murmur"),
            ("derun", "murmur"),
            ("murmur-host", "murmur"),
            ("murmur-hook", "murmur-hook"),
            ("fake-claude", "fake-claude"),
            ("fake-model", "fake-model"),
        ] {
            symlink(programs.join(program), bin.join(name)).unwrap();
        }
        let plays = env.root().join("plays");
        let claude = format!("#!/bin/sh\n. '{}'\nexec '{}' \"$@\"\n", plays.display(), fake_claude());
        std::fs::remove_file(env.claude()).unwrap();
        std::fs::write(env.claude(), claude).unwrap();
        std::fs::set_permissions(env.claude(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let bash = env.program("bash", ["--norc", "--noprofile"]).at(&env.home()).unset("MURMUR_DIR");
        let bash = bash.set("BOOK_PLAYS", &plays).set("BOOK_FIXTURES", root().join("fixtures/claude"));
        let mut child = bash.set("EDITOR", "true").stdin(Stdio::piped()).stderr(Stdio::null()).start();
        let (stdin, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut shell = Self { env, child, stdin, answers, count: 0, learned: Vec::new() };
        shell.source(PRELUDE);
        shell.source("fake ok");
        shell
    }

    /// Runs one command line, whose exit code is that of its last command.
    pub(super) fn run(&mut self, script: &str) -> Ran {
        self.source(&self.meant(script))
    }

    /// Runs one command line on a terminal of 80 columns without colors, without a pager. At the prompt, types the
    /// answer.
    pub(super) fn run_on_terminal(&mut self, script: &str, answer: Option<(&str, &str)>) -> Ran {
        const OVER: &str = "[over]";
        let mut terminal = Terminal::open();
        self.count += 1;
        let file = self.scratch("sh");
        std::fs::write(&file, self.meant(script)).unwrap();
        let (file, to) = (file.display(), terminal.path());
        let from = answer.map_or("/dev/null", |_| &to);
        let line = format!(
            "export NO_COLOR=1 PAGER=cat; . '{file}' >{to} 2>&1 <{from}; echo $?; unset NO_COLOR PAGER; printf '{OVER}' >{to}\n"
        );
        let _ended = self.stdin.write_all(line.as_bytes());
        if let Some((prompt, typed)) = answer {
            terminal.wait_for(prompt);
            terminal.send(format!("{typed}\n"));
        }
        terminal.wait_for(OVER);
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        let printed = String::from_utf8_lossy(terminal.so_far()).replace("\r\n", "\n");
        Ran { printed: self.shown(printed.trim_end_matches(OVER)), code: answer.trim().parse().ok() }
    }

    /// Runs lines that must all succeed; those after a failure are not run.
    pub(super) fn run_all(&mut self, script: &str) -> Ran {
        let meant = self.meant(script);
        self.source(&format!("trap 'code=$?; trap - ERR; return $code' ERR\n{meant}\ntrap - ERR\n"))
    }

    pub(super) fn learn(&mut self, learned: Vec<(String, String)>) {
        self.learned.splice(0..0, learned);
    }

    /// A document's text with the names of this environment.
    fn meant(&self, text: &str) -> String {
        let mut meant = text.replace("/home/me", self.env.home().to_str().unwrap());
        let mut done: Vec<&str> = Vec::new();
        for (made_up, real) in &self.learned {
            if !done.contains(&made_up.as_str()) {
                meant = meant.replace(made_up, real);
                done.push(made_up);
            }
        }
        meant
    }

    /// The output with the names that documents use.
    fn shown(&self, text: &str) -> String {
        let programs = PathBuf::from(MURMUR).parent().unwrap().to_owned();
        let bin = self.env.home().join("bin");
        let repository = root();
        let names = [
            (&programs, "/usr/local/bin"),
            (&bin, "/usr/local/bin"),
            (&self.env.home(), "/home/me"),
            (&repository, "/home/me/murmur"),
        ];
        names.iter().fold(text.to_owned(), |text, (path, name)| text.replace(path.to_str().unwrap(), name))
    }

    fn source(&mut self, script: &str) -> Ran {
        self.count += 1;
        let (file, out) = (self.scratch("sh"), self.scratch("out"));
        std::fs::write(&file, script).unwrap();
        let line = format!(". '{}' >'{}' 2>&1 </dev/null; echo $?\n", file.display(), out.display());
        let _ended = self.stdin.write_all(line.as_bytes());
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        let printed = String::from_utf8_lossy(&std::fs::read(out).unwrap_or_default()).into_owned();
        Ran { printed: self.shown(&printed), code: answer.trim().parse().ok() }
    }

    fn scratch(&self, ending: &str) -> PathBuf {
        self.env.root().join(format!("log/{}.{ending}", self.count))
    }

    /// Ends the shell; returns the command lines of the remaining processes.
    pub(super) fn left_over(mut self) -> Vec<String> {
        drop(self.stdin);
        self.child.wait().unwrap();
        let mut left = Vec::new();
        for pid in self.env.alive() {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            // One that is about to end doesn't count.
            if !ends_within(pid, 5) {
                left.push(String::from_utf8_lossy(&words).replace('\0', " "));
            }
        }
        left
    }
}
