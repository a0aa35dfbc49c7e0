//! Output through the user's pager, like git's.

use super::stdout::{Locked, stdout};
use rustix::process::Signal;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};
use sys::error::without_number;
use sys::signals;
use sys::text::Shown;

/// The signals that people type to a pager, which the terminal also sends to murmur.
const TYPED: [Signal; 2] = [Signal::INT, Signal::QUIT];

/// The pager if PAGER isn't set.
const LESS: &str = "less";

/// How less behaves unless LESS is set: it ends if all fits on the screen, keeps colors, and doesn't clear the screen.
const LESS_OPTIONS: &str = "FRX";

/// Where output goes.
pub enum Pager {
    /// To a pager's stdin.
    Running(Child),
    /// To stdout.
    Direct(Locked),
}

impl Pager {
    /// Starts the pager if `is_paged` and there is one. `PAGER` is split at spaces; no shell reads it.
    pub fn new(is_paged: bool) -> io::Result<Self> {
        let own = std::env::var("PAGER").ok().filter(|value| !value.trim().is_empty());
        let command = own.as_deref().unwrap_or(LESS);
        let mut words = command.split_whitespace();
        let Some(program) = words.next().filter(|program| is_paged && *program != "cat") else {
            return Ok(Self::Direct(stdout().lock()));
        };
        let mut pager = Command::new(program);
        pager.args(words).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            pager.env("LESS", LESS_OPTIONS);
        }
        typed(signals::interrupt_on);
        match pager.spawn() {
            Ok(child) => Ok(Self::Running(child)),
            Err(error) => {
                typed(signals::default);
                // The default pager is optional.
                if own.is_some() {
                    let error = without_number(&error);
                    writeln!(Shown(io::stderr()), "note: cannot run the pager {program}: {error}")?;
                }
                Ok(Self::Direct(stdout().lock()))
            }
        }
    }

    /// Waits until the pager ends. That it was left before the end is not an error.
    pub fn finish(mut self, written: anyhow::Result<()>) -> anyhow::Result<()> {
        let written = written.and_then(|()| Ok(self.flush()?));
        let Self::Running(mut child) = self else { return written };
        drop(child.stdin.take());
        // Otherwise the shell and the pager would both read the terminal.
        child.wait()?;
        typed(signals::default);
        written.or_else(|error| if super::is_closed_pipe(&error) { Ok(()) } else { Err(error) })
    }
}

/// Changes what typed signals do, unless murmur was started to ignore them. A handler that does nothing isn't
/// inherited by the pager.
fn typed(dispose: fn(i32)) {
    TYPED.map(Signal::as_raw).into_iter().filter(|signal| !signals::is_ignored(*signal)).for_each(dispose);
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Running(Child { stdin: Some(stdin), .. }) => stdin.write(bytes),
            Self::Running(_) => Err(io::ErrorKind::BrokenPipe.into()),
            Self::Direct(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Running(Child { stdin, .. }) => stdin.as_mut().map_or(Ok(()), Write::flush),
            Self::Direct(out) => out.flush(),
        }
    }
}
