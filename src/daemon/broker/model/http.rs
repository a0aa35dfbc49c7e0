//! Sends one HTTP request, with limits on time and size. Blocks.
//!
//! Follows no redirects and uses no proxy from the environment: the key goes only where config.toml says.

use super::wire::{Call, Header};
use std::time::Duration;
use sys::error::connection_failure;
use ureq::Agent;
use ureq::http::HeaderValue;

/// The longest response, in bytes.
const MAX_RESPONSE: u64 = 256 * 1024;

/// The size of the send and receive buffers, in bytes.
const BUFFER: usize = 16 * 1024;

/// Why there is no response. It contains nothing from the provider, which could echo the key.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    /// It timed out.
    #[error("timed out")]
    Timeout,
    /// The provider returned an error.
    #[error("HTTP status {status}{}", meaning(*status))]
    Status {
        /// The HTTP status.
        status: u16,
    },
    /// The response is too long.
    #[error("the response has more than {MAX_RESPONSE} bytes")]
    Long,
    /// The provider cannot be reached.
    #[error("cannot reach it: {0}")]
    Unreachable(String),
    /// The provider does not speak HTTP.
    #[error(transparent)]
    Failed(Box<ureq::Error>),
}

fn meaning(status: u16) -> &'static str {
    match status {
        300..=399 => ": moved; correct base-url",
        401 | 403 => ": the key was rejected",
        404 => ": no such model or base-url",
        429 | 529 => ": too many requests",
        _ => "",
    }
}

impl From<ureq::Error> for HttpError {
    fn from(error: ureq::Error) -> Self {
        match error {
            ureq::Error::Timeout(_) => Self::Timeout,
            ureq::Error::BodyExceedsLimit(_) | ureq::Error::LargeResponseHeader(..) => Self::Long,
            ureq::Error::Io(error) => Self::Unreachable(connection_failure(&error)),
            other => Self::Failed(Box::new(other)),
        }
    }
}

/// Sends `call` and returns the response body.
pub(super) fn post(call: &Call, limit: Duration) -> Result<Vec<u8>, HttpError> {
    if limit.is_zero() {
        return Err(HttpError::Timeout);
    }
    let config = Agent::config_builder()
        .timeout_global(Some(limit))
        .proxy(None)
        .max_redirects(0)
        .http_status_as_error(false)
        .input_buffer_size(BUFFER)
        .output_buffer_size(BUFFER)
        .user_agent(concat!("murmur/", env!("CARGO_PKG_VERSION")))
        .build();
    let mut post = Agent::new_with_config(config).post(&call.url).content_type("application/json");
    for Header { name, value, is_secret } in &call.headers {
        let value = HeaderValue::from_str(value);
        let mut value = value.map_err(|error| HttpError::from(ureq::Error::Http(error.into())))?;
        value.set_sensitive(*is_secret);
        post = post.header(*name, value);
    }
    let mut answer = post.send(&call.body[..])?;
    if answer.status() != 200 {
        return Err(HttpError::Status { status: answer.status().as_u16() });
    }
    Ok(answer.body_mut().with_config().limit(MAX_RESPONSE).read_to_vec()?)
}
