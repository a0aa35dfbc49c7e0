//! The subset of HTTP/1.1 that an API client needs: keep-alive, Content-Length, Expect, chunked responses.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

const MOST_HEADER: u64 = 64 * 1024;
const MOST_BODY: u64 = 256 * 1024 * 1024;

/// A request.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

/// Reads the next request on a connection; `None` if the client has closed it.
pub(crate) fn read(from: &mut impl BufRead, to: &mut impl Write) -> io::Result<Option<Request>> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut head = from.by_ref().take(MOST_HEADER);
    let mut line = String::new();
    if head.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(invalid("not a request line"));
    };
    let (mut length, mut expects) = (0, false);
    loop {
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 {
            return Err(invalid("incomplete headers"));
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().map_err(|_| invalid("content-length"))?,
            "expect" => expects = true,
            "transfer-encoding" => {
                json(to, 411, &[], &Value::Null)?;
                return Err(invalid("a chunked request"));
            }
            _ => {}
        }
    }
    if length > MOST_BODY {
        return Err(invalid("body too large"));
    }
    if expects {
        to.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let mut body = Vec::new();
    if from.by_ref().take(length).read_to_end(&mut body)? as u64 != length {
        return Err(invalid("half a body"));
    }
    Ok(Some(Request { method, path, body }))
}

/// Responds to HEAD.
pub(crate) fn head(to: &mut impl Write) -> io::Result<()> {
    to.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
}

/// Responds with one JSON value.
pub(crate) fn json(
    to: &mut impl Write,
    status: u16,
    headers: &[(String, String)],
    body: &Value,
) -> io::Result<()> {
    let body = body.to_string();
    let mut answer = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    answer += &lines(headers);
    answer += "\r\n";
    answer += &body;
    to.write_all(answer.as_bytes())
}

fn lines(headers: &[(String, String)]) -> String {
    headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect()
}

/// Responds with server-sent events that are named by their type.
pub(crate) fn stream(
    to: &mut impl Write,
    headers: &[(String, String)],
    events: impl Iterator<Item = Value>,
) -> io::Result<()> {
    let named = |event: Value| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    };
    chunks(to, headers, events.map(named))
}

/// Responds with server-sent events without names.
pub(crate) fn stream_data(to: &mut impl Write, data: impl Iterator<Item = String>) -> io::Result<()> {
    chunks(to, &[], data.map(|data| format!("data: {data}\n\n")))
}

/// Sends each text immediately.
fn chunks(
    to: &mut impl Write,
    headers: &[(String, String)],
    texts: impl Iterator<Item = String>,
) -> io::Result<()> {
    to.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n")?;
    to.write_all(format!("{}\r\n", lines(headers)).as_bytes())?;
    for text in texts {
        to.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())?;
    }
    to.write_all(b"0\r\n\r\n")
}
