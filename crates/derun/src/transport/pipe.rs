//! The command in our own place, with a pipe for stdout and one for stderr; stdin, process group and terminal are
//! the ones it would have had without us.

use super::super::record::Channel;
use super::super::recorder::Recorder;
use super::relay::{self, Over};
use super::{Ended, Finished, Trouble, is_for_command};
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
    let signals = Signals::take()?;
    let (streams, ours) = connect()?;
    let child = match spawn::spawn(command, streams, &signals, || Ok(())) {
        Ok(child) => child,
        Err(NotStarted::Trouble(error)) => return Err(error),
        Err(error) => return Ok(Finished { ended: Ended::NotStarted(error), trouble: None }),
    };
    let alone = leave_group();
    recorder.started(child.as_raw_nonzero().get().unsigned_abs());
    started();
    let (ended, ends) = sys::pipe::pair()?;
    std::thread::scope(|scope| {
        let mut relays = Relays { streams: ours, scope, ended: ended.as_fd(), recorder, running: Vec::new() };
        signals.let_come();
        let how = until_end(child, alone, &signals, &mut relays);
        // From here on there is nobody to pass a signal on to, and much may still be written.
        signals.give_back();
        drop(ends);
        Ok(Finished { ended: how?, trouble: relays.finish() })
    })
}

/// Makes the pipes: their ends for the command, and ours. Where stdout and stderr are one, they stay one, so that what
/// is written to them keeps its order; else each is a channel of its own.
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

/// Leaves the process group to the command, where there is no terminal and we do not lead it: a signal to the group,
/// as of `timeout`, then reaches the command once and us not at all. Says whether it did. On a terminal we stay,
/// since a shell has us stop and go on with the group.
fn leave_group() -> bool {
    let leads = process::group() == Some(rustix::process::getpid());
    !leads && !terminal::has_controlling() && rustix::process::setpgid(None, None).is_ok()
}

/// The streams: each is passed on by a thread of its own, so that one that is not read keeps no other waiting. The
/// thread is started when there is something to do, since most commands use one stream or none.
struct Relays<'scope, 'env> {
    streams: Vec<Stream>,
    scope: &'scope Scope<'scope, 'env>,
    ended: BorrowedFd<'scope>,
    recorder: &'scope Recorder,
    running: Vec<ScopedJoinHandle<'scope, (&'static str, Over)>>,
}

impl Relays<'_, '_> {
    /// Waits until `signals` has one, and starts the relays of streams on which something happens meanwhile.
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
                // Else nobody can write to it any more, and nothing is in it: there is nothing to pass on.
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

    /// Waits until all that the command wrote has been passed on. Returns what went wrong.
    fn finish(self) -> Option<Trouble> {
        let (ended, recorder) = (self.ended, self.recorder);
        let running = self.running.into_iter().filter_map(|relay| relay.join().ok());
        let idle = self.streams.into_iter().map(|Stream { from, to, channel, name }| {
            (name, relay::pass_on(from, to, ended, channel, recorder))
        });
        let over: Vec<_> = idle.chain(running).collect();
        over.into_iter().find_map(|(stream, over)| match over {
            Over::Trouble(source) => Some(Trouble { stream, error: source }),
            Over::End | Over::ReaderGone => None,
        })
    }
}

/// Whether there is something in a pipe that nobody can write to any more. A poll that says so of the writers may
/// have looked for bytes before they wrote their last.
fn has_bytes(pipe: &OwnedFd) -> bool {
    rustix::io::ioctl_fionread(pipe) != Ok(0)
}

/// Passes signals on to `child` until it ends. `alone` says that we share no process group with it.
fn until_end(child: Pid, alone: bool, signals: &Signals, relays: &mut Relays<'_, '_>) -> io::Result<Ended> {
    let pid = child.as_raw_nonzero().get().unsigned_abs();
    loop {
        relays.wait(signals)?;
        let came = signals.next()?;
        if came.signal != libc::SIGCHLD {
            if let Some(passed) =
                Signal::from_named_raw(came.signal).filter(|_| alone || is_for_command(came))
            {
                signal(pid, passed);
            }
            continue;
        }
        // Several changes may have been told of by one signal.
        while let Some(change) = spawn::change(child, false)? {
            match change {
                Change::Exited(code) => return Ok(Ended::Exited(code)),
                Change::Signaled(signal) => return Ok(Ended::Signaled(signal)),
                // Nobody would have us go on.
                Change::Stopped(_) if alone => {}
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
