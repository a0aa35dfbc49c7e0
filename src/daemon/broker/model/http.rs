//! One question over HTTP and its answer, within a time and a size. Blocks.
//!
//! No redirect is followed and no proxy of the environment used: the key goes where config.toml says, and nowhere else.

use super::wire::Call;
use std::time::Duration;
use ureq::Agent;
use ureq::http::HeaderValue;

/// The longest answer, in bytes.
const LONGEST: u64 = 256 * 1024;

/// The room for what is sent and what comes, in bytes.
const BUFFER: usize = 16 * 1024;

/// Why there is no answer. Nothing of what the provider wrote is in it, which could be the key.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    /// The time is up.
    #[error("the time is up")]
    Late,
    /// The provider says no.
    #[error("HTTP status {status}{}", meaning(*status))]
    Status {
        /// What it says.
        status: u16,
    },
    /// Its answer is too long.
    #[error("its answer has more than {LONGEST} bytes")]
    Long,
    /// It cannot be reached, or does not speak HTTP.
    #[error("{0}")]
    Failed(#[source] Box<ureq::Error>),
}

fn meaning(status: u16) -> &'static str {
    match status {
        300..=399 => ": it has moved; correct base-url",
        401 | 403 => ": the key is not taken",
        404 => ": there is no such model or base-url",
        429 | 529 => ": it is asked too much",
        _ => "",
    }
}

impl From<ureq::Error> for HttpError {
    fn from(error: ureq::Error) -> Self {
        match error {
            ureq::Error::Timeout(_) => Self::Late,
            ureq::Error::BodyExceedsLimit(_) | ureq::Error::LargeResponseHeader(..) => Self::Long,
            other => Self::Failed(Box::new(other)),
        }
    }
}

/// Sends `call`, and returns the answer's body.
pub(super) fn post(call: &Call, limit: Duration) -> Result<Vec<u8>, HttpError> {
    if limit.is_zero() {
        return Err(HttpError::Late);
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
    for (name, value, is_secret) in &call.headers {
        let value = HeaderValue::from_str(value);
        let mut value = value.map_err(|error| HttpError::from(ureq::Error::Http(error.into())))?;
        value.set_sensitive(*is_secret);
        post = post.header(*name, value);
    }
    let mut answer = post.send(&call.body[..])?;
    if answer.status() != 200 {
        return Err(HttpError::Status { status: answer.status().as_u16() });
    }
    Ok(answer.body_mut().with_config().limit(LONGEST).read_to_vec()?)
}
