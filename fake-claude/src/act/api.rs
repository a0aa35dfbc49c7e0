//! API errors: which are retried, after what time, and the final message.
//!
//! Pure. Input: a status, headers and the API's message. Output: delays and Claude Code's messages, as measured on
//! 2.1.329.

use std::time::Duration;

use regex::Regex;
use serde_json::{Value, json};

use super::lines::MODEL;
use super::version::Version;
use crate::script::ErrorTurn;

/// The longest delay between two attempts without `retry-after`.
const MAX_DELAY: Duration = Duration::from_secs(32);
/// A longer `retry-after` makes the error final.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);
const RETRIES: u32 = 10;

/// How a turn ends after an API error.
#[derive(Debug, PartialEq)]
pub(super) struct ApiFailure {
    pub(super) text: String,
    /// `error` in the assistant's line, also passed to `StopFailure` hooks.
    pub(super) kind: &'static str,
    pub(super) terminal_reason: &'static str,
    /// The status and the API's name for the error; `None` without a request.
    pub(super) cause: Option<(u16, Value)>,
    /// The usage limit that is reached.
    pub(super) limit: Option<UsageLimit>,
    /// Whether the assistant's line has the cause: older versions only have it in `result`.
    marks_cause: bool,
}

/// A subscription's limit, from the headers of a 429.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UsageLimit {
    /// `None` if it is not one of the account's usage: each 429 is reported as a rejection.
    window: Option<String>,
    resets_at: Option<i64>,
}

impl UsageLimit {
    /// The limit that `error` is about. Only subscriptions have limits.
    fn of(error: &ErrorTurn) -> Option<Self> {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if !is_set("CLAUDE_CODE_OAUTH_TOKEN") || is_set("ANTHROPIC_API_KEY") {
            return None;
        }
        let header = |name: &str| {
            let name = format!("anthropic-ratelimit-unified-{name}");
            error
                .headers
                .iter()
                .find(|(own, _)| own.eq_ignore_ascii_case(&name))
                .map(|(_, value)| value.clone())
        };
        (error.status == 429).then_some(())?;
        let window = header("representative-claim");
        Some(Self { window, resets_at: header("reset").and_then(|at| at.parse().ok()) })
    }

    /// `rate_limit_info` of its line.
    pub(super) fn info(&self) -> Value {
        let mut info = json!({"status": "rejected", "isUsingOverage": false});
        if let Some(window) = &self.window {
            info["rateLimitType"] = window.as_str().into();
        }
        if let Some(resets_at) = self.resets_at {
            info["resetsAt"] = resets_at.into();
        }
        info
    }

    /// The final message, where the API says `said`.
    fn text(&self, said: &str) -> String {
        let Some(window) = &self.window else {
            return format!(
                "API Error: Server is temporarily limiting requests (not your usage limit) · {said}"
            );
        };
        let name = match window.as_str() {
            "five_hour" => "5-hour",
            "seven_day" => "weekly",
            _ => "usage",
        };
        let resets = self.resets_at.and_then(|at| jiff::Timestamp::from_second(at).ok());
        let resets = resets.map(|at| format!(" · resets {} (UTC)", at.strftime("%b %-d, %Y, %-I%P")));
        format!("You've hit your {name} limit{}", resets.unwrap_or_default())
    }
}

/// The maximum number of retries of a request.
pub(super) fn max_retries() -> u32 {
    let told = std::env::var("CLAUDE_CODE_MAX_RETRIES").ok();
    told.and_then(|count| count.trim().parse().ok()).unwrap_or(RETRIES)
}

/// Returns the delay before the `attempt`th retry; `None` if the error is final.
pub(super) fn wait(error: &ErrorTurn, attempt: u32) -> Option<Duration> {
    let header = |name: &str| {
        error.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    };
    let asked = header("retry-after").and_then(|value| value.parse().ok()).map(Duration::from_secs);
    let is_retried = match header("x-should-retry") {
        Some("true") => true,
        Some("false") => false,
        _ => matches!(error.status, 401 | 408 | 409 | 429 | 500..),
    };
    if !is_retried || asked.is_some_and(|asked| asked > MAX_RETRY_AFTER) {
        return None;
    }
    let doubled = Duration::from_millis(500).saturating_mul(1 << attempt.saturating_sub(1).min(10));
    Some(asked.unwrap_or_else(|| doubled.min(MAX_DELAY)))
}

/// The name of the error in an `api_retry` line.
pub(super) fn label(status: u16) -> &'static str {
    match status {
        401 => "authentication_failed",
        429 => "rate_limit",
        529 => "overloaded",
        408 | 409 | 500.. => "server_error",
        _ => "unknown",
    }
}

impl ApiFailure {
    /// The failure without a credential.
    pub(super) fn without_key() -> Self {
        Self {
            text: "Not logged in · Please run /login".into(),
            kind: "authentication_failed",
            terminal_reason: "api_error",
            cause: None,
            limit: None,
            marks_cause: false,
        }
    }

