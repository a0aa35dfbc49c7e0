//! The command in our own place, with a pipe for stdout and one for stderr; stdin, process group and terminal are
//! the ones it would have had without us.

use super::super::record::Channel;
use super::super::recorder::Recorder;
use super::relay::{self, Over};
use super::{Ended, Finished, Trouble, is_for_command, take_signals};
use crate::sys::inherited;
use crate::sys::process::{Signal, signal};
use crate::sys::signals::{self, Signals};
use crate::sys::spawn::{self, Change, CommandLine, NotStarted, Streams};
use rustix::pipe::PipeFlags;
use rustix::process::Pid;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A stream that is ours to pass on.
struct Stream {
    from: OwnedFd,
    to: BorrowedFd<'static>,
    channel: Channel,
    name: &'static str,
}

/// Runs `command`. See [`super::run`].
pub(super) fn run(
    command: &CommandLine,
    recorder: &Recorder,
    started: impl FnOnce(),
) -> io::Result<Finished> {
    let signals = take_signals()?;
    let (mut streams, mut ours) = (Streams::default(), Vec::new());
    if !inherited::was_closed(1) {
        let (from, theirs) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let to = rustix::stdio::stdout();
        ours.push(Stream { from, to, channel: Channel::Stdout, name: "stdout" });
        streams.stdout = Some(theirs);
    }
    if !inherited::was_closed(2) {
        let (from, theirs) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let to = rustix::stdio::stderr();
        ours.push(Stream { from, to, channel: Channel::Stderr, name: "stderr" });
        streams.stderr = Some(theirs);
    }
    let child = match spawn::spawn(command, streams, &signals, || Ok(())) {
        Ok(child) => child,
        Err(NotStarted::Trouble(error)) => return Err(error),
        Err(error) => return Ok(Finished { ended: Ended::NotStarted(error), trouble: None }),
    };
    recorder.started(child.as_raw_nonzero().get().unsigned_abs());
    started();
    let (ended, ends) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    std::thread::scope(|scope| {
        let ended = ended.as_fd();
        let relays: Vec<_> = ours
            .into_iter()
            .map(|stream| {
                let Stream { from, to, channel, name } = stream;
                let relay = move || (name, relay::pass_on(from, to, ended, channel, recorder));
                std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, relay)
            })
            .collect::<io::Result<_>>()?;
        signals.let_come();
        let how = until_end(child, &signals);
        // From here on there is nobody to pass a signal on to, and much may still be written.
        signals.give_back();
        drop(ends);
        let mut trouble = None;
        for relay in relays {
            if let Ok((stream, Over::Trouble(source))) = relay.join() {
                trouble = Some(Trouble { stream, source });
            }
        }
        Ok(Finished { ended: how?, trouble })
    })
}

/// Passes signals on to `child` until it ends.
fn until_end(child: Pid, signals: &Signals) -> io::Result<Ended> {
    let pid = child.as_raw_nonzero().get().unsigned_abs();
    loop {
        let came = signals.next()?;
        if came.signal != libc::SIGCHLD {
            if let Some(passed) = Signal::from_named_raw(came.signal).filter(|_| is_for_command(came)) {
                signal(pid, passed);
            }
            continue;
        }
        // Several changes may have been told of by one signal.
        while let Some(change) = spawn::change(child, false)? {
            match change {
                Change::Exited(code) => return Ok(Ended::Exited(code)),
                Change::Signaled(signal) => return Ok(Ended::Signaled(signal)),
                Change::Stopped(by) => {
                    signals::stop_ourselves(by, false);
                    // Whoever has us go on means the command.
                    signal(pid, Signal::CONT);
                }
                Change::Continued => {}
            }
        }
    }
}
