//! An alarm that fires at a wall-clock time or when the clock is set.

use jiff::Timestamp;
use std::io;

/// The reason why an alarm fired. Check the clock in either case: the time may not have been reached yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeReason {
    /// The time was reached.
    Due,
    /// The clock was set.
    ClockSet,
}

#[cfg(target_os = "linux")]
mod system {
    use super::{Timestamp, WakeReason, io};
    use rustix::fs::Timespec;
    use rustix::io::Errno;
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
    };
    use std::os::fd::OwnedFd;
    use tokio::io::unix::AsyncFd;

    /// An alarm based on `timerfd`, which also reports when the clock is set.
    pub struct Alarm {
        timer: AsyncFd<OwnedFd>,
        /// `timerfd_settime` reported a clock change that [`Self::woke`] has not returned yet.
        clock_set: bool,
    }

    impl Alarm {
        /// Creates an alarm that is not set.
        pub fn new() -> io::Result<Self> {
            let timer =
                timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
            Ok(Self { timer: crate::descriptor::readable(timer)?, clock_set: false })
        }

        /// Sets the alarm to `at`. With `None` it fires only when the clock is set.
        pub fn set(&mut self, at: Option<Timestamp>) -> io::Result<()> {
            // A time in the past fires at once. Zero would disarm the timer.
            let far = Timestamp::MAX.as_second();
            let (seconds, nanoseconds) =
                at.map_or((far, 0), |at| (at.as_second().max(1), at.subsec_nanosecond()));
            let value = Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() };
            let spec = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
            let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
            match timerfd_settime(self.timer.get_ref(), flags, &spec) {
                Ok(_) => Ok(()),
                // The timer is armed anyway (timerfd_create(2), NOTES). Keep the event for the next wait.
                Err(Errno::CANCELED) => {
                    self.clock_set = true;
                    Ok(())
                }
                Err(error) => Err(error.into()),
            }
        }

        /// Waits until the alarm fires.
        pub async fn woke(&mut self) -> io::Result<WakeReason> {
            if std::mem::take(&mut self.clock_set) {
                return Ok(WakeReason::ClockSet);
            }
            loop {
                let mut ready = self.timer.readable().await?;
                let mut count = [0_u8; 8];
                match rustix::io::read(ready.get_inner(), &mut count) {
                    Ok(_) => {
                        ready.clear_ready();
                        return Ok(WakeReason::Due);
                    }
                    Err(Errno::CANCELED) => {
                        ready.clear_ready();
                        return Ok(WakeReason::ClockSet);
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
    use super::{Timestamp, WakeReason, io};
    use std::time::Duration;

    /// An alarm based on a relative timer, which cannot detect clock changes. Callers notice them at their next
    /// tick.
    pub struct Alarm(Option<tokio::time::Instant>);

    impl Alarm {
        /// Creates an alarm that is not set.
        pub fn new() -> io::Result<Self> {
            Ok(Self(None))
        }

        /// Sets the alarm to `at`. With `None` it never fires.
        pub fn set(&mut self, at: Option<Timestamp>) -> io::Result<()> {
            self.0 = at.map(|at| {
                let wait = at.duration_since(crate::clock::now());
                tokio::time::Instant::now() + Duration::try_from(wait).unwrap_or_default()
            });
            Ok(())
        }

        /// Waits until the alarm fires.
        pub async fn woke(&mut self) -> io::Result<WakeReason> {
            match self.0 {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
            self.0 = None;
            Ok(WakeReason::Due)
        }
    }
}

pub use system::Alarm;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn an_alarm_in_the_past_fires_at_once() {
        let mut alarm = Alarm::new().unwrap();
        alarm.set(Some("1970-01-01T00:00:00Z".parse().unwrap())).unwrap();
        assert_eq!(alarm.woke().await.unwrap(), WakeReason::Due);
    }
}