    pub(super) fn of(error: &ErrorTurn, version: &Version) -> Self {
        let status = error.status;
        let said = error.error["message"].as_str().unwrap_or_default();
        let plain = || format!("API Error: {status} {said}");
        let lower = said.to_lowercase();
        let mut terminal_reason = "api_error";
        let limit = UsageLimit::of(error);
        let reached = limit.as_ref().map(|limit| limit.text(said));
        let (text, kind) = match status {
            429 if reached.is_some() => (reached.unwrap_or_default(), "rate_limit"),
            401 if lower.contains("x-api-key") => {
                ("Invalid API key · Fix external API key".into(), "authentication_failed")
            }
            401 | 403 => (format!("Failed to authenticate. {}", plain()), "authentication_failed"),
            404 if version.is_at_least(160) => (no_model(), "model_not_found"),
            404 => (no_model(), "invalid_request"),
            413 => {
                terminal_reason = "image_error";
                (TOO_LARGE.into(), "invalid_request")
            }
            429 => (format!("API Error: Request rejected (429) · {said}"), "rate_limit"),
            500.. => {
                let said = plain();
                let said = said.trim_end_matches(['.', '!', '?', '…']);
                (format!("{said}. {TEMPORARY}{}", support_hint()), "server_error")
            }
            _ if lower.contains("credit balance is too low") => {
                ("Credit balance is too low".into(), "billing_error")
            }
            _ if lower.contains("prompt is too long") => {
                terminal_reason = "prompt_too_long";
                (too_long(said), "invalid_request")
            }
            _ => (plain(), "unknown"),
        };
        if !version.is_at_least(250) {
            terminal_reason = "completed";
        }
        let cause = Some((status, error.error["type"].clone()));
        let marks_cause = version.is_at_least(300);
        Self { text, kind, terminal_reason, cause, limit, marks_cause }
    }

    /// The fields of the assistant's line.
    pub(super) fn marks(&self) -> Value {
        let mut marks = json!({"error": self.kind, "is_api_error_message": true});
        if let Some((status, kind)) = self.cause.as_ref().filter(|_| self.marks_cause) {
            marks["api_error_status"] = (*status).into();
            marks["api_error_type"] = kind.clone();
        }
        marks
    }
}

const TOO_LARGE: &str = "Request too large (max 32MB). Accumulated images and attachments in the conversation pushed \
the request over the limit. Remove older images or compact the conversation.";
const TEMPORARY: &str = "This is a server-side issue, usually temporary — try again in a moment.";

fn no_model() -> String {
    format!(
        "There's an issue with the selected model ({MODEL}). It may not exist or you may not have access to it. Run \
         --model to pick a different model."
    )
}

fn too_long(said: &str) -> String {
    let counts = Regex::new(r"(?i)prompt is too long[^0-9]*(\d+)\s*tokens?\s*>\s*(\d+)").ok();
    let counts = counts.and_then(|counts| Some(counts.captures(said)?.extract::<2>().1));
    match counts {
        Some([actual, limit]) => format!(
            "Prompt is too long · the request is ~{actual} tokens (limit {limit}) but this conversation is only ~2600 \
             tokens — the rest is system prompt, tool definitions, and attachment content. A single-exchange \
             conversation cannot be compacted; reduce attached files/tools or start with less context."
        ),
        None => "Prompt is too long · this conversation is a single exchange and cannot be compacted — the request size \
                 comes mostly from system prompt, tool definitions, or attachments."
            .into(),
    }
}

/// Where to get help about the API, depending on `ANTHROPIC_BASE_URL`.
fn support_hint() -> String {
    let base = std::env::var("ANTHROPIC_BASE_URL").ok().filter(|base| !base.is_empty());
    match base {
        Some(base) => {
            let rest = base.split_once("://").map_or(base.as_str(), |(_, rest)| rest);
            let host = rest.split('/').next().unwrap_or(rest);
            format!(" If it persists, check your inference gateway ({host}).")
        }
        None => " If it persists, check https://status.claude.com.".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Script;

    fn error(status: u16, headers: &[(&str, &str)]) -> Script {
        let headers: std::collections::BTreeMap<_, _> = headers.iter().copied().collect();
        Script::read(&json!([{"status": status, "error": {}, "headers": headers}])).unwrap()
    }

    fn waits(status: u16, headers: &[(&str, &str)], attempt: u32) -> Option<u128> {
        let script = error(status, headers);
        let (_, crate::script::Play::Error(error)) = script.after(0) else { panic!("an error") };
        wait(error, attempt).map(|wait| wait.as_millis())
    }

    #[test]
    fn delays_double_up_to_half_a_minute() {
        let all: Vec<_> = (1..=10).filter_map(|attempt| waits(529, &[], attempt)).collect();
        assert_eq!(all, [500, 1000, 2000, 4000, 8000, 16000, 32000, 32000, 32000, 32000]);
    }

    #[test]
    fn headers_control_whether_and_when_to_retry() {
        for (status, headers, waited) in [
            (401, &[][..], Some(500)),
            (400, &[], None),
            (403, &[], None),
            (404, &[], None),
            (400, &[("x-should-retry", "true")], Some(500)),
            (529, &[("X-Should-Retry", "false")], None),
            (429, &[("retry-after", "60")], Some(60_000)),
            (429, &[("retry-after", "61")], None),
            (429, &[("retry-after", "soon")], Some(500)),
        ] {
            assert_eq!(waits(status, headers, 1), waited, "{status} {headers:?}");
        }
    }
}
