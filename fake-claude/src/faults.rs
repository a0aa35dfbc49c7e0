//! Faults to inject into a run.
//!
//! Input: the words in the instructions. Output: changes to the fixture, a flood, a hang or another end.

use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use fake_claude::replay::{End, Fixture, lines};
use sys::error::Failure;
use sys::failure;

use crate::ending;

/// The output of `--help-faults`.
pub(crate) const HELP: &str = "\
faults (FAKE_CLAUDE_FAULT=A,B or \"faults\":[\"A\",\"B\"] in .fake-claude.json):
  hang                    hangs after its lines
  hang-before             hangs before its lines
  ignore-term             ignores SIGTERM
  success-after-term      prints a success result on SIGTERM, then exits with 143; as codex or an ACP agent,
                          ends its turn only on SIGTERM
  setsid-child            leaves a child behind in its own session (its PID is in the log)
  setsid-child-clean-env  the same, as an orphan with an empty environment
  hold-output             leaves a child behind that keeps stdout and stderr open
  die:SIGNAL              dies by this signal (KILL, TERM, SEGV, ..., or a number) after its lines
  exit:N                  exits with this code
  die-at:BYTES            dies by SIGKILL after this many bytes of its lines (no effect on acted runs as claude)
  half-line               cuts the last line in the middle
  invalid-utf8            prints a line of invalid UTF-8 before the last one
  garbage                 prints a line that is not JSON before the last one
  huge-line:BYTES         prints a line of at least this size before the last one
  close-stdout            closes stdout after its lines and stays alive
  stderr-flood:BYTES      writes this much to stderr before its lines
  no-hooks                ignores hooks, as if its settings had none
  not-logged-in           answers like Claude Code without a credential
  check-root              refuses --dangerously-skip-permissions as root without IS_SANDBOX=1
For a live agent (--input-format stream-json), and as codex or an ACP agent, faults apply to the first turn: before its lines, or after them
(hang, die, exit, close-stdout, ...) or when stdin closes, whichever comes first.
";

/// The limit for anything that hangs, so that a failed test leaves nothing behind for long.
const MAX_HANG: Duration = Duration::from_secs(600);

/// A line of invalid UTF-8.
pub(crate) const INVALID_UTF8: &[u8] =
    b"{\"type\":\"system\",\"subtype\":\"noise\",\"text\":\"\xff\xfe\xc3\x28\"}\n";

/// A line that is not JSON.
pub(crate) const GARBAGE: &[u8] = b"Segmentation fault in {worker} [1]\n";

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Hang,
    HangBefore,
    IgnoreTerm,
    SuccessAfterTerm,
    SetsidChild,
    SetsidChildCleanEnv,
    HoldOutput,
    Die(i32),
    Exit(i32),
    HalfLine,
    InvalidUtf8,
    Garbage,
    HugeLine(usize),
    DieAt(usize),
    CloseStdout,
    StderrFlood(usize),
    CheckRoot,
    NoHooks,
    NotLoggedIn,
}

/// All faults of a run.
#[derive(Debug)]
pub(crate) struct Faults(pub(crate) Vec<Fault>);

impl Fault {
    pub(crate) fn parse(word: &str) -> Result<Self, Failure> {
        let (name, value) = word.split_once(':').map_or((word, None), |(name, value)| (name, Some(value)));
        let size = || value.and_then(|value| value.parse().ok());
        let found = match (name, value) {
            ("hang", None) => Some(Self::Hang),
            ("hang-before", None) => Some(Self::HangBefore),
            ("ignore-term", None) => Some(Self::IgnoreTerm),
            ("success-after-term", None) => Some(Self::SuccessAfterTerm),
            ("setsid-child", None) => Some(Self::SetsidChild),
            ("setsid-child-clean-env", None) => Some(Self::SetsidChildCleanEnv),
            ("hold-output", None) => Some(Self::HoldOutput),
            ("die", Some(signal)) => ending::signal_number(signal).map(Self::Die),
            ("exit", Some(code)) => code.parse().ok().map(Self::Exit),
            ("half-line", None) => Some(Self::HalfLine),
            ("invalid-utf8", None) => Some(Self::InvalidUtf8),
            ("garbage", None) => Some(Self::Garbage),
            ("die-at", _) => size().map(Self::DieAt),
            ("huge-line", _) => size().map(Self::HugeLine),
            ("close-stdout", None) => Some(Self::CloseStdout),
            ("stderr-flood", _) => size().map(Self::StderrFlood),
            ("check-root", None) => Some(Self::CheckRoot),
            ("no-hooks", None) => Some(Self::NoHooks),
            ("not-logged-in", None) => Some(Self::NotLoggedIn),
            _ => None,
        };
        found.ok_or_else(|| failure!("unknown fault: {word} (see fake-claude --help-faults)"))
    }
}

