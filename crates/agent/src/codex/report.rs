//! What the app-server reports besides items and limits: the end of a turn, errors, tokens, and hooks that failed.

use super::hooks::SOURCE;
use super::line::CodexMessage;
use crate::api_error;
use crate::event::{ApiError, Event, RateLimit, RunResult, Tokens};
use murmur_core::id::SessionId;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// An error of the model's API or of Codex itself.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct TurnError {
    #[serde(default)]
    message: String,
    #[serde(default)]
    codex_error_info: Value,
    #[serde(default)]
    additional_details: Option<String>,
}

impl TurnError {
    /// The message with its details, which have the cause while Codex retries.
    fn text(&self) -> String {
        let message = self.message();
        match self.additional_details.as_deref().filter(|details| !details.is_empty()) {
            Some(details) => format!("{message}: {details}"),
            None => message,
        }
    }

    /// The message. Codex passes on the whole body of a 400.
    fn message(&self) -> String {
        api_error::message(&self.message).unwrap_or_else(|| self.message.clone())
    }

    /// Codex's name for it: `usageLimitExceeded`, or the key of `{"httpConnectionFailed": {...}}`.
    fn kind(&self) -> &str {
        match &self.codex_error_info {
            Value::String(name) => name,
            Value::Object(details) => details.keys().next().map_or("", String::as_str),
            _ => "",
        }
    }

    /// Whether the account's usage limit is reached. Codex has the same name for a used-up budget of the API, and for a
    /// plan without Codex, which don't pass by themselves.
    fn is_usage_limit(&self) -> bool {
        self.kind() == "usageLimitExceeded" && self.message.contains("hit your usage limit")
    }

    /// The HTTP status. Some names stand for one: a usage limit is always a 429, and `internalServerError` a 500
    /// (measured on 0.169.0).
    fn status(&self) -> Option<u64> {
        let reported = || self.codex_error_info.as_object()?.values().next()?.get("httpStatusCode")?.as_u64();
        reported().or_else(|| {
            Some(match self.kind() {
                "usageLimitExceeded" if self.is_usage_limit() => 429,
                "internalServerError" => 500,
                "serverOverloaded" => 503,
                _ => return None,
            })
        })
    }
}

/// `error`: a failed request, which Codex may retry. If not, the turn's end follows.
pub(super) fn error(line: &CodexMessage<'_>, sink: &mut impl FnMut(Event<'_>)) -> Option<()> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        error: TurnError,
        #[serde(default)]
        will_retry: bool,
    }
    let Params { error, will_retry } = line.params()?;
    if will_retry {
        let (attempt, of) = counts(&error.message).unwrap_or((1, 0));
        sink(Event::Retry { attempt, of, delay_ms: 0, status: error.status(), error: error.kind().into() });
    } else {
        sink(Event::ApiError(Box::new(ApiError {
            error: error.kind().to_owned(),
            status: error.status(),
            // Without a name: its windows are reported, if they are known.
            limit: error
                .is_usage_limit()
                .then(|| RateLimit { status: "rejected".to_owned(), ..RateLimit::default() }),
        })));
    }
    Some(())
}

/// The numbers in `Reconnecting... 2/5`.
fn counts(message: &str) -> Option<(u64, u64)> {
    let (before, after) = message.split_once('/')?;
    let attempt = before.rsplit(|letter: char| !letter.is_ascii_digit()).next()?;
    let of: String = after.chars().take_while(char::is_ascii_digit).collect();
    Some((attempt.parse().ok()?, of.parse().ok()?))
}

/// `turn/completed`: the result. Its text is the last message of the turn.
pub(super) fn turn(line: &CodexMessage<'_>, sink: &mut impl FnMut(Event<'_>)) -> Option<()> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        #[serde(default)]
        thread_id: Option<String>,
        turn: Turn,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Turn {
        status: String,
        #[serde(default)]
        error: Option<TurnError>,
        #[serde(default)]
        duration_ms: Option<u64>,
        /// A summary: the last message.
        #[serde(default)]
        items: Vec<Message>,
    }
    #[derive(Deserialize)]
    struct Message {
        #[serde(rename = "type", default)]
        kind: String,
        #[serde(default)]
        text: Option<String>,
    }
    let Params { thread_id, turn } = line.params()?;
    let mut result = match turn.status.as_str() {
        "completed" => {
            let mut messages = turn.items.into_iter().filter(|item| item.kind == "agentMessage");
            RunResult { text: messages.next_back().and_then(|last| last.text), ..RunResult::default() }
        }
        "interrupted" => failure("the turn was interrupted".to_owned(), None),
        status => {
            let error = turn.error.unwrap_or_default();
            let text = Some(error.text()).filter(|text| !text.is_empty());
            failure(text.unwrap_or_else(|| format!("the turn is {status}")), error.status())
        }
    };
    result.subtype = turn.status;
    result.duration_ms = turn.duration_ms;
    result.session_id = thread_id.map(SessionId::new);
    sink(Event::Result(Box::new(result)));
    Some(())
}

