//! The usage limits of the account: an event for each window. The windows are named as Claude Code names them.
//!
//! Codex reports them after each answer of the model, and on request (`account/rateLimits/read`), which it refuses
//! without a ChatGPT login. It gives no warning before a limit is reached.

use super::line::CodexMessage;
use crate::event::{Event, RateLimit};
use serde::Deserialize;

/// The limits that apply to every model; others apply to some.
const GENERAL: &str = "codex";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    rate_limits: Limits,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Limits {
    #[serde(default)]
    limit_id: Option<String>,
    #[serde(default)]
    primary: Option<Window>,
    #[serde(default)]
    secondary: Option<Window>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Window {
    used_percent: f64,
    #[serde(default)]
    window_duration_mins: Option<u64>,
    #[serde(default)]
    resets_at: Option<i64>,
}

/// `account/rateLimits/updated`.
pub(super) fn updated(line: &CodexMessage<'_>, sink: &mut impl FnMut(Event<'_>)) -> Option<()> {
    let report: Report = line.params()?;
    report.rate_limits.emit(sink);
    Some(())
}

/// The response to `account/rateLimits/read`: its general limits. It also has those of models that may not be in use.
pub(super) fn read(line: &CodexMessage<'_>, sink: &mut impl FnMut(Event<'_>)) -> Option<()> {
    let report: Report = serde_json::from_str(line.result?.get()).ok()?;
    report.rate_limits.emit(sink);
    Some(())
}

impl Limits {
    /// Emits the windows that are known.
    fn emit(&self, sink: &mut impl FnMut(Event<'_>)) {
        let id = self.limit_id.as_deref().unwrap_or(GENERAL);
        for limit in [&self.primary, &self.secondary].into_iter().flatten() {
            let window = match limit.window_duration_mins {
                Some(300) => "five_hour".to_owned(),
                Some(10_080) => "seven_day".to_owned(),
                Some(minutes) => format!("{minutes}_minutes"),
                None => "unknown".to_owned(),
            };
            // As in Claude Code's `seven_day_opus`.
            let window = if id == GENERAL { window } else { format!("{window}_{id}") };
            let status = if limit.used_percent >= 100.0 { "rejected" } else { "allowed" };
            sink(Event::RateLimit(Box::new(RateLimit {
                status: status.to_owned(),
                window,
                resets_at: limit.resets_at,
                utilization: Some(limit.used_percent / 100.0),
            })));
        }
    }
}
