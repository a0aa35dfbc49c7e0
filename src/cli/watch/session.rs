//! The terminal while the view is on it: raw mode, the alternate screen, keys and signals. It is restored when the view
//! ends, is stopped, runs an editor, or panics.

use super::super::agents::screen::{LEAVE, Screen};
use super::super::raw_input::{ESCAPE, PASTE};
use super::super::style::Style;
use super::super::terminal_signals::{TerminalSignal, TerminalSignals};
use derun::cli::stdout::stdout;
use jiff::Timestamp;
use std::convert::Infallible;
use std::io::{self, Write};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Weak};
use sys::signals;
use sys::terminal::{self, Input, OuterTerminal};
use sys::terminal_guard::TerminalGuard;
use tokio::time::sleep;
use watch::keys::{Key, Keys};
use watch::{Ansi, ColorDepth, Model, Terminal, draw};

/// Reports clicks and the wheel.
const MOUSE: (&str, &str) = ("\x1b[?1000h\x1b[?1006h", "\x1b[?1006l\x1b[?1000l");

/// Why [`Session::wakeup`] returned.
pub(super) enum Wakeup {
    /// Keys were pressed.
    Keys(Vec<Key>),
    /// The terminal has another size, or this process was continued.
    Redraw,
    /// A frame was written.
    Written,
    /// A signal asks to stop.
    Suspend,
    /// The terminal is gone.
    Gone,
    /// A signal asks to end.
    End(i32),
}

/// The terminal.
pub(super) struct Session {
    outer: OuterTerminal,
    screen: Screen,
    terminal: Terminal<Ansi>,
    input: Input,
    keys: Keys,
    has_mouse: bool,
    signals: TerminalSignals,
    guard: Option<Arc<TerminalGuard>>,
}

/// Starts the process that gives the terminal back if this one is killed. Call this while there is only one thread.
pub(super) fn guard() -> Option<TerminalGuard> {
    TerminalGuard::start(&OuterTerminal::look().ok()?, &given_back()).ok()
}

impl Session {
    /// Takes over the terminal.
    pub(super) fn begin(has_mouse: bool, guard: Option<TerminalGuard>) -> io::Result<Self> {
        let signals = TerminalSignals::begin()?;
        let outer = OuterTerminal::look()?;
        let guard = guard.map(Arc::new);
        restore_on_panic(outer.clone(), guard.as_ref().map(Arc::downgrade));
        let (columns, rows) = size();
        let terminal = plain(Terminal::new(Ansi::new(columns, rows, depth())));
        let input = Input::of_stdin()?;
        guard.iter().for_each(|guard| guard.tell(true));
        outer.make_raw()?;
        let screen = enter(has_mouse);
        let keys = Keys::default();
        Ok(Self { outer, screen, terminal, input, keys, has_mouse, signals, guard })
    }

    /// Whether a frame would be written at once.
    pub(super) fn is_free(&self) -> bool {
        self.screen.is_free()
    }

    /// Draws a frame: writes what differs from the last one.
    pub(super) fn draw(&mut self, model: &Model, now: Timestamp) -> io::Result<()> {
        plain(self.terminal.draw(|frame| draw(frame, model, now)));
        let text = self.terminal.backend_mut().take();
        if !text.is_empty() {
            self.screen.write(text);
        }
        Ok(())
    }

    /// Forgets what is on the terminal, so that the next frame is drawn in full, in its current size.
    pub(super) fn redraw(&mut self) -> io::Result<()> {
        let (columns, rows) = size();
        self.terminal.backend_mut().resize(columns, rows);
        plain(self.terminal.autoresize());
        plain(self.terminal.clear());
        Ok(())
    }

    /// Waits for the next thing to do. Cancel safe.
    pub(super) async fn wakeup(&mut self) -> io::Result<Wakeup> {
        let is_partial = self.keys.is_waiting();
        Ok(tokio::select! {
            biased;
            signal = self.signals.next() => match signal {
                TerminalSignal::End(signal) => Wakeup::End(signal),
                TerminalSignal::Suspend => Wakeup::Suspend,
                TerminalSignal::Resized | TerminalSignal::Continued => {
                    if signal == TerminalSignal::Continued {
                        self.outer.make_raw()?;
                    }
                    self.redraw()?;
                    Wakeup::Redraw
                }
            },
            written = self.screen.written() => if written { Wakeup::Written } else { Wakeup::Gone },
            typed = self.input.read() => match typed? {
                bytes if bytes.is_empty() => Wakeup::Gone,
                bytes => Wakeup::Keys(self.keys.read(&bytes)),
            },
            () = sleep(ESCAPE), if is_partial => Wakeup::Keys(self.keys.flush()),
        })
    }

    /// Gives the terminal back.
    pub(super) async fn leave(&mut self) {
        self.screen.write(format!("{}{}", if self.has_mouse { MOUSE.1 } else { "" }, PASTE.1));
        self.screen.leave().await;
        self.outer.restore();
        self.guard.iter().for_each(|guard| guard.tell(false));
    }

    /// Takes over the terminal again.
    fn enter(&mut self) -> io::Result<()> {
        self.guard.iter().for_each(|guard| guard.tell(true));
        self.outer.make_raw()?;
        self.screen = enter(self.has_mouse);
        self.redraw()
    }

    /// Stops this process's job, as Ctrl-Z does, until it is continued.
    pub(super) async fn suspend(&mut self) -> io::Result<()> {
        self.leave().await;
        signals::stop_ourselves(rustix::process::Signal::TSTP.as_raw(), true);
        self.enter()
    }

    /// Runs a command on the terminal, and waits for it.
    pub(super) async fn run(&mut self, command: Command) -> io::Result<io::Result<ExitStatus>> {
        self.leave().await;
        let ended = tokio::process::Command::from(command).status().await;
        // Ctrl-C was for the command.
        self.signals.forget_interrupts().await;
        self.enter()?;
        Ok(ended)
    }
}

fn enter(has_mouse: bool) -> Screen {
    let mut screen = Screen::begin();
    screen.write(format!("{}{}", PASTE.0, if has_mouse { MOUSE.0 } else { "" }));
    screen
}

fn plain<T>(drawn: Result<T, Infallible>) -> T {
    match drawn {
        Ok(drawn) => drawn,
        Err(never) => match never {},
    }
}

fn size() -> (u16, u16) {
    match terminal::size() {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
        _ => (80, 24),
    }
}

fn depth() -> ColorDepth {
    let [deep, term] = ["COLORTERM", "TERM"].map(|name| std::env::var(name).unwrap_or_default());
    if !Style::of_stdout().is_colored() {
        ColorDepth::None
    } else if matches!(&*deep, "truecolor" | "24bit") {
        ColorDepth::True
    } else if term.ends_with("256color") {
        ColorDepth::Indexed
    } else {
        ColorDepth::Sixteen
    }
}

/// Gives the screen back, also within a frame.
fn given_back() -> String {
    format!("{}{}{}{LEAVE}", Ansi::END, MOUSE.1, PASTE.1)
}

/// Restores the terminal before a panic is reported.
fn restore_on_panic(outer: OuterTerminal, guard: Option<Weak<TerminalGuard>>) {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let mut out = stdout().lock();
        let _gone = out.write_all(given_back().as_bytes()).and_then(|()| out.flush());
        outer.restore();
        guard.iter().filter_map(Weak::upgrade).for_each(|guard| guard.tell(false));
        report(panic);
    }));
}
