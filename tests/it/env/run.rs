//! One run of `murmur`: its whole output and how it ends.
//!
//! Runs that end are checked with assert_cmd and predicates, which show the command and its output on a
//! failure; a run in progress is a [`Child`].

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use assert_cmd::assert::{Assert, OutputAssertExt};
use predicates::str::is_empty;
use serde_json::Value;

use super::{Env, MURMUR, programs};

/// A run to configure.
pub(crate) struct Run(Command);

impl Env {
    /// `murmur` with these arguments, started in the Env's folder with only the Env in its environment.
    pub(crate) fn murmur<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Run {
        self.program(MURMUR, args)
    }

    /// `murmur` with a file size limit of `LIMIT`; with [`Env::fill_journal`], the journal is full.
    pub(crate) fn limited<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Run {
        let head = ["-c", "ulimit -f 256; exec \"$@\"", "sh", MURMUR].map(OsString::from);
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        self.program("sh", head.into_iter().chain(args))
    }

    /// `murmur` without root's privileges: file modes apply to it as to everybody.
    pub(crate) fn unprivileged<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Run {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        if !rustix::process::getuid().is_root() {
            return self.murmur(args);
        }
        let head = ["--bounding-set", "-all", MURMUR].map(OsString::from);
        self.program("setpriv", head.into_iter().chain(args))
    }

    /// Any program, started like `murmur`.
    pub(crate) fn program<A: AsRef<OsStr>>(&self, program: &str, args: impl IntoIterator<Item = A>) -> Run {
        let mut command = Command::new(program);
        command.args(args).env_clear().current_dir(self.root()).stdin(Stdio::null());
        command.env("HOME", self.home()).env("MURMUR_DIR", self.data()).env("SHELL", "/bin/sh");
        command.env("TZ", "UTC").env("FAKE_CLAUDE_LOG", self.agent_log());
        // Tests run as root in some places, where the real claude requires this.
        command.env("IS_SANDBOX", "1");
        command.env("PATH", format!("{}:{}", self.home().join("bin").display(), programs()));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        std::fs::create_dir_all(self.agent_log().parent().unwrap()).unwrap();
        Run(command)
    }

    /// Runs `murmur` and shows everything, like [`show`].
    pub(crate) fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> String {
        self.murmur(args).run()
    }
}

impl Run {
    pub(crate) fn at(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    pub(crate) fn set(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    pub(crate) fn unset(mut self, name: &str) -> Self {
        self.0.env_remove(name);
        self
    }

    pub(crate) fn stdin(mut self, from: impl Into<Stdio>) -> Self {
        self.0.stdin(from);
        self
    }

    pub(crate) fn stderr(mut self, to: impl Into<Stdio>) -> Self {
        self.0.stderr(to);
        self
    }

    pub(crate) fn stdout(mut self, to: impl Into<Stdio>) -> Self {
        self.0.stdout(to);
        self
    }

    /// Runs to the end.
    pub(crate) fn run(self) -> String {
        show(&self.output())
    }

    /// Runs to the end, for assertions.
    #[track_caller]
    pub(crate) fn assert(mut self) -> Assert {
        self.0.assert()
    }

    #[track_caller]
    pub(crate) fn output(self) -> Output {
        self.assert().get_output().clone()
    }

    /// Runs to the end and succeeds, with nothing on stderr. Returns stdout.
    #[track_caller]
    pub(crate) fn quiet(self) -> String {
        quiet(self.assert())
    }

    /// Runs to the end; the output is one JSON value and nothing else.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        let run = self.assert().stderr(is_empty());
        serde_json::from_slice(&run.get_output().stdout).unwrap()
    }

    /// Starts it in a process group of its own. While a process of the tests' group is stopped, the kernel sends SIGHUP
    /// to the group if it becomes orphaned.
    pub(crate) fn in_own_group(mut self) -> Self {
        self.0.process_group(0);
        self
    }

    /// Starts it and returns.
    pub(crate) fn start(mut self) -> Child {
        self.0.spawn().unwrap()
    }
}

/// Waits until `child` has ended, for assertions.
pub(crate) fn ended(child: Child) -> Assert {
    child.wait_with_output().unwrap().assert()
}

/// Checks that a run succeeded, with nothing on stderr. Returns stdout.
#[track_caller]
pub(crate) fn quiet(run: Assert) -> String {
    let run = run.success().stderr(is_empty());
    String::from_utf8(run.get_output().stdout.clone()).unwrap()
}

/// All output of a run and how it ended: stdout, then stderr with a bar before each line, then the exit code.
pub(crate) fn show(output: &Output) -> String {
    let mut shown = String::from_utf8_lossy(&output.stdout).into_owned();
    if !shown.is_empty() && !shown.ends_with('\n') {
        shown.push_str("[no newline]\n");
    }
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        writeln!(shown, "| {line}").unwrap();
    }
    match (output.status.code(), output.status.signal()) {
        (Some(code), _) => write!(shown, "[exit {code}]").unwrap(),
        (None, signal) => write!(shown, "[signal {signal:?}]").unwrap(),
    }
    shown
}
