//! One HTTP request, with limits on time and size. Blocks.
//!
//! Follows no redirects and uses no proxy from the environment: secrets go only where config.toml says. Errors have
//! nothing from the URL's path or from the response, which may be secret.

use std::time::Duration;
use sys::error::{Failure, connection_failure};
use sys::failure;
use ureq::Agent;
use ureq::http::HeaderValue;

/// The longest response, in bytes.
const MAX_RESPONSE: u64 = 1 << 20;

/// Why something was not delivered.
#[derive(Debug)]
pub struct SendError {
    /// What went wrong.
    pub failure: Failure,
    /// Whether the message itself is at fault, so that trying again is useless.
    pub is_final: bool,
}

impl From<Failure> for SendError {
    fn from(failure: Failure) -> Self {
        Self { failure, is_final: false }
    }
}

/// A request.
pub(crate) struct Call<'a> {
    pub(crate) url: String,
    /// The scheme and host, for errors.
    pub(crate) host: &'a str,
    /// What to post, and its type; `None` to get.
    pub(crate) body: Option<(&'static str, Vec<u8>)>,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) limit: Duration,
}

/// Sends `call` and returns the response's body.
pub(crate) fn send(call: &Call<'_>) -> Result<Vec<u8>, SendError> {
    let mut response = open(call)?;
    let body = response.body_mut().with_config().limit(MAX_RESPONSE).read_to_vec();
    Ok(body.map_err(|error| described(call.host, error))?)
}

/// Sends `call` and returns the response, whose body is still to be read.
pub(crate) fn open(call: &Call<'_>) -> Result<ureq::http::Response<ureq::Body>, SendError> {
    let config = Agent::config_builder()
        .timeout_global(Some(call.limit))
        .proxy(None)
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent(concat!("murmur/", env!("CARGO_PKG_VERSION")))
        .build();
    let agent = Agent::new_with_config(config);
    let mut headers = Vec::new();
    for (name, text) in &call.headers {
        let mut value = HeaderValue::from_str(text).map_err(
            |_| failure!("the header {name} has an invalid character"; "correct the token or secret"),
        )?;
        value.set_sensitive(true);
        headers.push((*name, value));
    }
    let response = match &call.body {
        Some((content_type, body)) => {
            let post = agent.post(&call.url).content_type(*content_type);
            headers.into_iter().fold(post, |post, (name, value)| post.header(name, value)).send(&body[..])
        }
        None => headers
            .into_iter()
            .fold(agent.get(&call.url), |get, (name, value)| get.header(name, value))
            .call(),
    };
    let response = response.map_err(|error| described(call.host, error))?;
    match response.status().as_u16() {
        200..=299 => Ok(response),
        status => Err(SendError {
            failure: failure!("{} returned HTTP status {status}{}", call.host, meaning(status)),
            is_final: matches!(status, 400 | 413 | 422),
        }),
    }
}

fn described(host: &str, error: ureq::Error) -> Failure {
    match error {
        ureq::Error::Timeout(_) => failure!("{host} did not answer in time"),
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => failure!("the URL at {host} is not valid"),
        ureq::Error::BodyExceedsLimit(_) => failure!("the response of {host} is too long"),
        ureq::Error::Io(error) => failure!("cannot reach {host}: {}", connection_failure(&error)),
        other => failure!("cannot reach {host}").because(&other),
    }
}

fn meaning(status: u16) -> &'static str {
    match status {
        300..=399 => " (moved; redirects are not followed)",
        401 | 403 => " (not allowed; check the token)",
        404 | 410 => " (not found; check the address)",
        429 => " (too many requests)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    #[test]
    fn a_server_that_hangs_is_given_up() {
        for begun in ["", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let host = format!("http://{}", listener.local_addr().unwrap());
            let serving = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(begun.as_bytes()).unwrap();
                stream
            });
            let body = Some(("text/plain", b"x".to_vec()));
            let limit = Duration::from_millis(200);
            let url = format!("{host}/secret-path");
            let error = send(&Call { url, host: &host, body, headers: Vec::new(), limit }).unwrap_err();
            assert_eq!(error.failure.line(), format!("{host} did not answer in time"));
            assert!(!error.is_final);
            serving.join().unwrap();
        }
    }
}
