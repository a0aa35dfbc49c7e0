//! `{url: URL}`: whether a page changed, by `ETag`, `Last-Modified`, or else its contents. The agent doesn't get the
//! page.

use super::blocking;
use super::seen::{GateMemory, Page};
use super::{GateAnswer, GateContext, Problem};
use murmur_core::config::interval::Interval;
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use sys::error::{Failure, connection_failure};
use sys::failure;
use ureq::Agent;

/// The longest page without `ETag` and `Last-Modified`, in bytes.
const MAX_PAGE: u64 = 16 << 20;

pub(super) async fn ask(
    url: &str,
    name: &str,
    context: &GateContext<'_>,
    limit: Interval,
    seen: &GateMemory,
    now: &mut GateMemory,
) -> Result<GateAnswer, Problem> {
    let before = seen.pages.get(name).cloned();
    let (asked, known) = (url.to_owned(), before.clone());
    let page =
        blocking::run(context, limit, move |_| get(&asked, known.unwrap_or_default(), limit)).await??;
    let text = if before.is_some() { "the page changed" } else { "" };
    let is_same = before.is_some_and(|before| is_same(&before, &page));
    now.pages.insert(name.to_owned(), page);
    Ok(if is_same {
        GateAnswer::Skip(format!("nothing changed at {url}"))
    } else {
        GateAnswer::Pass(text.to_owned())
    })
}

/// Whether both are the same page, by the best that both have.
fn is_same(before: &Page, now: &Page) -> bool {
    match (&before.etag, &now.etag, &before.last_modified, &now.last_modified) {
        (Some(before), Some(now), ..) | (.., Some(before), Some(now)) => before == now,
        _ => before.sha256.is_some() && before.sha256 == now.sha256,
    }
}

/// Gets the page at `url`; `before` if the server says that it is the same.
fn get(url: &str, before: Page, limit: Interval) -> Result<Page, Failure> {
    let config = Agent::config_builder()
        .timeout_global(Some(limit.duration()))
        .http_status_as_error(false)
        .user_agent(concat!("murmur/", env!("CARGO_PKG_VERSION")))
        .build();
    let mut request = Agent::new_with_config(config).get(url);
    if let Some(etag) = &before.etag {
        request = request.header("If-None-Match", etag);
    }
    if let Some(last_modified) = &before.last_modified {
        request = request.header("If-Modified-Since", last_modified);
    }
    let mut answer = request.call().map_err(|error| match error {
        ureq::Error::Timeout(_) => failure!("timed out after {limit}"),
        ureq::Error::Io(error) => failure!("cannot reach it: {}", connection_failure(&error)),
        other => Failure::of(&other),
    })?;
    match answer.status().as_u16() {
        304 => return Ok(before),
        200..=299 => {}
        status => return Err(failure!("HTTP status {status}")),
    }
    let header = |name: &str| Some(answer.headers().get(name)?.to_str().ok()?.to_owned());
    let (etag, last_modified) = (header("ETag"), header("Last-Modified"));
    if etag.is_some() || last_modified.is_some() {
        return Ok(Page { etag, last_modified, sha256: None });
    }
    let mut body = answer.body_mut().as_reader().take(MAX_PAGE + 1);
    let mut hash = Sha256::new();
    let length = io::copy(&mut body, &mut Hashing(&mut hash))
        .map_err(|error| failure!("cannot read it").because(&error))?;
    if length > MAX_PAGE {
        return Err(failure!(
            "it has neither ETag nor Last-Modified, and is larger than {} MiB",
            MAX_PAGE >> 20
        ));
    }
    let digits: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Page { sha256: Some(digits), ..Page::default() })
}

/// Writes into a hash.
struct Hashing<'a>(&'a mut Sha256);

impl io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
