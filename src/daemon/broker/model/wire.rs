//! Formats requests and parses responses of Anthropic's Messages API and OpenAI's Chat Completions API, without
//! streaming. Pure.
//!
//! Only a complete answer counts.

use super::access::Access;
use super::prompt::SYSTEM;
use murmur_core::config::settings::Provider;
use serde::Deserialize;
use serde_json::{Value, json};
use std::net::IpAddr;
use sys::error::Hinted;
use ureq::http::Uri;

/// `max_tokens`, which Anthropic requires.
const TOKENS: u32 = 1024;

/// The model's role, with both providers.
const MODEL: &str = "assistant";

/// A header of an HTTP request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Its name.
    pub(super) name: &'static str,
    /// Its value.
    pub(super) value: String,
    /// Whether the value is secret.
    pub(super) is_secret: bool,
}

/// An HTTP request.
pub(super) struct Call {
    /// The URL.
    pub(super) url: String,
    /// The headers.
    pub(super) headers: Vec<Header>,
    /// The JSON body.
    pub(super) body: Vec<u8>,
}

/// What is wrong with a provider's address or response.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WireError {
    /// The address is not a URL.
    #[error("not a valid URL")]
    Address,
    /// The key and the call would be sent unencrypted.
    #[error("the key would be sent unencrypted to another machine")]
    Plain,
    /// The response does not match the provider's API.
    #[error("not a response of {0}")]
    Foreign(&'static str),
    /// The model did not finish.
    #[error("the model did not finish: {0}")]
    Unfinished(String),
    /// The model refused.
    #[error("the model refused to answer")]
    Refused,
}

impl Hinted for WireError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Address => "write it as \"https://host\" or \"https://host/path\"".to_owned(),
            Self::Plain => {
                "use https://; http:// works only for this machine, such as http://127.0.0.1:8080".to_owned()
            }
            Self::Foreign(_) | Self::Unfinished(_) | Self::Refused => return None,
        })
    }
}

/// The endpoint of `provider`. By convention, Anthropic's base URL has no `/v1` and OpenAI's has; both forms work for
/// both.
pub(super) fn url(provider: Provider, base: Option<&str>) -> Result<String, WireError> {
    let default = match provider {
        Provider::Anthropic => "https://api.anthropic.com",
        Provider::Openai => "https://api.openai.com",
    };
    let base = base.unwrap_or(default).trim_end_matches('/');
    let uri: Uri = base.parse().map_err(|_| WireError::Address)?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let is_host = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    if !is_web || !is_host || uri.query().is_some() || base.contains('#') {
        return Err(WireError::Address);
    }
    if uri.scheme_str() == Some("http") && !uri.host().is_some_and(is_here) {
        return Err(WireError::Plain);
    }
    Ok(match provider {
        Provider::Anthropic => format!("{}/v1/messages", base.strip_suffix("/v1").unwrap_or(base)),
        Provider::Openai if uri.path() == "/" => format!("{base}/v1/chat/completions"),
        Provider::Openai => format!("{base}/chat/completions"),
    })
}

/// Whether a host name means this machine.
fn is_here(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// The HTTP request for `prompt`.
pub(super) fn call(access: &Access, prompt: &str) -> Call {
    let Access { provider, model, url, key } = access;
    let (headers, body) = match provider {
        Provider::Anthropic => (
            vec![
                Header { name: "x-api-key", value: key.reveal().to_owned(), is_secret: true },
                Header { name: "anthropic-version", value: "2023-06-01".to_owned(), is_secret: false },
            ],
            json!({
                "model": model,
                "max_tokens": TOKENS,
                "system": SYSTEM,
                "messages": [{ "role": "user", "content": prompt }],
            }),
        ),
        Provider::Openai => (
            vec![Header {
                name: "authorization",
                value: format!("Bearer {}", key.reveal()),
                is_secret: true,
            }],
            json!({
                "model": model,
                "messages": [
                    { "role": "system", "content": SYSTEM },
                    { "role": "user", "content": prompt },
                ],
            }),
        ),
    };
    Call { url: url.clone(), headers, body: body.to_string().into_bytes() }
}

#[derive(Deserialize)]
struct Message {
    role: Option<String>,
    content: Vec<Block>,
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: ChatMessage,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ChatMessage {
    role: Option<String>,
    content: Option<String>,
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Value,
}

/// Returns the model's text in a response `body` of `provider`.
pub(super) fn text(provider: Provider, body: &[u8]) -> Result<String, WireError> {
    match provider {
        Provider::Anthropic => of_anthropic(body),
        Provider::Openai => of_openai(body),
    }
}

fn of_anthropic(body: &[u8]) -> Result<String, WireError> {
    let foreign = || WireError::Foreign("Anthropic's Messages API");
    let message: Message = serde_json::from_slice(body).map_err(|_| foreign())?;
    if message.role.as_deref() != Some(MODEL) {
        return Err(foreign());
    }
    finished(message.stop_reason, "end_turn")?;
    let mut blocks = message
        .content
        .into_iter()
        .filter(|block| !matches!(block.kind.as_str(), "thinking" | "redacted_thinking"));
    match (blocks.next(), blocks.next()) {
        (Some(Block { kind, text: Some(text) }), None) if kind == "text" => Ok(text),
        _ => Err(foreign()),
    }
}

fn of_openai(body: &[u8]) -> Result<String, WireError> {
    let foreign = || WireError::Foreign("OpenAI's Chat Completions API");
    let Completion { mut choices } = serde_json::from_slice(body).map_err(|_| foreign())?;
    let (Some(Choice { message, finish_reason }), true) = (choices.pop(), choices.is_empty()) else {
        return Err(foreign());
    };
    if message.role.as_deref() != Some(MODEL) {
        return Err(foreign());
    }
    finished(finish_reason, "stop")?;
    if message.refusal.is_some_and(|refusal| !refusal.is_empty()) {
        return Err(WireError::Refused);
    }
    let is_text = message.tool_calls.as_array().is_none_or(Vec::is_empty);
    message.content.filter(|_| is_text).ok_or_else(foreign)
}

/// Checks that the model stopped by itself.
fn finished(how: Option<String>, expected: &str) -> Result<(), WireError> {
    match how.as_deref() {
        Some(how) if how == expected => Ok(()),
        Some("refusal" | "content_filter") => Err(WireError::Refused),
        // Only known reasons are shown: others may be anything.
        Some(
            how @ ("max_tokens" | "length" | "tool_use" | "tool_calls" | "pause_turn" | "stop_sequence"),
        ) => Err(WireError::Unfinished(how.to_owned())),
        _ => Err(WireError::Unfinished("unknown reason".to_owned())),
    }
}

#[cfg(test)]
mod tests;