impl Faults {
    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.0.contains(&fault)
    }

    /// Returns the number of bytes after which it dies.
    pub(crate) fn dies_at(&self) -> Option<usize> {
        self.0.iter().find_map(|fault| if let Fault::DieAt(bytes) = fault { Some(*bytes) } else { None })
    }

    /// Returns the end that a fault asks for.
    pub(crate) fn end(&self) -> Option<End> {
        self.0.iter().find_map(|fault| match fault {
            Fault::Die(signal) => Some(End::Signal(*signal)),
            Fault::Exit(code) => Some(End::Code(*code)),
            Fault::DieAt(_) => Some(End::Signal(9)),
            _ => None,
        })
    }
}

/// Applies faults to the lines, or before them.
pub(crate) fn before(faults: &Faults, fixture: &mut Fixture) {
    for fault in &faults.0 {
        match fault {
            Fault::InvalidUtf8 => insert_before_last(fixture, INVALID_UTF8),
            Fault::Garbage => insert_before_last(fixture, GARBAGE),
            Fault::HugeLine(size) => insert_before_last(fixture, &huge_line(*size)),
            Fault::StderrFlood(size) => flood(*size),
            _ => {}
        }
    }
    // Must be last, because it cuts the final line.
    if faults.has(Fault::HalfLine)
        && let Some(length) = lines(&fixture.stdout).last().map(<[u8]>::len)
    {
        fixture.stdout.truncate(fixture.stdout.len() - length.div_ceil(2));
        fixture.times.truncate(lines(&fixture.stdout).count());
    }
    if let Some(bytes) = faults.dies_at() {
        fixture.stdout.truncate(bytes);
        fixture.times.truncate(lines(&fixture.stdout).count());
    }
    hang_before(faults);
}

/// Hangs here if the fault applies before the lines.
pub(crate) fn hang_before(faults: &Faults) {
    if faults.has(Fault::HangBefore) {
        hang();
    }
}

/// Applies faults after the lines.
pub(crate) fn after(faults: &Faults) {
    if faults.has(Fault::CloseStdout) {
        // The reader of the pipe sees its end, as if the descriptor were closed.
        if let Ok(nowhere) = std::fs::File::options().write(true).open("/dev/null") {
            let _ = rustix::stdio::dup2_stdout(nowhere);
        }
        hang();
    }
    if faults.has(Fault::Hang) || faults.has(Fault::SuccessAfterTerm) {
        hang();
    }
}

fn hang() {
    let start = Instant::now();
    while let Some(left) = MAX_HANG.checked_sub(start.elapsed()) {
        thread::park_timeout(left);
    }
}

fn huge_line(size: usize) -> Vec<u8> {
    let mut line = b"{\"type\":\"assistant\",\"message\":{\"id\":\"msg_huge\",\"role\":\"assistant\",\
        \"content\":[{\"type\":\"text\",\"text\":\""
        .to_vec();
    line.resize(line.len() + size, b'x');
    line.extend_from_slice(b"\"}]},\"parent_tool_use_id\":null}\n");
    line
}

fn insert_before_last(fixture: &mut Fixture, line: &[u8]) {
    let last = lines(&fixture.stdout).last().map_or(0, <[u8]>::len);
    let at = fixture.stdout.len() - last;
    fixture.stdout.splice(at..at, line.iter().copied());
    let time = fixture.times.last().copied().unwrap_or_default();
    fixture.times.push(time);
}

pub(crate) fn flood(size: usize) {
    let line = [[b'!'; 79].as_slice(), b"\n"].concat();
    let mut left = size;
    while left > 0 {
        let piece = left.min(line.len());
        if io::stderr().write_all(&line[..piece]).is_err() {
            return;
        }
        left -= piece;
    }
}
