//! The keys of an entry about its schedule, besides `interval`, `cron` and `tz`.

use super::Text;
use super::value::{SPAN, checked, read};
use crate::config::active_hours::ActiveHours;
use crate::config::approval::Choice;
use crate::config::except::Except;
use crate::config::problem::Problem;
use crate::config::schedule_options::{CatchUp, Overlap, ScheduleKeys};
use crate::config::trigger::On;

/// Reads one of [`ScheduleKeys::NAMES`].
pub(super) fn key(text: &Text<'_>, keys: &mut ScheduleKeys, name: &str, value: &str) -> Result<(), Problem> {
    match name {
        "enabled" => keys.enabled = read(text, name, value, "write true or false")?,
        "activeHours" => keys.active_hours = checked(text, name, value, ActiveHours::ACCEPTED)?,
        "except" => keys.except = checked(text, name, value, Except::ACCEPTED)?,
        "jitter" => keys.jitter = checked(text, name, value, SPAN)?,
        "catchUp" => keys.catch_up = checked(text, name, value, CatchUp::ACCEPTED)?,
        "startDeadline" => keys.start_deadline = checked(text, name, value, SPAN)?,
        "on" => keys.on = checked(text, name, value, On::ACCEPTED)?,
        _ => keys.overlap = checked(text, name, value, Overlap::ACCEPTED)?,
    }
    Ok(())
}
