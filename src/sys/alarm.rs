//! An alarm clock: wakes at a wall-clock time, and when somebody sets the clock; otherwise never.

use jiff::Timestamp;
use std::io;

/// What the alarm woke for. Either way, look at the clock: the time may not have come yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woke {
    /// The time has come.
    Due,
    /// The clock was set.
    ClockSet,
}

#[cfg(target_os = "linux")]
mod system {
    use super::{Timestamp, Woke, io};
    use rustix::fs::Timespec;
    use rustix::io::Errno;
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
    };
    use std::os::fd::OwnedFd;
    use tokio::io::unix::AsyncFd;

    /// The alarm. On Linux a timer of the kernel's, which also notices that the clock is set.
    pub struct Alarm {
        timer: AsyncFd<OwnedFd>,
        /// The clock was set, and only setting the alarm has told so.
        clock_set: bool,
    }

    impl Alarm {
        /// An alarm that is not set.
        ///
        /// # Errors
        /// What the system says of making a timer.
        pub fn new() -> io::Result<Self> {
            let timer =
                timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
            Ok(Self { timer: crate::sys::descriptor::readable(timer)?, clock_set: false })
        }

        /// Sets it to `at`, or to wake only when the clock is set.
        ///
        /// # Errors
        /// What the system says.
        pub fn set(&mut self, at: Option<Timestamp>) -> io::Result<()> {
            // Absolute times in the past wake at once; zero would switch the timer off.
            let far = Timestamp::MAX.as_second();
            let (seconds, nanoseconds) =
                at.map_or((far, 0), |at| (at.as_second().max(1), at.subsec_nanosecond()));
            let value = Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() };
            let spec = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
            let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
            match timerfd_settime(self.timer.get_ref(), flags, &spec) {
                Ok(_) => Ok(()),
                // The timer is armed all the same (timerfd_create(2), NOTES); the news must not be lost.
                Err(Errno::CANCELED) => {
                    self.clock_set = true;
                    Ok(())
                }
                Err(error) => Err(error.into()),
            }
        }

        /// Waits for it.
        ///
        /// # Errors
        /// What the system says.
        pub async fn woke(&mut self) -> io::Result<Woke> {
            if std::mem::take(&mut self.clock_set) {
                return Ok(Woke::ClockSet);
            }
            loop {
                let mut ready = self.timer.readable().await?;
                let mut count = [0_u8; 8];
                match rustix::io::read(ready.get_inner(), &mut count) {
                    Ok(_) => {
                        ready.clear_ready();
                        return Ok(Woke::Due);
                    }
                    Err(Errno::CANCELED) => {
                        ready.clear_ready();
                        return Ok(Woke::ClockSet);
                    }
                    Err(Errno::AGAIN) => ready.clear_ready(),
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Timestamp, Woke, io};
    use std::time::Duration;

    /// The alarm. Here a timer that counts down; that the clock was set shows at the next tick.
    pub struct Alarm(Option<tokio::time::Instant>);

    impl Alarm {
        /// An alarm that is not set.
        ///
        /// # Errors
        /// None.
        pub fn new() -> io::Result<Self> {
            Ok(Self(None))
        }

        /// Sets it to `at`, or never to wake.
        ///
        /// # Errors
        /// None.
        pub fn set(&mut self, at: Option<Timestamp>) -> io::Result<()> {
            self.0 = at.map(|at| {
                let wait = at.duration_since(crate::sys::clock::now());
                tokio::time::Instant::now() + Duration::try_from(wait).unwrap_or_default()
            });
            Ok(())
        }

        /// Waits for it.
        ///
        /// # Errors
        /// None.
        pub async fn woke(&mut self) -> io::Result<Woke> {
            match self.0 {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
            self.0 = None;
            Ok(Woke::Due)
        }
    }
}

pub use system::Alarm;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn a_time_that_has_passed_wakes_at_once() {
        let mut alarm = Alarm::new().unwrap();
        alarm.set(Some("1970-01-01T00:00:00Z".parse().unwrap())).unwrap();
        assert_eq!(alarm.woke().await.unwrap(), Woke::Due);
    }
}
