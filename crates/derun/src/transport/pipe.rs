//! Runs the command in our place, with pipes for stdout and stderr; stdin, process group and terminal are the same as
//! without us.

use super::super::record::Channel;
use super::super::recorder::Recorder;
use super::relay::{self, RelayEnd};
use super::{CommandEnd, Finished, StreamError, is_for_command};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::Pid;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::{Scope, ScopedJoinHandle};
use sys::process::{self, Signal, signal};
use sys::signals::{self, Signals};
use sys::spawn::{self, Change, CommandLine, NotStarted, Streams};
use sys::{inherited, terminal};

/// A stream to pass on.
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
    let signals = Signals::take()?;
    let (streams, ours) = connect()?;
    let child = match spawn::spawn(command, streams, &signals, || Ok(())) {
        Ok(child) => child,
        Err(NotStarted::Trouble(error)) => return Err(error),
        Err(error) => return Ok(Finished { ended: CommandEnd::NotStarted(error), trouble: None }),
    };
    let alone = leave_group();
    recorder.started(child.as_raw_nonzero().get().unsigned_abs());
    started();
    let (ended, ends) = sys::pipe::pair()?;
    std::thread::scope(|scope| {
        let mut relays = Relays { streams: ours, scope, ended: ended.as_fd(), recorder, running: Vec::new() };
        signals.unblock();
        let how = until_end(child, alone, &signals, &mut relays);
        // The command has ended, so there is nobody to pass signals on to, and much output may remain.
        signals.give_back();
        drop(ends);
        Ok(Finished { ended: how?, trouble: relays.finish() })
    })
}

/// Creates the pipes, with ends for the command and for us. If stdout and stderr are the same, they share a pipe,
/// which keeps the order of writes; otherwise each is a channel of its own.
fn connect() -> io::Result<(Streams, Vec<Stream>)> {
    let (mut streams, mut ours) = (Streams::default(), Vec::new());
    if !inherited::was_closed(1) {
        let (from, theirs) = sys::pipe::pair()?;
        let to = rustix::stdio::stdout();
        ours.push(Stream { from, to, channel: Channel::Stdout, name: "stdout" });
        if inherited::is_output_shared() {
            streams.stderr = Some(theirs.try_clone()?);
        }
        streams.stdout = Some(theirs);
    }
    if !inherited::was_closed(2) && streams.stderr.is_none() {
        let (from, theirs) = sys::pipe::pair()?;
        let to = rustix::stdio::stderr();
        ours.push(Stream { from, to, channel: Channel::Stderr, name: "stderr" });
        streams.stderr = Some(theirs);
    }
    Ok((streams, ours))
}

/// Leaves the process group to the command if there is no terminal and we don't lead the group: then a signal to the
/// group, such as that of `timeout`, reaches the command once and us not at all. Returns whether we left. On a
/// terminal we stay, so that a shell stops and resumes us with the group.
fn leave_group() -> bool {
    let leads = process::group() == Some(rustix::process::getpid());
    !leads && !terminal::has_controlling() && rustix::process::setpgid(None, None).is_ok()
}

/// Relays the streams, each on a thread of its own, so that an unread stream doesn't block the others. A thread
/// starts only when there is output, since most commands use one stream or none.
struct Relays<'scope, 'env> {
    streams: Vec<Stream>,
    scope: &'scope Scope<'scope, 'env>,
    ended: BorrowedFd<'scope>,
    recorder: &'scope Recorder,
    running: Vec<ScopedJoinHandle<'scope, (&'static str, RelayEnd)>>,
}

impl Relays<'_, '_> {
    /// Waits for one of `signals`, and starts relays of streams that become active meanwhile.
    fn wait(&mut self, signals: &Signals) -> io::Result<()> {
        loop {
            let mut watched = vec![PollFd::new(signals, PollFlags::IN)];
            for stream in &self.streams {
                watched.push(PollFd::new(&stream.from, PollFlags::IN));
                watched.push(PollFd::from_borrowed_fd(stream.to, PollFlags::empty()));
            }
            match rustix::event::poll(&mut watched, None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let happened: Vec<PollFlags> = watched.iter().map(PollFd::revents).collect();
            let streams = std::mem::take(&mut self.streams);
            for (stream, happened) in streams.into_iter().zip(happened[1..].chunks(2)) {
                if happened.iter().all(|flags| flags.is_empty()) {
                    self.streams.push(stream);
                } else if happened[0] != PollFlags::HUP || has_bytes(&stream.from) {
                    self.start(stream)?;
                }
                // Otherwise it is closed and empty: there is nothing to pass on.
            }
            if !happened[0].is_empty() {
                return Ok(());
            }
        }
    }

    fn start(&mut self, stream: Stream) -> io::Result<()> {
        let Stream { from, to, channel, name } = stream;
        let (ended, recorder) = (self.ended, self.recorder);
        let relay = move || (name, relay::pass_on(from, to, ended, channel, recorder));
        self.running.push(std::thread::Builder::new().name(name.to_owned()).spawn_scoped(self.scope, relay)?);
        Ok(())
    }

    /// Waits until all output has been passed on. Returns the error, if any.
    fn finish(self) -> Option<StreamError> {
        let (ended, recorder) = (self.ended, self.recorder);
        let running = self.running.into_iter().filter_map(|relay| relay.join().ok());
        let idle = self.streams.into_iter().map(|Stream { from, to, channel, name }| {
            (name, relay::pass_on(from, to, ended, channel, recorder))
        });
        let over: Vec<_> = idle.chain(running).collect();
        over.into_iter().find_map(|(stream, over)| match over {
            RelayEnd::Trouble(source) => Some(StreamError { stream, error: source }),
            RelayEnd::End | RelayEnd::ReaderGone => None,
        })
    }
}

/// Whether a closed pipe still contains bytes. A poll that reports that it is closed may have checked for bytes
/// before the last write.
fn has_bytes(pipe: &OwnedFd) -> bool {
    rustix::io::ioctl_fionread(pipe) != Ok(0)
}

/// Passes signals on to `child` until it ends. `alone` means that it is not in our process group.
fn until_end(
    child: Pid,
    alone: bool,
    signals: &Signals,
    relays: &mut Relays<'_, '_>,
) -> io::Result<CommandEnd> {
    let pid = child.as_raw_nonzero().get().unsigned_abs();
    loop {
        relays.wait(signals)?;
        let received = signals.next()?;
        if received.signal != libc::SIGCHLD {
            if let Some(passed) =
                Signal::from_named_raw(received.signal).filter(|_| alone || is_for_command(received))
            {
                signal(pid, passed);
            }
            continue;
        }
        // One signal may stand for several changes.
        while let Some(change) = spawn::change(child, false)? {
            match change {
                Change::Exited(code) => return Ok(CommandEnd::Exited(code)),
                Change::Signaled(signal) => return Ok(CommandEnd::Signaled(signal)),
                // Nobody would resume us.
                Change::Stopped(_) if alone => {}
                Change::Stopped(by) => {
                    signals::stop_ourselves(by, false);
                    // A signal that resumes us is meant for the command.
                    signal(pid, Signal::CONT);
                }
                Change::Continued => {}
            }
        }
    }
}
