//! The signals that matter to a program that has put the terminal into raw mode.

use rustix::process;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminalSignal {
    /// The terminal has another size.
    Resized,
    /// This process continues after a stop; the terminal may have other settings.
    Continued,
    /// To stop, as Ctrl-Z does.
    Suspend,
    /// To end, by this signal.
    End(i32),
}

/// Waits for these signals instead of dying by them.
pub(super) struct TerminalSignals {
    resized: Signal,
    continued: Signal,
    suspend: Signal,
    ends: [(Signal, i32); 3],
}

impl TerminalSignals {
    pub(super) fn begin() -> io::Result<Self> {
        let end = |kind: SignalKind| Ok::<_, io::Error>((signal(kind)?, kind.as_raw_value()));
        let other = |kind: process::Signal| signal(SignalKind::from_raw(kind.as_raw()));
        Ok(Self {
            resized: signal(SignalKind::window_change())?,
            continued: other(process::Signal::CONT)?,
            suspend: other(process::Signal::TSTP)?,
            ends: [end(SignalKind::interrupt())?, end(SignalKind::terminate())?, end(SignalKind::hangup())?],
        })
    }

    /// Waits for the next signal. Cancel safe.
    pub(super) async fn next(&mut self) -> TerminalSignal {
        let [interrupt, terminate, hang_up] = &mut self.ends;
        tokio::select! {
            biased;
            _ = interrupt.0.recv() => TerminalSignal::End(interrupt.1),
            _ = terminate.0.recv() => TerminalSignal::End(terminate.1),
            _ = hang_up.0.recv() => TerminalSignal::End(hang_up.1),
            _ = self.suspend.recv() => TerminalSignal::Suspend,
            _ = self.continued.recv() => TerminalSignal::Continued,
            _ = self.resized.recv() => TerminalSignal::Resized,
        }
    }

    /// Drops pending interrupts, which were for another program.
    pub(super) async fn forget_interrupts(&mut self) {
        let [interrupt, ..] = &mut self.ends;
        while let Some(true) = received(&mut interrupt.0).await {}
    }
}

/// Whether a signal is pending.
async fn received(signal: &mut Signal) -> Option<bool> {
    tokio::select! {
        biased;
        received = signal.recv() => Some(received.is_some()),
        () = std::future::ready(()) => None,
    }
}
