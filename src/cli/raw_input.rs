//! A terminal that gives keys instead of lines, until this is left: it is restored when the program ends, is stopped,
//! continues or panics.

use super::terminal_signals::{TerminalSignal, TerminalSignals};
use derun::cli::stdout::stdout;
use std::io::{self, Write};
use std::time::Duration;
use sys::signals;
use sys::terminal::{Input, OuterTerminal};
use tokio::time::sleep;
use watch::keys::{Key, Keys};

/// Marks pasted text, which is not keys.
pub(super) const PASTE: (&str, &str) = ("\x1b[?2004h", "\x1b[?2004l");

/// How long an Esc may be the beginning of another key.
pub(super) const ESCAPE: Duration = Duration::from_millis(30);

/// Why [`RawInput::wakeup`] returned.
#[derive(Debug)]
pub(super) enum Wakeup {
    /// Keys were pressed.
    Keys(Vec<Key>),
    /// The terminal has another size, or this process was continued.
    Redraw,
    /// A signal asks to stop.
    Suspend,
    /// The terminal is gone.
    Gone,
    /// A signal asks to end.
    End(i32),
}

/// The terminal's keys.
pub(super) struct RawInput {
    outer: OuterTerminal,
    input: Input,
    keys: Keys,
    signals: TerminalSignals,
}

impl RawInput {
    /// Takes over the terminal's input.
    pub(super) fn begin() -> io::Result<Self> {
        let signals = TerminalSignals::begin()?;
        let outer = OuterTerminal::look()?;
        restore_on_panic(outer.clone());
        let input = Input::of_stdin()?;
        outer.make_input_raw()?;
        Ok(Self { outer, input, keys: Keys::with_paste(), signals })
    }

    /// Waits for the next thing to do. Cancel safe.
    pub(super) async fn wakeup(&mut self) -> io::Result<Wakeup> {
        let is_partial = self.keys.is_waiting();
        Ok(tokio::select! {
            biased;
            signal = self.signals.next() => match signal {
                TerminalSignal::End(signal) => Wakeup::End(signal),
                TerminalSignal::Suspend => Wakeup::Suspend,
                TerminalSignal::Resized => Wakeup::Redraw,
                TerminalSignal::Continued => {
                    self.outer.make_input_raw()?;
                    Wakeup::Redraw
                }
            },
            typed = self.input.read() => match typed? {
                bytes if bytes.is_empty() => Wakeup::Gone,
                bytes => Wakeup::Keys(self.keys.read(&bytes)),
            },
            () = sleep(ESCAPE), if is_partial => Wakeup::Keys(self.keys.flush()),
        })
    }

    /// Stops this process's job, as Ctrl-Z does, until it is continued.
    pub(super) fn suspend(&self) -> io::Result<()> {
        self.outer.restore();
        signals::stop_ourselves(rustix::process::Signal::TSTP.as_raw(), true);
        self.outer.make_input_raw()
    }
}

impl Drop for RawInput {
    fn drop(&mut self) {
        self.outer.restore();
    }
}

/// Restores the terminal before a panic is reported.
fn restore_on_panic(outer: OuterTerminal) {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        outer.restore();
        let mut out = stdout().lock();
        let _gone = write!(out, "{}\r\x1b[J", PASTE.1).and_then(|()| out.flush());
        report(panic);
    }));
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fd::OwnedFd;
    use rustix::pty::OpenptFlags;
    use rustix::termios::tcgetattr;
    use std::process::{Command, Stdio};

    /// Set in the process that panics.
    const PANICS: &str = "MURMUR_TEST_PANICS";

    /// Takes over the terminal and panics, without dropping anything.
    fn panic_in_a_chat() {
        let modes = || format!("{:?}", tcgetattr(io::stdin()).unwrap());
        let before = modes();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _guard = runtime.enter();
        std::mem::forget(RawInput::begin().unwrap());
        assert_ne!(modes(), before, "the terminal is as before");
        write!(stdout(), "{}", PASTE.0).unwrap();
        panic!("on purpose");
    }

    fn terminal() -> (OwnedFd, OwnedFd) {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = rustix::pty::openpt(flags).unwrap();
        rustix::pty::grantpt(&ours).unwrap();
        rustix::pty::unlockpt(&ours).unwrap();
        let theirs = rustix::pty::ioctl_tiocgptpeer(&ours, flags).unwrap();
        (ours, theirs)
    }

    #[test]
    fn a_panic_gives_the_terminal_back() {
        if std::env::var_os(PANICS).is_some() {
            panic_in_a_chat();
        }
        let (ours, theirs) = terminal();
        let modes = || format!("{:?}", tcgetattr(&theirs).unwrap());
        let stream = || Stdio::from(theirs.try_clone().unwrap());
        let before = modes();
        let mut itself = Command::new(std::env::current_exe().unwrap());
        itself.args(["--exact", "cli::raw_input::tests::a_panic_gives_the_terminal_back", "--nocapture"]);
        itself.env(PANICS, "1").env("RUST_BACKTRACE", "0");
        let status = itself.stdin(stream()).stdout(stream()).stderr(stream()).status().unwrap();
        assert_eq!(modes(), before);
        // The kernel may hand the output over in parts.
        let (mut shown, mut part) = (String::new(), [0; 8192]);
        while !shown.contains("on purpose") {
            let mut ready = [PollFd::new(&ours, PollFlags::IN)];
            let timeout = Timespec { tv_sec: 20, tv_nsec: 0 };
            assert_eq!(poll(&mut ready, Some(&timeout)), Ok(1), "{shown}");
            let read = rustix::io::read(&ours, &mut part[..]).unwrap();
            shown += &String::from_utf8_lossy(&part[..read]);
        }
        let (_, rest) = shown.split_once(PASTE.0).unwrap_or_else(|| panic!("{shown}"));
        let (restored, reported) = (rest.find(PASTE.1).unwrap(), rest.find("on purpose").unwrap());
        assert!(restored < reported && !status.success(), "{shown}");
    }
}
