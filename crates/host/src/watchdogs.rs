//! Notices that an agent seems to hang: it prints nothing, or a tool runs for too long. Pure: times are durations since
//! the agent's start. Time spent waiting for people doesn't count, nor does time for which the computer sleeps: the
//! host measures with [`Instant`](tokio::time::Instant), which stands still meanwhile.

use murmur_agent::event::Event;
use murmur_core::config::watchdogs::Watchdog;
use std::time::Duration;

/// When an agent seems to hang.
#[derive(Debug, Clone, Copy)]
pub struct WatchdogTimeouts {
    /// How long it may take to print anything.
    pub start: Duration,
    /// How long it may print nothing while no tool runs.
    pub idle: Option<Duration>,
    /// How long a tool may run.
    pub tool: Option<Duration>,
}

/// What is known of the agent. Its times leave out the time spent waiting for people.
#[derive(Debug)]
pub(super) struct Watchdogs {
    timeouts: WatchdogTimeouts,
    /// When it last printed something; `None` if never.
    printed: Option<Duration>,
    /// The running calls, oldest first: id and start.
    calls: Vec<(String, Duration)>,
    /// The total time spent waiting, except for a wait that has not ended.
    waited: Duration,
    /// Since when it has been waiting, by the clock.
    waits_since: Option<Duration>,
}

impl Watchdogs {
    pub(super) fn new(timeouts: WatchdogTimeouts) -> Self {
        Self { timeouts, printed: None, calls: Vec::new(), waited: Duration::ZERO, waits_since: None }
    }

    /// The time at `at` without the time spent waiting.
    fn worked(&self, at: Duration) -> Duration {
        self.waits_since.unwrap_or(at).saturating_sub(self.waited)
    }

    /// It printed something.
    pub(super) fn printed(&mut self, at: Duration) {
        self.printed = Some(self.worked(at));
    }

    /// Records one of its events.
    pub(super) fn see(&mut self, event: &Event<'_>, at: Duration) {
        match event {
            Event::ToolUse { id, .. } if self.calls.iter().all(|(known, _)| known != id) => {
                self.calls.push((id.clone().into_owned(), self.worked(at)));
            }
            Event::ToolResult { id, .. } => self.calls.retain(|(known, _)| known != id),
            Event::Result(_) => self.calls.clear(),
            _ => {}
        }
    }

    /// It waits for a person, or no longer does.
    pub(super) fn wait(&mut self, is_waiting: bool, at: Duration) {
        match (self.waits_since, is_waiting) {
            (None, true) => self.waits_since = Some(at),
            (Some(since), false) => {
                self.waited += at.saturating_sub(since);
                self.waits_since = None;
            }
            _ => {}
        }
    }

