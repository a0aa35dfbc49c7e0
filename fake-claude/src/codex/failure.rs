//! Codex's reaction to a failed request to the model: retries, and its error.
//!
//! Input: a scripted error, and the number of errors before it. Output: notifications, and the error that ends the
//! turn.

use std::time::Duration;

use serde_json::{Value, json};

use super::Codex;
use crate::faults::Fault;
use crate::rpc::Halt;
use crate::script::ErrorTurn;

const RETRIES: u64 = 5;
const REQUESTS: u64 = 4;
const LOST: &str = "stream disconnected before completion: error sending request";
const BUSY: &str = "We’re currently experiencing high demand, which may cause temporary errors.";

impl Codex<'_> {
    /// Reacts to the n-th error in a row. Returns the error if the turn ends with it.
    pub(super) fn fail(&mut self, error: &ErrorTurn, number: u64) -> Result<Option<Value>, Halt> {
        let told = |key: &str| error.error[key].as_str().unwrap_or_default();
        let code = if told("code").is_empty() { told("type") } else { told("code") };
        let url = self.config.provider("base_url").as_str().unwrap_or("https://api.openai.com/v1");
        let url = format!("{url}/responses");
        let unexpected = format!(
            "unexpected status {} {}: {}, url: {url}",
            error.status,
            reason(error.status),
            told("message")
        );
        let after = error.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
        let status = json!({"httpStatusCode": error.status});
        match error.status {
            0 => self.try_again(number, LOST, &json!("other")),
            400 => self.end_with(&json!({"error": error.error}).to_string(), &json!("other")).map(Some),
            429 if code == "usage_limit_reached" || told("type") == "usage_limit_reached" => {
                let resets = &error.error["resets_at"];
                self.limits(&json!({"usedPercent": 100, "windowDurationMins": 300, "resetsAt": resets}))?;
                let text = "You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit \
                            https://chatgpt.com/settings/usage to purchase more credits or try again at 5:33 AM.";
                self.end_with(text, &json!("usageLimitExceeded")).map(Some)
            }
            429 if code == "insufficient_quota" => {
                let text = "Quota exceeded. Check your plan and billing details.";
                self.end_with(text, &json!("usageLimitExceeded")).map(Some)
            }
            429 => {
                if after && self.reconnects(number, &Value::Null, "rate limit")? {
                    return Ok(None);
                }
                let text = "exceeded retry limit, last status: 429 Too Many Requests";
                self.end_with(text, &json!({"responseTooManyFailedAttempts": status})).map(Some)
            }
            500 => self.try_again(number, BUSY, &json!("internalServerError")),
            502.. => self.try_again(number, &unexpected, &json!({"httpConnectionFailed": status})),
            _ => {
                if self.reconnects(number, &json!(error.status), &unexpected)? {
                    return Ok(None);
                }
                self.end_with(&unexpected, &json!({"httpConnectionFailed": status})).map(Some)
            }
        }
    }

    /// Each stream is tried with several requests.
    fn try_again(&mut self, number: u64, text: &str, info: &Value) -> Result<Option<Value>, Halt> {
        let most = self.config.provider("request_max_retries").as_u64().unwrap_or(REQUESTS) + 1;
        if !number.is_multiple_of(most) || self.reconnects(number / most, &Value::Null, text)? {
            return Ok(None);
        }
        self.end_with(text, info).map(Some)
    }

    /// Reports a retry and waits, unless there were too many.
    fn reconnects(&mut self, number: u64, status: &Value, details: &str) -> Result<bool, Halt> {
        let most = self.config.provider("stream_max_retries").as_u64().unwrap_or(RETRIES);
        if number > most {
            return Ok(false);
        }
        let error = json!({"message": format!("Reconnecting... {number}/{most}"), "additionalDetails": details,
            "codexErrorInfo": {"responseStreamDisconnected": {"httpStatusCode": status}}, "misalignment": null});
        self.notify("error", json!({"error": error, "willRetry": true}))?;
        let seconds = 0.2 * f64::from(1 << number.min(10));
        self.pass(Duration::from_secs_f64(seconds * self.instructions.scale))?;
        Ok(true)
    }

    fn end_with(&mut self, message: &str, info: &Value) -> Result<Value, Halt> {
        let error = json!({"message": message, "codexErrorInfo": info, "additionalDetails": null,
            "misalignment": null});
        self.status(&json!({"type": "systemError"}))?;
        self.notify("error", json!({"error": error, "willRetry": false}))?;
        Ok(error)
    }

    /// Without the provider's key, the turn ends before any request.
    pub(super) fn keyless(&mut self) -> Result<Option<Value>, Halt> {
        let name = self.config.provider("env_key").as_str().unwrap_or("OPENAI_API_KEY").to_owned();
        let is_own = !self.config.provider("env_key").is_null();
        let missing = is_own && std::env::var_os(&name).is_none_or(|value| value.is_empty());
        if !missing && !self.instructions.faults.has(Fault::NotLoggedIn) {
            return Ok(None);
        }
        self.end_with(&format!("Missing environment variable: `{name}`."), &json!("other")).map(Some)
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "<unknown status code>",
    }
}
