//! A terminal that gives keys instead of lines, until this is left: it is restored when the program ends, is stopped,
//! continues or panics.

use derun::cli::stdout::stdout;
use std::io::{self, Write};
use std::time::Duration;
use sys::signals;
use sys::terminal::{Input, OuterTerminal};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;
use watch::keys::{Key, Keys};

/// Marks pasted text, which is not keys.
pub(super) const PASTE: (&str, &str) = ("\x1b[?2004h", "\x1b[?2004l");

/// How long an Esc may be the beginning of another key.
const ESCAPE: Duration = Duration::from_millis(30);

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
    resized: Signal,
    continued: Signal,
    suspend: Signal,
    ends: [(Signal, i32); 3],
}

impl RawInput {
    /// Takes the terminal's input over.
    pub(super) fn begin() -> io::Result<Self> {
        let kind = |kind: SignalKind| Ok::<_, io::Error>((signal(kind)?, kind.as_raw_value()));
        let ends =
            [kind(SignalKind::interrupt())?, kind(SignalKind::terminate())?, kind(SignalKind::hangup())?];
        let other = |kind: rustix::process::Signal| signal(SignalKind::from_raw(kind.as_raw()));
        let (resized, continued) =
            (signal(SignalKind::window_change())?, other(rustix::process::Signal::CONT)?);
        let suspend = other(rustix::process::Signal::TSTP)?;
        let outer = OuterTerminal::look()?;
        restore_on_panic(outer.clone());
        let input = Input::of_stdin()?;
        outer.make_input_raw()?;
        Ok(Self { outer, input, keys: Keys::with_paste(), resized, continued, suspend, ends })
    }

    /// Waits for the next thing to do. Cancel safe.
    pub(super) async fn wakeup(&mut self) -> io::Result<Wakeup> {
        let [interrupt, terminate, hang_up] = &mut self.ends;
        let is_partial = self.keys.is_waiting();
        Ok(tokio::select! {
            biased;
            _ = interrupt.0.recv() => Wakeup::End(interrupt.1),
            _ = terminate.0.recv() => Wakeup::End(terminate.1),
            _ = hang_up.0.recv() => Wakeup::End(hang_up.1),
            _ = self.suspend.recv() => Wakeup::Suspend,
            _ = self.continued.recv() => {
                self.outer.make_input_raw()?;
                Wakeup::Redraw
            }
            _ = self.resized.recv() => Wakeup::Redraw,
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