    /// Which watchdog ends it next, after which limit, and when; `None` while it waits for a person.
    pub(super) fn next(&self) -> Option<(Watchdog, Duration, Duration)> {
        if self.waits_since.is_some() {
            return None;
        }
        let WatchdogTimeouts { start, idle, tool } = self.timeouts;
        let due = |watchdog, since: Duration, limit: Duration| {
            (watchdog, limit, since.saturating_add(limit).saturating_add(self.waited))
        };
        let Some(printed) = self.printed else {
            return Some(due(Watchdog::StartTimeout, Duration::ZERO, start));
        };
        match self.calls.first() {
            Some((_, begun)) => Some(due(Watchdog::ToolTimeout, *begun, tool?)),
            None => Some(due(Watchdog::IdleTimeout, printed, idle?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Watchdog::{IdleTimeout, StartTimeout, ToolTimeout};
    use murmur_agent::event::Json;

    const ALL: WatchdogTimeouts =
        WatchdogTimeouts { start: seconds(120), idle: Some(seconds(60)), tool: Some(seconds(300)) };

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// What happens at a second.
    enum Step {
        Prints,
        Calls(&'static str),
        Returns(&'static str),
        Ends,
        Waits(bool),
    }

    fn next(timeouts: WatchdogTimeouts, steps: &[(u64, Step)]) -> Option<(Watchdog, u64)> {
        let input = serde_json::value::to_raw_value("").unwrap();
        let mut watchdogs = Watchdogs::new(timeouts);
        for (at, step) in steps {
            let at = seconds(*at);
            let event = match step {
                Step::Prints => None,
                Step::Waits(is_waiting) => {
                    watchdogs.wait(*is_waiting, at);
                    continue;
                }
                Step::Calls(id) => Some(Event::ToolUse {
                    message: "m".into(),
                    parent: "".into(),
                    id: (*id).into(),
                    name: "Bash".into(),
                    input: Json(&input),
                }),
                Step::Returns(id) => {
                    let (parent, output) = ("".into(), "".into());
                    Some(Event::ToolResult { parent, id: (*id).into(), output, is_error: false })
                }
                Step::Ends => Some(Event::Result(Box::default())),
            };
            watchdogs.printed(at);
            event.iter().for_each(|event| watchdogs.see(event, at));
        }
        watchdogs.next().map(|(watchdog, _, at)| (watchdog, at.as_secs()))
    }

    #[test]
    fn an_agent_hangs_when_nothing_comes_or_a_tool_does_not_end() {
        use Step::{Calls, Ends, Prints, Returns, Waits};
        for (steps, expected) in [
            (vec![], Some((StartTimeout, 120))),
            (vec![(5, Prints)], Some((IdleTimeout, 65))),
            (vec![(5, Prints), (30, Prints)], Some((IdleTimeout, 90))),
            (vec![(5, Prints), (10, Calls("1"))], Some((ToolTimeout, 310))),
            // The oldest call counts, whatever else is printed.
            (vec![(10, Calls("1")), (50, Calls("2")), (90, Prints)], Some((ToolTimeout, 310))),
            (vec![(10, Calls("1")), (50, Calls("2")), (90, Returns("1"))], Some((ToolTimeout, 350))),
            (vec![(10, Calls("1")), (20, Calls("1"))], Some((ToolTimeout, 310))),
            (vec![(10, Calls("1")), (90, Returns("1"))], Some((IdleTimeout, 150))),
            (vec![(10, Calls("1")), (90, Ends)], Some((IdleTimeout, 150))),
            // Nothing counts while a person is asked.
            (vec![(10, Calls("1")), (11, Waits(true))], None),
            (
                vec![(10, Calls("1")), (11, Waits(true)), (20, Waits(true)), (1011, Waits(false))],
                Some((ToolTimeout, 1310)),
            ),
            (vec![(10, Prints), (15, Waits(true)), (115, Waits(false))], Some((IdleTimeout, 170))),
            (vec![(10, Waits(true)), (20, Waits(false))], Some((StartTimeout, 130))),
        ] {
            assert_eq!(next(ALL, &steps), expected);
        }
        let off = WatchdogTimeouts { start: seconds(120), idle: None, tool: None };
        assert_eq!(next(off, &[]), Some((StartTimeout, 120)));
        assert_eq!(next(off, &[(5, Prints)]), None);
        assert_eq!(next(off, &[(5, Calls("1"))]), None);
    }
    /// The clock on the wall, and the host's, which stands still while the computer sleeps.
    #[derive(Default)]
    struct Clocks {
        wall: u64,
        awake: u64,
    }

    impl Clocks {
        fn pass(&mut self, seconds: u64) {
            self.wall += seconds;
            self.awake += seconds;
        }

        fn sleep(&mut self, seconds: u64) {
            self.wall += seconds;
        }
    }

    #[test]
    fn sleep_and_waiting_for_people_in_any_order_delay_every_limit() {
        use Step::{Calls, Prints, Waits};
        const NIGHT: u64 = 8 * 3600;
        // Before that, something happens 10 s after the start; then the limit is over after this long.
        for (happens, watchdog, left) in
            [(None, StartTimeout, 110), (Some(Prints), IdleTimeout, 60), (Some(Calls("1")), ToolTimeout, 300)]
        {
            let (mut clocks, mut steps) = (Clocks::default(), Vec::new());
            clocks.pass(10);
            steps.extend(happens.map(|happens| (clocks.awake, happens)));
            clocks.sleep(NIGHT);
            clocks.pass(5);
            // It sleeps while a person is asked, too.
            steps.push((clocks.awake, Waits(true)));
            clocks.pass(1000);
            clocks.sleep(NIGHT);
            clocks.pass(1000);
            steps.push((clocks.awake, Waits(false)));
            clocks.sleep(NIGHT);
            let (found, at) = next(ALL, &steps).unwrap();
            assert_eq!((found, at), (watchdog, 2010 + left));
            // It fires once the rest of the limit has passed awake, three nights later.
            clocks.pass(at - clocks.awake);
            assert_eq!(clocks.wall, at + 3 * NIGHT);
        }
    }

    #[test]
    fn the_hosts_limits_see_no_clock_but_the_one_that_stands_still_during_sleep() {
        for source in [
            include_str!("watchdogs.rs"),
            include_str!("beat_limits.rs"),
            include_str!("run.rs"),
            include_str!("run/stopping.rs"),
            include_str!("run/timers.rs"),
        ] {
            for clock in [concat!("clock", "::"), concat!("Time", "stamp"), concat!("System", "Time")] {
                assert!(!source.contains(clock), "{clock}");
            }
        }
    }
}
