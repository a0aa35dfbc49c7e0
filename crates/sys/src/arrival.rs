//! Edge-triggered waits on a descriptor: only new input ends a wait, not input that is still unread.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

#[cfg(not(target_os = "linux"))]
use self::kqueue as system;
#[cfg(target_os = "linux")]
use self::linux as system;

/// An edge-triggered wait. One thread waits, any thread can wake it.
#[derive(Debug)]
pub struct Arrivals<Watched: AsFd> {
    system: system::Waiting,
    // Keeps the descriptor open while the system watches it.
    _watched: Watched,
}

impl<Watched: AsFd> Arrivals<Watched> {
    /// Watches `watched`.
    ///
    /// # Errors
    /// Fails for regular files, which don't report input.
    pub fn on(watched: Watched) -> io::Result<Self> {
        Ok(Self { system: system::Waiting::on(watched.as_fd())?, _watched: watched })
    }

    /// Waits for new input, a call of [`Self::wake`], or a signal.
    pub fn wait(&self) -> io::Result<()> {
        match self.system.wait() {
            Ok(()) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the current wait, or the next one.
    pub fn wake(&self) {
        self.system.wake();
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::OwnedFd;
    use rustix::event::EventfdFlags;
    use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
    use std::os::fd::BorrowedFd;

    #[derive(Debug)]
    pub(super) struct Waiting {
        set: OwnedFd,
        wake: OwnedFd,
    }

    impl Waiting {
        pub(super) fn on(watched: BorrowedFd<'_>) -> rustix::io::Result<Self> {
            let wake = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            let set = epoll::create(CreateFlags::CLOEXEC)?;
            let edge = EventFlags::IN | EventFlags::ET;
            epoll::add(&set, watched, EventData::new_u64(0), edge)?;
            epoll::add(&set, &wake, EventData::new_u64(1), edge)?;
            Ok(Self { set, wake })
        }

        pub(super) fn wait(&self) -> rustix::io::Result<()> {
            let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; 2];
            epoll::wait(&self.set, &mut events[..], None)?;
            Ok(())
        }

        pub(super) fn wake(&self) {
            let _woken_already = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod kqueue {
    use super::OwnedFd;
    use rustix::event::kqueue::{self, Event, EventFilter, EventFlags, UserDefinedFlags, UserFlags};
    use std::os::fd::{AsRawFd, BorrowedFd};

    #[derive(Debug)]
    pub(super) struct Waiting(OwnedFd);

    impl Waiting {
        pub(super) fn on(watched: BorrowedFd<'_>) -> rustix::io::Result<Self> {
            let queue = kqueue::kqueue()?;
            rustix::io::fcntl_setfd(&queue, rustix::io::FdFlags::CLOEXEC)?;
            let waiting = Self(queue);
            let edge = EventFlags::ADD | EventFlags::CLEAR;
            let watch = Event::new(EventFilter::Read(watched.as_raw_fd()), edge, std::ptr::null_mut());
            waiting.ask(&[watch, waking(edge, UserFlags::empty())], &mut [])?;
            Ok(waiting)
        }

        pub(super) fn wait(&self) -> rustix::io::Result<()> {
            let nothing = || waking(EventFlags::empty(), UserFlags::empty());
            self.ask(&[], &mut [nothing(), nothing()])
        }

        pub(super) fn wake(&self) {
            let _woken_already = self.ask(&[waking(EventFlags::empty(), UserFlags::TRIGGER)], &mut []);
        }

        fn ask(&self, changes: &[Event], events: &mut [Event]) -> rustix::io::Result<()> {
            // SAFETY: `Arrivals` keeps the descriptor open for as long as this queue exists.
            #[expect(unsafe_code, reason = "kqueue takes raw descriptors")]
            unsafe {
                kqueue::kevent(&self.0, changes, events, None)?;
            }
            Ok(())
        }
    }

    /// The event that only [`Waiting::wake`] triggers.
    fn waking(flags: EventFlags, user_flags: UserFlags) -> Event {
        let filter = EventFilter::User { ident: 0, flags: user_flags, user_flags: UserDefinedFlags::new(0) };
        Event::new(filter, flags, std::ptr::null_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::Arc;

    #[test]
    fn new_input_ends_one_wait_and_so_does_a_wake() {
        let (from, mut to) = io::pipe().unwrap();
        let arrivals = Arc::new(Arrivals::on(from).unwrap());
        to.write_all(b"one").unwrap();
        arrivals.wait().unwrap();

        // There is unread input but nothing new, so only the wake can end this wait.
        let (sender, receiver) = std::sync::mpsc::channel();
        let waiting = Arc::clone(&arrivals);
        let thread = std::thread::spawn(move || {
            waiting.wait().unwrap();
            sender.send(()).unwrap();
        });
        assert!(receiver.try_recv().is_err());
        arrivals.wake();
        receiver.recv().unwrap();
        thread.join().unwrap();

        // A wake before the wait counts as well.
        arrivals.wake();
        arrivals.wait().unwrap();
        to.write_all(b"two").unwrap();
        arrivals.wait().unwrap();
    }
}