/// The end of a turn that failed before it began.
pub(super) fn failed(text: String, status: Option<u64>) -> Event<'static> {
    Event::Result(Box::new(failure(text, status)))
}

fn failure(text: String, status: Option<u64>) -> RunResult {
    RunResult {
        subtype: "failed".to_owned(),
        is_error: true,
        errors: vec![text],
        api_error_status: status,
        ..RunResult::default()
    }
}

/// The end of a turn because Codex refused murmur's request `id`.
pub(super) fn refused(id: &str, error: &RawValue) -> Event<'static> {
    #[derive(Deserialize, Default)]
    struct Refusal {
        #[serde(default)]
        message: String,
    }
    let refusal: Refusal = serde_json::from_str(error.get()).unwrap_or_default();
    failed(format!("Codex refused the request {id:?}: {}", refusal.message), None)
}

/// `thread/tokenUsage/updated`: the tokens of one request. The total would include earlier runs of the conversation.
pub(super) fn usage(line: &CodexMessage<'_>, sink: &mut impl FnMut(Event<'_>)) -> Option<()> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        token_usage: Usage,
    }
    #[derive(Deserialize)]
    struct Usage {
        last: Counts,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Counts {
        #[serde(default)]
        input_tokens: u64,
        #[serde(default)]
        cached_input_tokens: u64,
        #[serde(default)]
        cache_write_input_tokens: u64,
        #[serde(default)]
        output_tokens: u64,
    }
    let Params { token_usage: Usage { last } } = line.params()?;
    let cached = last.cached_input_tokens.saturating_add(last.cache_write_input_tokens);
    sink(Event::Usage(Tokens {
        input: last.input_tokens.saturating_sub(cached),
        output: last.output_tokens,
        cache_read: last.cached_input_tokens,
        cache_write: last.cache_write_input_tokens,
    }));
    Some(())
}

/// `hook/completed`: a call that murmur's hook blocked, or any hook that failed, which Codex ignores.
pub(super) fn hook(line: &CodexMessage<'_>, sink: &mut impl FnMut(Event<'_>)) -> Option<()> {
    #[derive(Deserialize)]
    struct Params {
        run: Run,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Run {
        #[serde(default)]
        id: String,
        status: String,
        #[serde(default)]
        event_name: String,
        #[serde(default)]
        source_path: String,
        #[serde(default)]
        entries: Vec<Entry>,
    }
    #[derive(Deserialize)]
    struct Entry {
        #[serde(default)]
        text: String,
    }
    let Params { run } = line.params()?;
    let message = || run.entries.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>().join("; ");
    // As in `pre-tool-use:0:/<session-flags>/config.toml:call_A`.
    let call = run.id.rsplit_once(&format!("{SOURCE}:")).map(|(_, call)| call);
    match (run.status.as_str(), call) {
        ("blocked", Some(id)) if run.event_name == "preToolUse" => {
            sink(Event::Blocked { id: id.into(), reason: message().into() });
        }
        ("failed", _) => {
            let text = format!("the {} hook of {} failed: {}", run.event_name, run.source_path, message());
            sink(Event::Warning { text: text.into() });
        }
        _ => {}
    }
    Some(())
}

/// `warning`: about the thread, such as settings that have no effect.
pub(super) fn warning(line: &CodexMessage<'_>, sink: &mut impl FnMut(Event<'_>)) -> Option<()> {
    #[derive(Deserialize)]
    struct Params {
        message: String,
    }
    let Params { message } = line.params()?;
    sink(Event::Warning { text: message.into() });
    Some(())
}
