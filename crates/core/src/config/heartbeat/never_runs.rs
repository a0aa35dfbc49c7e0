//! Heartbeats that nothing ever starts.

use super::Heartbeat;
use crate::config::cron::Cron;
use crate::config::schedule_options::ScheduleOptions;
use crate::config::timing::Schedule;
use jiff::{SignedDuration, Timestamp};
use sys::error::Failure;
use sys::failure;

/// A wait that is as good as forever: ten years.
const LONG: SignedDuration = SignedDuration::from_hours(10 * 366 * 24);

/// How many times of a cron expression to look at for one within active hours, as for its schedule.
const MAX_TIMES: usize = 1000;

/// Why only `murmur beat` starts `heartbeat`, although it is enabled; `None` if something else does after `now`.
pub(super) fn why(heartbeat: &Heartbeat, now: Timestamp) -> Option<Failure> {
    let (schedule, on) = (heartbeat.schedule.as_ref(), heartbeat.on());
    if schedule.is_none() && on.is_none() {
        let what = Failure::new("it has no schedule, so it never runs");
        return Some(what.hint("write \"interval\", \"cron\" or \"on\" into config.json or its frontmatter"));
    }
    let options = heartbeat.settings.options.as_deref().filter(|options| options.enabled.value)?;
    let next = match schedule {
        Some(Schedule::Every(interval)) if on.is_none() => {
            now.checked_add(interval.signed()).ok().and_then(|next| opening(options, next))
        }
        Some(Schedule::Cron(cron)) if on.is_none() => next_time(cron, options, now),
        _ => opening(options, now),
    };
    next.is_none().then(|| no_time(options, schedule.filter(|_| on.is_none())))
}

/// The first moment from `at` on at which `options` let a heartbeat start; `None` if there is none for [`LONG`].
fn opening(options: &ScheduleOptions, at: Timestamp) -> Option<Timestamp> {
    options.from(at).filter(|opens| opens.duration_since(at) < LONG)
}

/// The next time of `cron` at which `options` let it run.
fn next_time(cron: &Cron, options: &ScheduleOptions, now: Timestamp) -> Option<Timestamp> {
    let mut after = now;
    for _ in 0..MAX_TIMES {
        let time = cron.next_after(after)?;
        let opens = opening(options, time)?;
        if opens == time {
            return Some(time);
        }
        // The very start of active hours may be a time of the expression.
        after = time.max(opens.checked_sub(SignedDuration::from_nanos(1)).ok()?);
    }
    None
}

fn no_time(options: &ScheduleOptions, schedule: Option<&Schedule>) -> Failure {
    let starts = match schedule {
        Some(Schedule::Cron(_)) => "\"cron\"",
        Some(Schedule::Every(_)) => "\"interval\"",
        None => "\"on\"",
    };
    let closed = match (options.active_hours.is_empty(), options.except.is_empty()) {
        (false, false) => "\"activeHours\" and \"except\" leave",
        (_, true) => "\"activeHours\" leaves",
        (true, _) => "\"except\" leaves",
    };
    failure!("{closed} no time for {starts}, so it never runs"; "change one of them, or set \"enabled\" to false")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::cron::Crons;
    use crate::config::file::File;
    use crate::config::heartbeat::resolve_registered;
    use jiff::tz::TimeZone;
    use std::path::Path;

    fn why_not(keys: &str) -> String {
        let crons = Crons::new(TimeZone::UTC);
        let config = format!(r#"{{"workspaces":[{{"path":"/a",{keys}}}]}}"#);
        let file = File::parse(config.as_bytes(), Path::new("/config.json"), &crons).unwrap();
        let found = resolve_registered(&file, Path::new("/a"), &crons).unwrap().remove(0);
        let now = "2026-02-03T10:00:00Z".parse().unwrap();
        why(&found, now).map(|why| why.line()).unwrap_or_default()
    }

    #[test]
    fn closed_times_that_leave_no_run_are_named() {
        const HINT: &str = "so it never runs; change one of them, or set \"enabled\" to false";
        for (keys, expected) in [
            (r#""interval":"1h","activeHours":"08:00-10:00""#, ""),
            (r#""cron":"0 9 * * *","activeHours":"08:00-10:00""#, ""),
            (
                r#""cron":"0 12 * * *","activeHours":"08:00-10:00""#,
                "\"activeHours\" leaves no time for \"cron\", ",
            ),
            (r#""cron":"0 9 1 1 *","except":["01-01"]"#, "\"except\" leaves no time for \"cron\", "),
            (
                r#""interval":"1h","except":["2026-01-01..2126-12-31"]"#,
                "\"except\" leaves no time for \"interval\", ",
            ),
            (
                r#""cron":"0 9 * * SAT","activeHours":"Mon-Fri 08:00-10:00","except":["12-25"]"#,
                "\"activeHours\" and \"except\" leave no time for \"cron\", ",
            ),
            (
                r#""on":{"path":"src"},"except":["2026-01-01..2126-12-31"]"#,
                "\"except\" leaves no time for \"on\", ",
            ),
            (r#""cron":"0 12 * * *","activeHours":"08:00-10:00","on":{"path":"src"}"#, ""),
            (r#""cron":"0 12 * * *","activeHours":"08:00-10:00","enabled":false"#, ""),
        ] {
            let expected = if expected.is_empty() { String::new() } else { format!("{expected}{HINT}") };
            assert_eq!(why_not(keys), expected, "{keys}");
        }
    }
}
